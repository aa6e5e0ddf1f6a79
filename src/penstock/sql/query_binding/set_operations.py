"""UNION, INTERSECT and EXCEPT."""

from __future__ import annotations

from collections.abc import Callable

from penstock.expressions.tree import Call, Expression, Field, Literal
from penstock.relation.groups import aggregated
from penstock.relation.parts import AggregateCall
from penstock.relation.tree import Correlate, CorrelateSpec, Relation, SqlColumn, union
from penstock.sql.place import wrong
from penstock.sql.query_binding.conditions import projected, where
from penstock.sql.scalar_binding.conversions import converted
from penstock.sql.sqlglot_source import exp
from penstock.types.sql_types import BIGINT, BOOLEAN, INT, common_type

Sides = tuple[Relation, Relation]


def united(sides: Sides, node: exp.Expr) -> Relation:
    """Return the rows of both sides; without ALL each of them once."""
    rows = union(_alike(sides, node))
    return rows if not node.args.get("distinct") else aggregated(rows, len(rows.columns), (), ())


def intersected(sides: Sides, node: exp.Expr) -> Relation:
    """Return the rows that both sides have: with ALL as often as both, else once."""
    if node.args.get("distinct"):
        return _compared(sides, node, "greater")
    return _copied(sides, node, lambda left, right: Call("sql_least", (left, right), kind=BIGINT))


def except_rows(sides: Sides, node: exp.Expr) -> Relation:
    """Return the rows that the left side has more often than the right one (ALL), or that only it has, once."""
    if node.args.get("distinct"):
        return _compared(sides, node, "equal")
    return _copied(sides, node, lambda left, right: Call("subtract", (left, right), kind=BIGINT))


def _counted(sides: Sides, node: exp.Expr) -> tuple[Relation, Field, Field]:
    """Return each row once, and the columns with its number on the left and on the right side."""
    left, other = _alike(sides, node)
    width = len(left.columns)
    marked = [
        projected(
            side,
            (*side.columns, SqlColumn("$left", INT), SqlColumn("$right", INT)),
            (*_all(side), Literal(one, INT), Literal(two, INT)),
        )
        for side, one, two in ((left, 1, 0), (other, 0, 1))
    ]
    calls = tuple(AggregateCall("SUM", (width + side,), INT, BIGINT) for side in range(2))
    counted = aggregated(union((marked[0], marked[1])), width, calls, ("$left", "$right"))
    return counted, Field("$left", BIGINT, width), Field("$right", BIGINT, width + 1)


def _compared(sides: Sides, node: exp.Expr, right: str) -> Relation:
    """Return the different rows that are on the left side, and whose number on the right one compares with 0."""
    counted, of_left, of_right = _counted(sides, node)
    zero = Literal(0, BIGINT)
    conditions: list[Expression] = [
        Call("greater", (of_left, zero), kind=BOOLEAN),
        Call(right, (of_right, zero), kind=BOOLEAN),
    ]
    return _first(where(counted, conditions), of_left.position)


def _copied(
    sides: Sides, node: exp.Expr, count: Callable[[Expression, Expression], Expression]
) -> Relation:
    """Return each row as often as a function of its numbers on both sides returns."""
    counted, of_left, of_right = _counted(sides, node)
    copies = count(of_left, of_right)
    kept = where(counted, [Call("greater", (copies, Literal(0, BIGINT)), kind=BOOLEAN)])
    spec = CorrelateSpec(kind="copies", arguments=(copies,), name="copies")
    repeated = Correlate(
        input=kept,
        spec=spec,
        keeps_unmatched=False,
        columns=kept.columns,
        changelog=kept.changelog,
    )
    return _first(repeated, of_left.position)


def _first(relation: Relation, width: int) -> Relation:
    return projected(relation, relation.columns[:width], _all(relation)[:width])


def _all(relation: Relation) -> tuple[Expression, ...]:
    return tuple(
        Field(column.name, column.type, position)
        for position, column in enumerate(relation.columns)
    )


def _alike(sides: Sides, node: exp.Expr) -> Sides:
    """Return both sides with the same types."""
    left, right = sides
    if len(left.columns) != len(right.columns):
        raise wrong(
            f"the sides have {len(left.columns)} and {len(right.columns)} columns",
            node,
            hint="Select the same number on both.",
        )
    kinds = []
    for one, other in zip(left.columns, right.columns, strict=True):
        kind = common_type(one.type, other.type)
        if kind is None:
            raise wrong(
                f"the column {one.name!r} is {one.type} on the left and {other.type} on the right",
                node,
                hint="CAST one of them.",
            )
        kinds.append(kind)
    return _with_types(left, kinds), _with_types(right, kinds)


def _with_types(relation: Relation, kinds: list) -> Relation:  # type: ignore[type-arg]
    if [column.type for column in relation.columns] == kinds:
        return relation
    pairs = list(zip(relation.columns, kinds, strict=True))
    columns = tuple(
        SqlColumn(column.name, kind, column.is_time and column.type == kind, lag_ms=column.lag_ms)
        for column, kind in pairs
    )
    outputs = tuple(
        converted(Field(column.name, column.type, position), kind)
        for position, (column, kind) in enumerate(pairs)
    )
    return projected(relation, columns, outputs)
