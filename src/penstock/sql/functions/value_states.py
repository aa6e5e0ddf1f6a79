"""Aggregates that need the values of a group: least and greatest ones, texts and lists.

If rows are taken back, the values of a group are kept in a map, each with how often it is there; a count below zero is that of
a value that was taken away before it was added. Without that, the least or greatest value alone is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.expressions.merging import float_order


def order_key(value: Any) -> Any:
    """Return what a value is ordered by."""
    return float_order(value) if isinstance(value, float) else value


def least(values: Iterable[Any]) -> Any:
    """Return the least value, None of none."""
    return min(values, key=order_key, default=None)


def greatest(values: Iterable[Any]) -> Any:
    """Return the greatest value, None of none."""
    return max(values, key=order_key, default=None)


OF_VALUES: dict[str, Callable[[Iterable[Any]], Any]] = {"MIN": least, "MAX": greatest}
"""Aggregates of different values."""

OF_COUNTS: dict[str, Callable[[list[tuple[Any, int]]], Any]] = {
    "LISTAGG": lambda counts: (
        ",".join(value for value, count in sorted(counts) for _ in range(count)) or None
    ),
    "ARRAY_AGG": lambda counts: (
        [
            value
            for value, count in sorted(counts, key=lambda each: order_key(each[0]))
            for _ in range(count)
        ]
        or None
    ),
    "COLLECT": dict,
}
"""Aggregates of values and how often each is there; lists are in order of their values."""
