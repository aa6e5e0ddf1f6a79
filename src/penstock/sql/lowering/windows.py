"""Operators of windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from operator import itemgetter
from typing import Any

from penstock.api.windows.assigner import WindowAssigner
from penstock.api.windows.time_assigners import (
    CumulatingEventTimeWindows,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.api.windows.windowed_stream import WindowedStream
from penstock.expressions import tree as columns
from penstock.expressions.steps import ExpressionChain, SelectStep, WhereStep
from penstock.expressions.tree import Call, Expression, Field, Literal
from penstock.program.operators import EXPRESSIONS, TIMESTAMPS
from penstock.program.timestamps import ColumnTimestamps
from penstock.program.windows import RegularWindows
from penstock.relation.groups import (
    TableWindows,
    WindowGroupBy,
    WindowRows,
    WindowTable,
    scanned,
)
from penstock.relation.parts import AggregateCall, GroupParts, group_parts
from penstock.relation.tree import Relation, SqlColumn
from penstock.sql.functions.windows import AssignWindows, AtWindowEnd, SessionFunction
from penstock.sql.lowering.evaluated import Rows, column_types, evaluated, row_type
from penstock.sql.lowering.keyed import by_columns
from penstock.sql.query_binding.conditions import all_of, projected, where
from penstock.types.sql_types import BIGINT, BOOLEAN

_ASSIGNERS: Mapping[str, Callable[[RegularWindows], WindowAssigner[Any, Any]]] = {
    "TUMBLE": lambda of: TumblingEventTimeWindows(of.size, of.offset % of.size),
    "HOP": lambda of: SlidingEventTimeWindows(of.size, of.slide, of.offset % of.slide),
    "CUMULATE": lambda of: CumulatingEventTimeWindows(of.size, of.slide, of.offset),
}
_ROWS = "$rows"
"""Column that rows satisfy a condition behind sessions by; then the number of these."""


def lower_window(lowering: Any, relation: WindowTable) -> Rows:
    """Return the stream of rows with their windows."""
    rows = lowering.stream(relation.input)
    kind = row_type(relation.columns)
    names = tuple(kind.field_names)
    name = relation.spec.function.lower()
    if relation.spec.function != "SESSION":
        assigned: Rows = rows.flat_map(AssignWindows(relation.spec, names), kind)
        return assigned.name(name)
    function = SessionFunction(relation.spec, row_type(relation.input.columns), names)
    sessions: Rows = by_columns(rows, relation.partition).process(function, kind)
    return lowering.with_uid(sessions.name(name), relation)  # type: ignore[no-any-return]


def lower_window_group(lowering: Any, relation: WindowGroupBy) -> Rows:
    """Return the stream of the groups of windows."""
    window_rows = relation.rows
    if not isinstance(window_rows, WindowRows):
        grouped = grouped_row_by_row(lowering, relation)
        return lowering.with_uid(grouped.name("window group by"), relation)  # type: ignore[no-any-return]
    is_filtered = window_rows.has_sessions and bool(window_rows.conditions)
    grouped = _merged(lowering, relation, window_rows, is_filtered=is_filtered)
    grouped = lowering.with_uid(grouped.name("window group by"), relation)
    return _of_any_row(grouped, relation.columns) if is_filtered else grouped


def _of_any_row(rows: Rows, outputs: tuple[SqlColumn, ...]) -> Rows:
    """Return the groups of sessions of which a row satisfies the condition behind them."""
    count = columns.Field(_ROWS, BIGINT.type_info)
    none = columns.Literal(0, BIGINT.type_info)
    is_any = columns.Call("greater", (count, none), (), BOOLEAN.type_info)
    filtered = evaluated(rows, WhereStep(is_any), "where")
    fields = (
        (column.name, columns.Field(column.name, column.type.type_info)) for column in outputs
    )
    return evaluated(filtered, SelectStep(tuple(fields)), "select")


def grouped_row_by_row(lowering: Any, relation: WindowGroupBy) -> Rows:
    """Return groups of rows that have windows: each has the last millisecond of its window as its time."""
    inside = relation.input.columns
    bounds = (position for position in range(relation.group) if inside[position].window == "end")
    rows = lowering.stream(relation.input)
    rows = rows.transform("window time", rows.get_type(), AtWindowEnd(next(bounds)))
    kind = row_type(relation.columns)
    read = column_types(inside)
    parts = group_parts(read, relation.group, relation.calls, kind, emits_changes=False)
    return _windowed(rows, parts, TumblingEventTimeWindows(1, 0), has_bounds=False)


def _windowed(
    rows: Rows,
    parts: GroupParts,
    assigner: WindowAssigner[Any, Any],
    *,
    has_bounds: bool,
) -> Rows:
    """Return the groups of windows of rows."""
    selector = itemgetter(*range(parts.keys))
    arguments = evaluated(rows, parts.arguments, "arguments", parts.records).key_by(selector)
    windows: WindowedStream[Any, Any] = WindowedStream(arguments, assigner)
    return windows._merged_parts(parts.chain, parts.aggregate, selector, has_bounds=has_bounds)  # noqa: SLF001 - as `aggregate` does


def _merged(
    lowering: Any, relation: WindowGroupBy, window_rows: WindowRows, *, is_filtered: bool
) -> Rows:
    """Return groups whose parts are merged by key and pane, wherever rows are.

    If they are filtered, the number of the rows that satisfy the conditions is their last column.
    """
    plain = [
        position
        for position in range(len(window_rows.outputs))
        if window_rows.bound(position) is None
    ]
    keys = sum(position < relation.group for position in plain)
    calls = [_moved(call, plain) for call in relation.calls]
    emitted = list(relation.columns)
    selected = [
        (relation.input.columns[position], window_rows.outputs[position]) for position in plain
    ]
    conditions = list(window_rows.conditions)
    if is_filtered:
        selected, calls = _filtered(selected, keys, calls, all_of(conditions))
        conditions.clear()
        emitted.append(SqlColumn(_ROWS, BIGINT))
    table = _selected(lowering, window_rows, conditions, selected)
    rows = lowering.stream(table)
    bounds = [window_rows.bound(position) for position in range(relation.group)]
    read, result_type = column_types(table.columns), row_type(tuple(emitted))
    parts = group_parts(read, keys, calls, result_type, emits_changes=False, bounds=bounds)
    assigner: WindowAssigner[Any, Any] = TumblingEventTimeWindows(1, 0)
    if window_rows.spec is not None:
        assigner = _assigner(window_rows.spec)
    return _windowed(rows, parts, assigner, has_bounds=any(bounds))


def _assigner(spec: TableWindows) -> WindowAssigner[Any, Any]:
    if spec.function == "SESSION":
        return EventTimeSessionWindows(spec.size_ms)
    return _ASSIGNERS[spec.function](spec.regular)


_Selected = list[tuple[SqlColumn, Expression]]


def _filtered(
    selected: _Selected, keys: int, calls: list[AggregateCall], condition: Expression | None
) -> tuple[_Selected, list[AggregateCall]]:
    """Return columns and aggregates of the rows that satisfy a condition, and behind these their number.

    Arguments of other rows are not computed: the condition may be there to leave out those that fail.
    """
    assert condition is not None, "there are conditions"
    filters = {call.filter for call in calls}
    outputs = selected[:keys]
    for position, (column, output) in enumerate(selected[keys:], keys):
        is_read = isinstance(output, Field) and position not in filters
        absent = Literal(None, output.type)
        chosen = output if is_read else Call("case", (condition, output, absent), kind=output.type)
        outputs.append((column, chosen))
    of_rows = len(outputs)
    filtered = [
        call if call.filter is not None else replace(call, filter=of_rows) for call in calls
    ]
    count = AggregateCall("COUNT", (), BIGINT, BIGINT, filter=of_rows)
    return [*outputs, (SqlColumn(_ROWS, BOOLEAN), condition)], [*filtered, count]


def _selected(
    lowering: Any, window_rows: WindowRows, conditions: list[Expression], selected: _Selected
) -> Relation:
    """Return the columns of a group without its bounds, and of its arguments, of rows that have a time."""
    table, spec = window_rows.input, window_rows.spec
    if spec is not None and not _has_times(lowering, spec, table):
        time = Field("", table.columns[spec.time].type, spec.time)
        absent = Call("is_null", (time,), kind=BOOLEAN)
        conditions = [Call("not", (absent,), kind=BOOLEAN), *conditions]
    rows = where(table, conditions)
    if selected:
        columns_of_rows, outputs = zip(*selected, strict=True)
        return projected(rows, columns_of_rows, outputs)
    first = table.columns[0]  # rows have a column
    return projected(rows, (first,), (Field(first.name, first.type, 0),))


def _has_times(lowering: Any, spec: TableWindows, relation: Relation) -> bool:
    """Return whether no row is without a time: timestamps are read from the column, and that refuses NULL."""
    graph = lowering.environment.graph
    for scan, position in scanned(relation, spec.time) or ():
        name = scan.columns[position].name
        node = graph.node(lowering.stream(scan).node_id)
        while node.kind == EXPRESSIONS and _passes_on(node.function, name):
            node = graph.node(node.inputs[0])
        assigner = node.watermarking.assigner if node.kind == TIMESTAMPS else None
        if not isinstance(assigner, ColumnTimestamps) or assigner.name != name:
            return False
    return True


def _passes_on(chain: ExpressionChain, name: str) -> bool:
    """Return whether a column is that of the same name in the records that a chain reads."""
    selections = (dict(step.outputs) for step in chain.steps if isinstance(step, SelectStep))
    outputs = (output.get(name) for output in selections)
    return all(
        isinstance(expression, columns.Field) and expression.name == name for expression in outputs
    )


def _moved(call: AggregateCall, kept: list[int]) -> AggregateCall:
    """Return an aggregate that reads rows without the bounds of windows."""
    condition = None if call.filter is None else kept.index(call.filter)
    return replace(call, arguments=tuple(map(kept.index, call.arguments)), filter=condition)
