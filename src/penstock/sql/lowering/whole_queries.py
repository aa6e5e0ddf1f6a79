"""Relations as queries of Spark SQL: the table of constructs that have the same rows there.

A relation has none if one of its constructs, functions or types may mean something else in Spark SQL: floats in sums, keys and orders, because
of NaN, of two zeros and of the order of additions; functions of the user; state that is forgotten; changes of a table. A
condition that may fail is one only directly behind what is read: Spark SQL may compute it before a join, for rows that the join drops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from penstock.expressions import queries
from penstock.expressions.facts import spark_type
from penstock.expressions.functions import ScalarExecutor, can_fail
from penstock.expressions.functions import because as because_of
from penstock.expressions.tree import Call, Expression, Literal, shifted
from penstock.graph.query_source import QueryRead, WholeQuery
from penstock.sql.catalogue import SqlColumn
from penstock.sql.functions.aggregate_call import AggregateCall
from penstock.sql.functions.over import OverCall
from penstock.sql.lowering.keyed import total_order
from penstock.sql.lowering.query_aggregates import KEYS, ORDERED, aggregate_of, over_call_of
from penstock.sql.relations.joins import Join, JoinType
from penstock.sql.relations.keyed import (
    GroupBy,
    Rank,
    RowNumber,
    Union,
    WindowGroupBy,
)
from penstock.sql.relations.ordered import Delayed, Over
from penstock.sql.relations.tree import Filter, Project, Scan, SqlRelation
from penstock.sql.relations.windows import WindowTable
from penstock.types.row_order import SortColumn
from penstock.types.sql_types import BOOLEAN

_MATCHING = {
    JoinType.INNER: queries.Matching.INNER,
    JoinType.LEFT: queries.Matching.LEFT,
    JoinType.RIGHT: queries.Matching.RIGHT,
    JoinType.FULL: queries.Matching.FULL,
    JoinType.SEMI: queries.Matching.SEMI,
    JoinType.ANTI: queries.Matching.ANTI,
}
_OF_ONE_SOURCE = (queries.QueryInput, queries.Required, queries.WhereOf, queries.SelectOf)

Read = Callable[[Scan], "tuple[QueryRead | WholeQuery | str, int | None]"]
"""A table to what is read of it, a query, or why it is no columns; and the position of a column that is never NULL."""

_Written = queries.Query | None


class QueryWriter:
    """Writes the queries of relations; equal relations are one query.

    Attributes:
        because: Why the last relation has no query; empty if it has one.
    """

    def __init__(self, read: Read, *, forgets: bool) -> None:
        """Make a writer."""
        self._read = read
        self._forgets = forgets
        self._known: dict[int, tuple[SqlRelation, _Written, str]] = {}
        self._reads: list[QueryRead] = []
        self.because = ""

    def whole(self, relation: SqlRelation) -> WholeQuery:
        """Return what Spark SQL may compute in the place of the operators of a relation."""
        query = self.query(relation)
        if query is None:
            return WholeQuery(None, because=self.because)
        numbers = sorted(
            {
                each.number
                for each in queries.parts_of_query(query)
                if isinstance(each, queries.QueryInput)
            }
        )
        places = {number: at for at, number in enumerate(numbers)}
        reads = tuple(self._reads[number] for number in numbers)
        return WholeQuery(queries.renumbered(query, places), reads)

    def query(self, relation: SqlRelation) -> _Written:
        """Return the query of a relation, None if Spark SQL does not have the same rows."""
        known = self._known.get(id(relation))
        if known is None:
            self.because = ""
            write = _WRITE.get(type(relation))
            found = None
            if self._forgets and relation.state is not None:
                self.refuse("state is forgotten after table.exec.state.ttl")
            elif write is None:
                self.refuse(f"{relation} has no counterpart in Spark SQL")
            else:
                found = write(self, relation)
            known = self._known[id(relation)] = (relation, found, self.because)
        _, found, self.because = known
        return found

    def refuse(self, because: str) -> None:
        """Note why there is no query."""
        self.because = self.because or because

    def types(self, columns: Sequence[SqlColumn]) -> tuple[str, ...] | None:
        """Return Spark's types of columns; None if it has not one of them with the same values."""
        found = [(each, spark_type(each.type)) for each in columns]
        for each, kind in found:
            if kind is None:
                self.refuse(f"the column {each.name!r} is {each.type}")
                return None
        return tuple(kind for _, kind in found if kind is not None)

    def scalars(self, *scalars: Expression) -> tuple[Expression, ...] | None:
        """Return expressions of a query, None if one has no counterpart."""
        made = tuple(map(narrowed, scalars))
        found = next(
            (why for each in made if (why := because_of(each, ScalarExecutor.SPARK_SQL))), None
        )
        if found is not None:
            self.refuse(f"{found} may be something else in Spark SQL")
            return None
        return made

    def are_of(self, columns: Sequence[SqlColumn], kinds: frozenset[str], what: str) -> bool:
        """Return whether columns have one of some types; note the first that has not."""
        for each in columns:
            if each.type.name not in kinds:
                self.refuse(f"{what} {each.name!r} is {each.type}")
                return False
        return True

    # The table of constructs

    def scan(self, relation: Scan) -> _Written:
        """Return what is read of a table."""
        found, required = self._read(relation)
        if isinstance(found, str):
            self.refuse(found)
            return None
        if isinstance(found, WholeQuery):
            if found.query is None:
                self.refuse(found.because)
                return None
            places = {at: self._number(read) for at, read in enumerate(found.reads)}
            rows = queries.renumbered(found.query, places)
        else:
            types = self._types_of_table(relation)
            if types is None:
                return None
            rows = queries.QueryInput(number=self._number(found), types=types)
        if required is None:
            return rows
        name = relation.columns[required].name
        return queries.Required(input=rows, column=required, name=name, types=rows.types)

    def _types_of_table(self, relation: Scan) -> tuple[str, ...] | None:
        if not relation.is_insert_only:
            self.refuse(f"table {relation.name!r} has changes")
            return None
        if any(each.type.name == "DECIMAL" for each in relation.columns):
            self.refuse(f"table {relation.name!r} has a column of DECIMAL")
            return None
        return self.types(relation.columns)

    def _number(self, read: QueryRead) -> int:
        for number, known in enumerate(self._reads):
            if known.source is read.source and known.chain == read.chain:
                return number
        self._reads.append(read)
        return len(self._reads) - 1

    def filter(self, relation: Filter) -> _Written:
        """Return the query of a condition."""
        rows, made = self.query(relation.input), None
        if rows is not None:
            made = self.scalars(relation.condition)
        if rows is None or made is None:
            return None
        (condition,) = made
        is_behind_input = all(
            isinstance(each, _OF_ONE_SOURCE) for each in queries.parts_of_query(rows)
        )
        if can_fail(condition) and not is_behind_input:
            self.refuse(f"the condition {relation.condition} may fail")
            return None
        return queries.WhereOf(input=rows, condition=condition, types=rows.types)

    def project(self, relation: Project) -> _Written:
        """Return the query of a selection."""
        rows = self.query(relation.input)
        types = None if rows is None else self.types(relation.columns)
        made = None if types is None else self.scalars(*relation.outputs)
        if rows is None or types is None or made is None:
            return None
        return queries.SelectOf(input=rows, outputs=made, types=types)

    def union(self, relation: Union) -> _Written:
        """Return the query of a union."""
        parts = [self.query(each) for each in relation.parts]
        known = tuple(each for each in parts if each is not None)
        if len(known) < len(parts):
            self._because_of(relation.parts)
            return None
        return queries.UnionOf(parts=known, types=known[0].types)

    def _because_of(self, relations: Sequence[SqlRelation]) -> None:
        for each in relations:
            if self.query(each) is None:
                return

    def group(self, relation: GroupBy) -> _Written:
        """Return the query of an aggregation."""
        if relation.ttl_ms is not None:
            self.refuse("a hint says when groups are forgotten")
            return None
        rows = self.query(relation.input)
        inside = relation.input.columns
        if rows is None or not self.are_of(inside[: relation.group], KEYS, "the group"):
            return None
        calls = [self._aggregate(each, inside) for each in relation.calls]
        types = self.types(relation.columns)
        if types is None or None in calls:
            return None
        known = tuple(each for each in calls if each is not None)
        return queries.Group(input=rows, keys=relation.group, calls=known, types=types)

    def _aggregate(
        self, call: AggregateCall, inside: Sequence[SqlColumn]
    ) -> queries.QueryAggregate | None:
        found = aggregate_of(call, inside)
        if isinstance(found, str):
            self.refuse(found)
            return None
        return found

    def join(self, relation: Join) -> _Written:
        """Return the query of a join."""
        if relation.ttls_ms != (None, None):
            self.refuse("a hint says when rows are forgotten")
            return None
        left, right = self.query(relation.left), self.query(relation.right)
        if left is None or right is None:
            self._because_of((relation.left, relation.right))
            return None
        keys = [*relation.left_keys, *relation.right_keys]
        wrong = next((each for each in keys if each.type.name not in ORDERED), None)
        if wrong is not None:
            self.refuse(f"the key {wrong} is {wrong.type}")
            return None
        width = len(relation.left.columns)
        pairs = zip(relation.left_keys, relation.right_keys, strict=True)
        conditions: list[Expression] = [
            Call("equal", (one, shifted(other, width)), kind=BOOLEAN) for one, other in pairs
        ]
        conditions += [] if relation.condition is None else [relation.condition]
        made = self.scalars(*conditions)
        types = self.types(relation.columns)
        if made is None or types is None:
            return None
        failing = next((each for each in made if can_fail(each)), None)
        if failing is not None:
            self.refuse(f"the condition {failing} may fail")
            return None
        return queries.JoinOf(
            left=left,
            right=right,
            matching=_MATCHING[relation.type],
            conditions=made,
            types=types,
        )

    def _order(
        self, relation: Rank | RowNumber | Over
    ) -> tuple[queries.Query, tuple[queries.Ordering, ...]] | None:
        rows = self.query(relation.input)
        inside = relation.input.columns
        if rows is None or not self.are_of(inside, ORDERED, "in an order"):
            return None
        return rows, tuple(map(_ordering, total_order(relation.order, len(inside))))

    def rank(self, relation: Rank) -> _Written:
        """Return the query of first rows."""
        found, types = self._order(relation), self.types(relation.columns)
        if found is None or types is None:
            return None
        rows, order = found
        return queries.FirstOf(
            input=rows,
            partition=relation.partition,
            order=order,
            start=relation.start,
            end=relation.end,
            has_number=relation.has_number,
            types=types,
        )

    def row_number(self, relation: RowNumber) -> _Written:
        """Return the query of numbered rows."""
        number = queries.QueryAggregate("row_number", None, "bigint")
        return self._over(relation, ((number, queries.FrameOf()),))

    def over(self, relation: Over) -> _Written:
        """Return the query of window functions."""
        calls = [self._over_call(each, relation.input.columns) for each in relation.calls]
        known = tuple(each for each in calls if each is not None)
        return self._over(relation, known) if len(known) == len(calls) else None

    def _over(
        self,
        relation: RowNumber | Over,
        calls: tuple[tuple[queries.QueryAggregate, queries.FrameOf], ...],
    ) -> _Written:
        found, types = self._order(relation), self.types(relation.columns)
        if found is None or types is None:
            return None
        rows, order = found
        return queries.OverOf(
            input=rows,
            partition=relation.partition,
            order=order,
            ordered=len(relation.order),
            calls=calls,
            types=types,
        )

    def _over_call(
        self, over: OverCall, inside: Sequence[SqlColumn]
    ) -> tuple[queries.QueryAggregate, queries.FrameOf] | None:
        found = over_call_of(over, inside)
        if isinstance(found, str):
            self.refuse(found)
            return None
        return found

    def windows(self, relation: WindowTable) -> _Written:
        """Return the query of windows."""
        spec, rows = relation.spec, self.query(relation.input)
        types = self.types(relation.columns)
        partition = [relation.input.columns[at] for at in relation.partition]
        if rows is None or types is None or not self.are_of(partition, KEYS, "the partition"):
            return None
        if spec.function == "CUMULATE" or spec.is_instant or spec.step_ms > spec.size_ms:
            self.refuse(f"the windows {spec}")
            return None
        return queries.WindowsOf(
            input=rows,
            time=spec.time,
            size_ms=spec.size_ms,
            step_ms=None if spec.function == "SESSION" else spec.step_ms,
            offset_ms=spec.offset_ms,
            partition=relation.partition,
            types=types,
        )


def narrowed(scalar: Expression) -> Expression:
    """Return an expression with `lower_ascii` for LOWER that is compared with constants of ASCII, and `regexp_misses` for a test of REGEXP_EXTRACT."""
    if not isinstance(scalar, Call):
        return scalar
    arguments = tuple(map(narrowed, scalar.arguments))
    inside = {each.function: each for each in arguments if isinstance(each, Call)}
    if scalar.function == "is_null" and "regexp_extract" in inside:
        return replace(inside["regexp_extract"], function="regexp_misses", kind=BOOLEAN)
    texts = [each.value for each in arguments if isinstance(each, Literal)]
    texts += scalar.parameters if scalar.function == "isin" else ()
    is_ascii = bool(texts) and all(type(each) is str and each.isascii() for each in texts)
    if is_ascii and "lower" in inside and scalar.function in {"equal", "not_equal", "isin"}:
        lower = replace(inside["lower"], function="lower_ascii")
        arguments = tuple(lower if each is inside["lower"] else each for each in arguments)
    return replace(scalar, arguments=arguments)


def _ordering(column: SortColumn) -> queries.Ordering:
    return queries.Ordering(column.position, column.is_descending, column.nulls_first)


_WRITE: Mapping[type[SqlRelation], Callable[[QueryWriter, Any], _Written]] = {
    Scan: QueryWriter.scan,
    Filter: QueryWriter.filter,
    Project: QueryWriter.project,
    Union: QueryWriter.union,
    GroupBy: QueryWriter.group,
    WindowGroupBy: QueryWriter.group,
    Join: QueryWriter.join,
    Rank: QueryWriter.rank,
    RowNumber: QueryWriter.row_number,
    Over: QueryWriter.over,
    WindowTable: QueryWriter.windows,
    Delayed: lambda writer, relation: writer.query(relation.input),
}
"""Class of a relation to what writes its query. Others have none."""
