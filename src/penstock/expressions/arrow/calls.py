"""Kernels of aggregate functions of the user: a part is a list of the calls that are to be made, in order.

    (1, arguments)      a row is added
    (-1, arguments)     a row is taken back
    (0, accumulator)    what calls before have made; the first of a list, if any

Lists are appended, wherever records are; calls are made where state is written, and for a result. Elements are pickled.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from penstock.errors import PenstockError
from penstock.expressions.tree import Call
from penstock.types.arrow import arrow_array

_CALLS = pa.list_(pa.binary())


def packed(
    is_chosen: Sequence[bool | None], arguments: Sequence[Sequence[Any]], signs: Sequence[int]
) -> pa.Array:
    """Return the call that each row makes, NULL of rows that are not chosen."""
    rows = zip(*arguments, strict=True) if arguments else iter([()] * len(signs))
    calls = [
        [pickle.dumps((sign, row))] if chosen is True else None
        for chosen, row, sign in zip(is_chosen, rows, signs, strict=True)
    ]
    return pa.array(calls, _CALLS)


def folded(call: Call, calls: pa.Array) -> pa.Array:
    """Return lists that have the accumulator of all their calls."""
    (function,) = call.parameters
    return pa.array(
        [
            records and [pickle.dumps((0, _accumulated(function, records)))]
            for records in calls.to_pylist()
        ],
        _CALLS,
    )


def user_result(call: Call, calls: pa.Array) -> pa.Array:
    """Return the values of functions; of no calls that of a new accumulator."""
    function, kind = call.parameters
    results = []
    for records in calls.to_pylist():
        accumulator = _accumulated(function, records or [])
        value = _guarded(function, function.get_value, accumulator)
        results.append(None if value is None else kind.coerce(value))
    return arrow_array(type(function).__name__, kind, results)


def _accumulated(function: Any, calls: list[bytes]) -> Any:
    accumulator, known = None, False
    for element in calls:
        sign, given = pickle.loads(element)
        if not sign:
            accumulator, known = given, True
            continue
        if not known:
            accumulator, known = _guarded(function, function.create_accumulator), True
        change = function.accumulate if sign > 0 else function.retract
        _guarded(function, change, accumulator, *given)
    return accumulator if known else _guarded(function, function.create_accumulator)


def _guarded(function: Any, called: Callable[..., Any], *given: Any) -> Any:
    try:
        return called(*given)
    except PenstockError:
        raise
    except Exception as cause:
        msg = f"{type(function).__name__}.{called.__name__} failed: {cause!r}"
        raise pa.ArrowInvalid(msg) from cause
