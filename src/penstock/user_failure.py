"""Exceptions of the user's callables as our errors, with operator, record and the user's line.

A callable may raise any exception. Its caller catches `BaseException` and calls this module, because
each of these is a failure of the callable like any other:

    StopIteration       silently ends a loop that runs in C (`list(map(f, values))`); the loops
                        around callables are comprehensions, which propagate it
    RuntimeError        replaces a StopIteration that leaves a generator; the error shows its cause
    GeneratorExit       closes a generator of ours
    SystemExit          ends a worker, often without a message
    KeyboardInterrupt   is an error if the callable raised it, and an interrupt if a signal did

Texts are made whatever `__str__` and `__repr__` do, and can always be encoded.
"""

from __future__ import annotations

import dis
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from operator import length_hint
from pathlib import Path
from typing import Any, TypeVar

from penstock.errors import CallSite, PenstockError, UserFunctionError

_PACKAGE = str(Path(__file__).parent)
_LIBRARIES = tuple(
    {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
)
_REPR_CHARS = 300
_TEXT_CHARS = 2000
_RAISE = dis.opmap["RAISE_VARARGS"]

E = TypeVar("E", bound=PenstockError)


def failing_record(values: list[Any], position: Iterator[Any]) -> str:
    """Return the text of the record of a batch that failed."""
    index = len(values) - length_hint(position) - 1
    record = short(values[index]) if 0 <= index < len(values) else "unknown"
    return f"record {record} (number {index + 1} of {len(values)} in its batch)"


def user_failure(
    subject: str, where: str, cause: BaseException, created: CallSite | None
) -> UserFunctionError:
    """Return the error about a user function that raised."""
    hint = "Correct the function or filter out the record before it."
    if created:
        hint += f" The operator was created at {created}."
    return failure_as(UserFunctionError, f"{subject} failed on {where}", cause, created, hint=hint)


_OF_DATA = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, AssertionError)


def refusal_of(
    error_class: type[E], failed: str, cause: BaseException, created: CallSite | None, *, hint: str
) -> E:
    """Return `failure_as` of a callable that makes a value of a record; it is permanent if the record is what is wrong."""
    refused = failure_as(error_class, failed, cause, created, hint=hint)
    refused.permanent(is_permanent=isinstance(cause, _OF_DATA))
    return refused


def failure_as(
    error_class: type[E], failed: str, cause: BaseException, created: CallSite | None, *, hint: str
) -> E:
    """Return an error of a class about a user's callable that raised."""
    raise_interrupt(cause)
    frames, site = _frames(cause)
    stack = "".join(traceback.format_list(frames)).rstrip()
    problem = f"{failed}: {words_of(cause)}"
    if stack:
        problem += f"\n{stack}"
    return error_class(problem, hint=hint, origin=site or created)


@contextmanager
def failing_as(
    error_class: type[PenstockError], failed: str, created: CallSite | None, *, hint: str
) -> Iterator[None]:
    """Turn an exception of a user's callable in the block into our error; propagate our errors."""
    try:
        yield
    except PenstockError:
        raise
    except BaseException as cause:
        raise failure_as(error_class, failed, cause, created, hint=hint) from cause


def placed(
    cause: PenstockError, subject: str, where: str, created: CallSite | None
) -> PenstockError:
    """Return our error with the operator, the record and the user's line added."""
    _, site = _frames(cause)
    origin = site or created
    problem = f"{subject} failed on {where}: {cause.problem}"
    failure = type(cause)(problem, hint=cause.hint, origin=origin)
    return failure.permanent(cause.is_permanent)


def failure_at(
    subject: str, where: str, cause: BaseException, created: CallSite | None
) -> PenstockError:
    """Return the error for the exception of a user function on a record; add the place to an error of Penstock."""
    if not isinstance(cause, PenstockError):
        return user_failure(subject, where, cause, created)
    return cause if cause.origin is not None else placed(cause, subject, where, created)


def is_interrupt(cause: BaseException) -> bool:
    """Return whether a signal raised an exception, and not the callable itself.

    A signal's exception appears between two instructions or in C, the callable's at a `raise`. Our
    handler of SIGTERM uses `raise`, so an exception that this package raises is an interrupt too.
    """
    if not isinstance(cause, KeyboardInterrupt):
        return False
    frame = cause.__traceback__
    if frame is None:
        return True
    while frame.tb_next is not None:
        frame = frame.tb_next
    code = frame.tb_frame.f_code
    return code.co_filename.startswith(_PACKAGE) or code.co_code[frame.tb_lasti] != _RAISE


def raise_interrupt(cause: BaseException) -> None:
    """Raise the exception again if it is an interrupt; callers that handle others call this first."""
    if is_interrupt(cause):
        raise cause


def is_of_program(filename: str) -> bool:
    """Return whether a file is the program's, and of no library."""
    return not filename.startswith((_PACKAGE, *_LIBRARIES, "<frozen "))


def has_user_frame(cause: BaseException) -> bool:
    """Return whether code of the user's is in the traceback."""
    return _frames(cause)[1] is not None


def words_of(cause: BaseException) -> str:
    """Return the class of an exception, and its message if it has one."""
    try:
        words = "".join(traceback.format_exception_only(cause)).strip()
    except BaseException:  # noqa: BLE001 - attributes of the exception are the user's code as well
        words = f"{type(cause).__qualname__} (it cannot be shown)"
    return words if len(words) <= _TEXT_CHARS else words[:_TEXT_CHARS] + "…"


def short(value: Any) -> str:
    """Return `repr(value)`, cut if it is long."""
    try:
        text = repr(value)
    except BaseException as cause:  # noqa: BLE001 - a record that cannot be shown hides no failure
        raise_interrupt(cause)
        return f"<{type(value).__name__} whose __repr__ raised {type(cause).__name__}>"
    return text if len(text) <= _REPR_CHARS else text[:_REPR_CHARS] + "…"


def _frames(cause: BaseException) -> tuple[list[traceback.FrameSummary], CallSite | None]:
    """Return the frames from the user's first one on, and the user's last frame.

    If all frames are those of libraries, it returns all of them, and None.
    """
    frames = [frame for frame in _extracted(cause) if not frame.filename.startswith(_PACKAGE)]
    own = [index for index, frame in enumerate(frames) if is_of_program(frame.filename)]
    if not own:
        return frames, None
    last = frames[own[-1]]
    return frames[own[0] :], CallSite(last.filename, last.lineno or 0, last.name)


def _extracted(cause: BaseException) -> list[traceback.FrameSummary]:
    """Return all frames; if a StopIteration ended a generator, also the frames inside of it."""
    frames = list(traceback.extract_tb(cause.__traceback__))
    ended = cause.__cause__
    if isinstance(cause, RuntimeError) and isinstance(ended, (StopIteration, StopAsyncIteration)):
        frames += [frame for frame in _extracted(ended) if frame not in frames]
    return frames
