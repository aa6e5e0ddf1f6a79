"""Relations that keep state: aggregations, first rows, and what makes a changelog complete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from penstock.sql.catalogue import Changelog, SqlColumn
from penstock.sql.functions.aggregate_call import AggregateCall
from penstock.sql.functions.parts import keeping_values
from penstock.sql.relations.tree import OneInput, SqlRelation, names_at
from penstock.sql.relations.windows import WindowRows, window_rows
from penstock.types.row_order import SortColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class Union(SqlRelation):
    """All rows of some relations of the same types.

    Attributes:
        parts: The relations.
    """

    tag: ClassVar[str] = "Union"

    parts: tuple[SqlRelation, ...]

    @property
    def inputs(self) -> tuple[SqlRelation, ...]:
        """The relations it reads."""
        return self.parts

    def __str__(self) -> str:
        return "Union all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Normalize(OneInput):
    """An upsert changelog with the rows that it replaces: what a join or an aggregation needs.

    Attributes:
        key: Positions of the columns of the key.
    """

    tag: ClassVar[str] = "Normalize"

    key: tuple[int, ...]

    @property
    def state(self) -> str | None:
        """The kept state, in words."""
        return "the last row of each key"

    def __str__(self) -> str:
        return f"Normalize by {names_at(self.columns, self.key)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupBy(OneInput):
    """A row per group; the first columns of its input are the group, and the aggregates read the others.

    Attributes:
        group: How many columns the group has.
        calls: The aggregates.
        ttl_ms: Time after which a group is forgotten, of a hint; None takes that of the job.
    """

    tag: ClassVar[str] = "GroupBy"

    group: int
    calls: tuple[AggregateCall, ...]
    ttl_ms: int | None = None

    @property
    def form(self) -> int:
        """Number of the form of its state: that of parts, or of parts with the number of rows."""
        return 2 if self.input.is_insert_only else 3

    @property
    def state(self) -> str | None:
        """The kept state, in words."""
        of_values = keeping_values(self.calls, is_insert_only=self.input.is_insert_only)
        more = f", all values of {', '.join(map(str, of_values))}" if of_values else ""
        return f"an accumulator per group{more}"

    def __str__(self) -> str:
        by = names_at(self.columns, range(self.group)) or "nothing"
        named = zip(self.columns[self.group :], self.calls, strict=True)
        made = ", ".join(f"{column.name}={call}" for column, call in named)
        return f"Group by {by}: {made}" if made else f"Distinct {by}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowGroupBy(GroupBy):
    """A row per group of a window, when the window is over."""

    tag: ClassVar[str] = "WindowGroupBy"

    @property
    def rows(self) -> WindowRows | str:
        """The rows before they have windows, or why each row gets its windows in Python."""
        found = window_rows(self.input, self.group)
        spec = None if isinstance(found, str) else found.spec
        has_one = spec is None or spec.function == "TUMBLE"
        if not has_one and any(each.user is not None for each in self.calls):
            return "a function of the user takes the rows of a window in order of arrival"
        return found

    @property
    def state(self) -> str | None:
        """The kept state, in words."""
        return "an accumulator per group of the windows that are not over"

    @property
    def is_bounded(self) -> bool:
        """True if the watermark says when what it keeps is forgotten."""
        return True

    def __str__(self) -> str:
        because = f" (rows in Python: {self.rows})" if isinstance(self.rows, str) else ""
        return f"Window {GroupBy.__str__(self).lower()}{because}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowNumber(OneInput):
    """Rows with their number in a partition, as the last column. Only a bound of the number makes it computable.

    Attributes:
        partition: Positions of the columns of the partition.
        order: Of ORDER BY.
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
        partition: Positions of the columns of the partition.
        order: Of ORDER BY; then all other columns decide.
        start: How many rows are left out before.
        end: Position behind the last row.
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
        """True if the watermark says when what it keeps is forgotten."""
        return self.window_end is not None

    def __str__(self) -> str:
        by = names_at(self.columns, self.partition) or "nothing"
        order = ", ".join(
            f"{self.columns[each.position].name}{' DESC' if each.is_descending else ''}"
            for each in self.order
        )
        behind = f" in order of {order}" if order else ""
        kind = "Rank" if self.window_end is None else "Window rank"
        return f"{kind} {self.start + 1} to {self.end} by {by}{behind}"


def unique_by(relation: SqlRelation, key: tuple[int, ...]) -> SqlRelation:
    """Return rows of which no two have one key: of several the first one in order of all columns.

    A table with a primary key takes them. Otherwise a row that takes back another one of the same key, which came by
    another way, could remove what replaced it: Flink's SinkUpsertMaterializer has the same task.
    """
    wanted = frozenset(key)
    is_known = any(known <= wanted for known in relation.keys)
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
        keys=frozenset({wanted}),
        changelog=Changelog.RETRACT,
    )


def distinct_names(columns: Sequence[SqlColumn]) -> tuple[SqlColumn, ...]:
    """Return columns, of which those of equal names get a number, as in Flink: `a`, `a0`, `a1`."""
    found: list[SqlColumn] = []
    taken = set()
    for each in columns:
        name, number = each.name, 0
        while name in taken:
            name, number = f"{each.name}{number}", number + 1
        taken.add(name)
        found.append(replace(each, name=name))
    return tuple(found)


def union(parts: tuple[SqlRelation, ...]) -> Union:
    """Return all rows of some relations, with the columns of the first."""
    is_insert_only = all(each.is_insert_only for each in parts)
    columns = tuple(
        SqlColumn(
            of_first.name,
            of_first.type,
            is_time=all(part.columns[at].is_time for part in parts),
            window=of_first.window
            if all(part.columns[at].window == of_first.window for part in parts)
            else "",
            lag_ms=max(part.columns[at].lag_ms for part in parts),
        )
        for at, of_first in enumerate(parts[0].columns)
    )
    return Union(
        parts=parts,
        columns=columns,
        changelog=Changelog.INSERT_ONLY if is_insert_only else Changelog.RETRACT,
    )


def aggregated(
    relation: SqlRelation, group: int, calls: tuple[AggregateCall, ...], names: tuple[str, ...]
) -> SqlRelation:
    """Return a row per group."""
    made = (SqlColumn(name, call.result) for name, call in zip(names, calls, strict=True))
    kept = relation.columns[:group]
    keys = frozenset({frozenset(range(group))})
    if relation.is_insert_only and {"start", "end"} <= {each.window for each in kept}:
        kept = tuple(replace(each, is_time=each.window == "time") for each in kept)
        return WindowGroupBy(
            input=relation, group=group, calls=calls, columns=(*kept, *made), keys=keys
        )
    kept = tuple(SqlColumn(each.name, each.type) for each in kept)
    return GroupBy(
        input=relation,
        group=group,
        calls=calls,
        columns=(*kept, *made),
        keys=keys,
        changelog=Changelog.INSERT_ONLY
        if not calls and relation.is_insert_only
        else Changelog.RETRACT,
    )
