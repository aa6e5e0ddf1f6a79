"""Window functions: rows with the results of OVER."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.expressions.tree import Expression, Field
from penstock.relation.ordered import Frame, Over, OverCall, RowNumber
from penstock.relation.parts import AggregateCall
from penstock.relation.tree import Changelog, Relation, SqlColumn, distinct_names, in_time
from penstock.sql.functions.accumulators import ACCUMULATORS
from penstock.sql.functions.over import POSITIONAL
from penstock.sql.place import unsupported, wrong
from penstock.sql.query_binding.aggregates import bound_aggregate, is_aggregate, nodes_of
from penstock.sql.query_binding.conditions import projected
from penstock.sql.scalar_binding.binder import Binder
from penstock.sql.scalar_binding.conversions import converted
from penstock.sql.scalar_binding.intervals import milliseconds
from penstock.sql.sqlglot_source import exp
from penstock.types.row_order import SortColumn
from penstock.types.sql_types import BIGINT

_UNORDERED = frozenset({"ARRAY", "MAP", "ROW", "ANY"})


def with_windows(
    query: exp.Select, nodes: Sequence[exp.Expr], relation: Relation, binder: Binder
) -> Relation:
    """Return rows with the results of the window functions of some expressions as further columns.

    The binder then resolves them.
    """
    for node in nodes:
        for window in list(nodes_of(node)):
            if isinstance(window, exp.Window) and id(window) not in binder.given:
                relation = _numbered(window, query, relation, binder)
    return relation


def _numbered(node: exp.Window, query: exp.Select, relation: Relation, binder: Binder) -> Relation:
    window = _definition(node, query)
    relation, partition = with_columns_of(relation, window.args.get("partition_by") or [], binder)
    order = window.args.get("order")
    sort: tuple[SortColumn, ...] = ()
    if order is not None:
        relation, sort = sorted_by(relation, order, binder)
    check_ordered(relation, node)
    if node.this.name.upper() == "ROW_NUMBER" and sort:
        _check_arguments("ROW_NUMBER", node.this, window)
        return _row_number(node, relation, partition, sort, binder)
    relation, call = over_call(node, window, relation, sort, binder)
    time = _time_of(relation, sort, call)
    position = len(relation.columns)
    columns = distinct_names([*_plain(relation, time), SqlColumn("$over", call.call.result)])
    binder.given[id(node)] = Field(columns[position].name, call.call.result, position)
    return Over(
        input=relation if time is None else in_time(relation, time),
        partition=partition,
        order=sort,
        calls=(call,),
        time=time,
        columns=columns,
        keys=relation.keys,
        changelog=Changelog.RETRACT if time is None else Changelog.INSERT_ONLY,
    )


def _time_of(
    relation: Relation, sort: tuple[SortColumn, ...], call: OverCall | None = None
) -> int | None:
    """Return the event time that rows are in ascending order of, None if a later row may change a value.

    Then a row has its values when the watermark has reached its time: LEAD alone reads rows behind it.
    """
    if not sort or sort[0].is_descending or not relation.is_insert_only:
        return None
    is_ahead = call is not None and (call.call.function == "LEAD" or call.frame.is_whole)
    position = sort[0].position
    return position if relation.columns[position].is_time and not is_ahead else None


def _plain(relation: Relation, time: int | None) -> list[SqlColumn]:
    """Return the columns, of which the time alone stays an event time: rows wait for theirs, and others may have passed."""
    return [
        SqlColumn(column.name, column.type, is_time=position == time)
        for position, column in enumerate(relation.columns)
    ]


def _row_number(
    node: exp.Window,
    relation: Relation,
    partition: tuple[int, ...],
    sort: tuple[SortColumn, ...],
    binder: Binder,
) -> Relation:
    position, time = len(relation.columns), _time_of(relation, sort)
    columns = distinct_names([*_plain(relation, time), SqlColumn("$number", BIGINT)])
    binder.given[id(node)] = Field(columns[position].name, BIGINT, position)
    return RowNumber(
        input=relation if time is None else in_time(relation, time),
        partition=partition,
        order=sort,
        time=time,
        columns=columns,
        keys=frozenset({frozenset({*partition, position})}),
        changelog=Changelog.RETRACT if time is None else Changelog.INSERT_ONLY,
    )


def _called(node: exp.Window) -> exp.Expr:
    inside: exp.Expr = node.this
    function: exp.Expr = inside.this if isinstance(inside, exp.Filter) else inside
    return function


def over_call(
    node: exp.Window,
    window: exp.Expr,
    relation: Relation,
    sort: tuple[SortColumn, ...],
    binder: Binder,
) -> tuple[Relation, OverCall]:
    """Bind a function of OVER; the rows get its arguments as columns."""
    inside = _called(node)
    name = inside.name.upper() if isinstance(inside, exp.Anonymous) else ""
    if name in POSITIONAL:
        if inside is not node.this:
            raise unsupported(f"FILTER of {name}", node)
        if not sort:
            raise wrong(f"{name} without ORDER BY", node, hint="Write ORDER BY in OVER.")
        return _positional(name, inside, window, relation, binder)
    if not is_aggregate(node.this, binder.catalogue):
        raise unsupported(f"{node.this.sql()} OVER", node)
    bound = bound_aggregate(node.this, binder)
    if bound.call.function not in {*ACCUMULATORS, "MIN", "MAX"}:
        raise unsupported(f"{bound.call.function} OVER", node)
    relation, read = _appended(
        relation, [*bound.arguments, *([] if bound.filter is None else [bound.filter])]
    )
    arguments = read[: len(bound.arguments)]
    call = replace(
        bound.call, arguments=arguments, filter=None if bound.filter is None else read[-1]
    )
    return relation, OverCall(call, frame_of(window, sort, node))


def _positional(
    name: str, inside: exp.Expr, window: exp.Expr, relation: Relation, binder: Binder
) -> tuple[Relation, OverCall]:
    arguments = list(inside.expressions)
    offset, default = 1, None
    whole = Frame(counts_rows=False, preceding=None)
    _check_arguments(name, inside, window)
    if not arguments:
        return relation, OverCall(AggregateCall(name, (), BIGINT, BIGINT), whole)
    if name in {"LAG", "LEAD"} and len(arguments) > 1:
        offset = constant_number(arguments[1], inside)
    value = binder.scalar(arguments[0])
    read: list[Expression] = [value]
    if name in {"LAG", "LEAD"} and len(arguments) > 2:  # noqa: PLR2004
        read.append(converted(binder.scalar(arguments[2]), value.type))
    relation, places = _appended(relation, read)
    if len(read) > 1:
        default = places[1]
    call = AggregateCall(name, places[:1], value.type, value.type)
    sort = bool(window.args.get("order"))
    frame = whole if name in {"LAG", "LEAD"} or not sort else frame_of(window, None, inside)
    return relation, OverCall(call, frame, offset, default)


_ARGUMENTS = {
    **dict.fromkeys(("ROW_NUMBER", "RANK", "DENSE_RANK"), (0, 0)),
    **dict.fromkeys(("LAG", "LEAD"), (1, 3)),
    **dict.fromkeys(("FIRST_VALUE", "LAST_VALUE"), (1, 1)),
}
"""Function of OVER to the least and the greatest number of its arguments."""
_FRAMELESS = frozenset(_ARGUMENTS) - {"FIRST_VALUE", "LAST_VALUE"}
"""Functions whose values do not depend on a frame."""


def _check_arguments(name: str, call: exp.Expr, window: exp.Expr) -> None:
    """Refuse arguments that a function does not take, and a frame that it does not read."""
    least, most = _ARGUMENTS[name]
    if not least <= len(call.expressions) <= most:
        required = f"{least}" if least == most else f"{least} to {most}"
        count = len(call.expressions)
        raise wrong(f"{name} got {count} arguments, and takes {required}", call, hint="Correct it.")
    if name in _FRAMELESS and window.args.get("spec") is not None:
        raise unsupported(f"a frame of {name}", call, hint="Write OVER without ROWS and RANGE.")


def frame_of(window: exp.Expr, sort: tuple[SortColumn, ...] | None, node: exp.Expr) -> Frame:
    """Return the frame of a window: by default all rows before, and those equal in the order."""
    spec = window.args.get("spec")
    if sort is not None and not sort:
        if spec is not None:
            raise wrong("a frame without ORDER BY", node, hint="Write ORDER BY in OVER.")
        return Frame(counts_rows=False, preceding=None, is_whole=True)
    if spec is None:
        return Frame(counts_rows=False, preceding=None)
    kind = str(spec.args.get("kind") or "").upper()
    if kind not in {"ROWS", "RANGE"}:
        raise unsupported(f"a frame of {kind}", node)
    counts_rows = kind == "ROWS"
    start, side = spec.args.get("start"), str(spec.args.get("start_side") or "").upper()
    end, end_side = spec.args.get("end"), spec.args.get("end_side")
    ends_here = end is None or (str(end).upper() == "CURRENT ROW" and not end_side)
    if not ends_here or side not in {"PRECEDING", ""} or spec.args.get("exclude"):
        raise unsupported("a frame that does not end at CURRENT ROW", node)
    text = str(start).upper() if isinstance(start, str) else ""
    if text == "UNBOUNDED":
        return Frame(counts_rows, None)
    if text == "CURRENT ROW":
        return Frame(counts_rows, 0)
    if isinstance(start, exp.Interval):
        if counts_rows:
            raise wrong("ROWS takes a number", node, hint="Write RANGE for an interval.")
        return Frame(counts_rows, milliseconds(start, "the frame"))
    return Frame(counts_rows, constant_number(start, node))


def check_ordered(relation: Relation, node: exp.Expr) -> None:
    """Refuse to rank rows whose columns have no order."""
    for column in relation.columns:
        if column.type.name in _UNORDERED:
            raise unsupported(
                f"ranking rows that have the column {column.name!r} of {column.type}",
                node,
                hint="Select the other columns before.",
            )


def _definition(node: exp.Window, query: exp.Select) -> exp.Expr:
    """Return the window of OVER, which may be one of WINDOW, or add to one."""
    name = node.args.get("alias")
    if name is None:
        return node
    for window in query.args.get("windows") or ():
        if window.name == name.name:
            return _extended(node, window)
    raise wrong(f"there is no window {name.name!r}", node, hint="Define it in WINDOW.")


def _extended(node: exp.Window, named: exp.Expr) -> exp.Expr:
    """Return a window of WINDOW with what OVER adds to it."""
    added = {key: node.args[key] for key in ("order", "spec") if node.args.get(key)}
    again = next((key for key in added if named.args.get(key)), None)
    if node.args.get("partition_by") or again or named.args.get("alias"):
        raise unsupported(
            f"OVER that changes the window {named.name!r}", node, hint="Write the window in OVER."
        )
    if not added:
        return named
    return exp.Window(**{**named.args, **added})


def with_columns_of(
    relation: Relation, nodes: list[exp.Expr], binder: Binder
) -> tuple[Relation, tuple[int, ...]]:
    """Return rows that have some expressions as columns, and the positions of these."""
    scalars = [binder.scalar(node) for node in nodes]
    return _appended(relation, scalars)


def _appended(
    relation: Relation, expressions: list[Expression]
) -> tuple[Relation, tuple[int, ...]]:
    positions: list[int] = []
    extra: list[Expression] = []
    for scalar in expressions:
        if isinstance(scalar, Field):
            positions.append(scalar.position)
        else:
            positions.append(len(relation.columns) + len(extra))
            extra.append(scalar)
    if extra:
        more = (SqlColumn(f"$expr{number}", scalar.type) for number, scalar in enumerate(extra))
        columns = distinct_names([*relation.columns, *more])
        fields = (
            Field(column.name, column.type, position)
            for position, column in enumerate(relation.columns)
        )
        relation = projected(relation, columns, (*fields, *extra))
    return relation, tuple(positions)


def sorted_by(
    relation: Relation, order: exp.Expr, binder: Binder
) -> tuple[Relation, tuple[SortColumn, ...]]:
    """Return rows that have what ORDER BY names as columns, and their order."""
    scalars = [binder.scalar(term.this) for term in order.expressions]
    relation, positions = _appended(relation, scalars)
    return relation, tuple(
        SortColumn(position, bool(term.args.get("desc")), bool(term.args.get("nulls_first")))
        for position, term in zip(positions, order.expressions, strict=True)
    )


def constant_number(node: exp.Expr | None, clause: exp.Expr) -> int:
    """Return a number that a clause has."""
    if not isinstance(node, exp.Literal) or node.is_string or not node.name.isdigit():
        raise unsupported("a limit that is no constant number", clause)
    return int(node.name)
