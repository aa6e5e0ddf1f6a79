"""Relations that keep state: aggregations, joins, first rows, and what makes a changelog complete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from penstock.sql.catalogue import Changelog, SqlColumn
from penstock.sql.functions.group_aggregate import AggregateCall, keeps_values
from penstock.sql.functions.ranking import SortColumn
from penstock.sql.functions.windows import TableWindows
from penstock.sql.relations.tree import SqlRelation
from penstock.sql.scalars.tree import Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Union(SqlRelation):
    """All rows of some relations of the same types.

    Attributes:
        parts: The relations.
    """

    parts: tuple[SqlRelation, ...]

    @property
    def inputs(self) -> tuple[SqlRelation, ...]:
        """The relations it reads."""
        return self.parts

    def __str__(self) -> str:
        return "Union all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Normalize(SqlRelation):
    """An upsert changelog with the rows that it replaces: what a join or an aggregation needs.

    Attributes:
        input: The rows.
        key: Positions of the columns of the key.
    """

    input: SqlRelation
    key: tuple[int, ...]

    @property
    def inputs(self) -> tuple[SqlRelation, ...]:
        """The relations it reads."""
        return (self.input,)

    @property
    def state(self) -> str | None:
        """What it keeps, in words."""
        return "the last row of each key"

    def __str__(self) -> str:
        return f"Normalize by {_named(self.columns, self.key)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupBy(SqlRelation):
    """A row per group.

    Attributes:
        input: Rows whose first columns are the group, and whose others the aggregates read.
        group: How many columns the group has.
        calls: The aggregates.
        ttl_ms: Time after which a group is forgotten, of a hint; None takes that of the job.
    """

    input: SqlRelation
    group: int
    calls: tuple[AggregateCall, ...]
    ttl_ms: int | None = None

    @property
    def inputs(self) -> tuple[SqlRelation, ...]:
        """The relations it reads."""
        return (self.input,)

    @property
    def state(self) -> str | None:
        """What it keeps, in words."""
        is_insert_only = self.input.is_insert_only
        of_values = [c for c in self.calls if keeps_values(c, is_insert_only=is_insert_only)]
        more = f", all values of {', '.join(map(str, of_values))}" if of_values else ""
        return f"an accumulator per group{more}"

    def __str__(self) -> str:
        by = _named(self.columns, range(self.group)) or "nothing"
        named = zip(self.columns[self.group :], self.calls, strict=True)
        made = ", ".join(f"{column.name}={call}" for column, call in named)
        return f"Group by {by}: {made}" if made else f"Distinct {by}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowGroupBy(GroupBy):
    """A row per group of a window, when the window is over."""

    @property
    def state(self) -> str | None:
        """What it keeps, in words."""
        return "an accumulator per group of the windows that are not over"

    def __str__(self) -> str:
        return f"Window {GroupBy.__str__(self).lower()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowTable(SqlRelation):
    """Rows with the windows that they are in.

    Attributes:
        input: The rows.
        spec: The windows.
        partition: Positions of the columns that sessions are about.
    """

    input: SqlRelation
    spec: TableWindows
    partition: tuple[int, ...] = ()

    @property
    def inputs(self) -> tuple[SqlRelation, ...]:
        """The relations it reads."""
        return (self.input,)

    @property
    def state(self) -> str | None:
        """What it keeps, in words."""
        return "the rows of sessions that are not over" if self.spec.function == "SESSION" else None

    def __str__(self) -> str:
        by = _named(self.columns, self.partition)
        return f"Window {self.spec}{f' by {by}' if by else ''}"


class JoinType(Enum):
    """Which rows a join returns."""

    INNER = "Inner join"
    LEFT = "Left join"
    RIGHT = "Right join"
    FULL = "Full join"
    SEMI = "Semi join"
    ANTI = "Anti join"


@dataclass(frozen=True, slots=True, kw_only=True)
class Join(SqlRelation):
    """A join over all rows.

    Attributes:
        left: The left side.
        right: The right side.
        type: Which rows it returns.
        left_keys: Expressions of the left side.
        right_keys: Expressions of the right side that must be equal to them, and not NULL.
        condition: What rows must satisfy in addition, over the columns of both; None is nothing.
        ttls_ms: Time after which rows of each side are forgotten, of a hint; None takes that of the job.
    """

    left: SqlRelation
    right: SqlRelation
    type: JoinType
    left_keys: tuple[Scalar, ...]
    right_keys: tuple[Scalar, ...]
    condition: Scalar | None
    ttls_ms: tuple[int | None, int | None] = (None, None)

    @property
    def inputs(self) -> tuple[SqlRelation, ...]:
        """The relations it reads."""
        return (self.left, self.right)

    @property
    def state(self) -> str | None:
        """What it keeps, in words."""
        return "all rows of both sides"

    def __str__(self) -> str:
        pairs = zip(self.left_keys, self.right_keys, strict=True)
        on = " and ".join(f"{left} = {right}" for left, right in pairs) or "all rows"
        more = "" if self.condition is None else f" where {self.condition}"
        return f"{self.type.value} on {on}{more}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowNumber(SqlRelation):
    """Rows with their number in a partition, as the last column. Only a bound of the number makes it computable.

    Attributes:
        input: The rows.
        partition: Positions of the columns of the partition.
        order: Of ORDER BY.
    """

    input: SqlRelation
    partition: tuple[int, ...]
    order: tuple[SortColumn, ...]

    @property
    def inputs(self) -> tuple[SqlRelation, ...]:
        """The relations it reads."""
        return (self.input,)

    def __str__(self) -> str:
        return f"Row number by {_named(self.columns, self.partition)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank(SqlRelation):
    """The first rows of each partition.

    Attributes:
        input: The rows.
        partition: Positions of the columns of the partition.
        order: Of ORDER BY; then all other columns decide.
        start: How many rows are left out before.
        end: Position behind the last row.
        has_number: Whether the number of the row is the last column.
    """

    input: SqlRelation
    partition: tuple[int, ...]
    order: tuple[SortColumn, ...]
    start: int
    end: int
    has_number: bool

    @property
    def inputs(self) -> tuple[SqlRelation, ...]:
        """The relations it reads."""
        return (self.input,)

    @property
    def state(self) -> str | None:
        """What it keeps, in words."""
        first = f"the first {self.end} rows of each partition"
        return first if self.input.is_insert_only else f"{first}, and all rows"

    def __str__(self) -> str:
        by = _named(self.columns, self.partition) or "nothing"
        order = ", ".join(
            f"{self.columns[each.position].name}{' DESC' if each.is_descending else ''}"
            for each in self.order
        )
        behind = f" in order of {order}" if order else ""
        return f"Rank {self.start + 1} to {self.end} by {by}{behind}"


def unique_by(relation: SqlRelation, key: tuple[int, ...]) -> SqlRelation:
    """Return rows of which no two have one key: of several the first one in order of all columns.

    A table with a primary key takes them. Otherwise a row that takes back another one of the same key, which came by
    another way, could remove what replaced it: Flink's SinkUpsertMaterializer has the same task.

    Args:
        relation: The rows; insert-only ones and those that are known to be unique stay as they are.
        key: Positions of the columns of the key; none leaves the rows as they are.
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


def _named(columns: Sequence[SqlColumn], positions: Sequence[int]) -> str:
    return ", ".join(columns[at].name for at in positions)


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
        SqlColumn(of_first.name, of_first.type, all(part.columns[at].is_time for part in parts))
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
    """Return a row per group.

    Args:
        relation: Rows whose first columns are the group.
        group: How many.
        calls: The aggregates.
        names: Of the aggregates.
    """
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


_PADDED = {JoinType.LEFT, JoinType.RIGHT, JoinType.FULL}


def joined(
    left: SqlRelation,
    right: SqlRelation,
    kind: JoinType,
    keys: Sequence[tuple[Scalar, Scalar]],
    condition: Scalar | None,
    ttls_ms: tuple[int | None, int | None] = (None, None),
) -> Join:
    """Return a join; see `Join`."""
    is_existence = kind in {JoinType.SEMI, JoinType.ANTI}
    both = left.is_insert_only and right.is_insert_only
    may_take_back = kind in {*_PADDED, JoinType.ANTI} or not both
    sides = left.columns if is_existence else (*left.columns, *right.columns)
    columns = distinct_names([SqlColumn(each.name, each.type) for each in sides])
    return Join(
        left=left,
        right=right,
        type=kind,
        left_keys=tuple(each for each, _ in keys),
        right_keys=tuple(each for _, each in keys),
        condition=condition,
        ttls_ms=ttls_ms,
        columns=columns,
        keys=left.keys if is_existence else _joined_keys(left, right),
        changelog=Changelog.RETRACT if may_take_back else Changelog.INSERT_ONLY,
    )


def _joined_keys(left: SqlRelation, right: SqlRelation) -> frozenset[frozenset[int]]:
    width = len(left.columns)
    return frozenset(
        one | frozenset(at + width for at in other) for one in left.keys for other in right.keys
    )
