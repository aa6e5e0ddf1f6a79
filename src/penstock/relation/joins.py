"""Joins of all rows, of rows whose times are close, which need no row for ever, and of versions.

Distances of the event times of a join's rows, from its conditions.

    b.ts BETWEEN a.ts AND a.ts + INTERVAL '5' SECOND          0 <= right time - left time <= 5000
    a.window_start = b.window_start AND a.window_end = …      0 <= right time - left time <= 0

A time is a column that is the event time, or the end of a window: its rows come before the watermark has reached the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from penstock.expressions.tree import Call, Expression, Field, Literal, conjuncts, shifted
from penstock.program.join import JoinKind, reaches_ms
from penstock.relation.tree import (
    Changelog,
    Project,
    Relation,
    SqlColumn,
    TwoInputs,
    distinct_names,
    in_time,
)

_LAST_OF_WINDOW_MS = -1
"""From the end of a window to the greatest time that is in it."""

Term = tuple[int, int]
"""A column and the milliseconds that are added to it."""

Bound = tuple[int | None, int | None]
"""The least and the greatest difference; None is not bounded."""

_LOWER = frozenset({"less", "less_equal", "equal"})
_UPPER = frozenset({"greater", "greater_equal", "equal"})
SWAPPED = {
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
    "equal": "equal",
}
"""Comparison to that of its operands in the other order."""


@dataclass(frozen=True, slots=True)
class TimeOf:
    """The time of the rows of a side.

    Attributes:
        offset_ms: Offset that is added to its values.
    """

    position: int
    offset_ms: int


@dataclass(frozen=True, slots=True)
class TimeInterval:
    """Pairs of rows with `lower_ms <= right time - left time <= upper_ms`."""

    left: TimeOf
    right: TimeOf
    lower_ms: int
    upper_ms: int

    @property
    def reaches_ms(self) -> tuple[int, int]:
        """Longest time behind their own that left and right rows can be matched."""
        return reaches_ms(self.lower_ms, self.upper_ms)


def interval_of(
    left: Relation,
    right: Relation,
    keys: Sequence[tuple[Expression, Expression]],
    condition: Expression | None,
) -> TimeInterval | None:
    """Return how far times of rows that match are apart, None if the conditions do not bound it."""
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


def _time_at(relation: Relation, position: int) -> TimeOf | None:
    column = relation.columns[position]
    if column.is_time:
        return TimeOf(position, 0)
    return TimeOf(position, _LAST_OF_WINDOW_MS) if column.window == "end" else None


def _comparisons(
    keys: Sequence[tuple[Expression, Expression]], condition: Expression | None, width: int
) -> Iterator[tuple[str, Term, Term]]:
    """Yield the comparisons of a column of the left side with one of the right side."""
    for pair in keys:
        one, other = map(_term, pair)
        if one is not None and other is not None:
            yield "equal", one, other
    for conjunct in () if condition is None else conjuncts(condition):
        if not isinstance(conjunct, Call) or conjunct.function not in SWAPPED:
            continue
        one, other = map(_term, conjunct.arguments)
        if one is None or other is None:
            continue
        if one[0] < width <= other[0]:
            yield conjunct.function, one, (other[0] - width, other[1])
        elif other[0] < width <= one[0]:
            yield SWAPPED[conjunct.function], other, (one[0] - width, one[1])


def _term(scalar: Expression) -> Term | None:
    """Return the column that an expression is, and the milliseconds that it is later."""
    if isinstance(scalar, Field):
        return scalar.position, 0
    if isinstance(scalar, Call) and scalar.function == "sql_shift":
        inner, by = _term(scalar.arguments[0]), scalar.arguments[1]
        if inner is not None and isinstance(by, Literal) and isinstance(by.value, int):
            return inner[0], inner[1] + by.value
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Join(TwoInputs):
    """A join over all rows, or over those whose event times are close.

    Attributes:
        ttls_ms: Time after which rows of each side are forgotten, of a hint; None takes that of the job.
        interval: Bounds of the distance between event times, as part of the condition; None if it is not bounded.
    """

    tag: ClassVar[str] = "Join"

    type: JoinKind
    ttls_ms: tuple[int | None, int | None] = (None, None)
    interval: TimeInterval | None = None

    @property
    def form(self) -> int:
        """Number of the form of its state: with an interval, that of interval joins of streams."""
        return 1 if self.interval is None else 2

    @property
    def state(self) -> str | None:
        """The kept state, in words."""
        if self.interval is None:
            return "all rows of both sides"
        left, right = self.interval.reaches_ms
        return f"rows until the watermark is {left} ms (left) or {right} ms (right) behind them"

    @property
    def is_bounded(self) -> bool:
        """True if the watermark bounds its state."""
        return self.interval is not None

    def __str__(self) -> str:
        kind = self.type.value
        named = kind if self.interval is None else f"Interval {kind.lower()}"
        return f"{named} on {self.compared()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporalJoin(TwoInputs):
    """Rows, each beside the version of the right row that was valid at its time; the right side has the changes of versions.

    Attributes:
        keeps_unmatched: Whether a row without a version stays, beside NULL.
    """

    tag: ClassVar[str] = "TemporalJoin"

    left_time: int
    right_time: int
    keeps_unmatched: bool

    @property
    def form(self) -> int:
        """Number of the form of its state: that of as-of joins."""
        return 2

    @property
    def state(self) -> str | None:
        """The kept state, in words."""
        return "a version per key, and the rows ahead of the watermark"

    @property
    def is_forgotten(self) -> bool:
        """True if `table.exec.state.ttl` limits its state: a version is kept until the next one."""
        return False

    def __str__(self) -> str:
        return (
            f"{'Left temporal' if self.keeps_unmatched else 'Temporal'} join on {self.compared()}"
        )


def joined(
    left: Relation,
    right: Relation,
    kind: JoinKind,
    keys: Sequence[tuple[Expression, Expression]],
    condition: Expression | None,
    ttls_ms: tuple[int | None, int | None] = (None, None),
) -> Join:
    """Return a join; see `Join`.

    It is an interval join if its condition bounds the distance between the event times of rows that are not taken back. A hint of a
    time-to-live requires a join of all rows.
    """
    both = left.is_insert_only and right.is_insert_only
    interval = interval_of(left, right, keys, condition) if both and not any(ttls_ms) else None
    if interval is not None:
        left = in_time(left, interval.left.position)
        right = in_time(right, interval.right.position)
    may_take_back = interval is None and (kind.pads(0) or kind.pads(1) or not both)
    sides = left.columns if kind.is_existence else (*left.columns, *right.columns)
    columns = [SqlColumn(column.name, column.type) for column in sides]
    if interval is not None:
        _keep_times(columns, (left, right), interval, kind)
    return Join(
        left=left,
        right=right,
        type=kind,
        left_keys=tuple(one for one, _ in keys),
        right_keys=tuple(other for _, other in keys),
        condition=condition,
        ttls_ms=ttls_ms,
        interval=interval,
        columns=distinct_names(columns),
        keys=left.keys if kind.is_existence else _joined_keys(left, right),
        changelog=Changelog.RETRACT if may_take_back else Changelog.INSERT_ONLY,
    )


def joined_by_names(
    left: Relation, right: Relation, kind: JoinKind, names: Sequence[str]
) -> Project:
    """Return a join on columns of equal names: all columns of the left side, then those of the right one that are not compared."""
    lefts, rights = (
        {
            column.name: Field(column.name, column.type, position)
            for position, column in enumerate(side.columns)
        }
        for side in (left, right)
    )
    rows = joined(left, right, kind, [(lefts[name], rights[name]) for name in names], None)
    behind = {name: shifted(field, len(lefts)) for name, field in rights.items()}
    outputs: list[Expression] = [
        compared_value(field, behind[name], kind) if name in names else field
        for name, field in lefts.items()
    ]
    outputs += [field for name, field in behind.items() if name not in names]
    columns = (*left.columns, *(column for column in right.columns if column.name not in names))
    return Project(
        input=rows,
        outputs=tuple(outputs),
        columns=tuple(SqlColumn(column.name, column.type) for column in columns),
        changelog=rows.changelog,
    )


def compared_value(left: Expression, right: Expression, kind: JoinKind) -> Expression:
    """Return the value of a compared column in the result: that of the row that is there."""
    if kind is JoinKind.RIGHT:
        return right
    return Call("coalesce", (left, right), kind=left.type) if kind is JoinKind.FULL else left


def _keep_times(
    columns: list[SqlColumn],
    sides: tuple[Relation, Relation],
    interval: TimeInterval,
    kind: JoinKind,
) -> None:
    """Set, for the times that an interval join compares, how far behind the watermark its rows may be.

    A row waits for its matches as long as it is kept. A side that is padded with NULL has no time.
    """
    begin = 0
    for side, time in enumerate((interval.left, interval.right)):
        index, source = begin + time.position, sides[side].columns[time.position]
        begin += len(sides[side].columns)
        if index < len(columns) and not kind.pads(1 - side) and source.is_time:
            columns[index] = replace(columns[index], is_time=True, lag_ms=interval.reaches_ms[side])


def _joined_keys(left: Relation, right: Relation) -> frozenset[frozenset[int]]:
    width = len(left.columns)
    return frozenset(
        one | frozenset(index + width for index in other)
        for one in left.keys
        for other in right.keys
    )
