"""Relations that depend on order or time within a key: OVER, and temporal joins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from penstock.sql.functions.over import OverCall, Reach, reach_of
from penstock.sql.relations.tree import OneInput, SqlRelation, TwoInputs, names_at
from penstock.types.row_order import SortColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class Over(OneInput):
    """Rows with the values of window functions as further columns.

    Attributes:
        partition: Positions of the columns of the partition.
        order: Of ORDER BY.
        calls: The functions.
        time: Position of the event time, if rows come when the watermark has reached theirs; None if they come at once, and
            change.
    """

    tag: ClassVar[str] = "Over"

    partition: tuple[int, ...]
    order: tuple[SortColumn, ...]
    calls: tuple[OverCall, ...]
    time: int | None = None

    @property
    def state(self) -> str | None:
        """The kept state, in words."""
        return "all rows of each partition" if self.time is None else _kept(reach_of(self.calls))

    @property
    def is_bounded(self) -> bool:
        """True if the watermark says when what it keeps is forgotten."""
        return self.time is not None and not reach_of(self.calls).is_endless

    def __str__(self) -> str:
        by = names_at(self.columns, self.partition) or "nothing"
        return f"Over {by}: {', '.join(map(str, self.calls))}"


def _kept(reach: Reach) -> str:
    kept = ["the rows ahead of the watermark"]
    if reach.rows:
        kept.append(f"the last {reach.rows} of each partition")
    if reach.ms:
        kept.append(f"those of the last {reach.ms} ms")
    if reach.runs:
        kept.append("an accumulator per partition")
    return ", ".join(kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delayed(OneInput):
    """The same rows, with watermarks that stay behind until no row is late.

    Attributes:
        lag_ms: How far they stay behind.
    """

    tag: ClassVar[str] = "Delayed"

    lag_ms: int

    def __str__(self) -> str:
        return f"Watermark {self.lag_ms} ms behind"


def in_time(relation: SqlRelation, position: int) -> SqlRelation:
    """Return rows of which none is behind the watermark with any of its event times, if one of them is to be used."""
    if not relation.columns[position].lag_ms:
        return relation
    lag_ms = max(each.lag_ms for each in relation.columns)
    columns = tuple(replace(each, lag_ms=0) for each in relation.columns)
    return Delayed(
        input=relation,
        lag_ms=lag_ms,
        columns=columns,
        keys=relation.keys,
        changelog=relation.changelog,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporalJoin(TwoInputs):
    """Rows, each beside the version of the right row that was valid at its time; the right side has the changes of versions.

    Attributes:
        left_time: Position of the time of left rows.
        right_time: Position of the time of right rows.
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
        """True if `table.exec.state.ttl` says when what it keeps is forgotten: a version is kept until the next one."""
        return False

    def __str__(self) -> str:
        return (
            f"{'Left temporal' if self.keeps_unmatched else 'Temporal'} join on {self.compared()}"
        )
