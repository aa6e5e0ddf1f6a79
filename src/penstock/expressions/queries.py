"""Queries as values: what Spark SQL computes of whole queries in a batch run.

    WhereOf less(1, 0)                    rows of `bid` whose second column is less than the first
      QueryInput 0

Columns have no names: expressions read a column by its position, and those of a join read those of both sides.
The package of SQL writes such a query where Spark SQL has the same rows; the Spark package carries it out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from penstock.expressions.functions import ScalarExecutor, because
from penstock.expressions.tree import Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Base of queries.

    Attributes:
        types: Spark's names of the types of its columns.
    """

    types: tuple[str, ...]

    @property
    def inputs(self) -> tuple[Query, ...]:
        """The queries that it reads."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryInput(Query):
    """The rows of a source.

    Attributes:
        number: Of the source among those of the query.
    """

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OfOne(Query):
    """Base of queries of one query.

    Attributes:
        input: The rows.
    """

    input: Query

    @property
    def inputs(self) -> tuple[Query, ...]:
        """The queries that it reads."""
        return (self.input,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Required(OfOne):
    """The rows, of which one whose column is NULL is an error.

    Attributes:
        column: Position of the column.
        name: Its name, for the message.
    """

    column: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WhereOf(OfOne):
    """The rows for which a condition is true.

    Attributes:
        condition: Of type BOOLEAN.
    """

    condition: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectOf(OfOne):
    """Rows of expressions.

    Attributes:
        outputs: An expression per column.
    """

    outputs: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class QueryAggregate:
    """An aggregate of a group or a frame.

    Attributes:
        function: `count`, `sum`, `avg`, `min`, `max`; in frames `row_number`, `rank` and `dense_rank`, too.
        argument: Position of the column; None counts rows.
        type: Spark's name of the type of the result.
        is_distinct: Whether equal values count once.
        filter: Position of a condition that rows must satisfy; None is none.
    """

    function: str
    argument: int | None
    type: str
    is_distinct: bool = False
    filter: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(OfOne):
    """A row per group: its columns, which are the first ones, and the aggregates. There is none without rows.

    Attributes:
        keys: How many columns the group has.
        calls: The aggregates.
    """

    keys: int
    calls: tuple[QueryAggregate, ...]


class Matching(Enum):
    """Rows that a join returns, by Spark's names."""

    INNER = "inner"
    LEFT = "left_outer"
    RIGHT = "right_outer"
    FULL = "full_outer"
    SEMI = "left_semi"
    ANTI = "left_anti"


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinOf(Query):
    """A join.

    Attributes:
        left: The left side.
        right: The right side.
        matching: Which rows it returns.
        conditions: Over the columns of both sides; all must be true.
    """

    left: Query
    right: Query
    matching: Matching
    conditions: tuple[Expression, ...]

    @property
    def inputs(self) -> tuple[Query, ...]:
        """The queries that it reads."""
        return (self.left, self.right)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnionOf(Query):
    """All rows of some queries of the same types.

    Attributes:
        parts: The queries.
    """

    parts: tuple[Query, ...]

    @property
    def inputs(self) -> tuple[Query, ...]:
        """The queries that it reads."""
        return self.parts


@dataclass(frozen=True, slots=True)
class Ordering:
    """A column of ORDER BY.

    Attributes:
        position: Of the column.
        is_descending: Whether great values come first.
        nulls_first: Whether NULL comes first.
    """

    position: int
    is_descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class FrameOf:
    """The rows that a value of OVER depends on, up to the row itself.

    Attributes:
        preceding: How many rows back; None is to the begin.
        with_equals: Whether rows that are equal in the order are in one another's frame.
        is_whole: Whether it is the whole partition.
    """

    preceding: int | None = None
    with_equals: bool = False
    is_whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OverOf(OfOne):
    """Rows with the values of window functions as further columns.

    Attributes:
        partition: Positions of the columns of the partition.
        order: All columns, those of ORDER BY first.
        ordered: How many of them ORDER BY has.
        calls: The functions, with their frames.
    """

    partition: tuple[int, ...]
    order: tuple[Ordering, ...]
    ordered: int
    calls: tuple[tuple[QueryAggregate, FrameOf], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstOf(OfOne):
    """The first rows of each partition.

    Attributes:
        partition: Positions of the columns of the partition.
        order: All columns, those of ORDER BY first.
        start: How many rows are left out before.
        end: Position behind the last row.
        has_number: Whether the number of the row is the last column.
    """

    partition: tuple[int, ...]
    order: tuple[Ordering, ...]
    start: int
    end: int
    has_number: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowsOf(OfOne):
    """Rows with begin, end and last millisecond of the windows that they are in.

    Attributes:
        time: Position of the column with the time of a row; without one a row is in no window.
        size_ms: Length of a window; of a session the gap.
        step_ms: Distance of starts; None is sessions.
        offset_ms: By which all windows are later.
        partition: Positions of the columns that sessions are about.
    """

    time: int
    size_ms: int
    step_ms: int | None
    offset_ms: int = 0
    partition: tuple[int, ...] = ()


def is_projection(query: Query) -> bool:
    """Return whether a query is conditions and selections of one source that Arrow computes, too.

    Then they are operators of columns, which `plan.projections` places.
    """
    return all(map(_is_step, parts_of_query(query)))


def _is_step(query: Query) -> bool:
    if isinstance(query, QueryInput):
        return True
    made: tuple[Expression, ...] = (query.condition,) if isinstance(query, WhereOf) else ()
    made = query.outputs if isinstance(query, SelectOf) else made
    return isinstance(query, WhereOf | SelectOf) and not any(
        because(each, ScalarExecutor.ARROW) for each in made
    )


def renumbered(query: Query, numbers: Mapping[int, int]) -> Query:
    """Return a query that reads the same sources by other numbers."""
    if isinstance(query, QueryInput):
        return replace(query, number=numbers[query.number])
    if isinstance(query, JoinOf):
        left, right = (renumbered(each, numbers) for each in query.inputs)
        return replace(query, left=left, right=right)
    if isinstance(query, UnionOf):
        return replace(query, parts=tuple(renumbered(each, numbers) for each in query.parts))
    assert isinstance(query, OfOne), "there are no other queries"
    return replace(query, input=renumbered(query.input, numbers))


def parts_of_query(query: Query) -> Iterator[Query]:
    """Yield a query, those that it reads, and so on."""
    todo = [query]
    while todo:
        current = todo.pop()
        yield current
        todo += current.inputs
