"""Table functions in FROM: windows, UNNEST, and those of the user in LATERAL TABLE."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from penstock.relation.groups import TableWindows, WindowTable
from penstock.relation.tree import (
    Correlate,
    CorrelateSpec,
    Relation,
    SqlColumn,
    distinct_names,
    in_time,
)
from penstock.sql.catalogue import FunctionKind
from penstock.sql.place import unsupported, wrong
from penstock.sql.scalar_binding.binder import Binder
from penstock.sql.scalar_binding.intervals import milliseconds
from penstock.sql.scalar_binding.operators import BUILDERS
from penstock.sql.scalar_binding.scope import Scope
from penstock.sql.scalar_binding.zone import session_zone
from penstock.sql.sqlglot_source import exp
from penstock.types.sql_types import BIGINT, SqlType

if TYPE_CHECKING:
    from penstock.sql.query_binding.select import QueryTranslator

_PARAMETERS = {
    "TUMBLE": ("DATA", "TIMECOL", "SIZE", "OFFSET"),
    "HOP": ("DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET"),
    "CUMULATE": ("DATA", "TIMECOL", "STEP", "SIZE", "OFFSET"),
    "SESSION": ("DATA", "TIMECOL", "GAP"),
}


def is_table_function(node: exp.Expr) -> bool:
    """Return whether a table of FROM is a call."""
    return isinstance(node, exp.Table) and not isinstance(node.this, exp.Identifier)


def table_function(translator: QueryTranslator, node: exp.Table) -> Relation:
    """Return the rows of a table function of windows."""
    call = node.this
    if isinstance(call, exp.Anonymous) and call.name.upper() == "TABLE" and call.expressions:
        call = call.expressions[0]
    name = call.name.upper() if isinstance(call, exp.Anonymous) else ""
    if name not in _PARAMETERS:
        raise unsupported(
            f"the table function {name or call.sql()}",
            node,
            hint=f"Use one of {', '.join(_PARAMETERS)}, or LATERAL TABLE.",
        )
    given = _named(name, call)
    argument = given["DATA"]
    table = argument.this
    if not isinstance(table, exp.Table):
        raise wrong(f"{name} takes TABLE name first", node, hint="Write TABLE orders.")
    relation = translator.table(table)
    time = _time(relation, given["TIMECOL"], name)
    relation = in_time(relation, time)
    partition = _partition(relation, argument)
    if partition and name != "SESSION":
        raise unsupported(f"PARTITION BY in {name}", node, hint="Group by these columns.")
    size = milliseconds(given["GAP" if name == "SESSION" else "SIZE"], "the size of a window")
    step_node = given.get("SLIDE") or given.get("STEP")
    step = size if step_node is None else milliseconds(step_node, "the step of a window")
    offset = given.get("OFFSET")
    shift = 0 if offset is None else milliseconds(offset, "the offset of a window")
    if size <= 0 or step <= 0 or (name == "CUMULATE" and size % step):
        raise wrong(
            f"{name} got a size of {size} ms and a step of {step} ms",
            node,
            hint="Pass positive lengths; of CUMULATE the size is a multiple of the step.",
        )
    kind = relation.columns[time].type
    if name == "SESSION" and not relation.is_insert_only:
        raise unsupported("SESSION of a table whose rows are taken back", node)
    is_instant = kind.name == "TIMESTAMP_LTZ"
    # A session has no days: its windows are the same in all zones
    zone = session_zone() if is_instant and name != "SESSION" else "UTC"
    spec = TableWindows(name, time, is_instant, size, step, shift, zone)
    return windowed(relation, spec, partition)


def windowed(relation: Relation, spec: TableWindows, partition: tuple[int, ...] = ()) -> Relation:
    """Return rows with their windows."""
    kind = relation.columns[spec.time].type
    before = tuple(replace(column, is_time=False, window="") for column in relation.columns)
    bounds = (
        SqlColumn("window_start", kind, window="start"),
        SqlColumn("window_end", kind, window="end"),
        SqlColumn("window_time", kind, is_time=True, window="time"),
    )
    return WindowTable(
        input=relation,
        spec=spec,
        partition=partition,
        columns=distinct_names([*before, *bounds]),
        changelog=relation.changelog,
    )


def _named(name: str, call: exp.Expr) -> dict[str, exp.Expr]:
    """Return the arguments of a window function by their names."""
    parameters = _PARAMETERS[name]
    arguments: dict[str, exp.Expr] = {}
    for position, argument in enumerate(call.expressions):
        if isinstance(argument, exp.Kwarg):
            arguments[argument.this.name.upper()] = argument.expression
        elif position < len(parameters):
            arguments[parameters[position]] = argument
    needed = [parameter for parameter in parameters if parameter != "OFFSET"]
    if (
        set(arguments) - set(parameters)
        or not set(needed) <= set(arguments)
        or len(call.expressions) > len(parameters)
    ):
        raise wrong(f"{name} takes {', '.join(parameters)}", call, hint="Correct the call.")
    return arguments


def _time(relation: Relation, node: exp.Expr, name: str) -> int:
    is_descriptor = isinstance(node, exp.Anonymous) and node.name.upper() == "DESCRIPTOR"
    if not is_descriptor or len(node.expressions) != 1:
        raise wrong(f"{name} takes DESCRIPTOR(column)", node, hint="Name the column of the time.")
    required = node.expressions[0].name
    for position, column in enumerate(relation.columns):
        if column.name == required:
            if not column.is_time:
                raise wrong(
                    f"the column {required!r} is no event time",
                    node,
                    hint="Declare WATERMARK FOR it, or pass the time of the stream.",
                )
            return position
    raise wrong(
        f"there is no column {required!r}",
        node,
        hint=f"Use one of {', '.join(column.name for column in relation.columns)}.",
    )


def _partition(relation: Relation, argument: exp.Expr) -> tuple[int, ...]:
    names = [column.name for column in relation.columns]
    positions = []
    for node in argument.args.get("partition_by") or ():
        if node.name not in names:
            raise wrong(
                f"there is no column {node.name!r}", node, hint=f"Use one of {', '.join(names)}."
            )
        positions.append(names.index(node.name))
    return tuple(positions)


@dataclass(frozen=True, slots=True)
class CorrelatedTable:
    """A table that depends on the row before it in FROM.

    Attributes:
        spec: Description of the function that makes its rows.
    """

    spec: CorrelateSpec
    columns: tuple[SqlColumn, ...]
    name: str | None


def is_correlated(node: exp.Expr) -> bool:
    """Return whether a table of FROM depends on the row before it."""
    return isinstance(node, exp.Unnest | exp.Lateral)


def correlated_table(node: exp.Expr, scope: Scope, translator: QueryTranslator) -> CorrelatedTable:
    """Bind UNNEST or LATERAL TABLE."""
    binder = Binder(scope, translator.catalogue, BUILDERS)
    bind: Callable[..., tuple[CorrelateSpec, list[SqlColumn]]] = (
        _unnested if isinstance(node, exp.Unnest) else _called
    )
    spec, columns = bind(node, binder)
    alias = node.args.get("alias")
    names = [column.name for column in alias.columns] if alias is not None else []
    number = node.args.get("offset")
    if isinstance(number, exp.Identifier):
        names.append(number.name)  # sqlglot takes the last name as that of ORDINALITY
    if names:
        if len(names) != len(columns):
            raise wrong(
                f"{len(names)} names for {len(columns)} columns", node, hint="Name all columns."
            )
        columns = [replace(column, name=name) for column, name in zip(columns, names, strict=True)]
    return CorrelatedTable(spec, tuple(columns), node.alias or None)


def _unnested(node: exp.Expr, binder: Binder) -> tuple[CorrelateSpec, list[SqlColumn]]:
    if len(node.expressions) != 1:
        raise unsupported("UNNEST of several arrays", node)
    value = binder.scalar(node.expressions[0])
    kind = value.type
    with_number = bool(node.args.get("offset"))
    number = [SqlColumn("ORDINALITY", BIGINT)] if with_number else []
    if kind.name == "ARRAY":
        (element,) = kind.components
        is_row = element.name == "ROW"
        spec = CorrelateSpec("rows" if is_row else "array", (value,), with_number=with_number)
        return spec, [*(_fields(element) if is_row else [SqlColumn("EXPR$0", element)]), *number]
    if kind.name == "MAP":
        spec = CorrelateSpec("map", (value,), with_number=with_number)
        columns = [
            SqlColumn(name, of) for name, of in zip(("KEY", "VALUE"), kind.components, strict=True)
        ]
        return spec, [*columns, *number]
    raise wrong(f"UNNEST got {kind}", node, hint="Pass an ARRAY or a MAP.")


def _called(node: exp.Expr, binder: Binder) -> tuple[CorrelateSpec, list[SqlColumn]]:
    call = node.this
    if not isinstance(call, exp.Anonymous) or call.name.upper() != "TABLE" or not call.expressions:
        raise unsupported("LATERAL of a subquery", node, hint="Write LATERAL TABLE(function(…)).")
    (inside,) = call.expressions
    own = binder.catalogue.find_function(inside.name) if isinstance(inside, exp.Anonymous) else None
    if own is None or own.kind is not FunctionKind.TABLE:
        raise wrong(
            f"there is no table function {inside.name or inside.sql()}",
            node,
            hint="CREATE FUNCTION, or register one with env.create_function.",
        )
    arguments = tuple(binder.scalar(argument) for argument in inside.expressions)
    kind = own.result_type
    is_row = kind.name == "ROW"
    spec = CorrelateSpec(
        "call", arguments, function=own.function, name=own.name, result=kind.type_info
    )
    return spec, _fields(kind) if is_row else [SqlColumn("f0", kind)]


def _fields(kind: SqlType) -> list[SqlColumn]:
    return [SqlColumn(name, of) for name, of in zip(kind.fields, kind.components, strict=True)]


def correlated_rows(
    relation: Relation, table: CorrelatedTable, *, keeps_unmatched: bool
) -> Relation:
    """Return rows, each beside the rows that it makes."""
    columns: Sequence[SqlColumn] = [*relation.columns, *table.columns]
    return Correlate(
        input=relation,
        spec=replace(table.spec, width=len(table.columns)),
        keeps_unmatched=keeps_unmatched,
        columns=distinct_names(columns),
        changelog=relation.changelog,
    )
