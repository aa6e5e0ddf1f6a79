"""Distances of the event times of a join's rows, from its conditions.

    b.ts BETWEEN a.ts AND a.ts + INTERVAL '5' SECOND          0 <= right time - left time <= 5000
    a.window_start = b.window_start AND a.window_end = …      0 <= right time - left time <= 0

A time is a column that is the event time, or the end of a window: its rows come before the watermark has reached the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.sql.functions.interval_join import TimeInterval, TimeOf
from penstock.sql.relations.tree import SqlRelation
from penstock.sql.scalars.tree import Constant, InputColumn, Scalar, ScalarCall, conjuncts

_LAST_OF_WINDOW_MS = -1
"""From the end of a window to the greatest time that is in it."""

Term = tuple[int, int]
"""A column and the milliseconds that are added to it."""

Bound = tuple[int | None, int | None]
"""The least and the greatest difference; None is not bounded."""

_LOWER = frozenset({"less", "less_equal", "equal"})
_UPPER = frozenset({"greater", "greater_equal", "equal"})
_SWAPPED = {
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
    "equal": "equal",
}


def interval_of(
    left: SqlRelation,
    right: SqlRelation,
    keys: Sequence[tuple[Scalar, Scalar]],
    condition: Scalar | None,
) -> TimeInterval | None:
    """Return how far times of rows that match are apart, None if the conditions do not bound it.

    Args:
        left: The left side.
        right: The right side.
        keys: Expressions of the left and of the right side that are equal.
        condition: Over the columns of both.
    """
    bounds: dict[tuple[int, int], Bound] = {}
    for name, one, other in _comparisons(keys, condition, len(left.columns)):
        pair, distance = (one[0], other[0]), one[1] - other[1]
        low, high = bounds.get(pair, (None, None))
        if name in _LOWER:
            low = distance if low is None else max(low, distance)
        if name in _UPPER:
            high = distance if high is None else min(high, distance)
        bounds[pair] = (low, high)
    for (at_left, at_right), (low, high) in bounds.items():
        times = _time_at(left, at_left), _time_at(right, at_right)
        if low is None or high is None or low > high or times[0] is None or times[1] is None:
            continue
        shift = times[1].offset_ms - times[0].offset_ms
        return TimeInterval(times[0], times[1], low + shift, high + shift)
    return None


def _time_at(relation: SqlRelation, position: int) -> TimeOf | None:
    column = relation.columns[position]
    if column.is_time:
        return TimeOf(position, 0)
    return TimeOf(position, _LAST_OF_WINDOW_MS) if column.window == "end" else None


def _comparisons(
    keys: Sequence[tuple[Scalar, Scalar]], condition: Scalar | None, width: int
) -> Iterator[tuple[str, Term, Term]]:
    """Yield the comparisons of a column of the left side with one of the right side."""
    for pair in keys:
        one, other = map(_term, pair)
        if one is not None and other is not None:
            yield "equal", one, other
    for each in () if condition is None else conjuncts(condition):
        if not isinstance(each, ScalarCall) or each.function not in _SWAPPED:
            continue
        one, other = map(_term, each.arguments)
        if one is None or other is None:
            continue
        if one[0] < width <= other[0]:
            yield each.function, one, (other[0] - width, other[1])
        elif other[0] < width <= one[0]:
            yield _SWAPPED[each.function], other, (one[0] - width, one[1])


def _term(scalar: Scalar) -> Term | None:
    """Return the column that an expression is, and the milliseconds that it is later."""
    if isinstance(scalar, InputColumn):
        return scalar.position, 0
    if isinstance(scalar, ScalarCall) and scalar.function == "shift":
        inner, by = _term(scalar.arguments[0]), scalar.arguments[1]
        if inner is not None and isinstance(by, Constant) and isinstance(by.value, int):
            return inner[0], inner[1] + by.value
    return None
