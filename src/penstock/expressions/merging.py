"""Merge of two parts of aggregates, in Python: the meaning that the engines have to meet.

NULL is no value: what is merged with it stays. A sum that leaves its type is an error. NaN is greater than any
number. Engines call 0.0 and -0.0 equal and may keep either; the result is 0.0 (`aggregates`).
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal
from math import copysign, isnan
from typing import Any

from penstock.errors import ExpressionError

_LONG = 1 << 63
_WIDE = Context(prec=76)
_DECIMAL = Decimal(10) ** 20
_HINT = "Aggregate fewer or smaller values, or cast to a wider type before, such as DOUBLE."

A_SUM = "a sum"
"""The subject of an error about a sum; callers that have its name replace it."""

Merge = Callable[[Any, Any], Any]
"""From the part of earlier records and that of later ones, neither None, to that of both."""


def merge_of(how: str, type_name: str) -> Merge:
    """Return how two parts of a type become one.

    Examples:
        >>> merge_of("sum", "Long")(1, 2), merge_of("max", "String")("a", "b")
        (3, 'b')
    """
    return _OF_TYPE.get((how, type_name)) or _OTHERS[how]


def _sum_of_longs(left: int, right: int) -> int:
    total = left + right
    if -_LONG <= total < _LONG:
        return total
    raise _overflow(total, "LONG")


def _sum_of_decimals(left: Decimal, right: Decimal) -> Decimal:
    total = _WIDE.add(left, right)
    if -_DECIMAL < total < _DECIMAL:
        return total
    raise _overflow(total, "20 digits before the point")


def _overflow(total: Any, limit: str) -> ExpressionError:
    return ExpressionError(f"{A_SUM} is {total}, which is more than {limit}", hint=_HINT)


def float_order(value: float) -> tuple[bool, float, float]:
    """Return what a float is ordered by, as Java and Flink do: -0.0 before 0.0, NaN last."""
    is_nan = isnan(value)
    return is_nan, 0.0 if is_nan else value, copysign(1.0, value)


def order_of(value: Any) -> Any:
    """Return what a value is ordered by."""
    return float_order(value) if isinstance(value, float) else value


def _least_float(left: float, right: float) -> float:
    return min(left, right, key=float_order)


def _greatest_float(left: float, right: float) -> float:
    return max(left, right, key=float_order)


def _sum(left: Any, right: Any) -> Any:
    return left + right


def _tally(left: dict[Any, int], right: dict[Any, int]) -> dict[Any, int]:
    merged = dict(left)
    for value, count in right.items():
        total = merged.get(value, 0) + count
        if total:
            merged[value] = total
        else:
            merged.pop(value, None)
    return merged


_OTHERS: dict[str, Merge] = {"sum": _sum, "min": min, "max": max, "tally": _tally, "list": _sum}

_OF_TYPE: dict[tuple[str, str], Merge] = {
    ("sum", "Long"): _sum_of_longs,
    ("sum", "BigDecimal"): _sum_of_decimals,
    ("min", "Float"): _least_float,
    ("min", "Double"): _least_float,
    ("max", "Float"): _greatest_float,
    ("max", "Double"): _greatest_float,
}
