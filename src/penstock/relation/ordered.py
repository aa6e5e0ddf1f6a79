"""Relations that depend on the order or time of rows within a key: OVER, numbers of rows, and first rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from penstock.relation.parts import AggregateCall
from penstock.relation.tree import Changelog, OneInput, Relation, names_at
from penstock.types.row_order import SortColumn

RANKS = frozenset({"ROW_NUMBER", "RANK", "DENSE_RANK"})
"""Functions of the rows and the groups of peers before a row."""

_OF_KEPT_ROWS = frozenset({"LAG", "LEAD", "LAST_VALUE"})


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows that a value depends on, up to the row itself.

    Attributes:
        counts_rows: Whether `preceding` counts rows; else it is a distance of the first column of the order, and rows that
            are equal in the order are in one another's frame.
        preceding: How far back; None is to the begin.
        is_whole: Whether it is the whole partition, whatever the order.
    """

    counts_rows: bool
    preceding: int | None
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class OverCall:
    """A function of OVER.

    Attributes:
        call: The aggregate, or a function of the position of a row.
        frame: The rows that it depends on.
        default: Position of the column that LAG and LEAD return where there is no row; None is NULL.
    """

    call: AggregateCall
    frame: Frame
    offset: int = 1
    default: int | None = None

    @property
    def is_running(self) -> bool:
        """True if rows need not be kept for later ones: each adds to what those before it made."""
        function = self.call.function
        if function in RANKS or function in _OF_KEPT_ROWS:
            return function in RANKS
        return self.frame.preceding is None and not self.frame.is_whole

    def __str__(self) -> str:
        return f"{self.call} OVER"


@dataclass(frozen=True, slots=True)
class Reach:
    """The distance that frames reach back, in order of an event time.

    Attributes:
        rows: How many rows before a row.
        ms: For how many milliseconds before it; None if no frame is one of time.
        runs: Whether a function runs on from the begin of the partition.
    """

    rows: int
    ms: int | None
    runs: bool

    @property
    def is_endless(self) -> bool:
        """True if a partition has state at any watermark."""
        return self.runs or bool(self.rows)


def reach_of(calls: Sequence[OverCall]) -> Reach:
    """Return how far the frames of functions reach back."""
    rows, ms = 0, None
    for over in calls:
        frame = over.frame
        if over.call.function == "LAG":
            rows = max(rows, over.offset)
        elif over.is_running or frame.preceding is None:
            continue
        elif frame.counts_rows:
            rows = max(rows, frame.preceding)
        else:
            ms = max(ms or 0, frame.preceding)
    return Reach(rows, ms, any(over.is_running for over in calls))


@dataclass(frozen=True, slots=True, kw_only=True)
class Over(OneInput):
    """Rows with the values of window functions as further columns.

    Attributes:
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
        """True if the watermark bounds its state."""
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
class RowNumber(OneInput):
    """Rows with their number in a partition, as the last column. Only a bound of the number makes it computable.

    Attributes:
        time: Position of the event time, if rows come when the watermark has reached theirs.
    """

    tag: ClassVar[str] = "RowNumber"

    partition: tuple[int, ...]
    order: tuple[SortColumn, ...]
    time: int | None = None

    @property
    def state(self) -> str | None:
        """The kept state, in words, if no bound makes first rows of it."""
        timed = "the rows ahead of the watermark, an accumulator per partition"
        return "all rows of each partition" if self.time is None else timed

    def __str__(self) -> str:
        return f"Row number by {names_at(self.columns, self.partition)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank(OneInput):
    """The first rows of each partition.

    Attributes:
        order: Columns of ORDER BY; then all other columns decide.
        start: How many rows are left out before.
        has_number: Whether the number of the row is the last column.
        window_end: Position of the end of the window, if the partition is one of a window: then rows come when it is over.
        time: Position of the event time, if the first row in ascending order of it comes when the watermark has reached it.
    """

    tag: ClassVar[str] = "Rank"

    partition: tuple[int, ...]
    order: tuple[SortColumn, ...]
    start: int
    end: int
    has_number: bool
    window_end: int | None = None
    time: int | None = None

    @property
    def state(self) -> str | None:
        """The kept state, in words."""
        if self.window_end is not None:
            return f"the first {self.end} rows of each partition of the windows that are not over"
        if self.time is not None:
            return "the first row of each partition until it is emitted, then a mark"
        first = f"the first {self.end} rows of each partition"
        return first if self.input.is_insert_only else f"{first}, and all rows"

    @property
    def is_bounded(self) -> bool:
        """True if the watermark bounds its state."""
        return self.window_end is not None

    def __str__(self) -> str:
        by = names_at(self.columns, self.partition) or "nothing"
        order = ", ".join(
            f"{self.columns[column.position].name}{' DESC' if column.is_descending else ''}"
            for column in self.order
        )
        behind = f" in order of {order}" if order else ""
        kind = "Rank" if self.window_end is None else "Window rank"
        return f"{kind} {self.start + 1} to {self.end} by {by}{behind}"


def unique_by(relation: Relation, key: tuple[int, ...]) -> Relation:
    """Return rows of which no two have one key: of several the first one in order of all columns.

    A table with a primary key takes them. Otherwise a row that takes back another one of the same key, which came by
    another way, could remove what replaced it: Flink's SinkUpsertMaterializer has the same task.
    """
    unique_key = frozenset(key)
    is_known = any(known <= unique_key for known in relation.keys)
    if not key or relation.is_insert_only or is_known:
        return relation
    return Rank(
        input=relation,
        partition=key,
        order=(),
        start=0,
        end=1,
        has_number=False,
        columns=relation.columns,
        keys=frozenset({unique_key}),
        changelog=Changelog.RETRACT,
    )


def total_order(order: tuple[SortColumn, ...], width: int) -> tuple[SortColumn, ...]:
    """Return an order in which the columns that it does not have decide last."""
    ranked = {column.position for column in order}
    rest = (
        SortColumn(position, is_descending=False, nulls_first=True)
        for position in range(width)
        if position not in ranked
    )
    return (*order, *rest)
