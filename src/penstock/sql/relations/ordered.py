"""Relations that depend on order or time within a key: OVER, and temporal joins."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.sql.functions.over import OverCall
from penstock.sql.functions.ranking import SortColumn
from penstock.sql.relations.tree import SqlRelation
from penstock.sql.scalars.tree import Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Over(SqlRelation):
    """Rows with the values of window functions as further columns.

    Attributes:
        input: The rows.
        partition: Positions of the columns of the partition.
        order: Of ORDER BY.
        calls: The functions.
    """

    input: SqlRelation
    partition: tuple[int, ...]
    order: tuple[SortColumn, ...]
    calls: tuple[OverCall, ...]

    @property
    def inputs(self) -> tuple[SqlRelation, ...]:
        """The relations it reads."""
        return (self.input,)

    @property
    def state(self) -> str | None:
        """What it keeps, in words."""
        return "all rows of each partition"

    def __str__(self) -> str:
        by = ", ".join(self.columns[at].name for at in self.partition) or "nothing"
        return f"Over {by}: {', '.join(map(str, self.calls))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporalJoin(SqlRelation):
    """Rows, each beside the version of the right row that was valid at its time.

    Attributes:
        left: The rows.
        right: The changes of the versions, by key.
        left_keys: Expressions of the left side.
        right_keys: The key of the versions, in the same order.
        left_time: Position of the time of left rows.
        right_time: Position of the time of right rows.
        keeps_unmatched: Whether a row without a version stays, beside NULL.
        condition: What a row and its version must satisfy, over the columns of both; None is nothing.
    """

    left: SqlRelation
    right: SqlRelation
    left_keys: tuple[Scalar, ...]
    right_keys: tuple[Scalar, ...]
    left_time: int
    right_time: int
    keeps_unmatched: bool
    condition: Scalar | None

    @property
    def inputs(self) -> tuple[SqlRelation, ...]:
        """The relations it reads."""
        return (self.left, self.right)

    @property
    def state(self) -> str | None:
        """What it keeps, in words."""
        return "a version per key, and the rows ahead of the watermark"

    def __str__(self) -> str:
        pairs = zip(self.left_keys, self.right_keys, strict=True)
        on = " and ".join(f"{left} = {right}" for left, right in pairs)
        return f"{'Left temporal' if self.keeps_unmatched else 'Temporal'} join on {on}"
