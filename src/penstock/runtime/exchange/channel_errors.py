"""Errors about records that cannot be routed, folded or pickled. They name the record."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

from penstock.errors import CallSite, DecodeError, KeyTypeError, PenstockError, UserCodeError
from penstock.runtime.fold.sender_fold import SenderFold
from penstock.types.list_key import CHANGED_HINT
from penstock.user_failure import (
    failing_record,
    has_user_frame,
    raise_interrupt,
    short,
    user_failure,
    words_of,
)


def no_key(
    cause: BaseException, values: list[Any], position: Iterator[Any], origin: CallSite | None
) -> PenstockError:
    """Return the error about a record without a usable key."""
    record = failing_record(values, position)
    if isinstance(cause, KeyTypeError):
        return KeyTypeError(f"{cause.problem}, of {record}", hint=cause.hint, origin=origin)
    if not has_user_frame(cause) and "unhashable type" in str(cause):
        return KeyTypeError(
            f"the key of {record} can be changed, so it cannot be a key: {cause}",
            hint=CHANGED_HINT,
            origin=origin,
        )
    return user_failure("the key selector", record, cause, origin)


def named(refused: KeyTypeError, operator: str) -> KeyTypeError:
    """Return the error about a key with the name of its operator."""
    problem = f"{refused.problem}, for operator {operator!r}"
    return KeyTypeError(problem, hint=refused.hint, origin=refused.origin)


def unpicklable(cause: BaseException, values: list[Any], origin: CallSite | None) -> PenstockError:
    """Return the error about a batch with a record that cannot be pickled or serialized."""
    if isinstance(cause, PenstockError):
        return type(cause)(cause.problem, hint=cause.hint, origin=cause.origin or origin)
    record = next((value for value in values if not _can_be_pickled(value)), values[0])
    return UserCodeError(
        f"the record {short(record)} of type {type(record).__name__} cannot be sent on: "
        f"{words_of(cause)}",
        hint="Records between operators must be picklable: no lambdas, generators, locks or open "
        "files in them.",
        origin=origin,
    )


def not_taken(refused: DecodeError, taker: str, created: CallSite | None) -> DecodeError:
    """Return the error about records that cannot be decoded, with the name of their receiver."""
    problem = f"the input of {taker} cannot be read: {refused.problem}"
    error = DecodeError(problem, hint=refused.hint, origin=refused.origin or created)
    return error.permanent(refused.is_permanent)


def _can_be_pickled(value: Any) -> bool:
    try:
        pickle.dumps(value, 5)
    except BaseException as cause:  # noqa: BLE001 - any exception means no
        raise_interrupt(cause)
        return False
    return True


def not_folded(
    fold: SenderFold, cause: BaseException, key: Any, values: list[Any], position: Iterator[Any]
) -> PenstockError:
    """Return the error about a record that the sender could not fold."""
    try:
        hash(key)
    except BaseException as unhashable:  # noqa: BLE001 - the error about the key has the exception
        return no_key(unhashable, values, position, fold.origin)
    return fold.failed(cause, key, values, position)
