"""Operators of windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
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
from penstock.expressions.keyed_aggregate import WINDOW_BOUNDS, KeyedAggregate
from penstock.expressions.steps import ExpressionChain, SelectStep, WhereStep
from penstock.expressions.tree import Call, Expression, Field, Literal
from penstock.expressions.typing import typed
from penstock.program.operators import EXPRESSIONS, TIMESTAMPS
from penstock.program.timestamps import ColumnTimestamps
from penstock.program.windows import RegularWindows
from penstock.relation.groups import (
    BOUNDS,
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
from penstock.sql.lowering.keyed import by_columns, keyed
from penstock.sql.query_binding.conditions import all_of, projected, where
from penstock.types.records import RowTypeInfo
from penstock.types.sql_types import BIGINT, BOOLEAN

_ASSIGNERS: Mapping[str, Callable[[RegularWindows], WindowAssigner[Any, Any]]] = {
    "TUMBLE": lambda of: TumblingEventTimeWindows(of.size, of.offset % of.size),
    "HOP": lambda of: SlidingEventTimeWindows(of.size, of.slide, of.offset % of.slide),
    "CUMULATE": lambda of: CumulatingEventTimeWindows(of.size, of.slide, of.offset),
}
_ROWS = "$rows"
"""Column that rows satisfy a condition behind sessions by; then the number of these."""
_MICROS_OF_TIME = -1_000
"""From the end of a window to its last millisecond."""


def lower_window(lowering: Any, relation: WindowTable) -> Rows:
    """Return the stream of rows with their windows."""
    rows = lowering.stream(relation.input)
    made = row_type(relation.columns)
    names = tuple(made.field_names)
    name = relation.spec.function.lower()
    if relation.spec.function != "SESSION":
        assigned: Rows = rows.flat_map(AssignWindows(relation.spec, names), made)
        return assigned.name(name)
    function = SessionFunction(relation.spec, row_type(relation.input.columns), names)
    sessions: Rows = by_columns(rows, relation.partition).process(function, made)
    return lowering.stateful(sessions.name(name), relation)  # type: ignore[no-any-return]


def lower_window_group(lowering: Any, relation: WindowGroupBy) -> Rows:
    """Return the stream of the groups of windows."""
    found = relation.rows
    if not isinstance(found, WindowRows):
        made = grouped_row_by_row(lowering, relation)
        return lowering.stateful(made.name("window group by"), relation)  # type: ignore[no-any-return]
    is_filtered = found.has_sessions and bool(found.conditions)
    made = _merged(lowering, relation, found, is_filtered=is_filtered)
    made = lowering.stateful(made.name("window group by"), relation)
    return _of_any_row(made, relation.columns) if is_filtered else made


def _of_any_row(rows: Rows, made: tuple[SqlColumn, ...]) -> Rows:
    """Return the groups of sessions of which a row satisfies the condition behind them."""
    count = columns.Field(_ROWS, BIGINT.type_info)
    none = columns.Literal(0, BIGINT.type_info)
    is_any = columns.Call("greater", (count, none), (), BOOLEAN.type_info)
    kept = evaluated(rows, WhereStep(is_any), "where")
    fields = ((each.name, columns.Field(each.name, each.type.type_info)) for each in made)
    return evaluated(kept, SelectStep(tuple(fields)), "select")


def grouped_row_by_row(lowering: Any, relation: WindowGroupBy) -> Rows:
    """Return groups of rows that have windows: each has the last millisecond of its window as its time."""
    inside = relation.input.columns
    bounds = (at for at in range(relation.group) if inside[at].window == "end")
    rows = lowering.stream(relation.input)
    rows = rows.transform("window time", rows.get_type(), AtWindowEnd(next(bounds)))
    made = row_type(relation.columns)
    read = column_types(inside)
    parts = group_parts(read, relation.group, relation.calls, made, emits_changes=False)
    return _windowed(rows, parts, TumblingEventTimeWindows(1, 0), parts.aggregate, has_bounds=False)


def _windowed(
    rows: Rows,
    parts: GroupParts,
    assigner: WindowAssigner[Any, Any],
    function: KeyedAggregate,
    *,
    has_bounds: bool,
) -> Rows:
    """Return the groups of windows of rows."""
    selector = itemgetter(*range(parts.keys))
    arguments = keyed(evaluated(rows, parts.arguments, "arguments", parts.records), selector)
    windows: WindowedStream[Any, Any] = WindowedStream(arguments, assigner)
    return windows._merged_parts(parts.chain, function, selector, has_bounds=has_bounds)  # noqa: SLF001 - as `aggregate` does


def _merged(
    lowering: Any, relation: WindowGroupBy, found: WindowRows, *, is_filtered: bool
) -> Rows:
    """Return groups whose parts are merged by key and pane, wherever rows are.

    If they are filtered, the number of the rows that satisfy the conditions is their last column.
    """
    kept = [at for at in range(len(found.outputs)) if found.bound(at) is None]
    keys = sum(at < relation.group for at in kept)
    calls = [_moved(each, kept) for each in relation.calls]
    emitted = list(relation.columns)
    selected = [(relation.input.columns[at], found.outputs[at]) for at in kept]
    conditions = list(found.conditions)
    if is_filtered:
        selected, calls = _filtered(selected, keys, calls, all_of(conditions))
        conditions.clear()
        emitted.append(SqlColumn(_ROWS, BIGINT))
    table = _selected(lowering, found, conditions, selected)
    rows = lowering.stream(table)
    made = [c for at, c in enumerate(emitted) if at >= relation.group or at in kept]
    made_type = row_type(tuple(made))
    parts = group_parts(column_types(table.columns), keys, calls, made_type, emits_changes=False)
    bounds = [found.bound(at) for at in range(relation.group)]
    function = parts.aggregate
    assigner: WindowAssigner[Any, Any] = TumblingEventTimeWindows(1, 0)
    if found.spec is not None:
        assigner = _assigner(found.spec)
        function = _with_bounds(function, emitted, bounds)
    return _windowed(rows, parts, assigner, function, has_bounds=any(bounds))


def _assigner(spec: TableWindows) -> WindowAssigner[Any, Any]:
    if spec.function == "SESSION":
        return EventTimeSessionWindows(spec.size_ms)
    return _ASSIGNERS[spec.function](spec.regular)


_Selected = list[tuple[SqlColumn, Expression]]


def _filtered(
    selected: _Selected, keys: int, calls: list[AggregateCall], condition: Expression | None
) -> tuple[_Selected, list[AggregateCall]]:
    """Return columns and aggregates of the rows that satisfy a condition, and behind these their number.

    What other rows have is not computed: the condition may be there to leave out what fails.
    """
    assert condition is not None, "there are conditions"
    filters = {each.filter for each in calls}
    outputs = selected[:keys]
    for at, (column, each) in enumerate(selected[keys:], keys):
        is_read = isinstance(each, Field) and at not in filters
        absent = Literal(None, each.type)
        chosen = each if is_read else Call("case", (condition, each, absent), kind=each.type)
        outputs.append((column, chosen))
    of_rows = len(outputs)
    kept = [each if each.filter is not None else replace(each, filter=of_rows) for each in calls]
    count = AggregateCall("COUNT", (), BIGINT, BIGINT, filter=of_rows)
    return [*outputs, (SqlColumn(_ROWS, BOOLEAN), condition)], [*kept, count]


def _selected(
    lowering: Any, found: WindowRows, conditions: list[Expression], selected: _Selected
) -> Relation:
    """Return the columns of a group without its bounds, and of its arguments, of rows that have a time."""
    table, spec = found.input, found.spec
    if spec is not None and not _has_times(lowering, spec, table):
        time = Field("", table.columns[spec.time].type, spec.time)
        absent = Call("is_null", (time,), kind=BOOLEAN)
        conditions = [Call("not", (absent,), kind=BOOLEAN), *conditions]
    rows = where(table, conditions)
    if selected:
        made, outputs = zip(*selected, strict=True)
        return projected(rows, made, outputs)
    first = table.columns[0]  # rows have a column
    return projected(rows, (first,), (Field(first.name, first.type, 0),))


def _has_times(lowering: Any, spec: TableWindows, relation: Relation) -> bool:
    """Return whether no row is without a time: timestamps are read from the column, and that refuses NULL."""
    graph = lowering.environment.graph
    for scan, at in scanned(relation, spec.time):
        name = scan.columns[at].name
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
    found = (made.get(name) for made in selections)
    return all(isinstance(each, columns.Field) and each.name == name for each in found)


def _moved(call: AggregateCall, kept: list[int]) -> AggregateCall:
    """Return an aggregate that reads rows without the bounds of windows."""
    condition = None if call.filter is None else kept.index(call.filter)
    return replace(call, arguments=tuple(map(kept.index, call.arguments)), filter=condition)


def _with_bounds(
    aggregate: KeyedAggregate, made: Iterable[SqlColumn], bounds: list[str | None]
) -> KeyedAggregate:
    """Return aggregates whose rows have the bounds of windows in their places."""
    (step,) = aggregate.results.steps
    assert isinstance(step, SelectStep), "results are one selection"
    others: Iterator[columns.Expression] = (each for _, each in step.outputs)
    named = list(made)
    kind = next(c.type.type_info for c, each in zip(named, bounds, strict=False) if each)
    fired = RowTypeInfo(
        [*aggregate.parts.field_types, kind, kind], [*aggregate.parts.field_names, *WINDOW_BOUNDS]
    )
    start, end = (columns.Field(name) for name in WINDOW_BOUNDS)
    last = columns.Call("shift", (end,), (_MICROS_OF_TIME,))
    of_bounds: dict[str, columns.Expression] = dict(zip(BOUNDS, (start, end, last), strict=True))
    outputs = []
    for at, column in enumerate(named):
        bound = bounds[at] if at < len(bounds) else None
        value = next(others) if bound is None else typed(of_bounds[bound], fired, "group by")
        outputs.append((column.name, value))
    results = ExpressionChain(fired, (SelectStep(tuple(outputs)),))
    return replace(aggregate, results=results)
