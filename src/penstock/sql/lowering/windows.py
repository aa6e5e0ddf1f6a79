"""Operators of windows."""

from __future__ import annotations

from typing import Any

from penstock.sql.functions.group_aggregate import GroupSpec
from penstock.sql.functions.window_aggregate import WindowAggregateFunction
from penstock.sql.functions.windows import AssignWindows, SessionFunction
from penstock.sql.lowering.evaluated import Rows, row_type
from penstock.sql.lowering.keyed import by_columns
from penstock.sql.relations.keyed import WindowGroupBy, WindowTable


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
    spec = GroupSpec(
        keys=relation.group,
        calls=relation.calls,
        names=tuple(each.name for each in relation.columns),
        is_insert_only=True,
    )
    end = next(
        at
        for at, each in enumerate(relation.input.columns[: relation.group])
        if each.window == "end"
    )
    rows = by_columns(lowering.stream(relation.input), tuple(range(relation.group)))
    made: Rows = rows.process(WindowAggregateFunction(spec, end), row_type(relation.columns))
    return lowering.stateful(made.name("window group by"), relation)  # type: ignore[no-any-return]
