"""The table of relations: which operators compute each of them, and whether their job emits final rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from penstock.api.streams.columns.noted_queries import note_query
from penstock.config.options import RUNTIME_MODE, STATE_TTL, RuntimeExecutionMode
from penstock.expressions.functions import ScalarExecutor
from penstock.expressions.functions import because as because_of
from penstock.expressions.steps import SelectStep, WhereStep
from penstock.expressions.tree import Expression, Field, named
from penstock.graph.logical import LogicalGraph
from penstock.graph.query_source import QuerySource
from penstock.program.operators import SOURCE
from penstock.program.traverse import reachable
from penstock.relation.groups import GroupBy, WindowGroupBy, WindowTable
from penstock.relation.identity import digest_of
from penstock.relation.joins import Join, TemporalJoin
from penstock.relation.ordered import Frame, Over, OverCall, Rank, RowNumber, total_order
from penstock.relation.parts import AggregateCall
from penstock.relation.tree import (
    Correlate,
    Delayed,
    Filter,
    Normalize,
    Project,
    Relation,
    Scan,
    SqlColumn,
    Union,
    Values,
)
from penstock.sql.functions.changes import RowMaker
from penstock.sql.functions.correlate import CorrelateRows
from penstock.sql.functions.of_columns import calls_of_columns
from penstock.sql.functions.over import OverFunction, OverSpec
from penstock.sql.functions.timed_over import LateWatermark, TimedOver
from penstock.sql.lowering import joins, keyed, windows
from penstock.sql.lowering.evaluated import (
    Rows,
    evaluated,
    in_python,
    projected_by_columns,
    row_type,
)
from penstock.sql.lowering.keyed import by_columns, changes_of
from penstock.sql.lowering.rows import KeepRows, ProjectRows
from penstock.sql.query_binding.explain import Placement
from penstock.types.sql_types import BIGINT, BOOLEAN

_NUMBER = OverCall(
    AggregateCall("ROW_NUMBER", (), BIGINT, BIGINT), Frame(counts_rows=True, preceding=None)
)


def lower_row_number(lowering: Any, relation: RowNumber) -> Rows:
    """Return the stream of rows with their numbers, all of them."""
    return _over(lowering, relation, (_NUMBER,))


def lower_delayed(lowering: Any, relation: Delayed) -> Rows:
    """Return the stream of rows whose watermark stays behind."""
    rows = lowering.stream(relation.input)
    delayed: Rows = rows.transform(
        "late watermark", row_type(relation.columns), LateWatermark(relation.lag_ms)
    )
    return delayed


def lower_over(lowering: Any, relation: Over) -> Rows:
    """Return the stream of rows with the values of functions."""
    return _over(lowering, relation, relation.calls)


def _over(lowering: Any, relation: Over | RowNumber, calls: tuple[OverCall, ...]) -> Rows:
    spec = OverSpec(
        calls=calls,
        order=total_order(relation.order, len(relation.input.columns)),
        ordered=len(relation.order),
        names=tuple(column.name for column in relation.columns),
        ttl_ms=lowering.ttl_ms,
    )
    rows = by_columns(lowering.stream(relation.input), relation.partition)
    if relation.time is None:
        results = changes_of(rows, OverFunction(spec), relation.columns, "over")
    else:
        operator = TimedOver(spec, relation.time, row_type(relation.input.columns))
        results = rows.transform("over", row_type(relation.columns), operator)
    return lowering.with_uid(results, relation)  # type: ignore[no-any-return]


_CONDITION = "$condition"
_MILLISECOND = timedelta(milliseconds=1)


class Lowering:
    """Makes the streams of relations; equal relations are one stream.

    Attributes:
        ttl_ms: `table.exec.state.ttl` in milliseconds; None if state is kept.
        is_batch: True if the program runs in BATCH mode, which changes the place of a computation, never its result.
    """

    def __init__(self, environment: Any) -> None:
        """Make a lowering."""
        self.environment = environment
        self.ttl_ms = environment.get_configuration().get(STATE_TTL) // _MILLISECOND or None
        mode = environment.get_configuration().get(RUNTIME_MODE)
        self.is_batch = mode is RuntimeExecutionMode.BATCH
        self._rows: dict[int, tuple[Relation, Rows]] = {}

    def placement(self, graph: LogicalGraph | None = None) -> Placement:
        """Return the placement that EXPLAIN shows for the relations."""
        # The ids of a planned graph are others than those of the program.
        placed = [
            node.source.query
            for node in (() if graph is None else graph.nodes)
            if isinstance(node.source, QuerySource)
        ]
        keys = []
        for key, (_, rows) in self._rows.items():
            whole = self.environment.graph.node(rows.node_id).query
            if whole is not None and any(whole is query for query in placed):
                keys.append(key)
        return Placement(self.ttl_ms, frozenset(keys), self.is_batch)

    def stream(self, relation: Relation) -> Rows:
        """Return the stream of the rows of a relation, whose type has its columns."""
        lowered = self._rows.get(id(relation))
        if lowered is None:
            lowered = self._rows[id(relation)] = (relation, LOWER[type(relation)](self, relation))
            if not isinstance(relation, Scan):
                note_query(lowered[1], relation, self.stream)
        return lowered[1]

    def with_uid(self, rows: Rows, relation: Relation) -> Rows:
        """Return the stream of an operator, whose uid identifies its computation and the state of it.

        If two operators have the same computation, the uid of the second one has its place.
        """
        node = self.environment.graph.node(rows.node_id)
        uid = f"{node.name}-{digest_of(relation)}"
        is_taken = any(node.uid == uid for node in self.environment.graph.nodes())
        return rows if is_taken else rows.uid(uid)

    def name_operators(self) -> None:
        """Give a uid to each operator that is all of a relation, so that other statements do not change it.

        A generated uid depends on all readers of the operator. This comes last: chains of expressions grow while
        relations are lowered.
        """
        graph = self.environment.graph
        for relation, rows in self._rows.values():
            node = graph.node(rows.node_id)
            if node.uid is None and node.kind.is_operator:
                self.with_uid(rows, relation)


def _scan(lowering: Lowering, relation: Scan) -> Rows:
    rows: Rows = relation.table.make_stream(lowering.environment, relation.name)
    return rows


def _values(lowering: Lowering, relation: Values) -> Rows:
    kind = row_type(relation.columns)
    rows = RowMaker(kind.field_names).rows([list(row) for row in relation.rows])
    stream: Rows = lowering.environment.from_collection(rows, kind)
    return stream


def _correlate(lowering: Lowering, relation: Correlate) -> Rows:
    kind = row_type(relation.columns)
    function = CorrelateRows(
        relation.spec, tuple(kind.field_names), keeps_unmatched=relation.keeps_unmatched
    )
    stream: Rows = lowering.stream(relation.input).flat_map(function, kind)
    return stream.name(f"lateral {relation.spec.name or 'unnest'}")


def _filter(lowering: Lowering, relation: Filter) -> Rows:
    rows = lowering.stream(relation.input)
    because = because_of(relation.condition, ScalarExecutor.ARROW)
    if calls_of_columns(relation.condition):
        return _kept_by_columns(rows, relation)
    if because is not None:
        return rows.filter(KeepRows(relation.condition)).name(in_python("where", because))
    condition = named(relation.condition, _names(relation.input))
    return evaluated(rows, WhereStep(condition), "where")


def _kept_by_columns(rows: Rows, relation: Filter) -> Rows:
    """Return the rows for which a condition is true that calls functions of columns."""
    columns = relation.input.columns
    condition = SqlColumn(_CONDITION, BOOLEAN)
    outputs: list[Expression] = [
        Field("", column.type, index) for index, column in enumerate(columns)
    ]
    marked = projected_by_columns(
        rows, len(columns), [*outputs, relation.condition], (*columns, condition), "where"
    )
    selected = evaluated(marked, WhereStep(Field(_CONDITION, BOOLEAN.type_info)), "where")
    fields = ((column.name, Field(column.name, column.type.type_info)) for column in columns)
    return evaluated(selected, SelectStep(tuple(fields)), "select")


def _project(lowering: Lowering, relation: Project) -> Rows:
    rows = lowering.stream(relation.input)
    names = _names(relation)
    if any(map(calls_of_columns, relation.outputs)):
        width = len(relation.input.columns)
        return projected_by_columns(rows, width, relation.outputs, relation.columns, "select")
    reasons = (because_of(output, ScalarExecutor.ARROW) for output in relation.outputs)
    because = next((reason for reason in reasons if reason is not None), None)
    if because is not None:
        selected = rows.map(ProjectRows(relation.outputs, names), row_type(relation.columns))
        return selected.name(in_python("select", because))
    fields = _names(relation.input)
    outputs = zip(names, (named(output, fields) for output in relation.outputs), strict=True)
    return evaluated(rows, SelectStep(tuple(outputs)), "select")


def _names(relation: Relation) -> list[str]:
    return [column.name for column in relation.columns]


LOWER: Mapping[type[Relation], Callable[[Lowering, Any], Rows]] = {
    Scan: _scan,
    Values: _values,
    Correlate: _correlate,
    Filter: _filter,
    Project: _project,
    Union: keyed.lower_union,
    Normalize: keyed.lower_normalize,
    GroupBy: keyed.lower_aggregate,
    Rank: keyed.lower_rank,
    Join: joins.lower_join,
    WindowTable: windows.lower_window,
    WindowGroupBy: windows.lower_window_group,
    RowNumber: lower_row_number,
    Over: lower_over,
    TemporalJoin: joins.lower_temporal_join,
    Delayed: lower_delayed,
}
"""Class of a relation to what makes its stream."""


def runs_as_batch(environment: Any, relations: Sequence[Relation]) -> bool:
    """Return whether the job of some relations emits final rows: the mode is BATCH, or AUTOMATIC and all tables end."""
    mode = environment.get_configuration().get(RUNTIME_MODE)
    if mode is not RuntimeExecutionMode.AUTOMATIC:
        return mode is RuntimeExecutionMode.BATCH
    graph = environment.graph
    with graph.draft():
        lowering = Lowering(environment)
        nodes = [lowering.stream(source).node_id for source in relations]
        read = map(graph.node, reachable(nodes, lambda key: graph.node(key).inputs))
        return all(node.source.is_bounded for node in read if node.kind == SOURCE)
