"""Joins of all rows, and of rows whose times are close, which need no row for ever."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import ClassVar

from penstock.sql.catalogue import Changelog, SqlColumn
from penstock.sql.functions.interval_join import TimeInterval
from penstock.sql.relations.intervals import interval_of
from penstock.sql.relations.keyed import distinct_names
from penstock.sql.relations.ordered import in_time
from penstock.sql.relations.tree import SqlRelation, TwoInputs
from penstock.sql.scalars.tree import Scalar


class JoinType(Enum):
    """Rows that a join returns."""

    INNER = "Inner join"
    LEFT = "Left join"
    RIGHT = "Right join"
    FULL = "Full join"
    SEMI = "Semi join"
    ANTI = "Anti join"


@dataclass(frozen=True, slots=True, kw_only=True)
class Join(TwoInputs):
    """A join over all rows, or over those whose event times are close.

    Attributes:
        type: Which rows it returns.
        ttls_ms: Time after which rows of each side are forgotten, of a hint; None takes that of the job.
        interval: How close event times are, as part of what is compared; None if that is not bounded.
    """

    tag: ClassVar[str] = "Join"

    type: JoinType
    ttls_ms: tuple[int | None, int | None] = (None, None)
    interval: TimeInterval | None = None

    @property
    def state(self) -> str | None:
        """The kept state, in words."""
        if self.interval is None:
            return "all rows of both sides"
        left, right = self.interval.reaches_ms
        return f"rows until the watermark is {left} ms (left) or {right} ms (right) behind them"

    @property
    def is_bounded(self) -> bool:
        """True if the watermark says when what it keeps is forgotten."""
        return self.interval is not None

    def __str__(self) -> str:
        kind = self.type.value
        named = kind if self.interval is None else f"Interval {kind.lower()}"
        return f"{named} on {self.compared()}"


_PADDED = {JoinType.LEFT, JoinType.RIGHT, JoinType.FULL}


def joined(
    left: SqlRelation,
    right: SqlRelation,
    kind: JoinType,
    keys: Sequence[tuple[Scalar, Scalar]],
    condition: Scalar | None,
    ttls_ms: tuple[int | None, int | None] = (None, None),
) -> Join:
    """Return a join; see `Join`.

    It is one of an interval if what it compares bounds the distance of the event times of rows that are not taken back. A hint of a
    time-to-live asks for a join of all rows.
    """
    is_existence = kind in {JoinType.SEMI, JoinType.ANTI}
    both = left.is_insert_only and right.is_insert_only
    interval = interval_of(left, right, keys, condition) if both and not any(ttls_ms) else None
    if interval is not None:
        left = in_time(left, interval.left.position)
        right = in_time(right, interval.right.position)
    may_take_back = interval is None and (kind in {*_PADDED, JoinType.ANTI} or not both)
    sides = left.columns if is_existence else (*left.columns, *right.columns)
    columns = [SqlColumn(each.name, each.type) for each in sides]
    if interval is not None:
        _keep_times(columns, (left, right), interval, kind)
    return Join(
        left=left,
        right=right,
        type=kind,
        left_keys=tuple(each for each, _ in keys),
        right_keys=tuple(each for _, each in keys),
        condition=condition,
        ttls_ms=ttls_ms,
        interval=interval,
        columns=distinct_names(columns),
        keys=left.keys if is_existence else _joined_keys(left, right),
        changelog=Changelog.RETRACT if may_take_back else Changelog.INSERT_ONLY,
    )


_PADS = {
    JoinType.LEFT: (True, False),
    JoinType.RIGHT: (False, True),
    JoinType.FULL: (True, True),
    JoinType.ANTI: (True, False),
}
"""Sides whose rows also come without a match."""


def _keep_times(
    columns: list[SqlColumn],
    sides: tuple[SqlRelation, SqlRelation],
    interval: TimeInterval,
    kind: JoinType,
) -> None:
    """Say of the times that an interval join compares how far behind the watermark its rows may be.

    A row waits for its matches as long as it is kept, and one that has none until its bucket is over. The time of a side that is padded
    with NULL is none.
    """
    pads = _PADS.get(kind, (False, False))
    begin = 0
    for side, time in enumerate((interval.left, interval.right)):
        at, source = begin + time.position, sides[side].columns[time.position]
        begin += len(sides[side].columns)
        is_padded = pads[1 - side] and kind is not JoinType.ANTI
        if at >= len(columns) or is_padded or not source.is_time:
            continue
        waits_ms = interval.width_ms - 1 if pads[side] else 0
        lag_ms = interval.reaches_ms[side] + waits_ms
        columns[at] = replace(columns[at], is_time=True, lag_ms=lag_ms)


def _joined_keys(left: SqlRelation, right: SqlRelation) -> frozenset[frozenset[int]]:
    width = len(left.columns)
    return frozenset(
        one | frozenset(at + width for at in other) for one in left.keys for other in right.keys
    )
