"""Subqueries that read columns of the query around them.

The conditions of their WHERE that do so become those of a join. What these read of the subquery is selected behind its own columns, as
`$outer…`. A subquery of one value is grouped by it:

    (SELECT MAX(b) + 1 FROM u WHERE u.k = t.k AND c > 2)
    LEFT JOIN (SELECT MAX(b) + 1, u.k, TRUE FROM u WHERE c > 2 GROUP BY u.k) ON $outer0 = t.k
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.sql.binding.binder import Binder
from penstock.sql.binding.conditions import compared
from penstock.sql.binding.operators import BUILDERS
from penstock.sql.binding.scope import Scope
from penstock.sql.column_types import BOOLEAN
from penstock.sql.place import unsupported
from penstock.sql.relations.aggregates import aggregate_nodes, bound_aggregate
from penstock.sql.relations.from_clause import FromClause, joined_on
from penstock.sql.relations.joins import JoinType
from penstock.sql.relations.tree import SqlRelation
from penstock.sql.scalars.tree import Constant, InputColumn, Scalar, ScalarCall, conjuncts
from penstock.sql.sqlglot_source import exp

if TYPE_CHECKING:
    from penstock.sql.relations.select import QueryTranslator

_PREFIX = "$outer"


@dataclass(frozen=True, slots=True)
class _Split:
    """A subquery without the conditions that read columns of the query around.

    Attributes:
        inside: The subquery, a copy.
        outside: The conditions.
        scope: What names mean in the subquery.
    """

    inside: exp.Select
    outside: tuple[exp.Expr, ...]
    scope: Scope


def correlated(
    translator: QueryTranslator, query: exp.Expr, outer: SqlRelation, binder: Binder
) -> tuple[SqlRelation, list[Scalar]]:
    """Return the rows of a subquery, and the conditions between them and the rows around: over the columns of both.

    Args:
        translator: Of queries.
        query: The subquery.
        outer: The rows around.
        binder: Of the query around.

    Raises:
        SqlError: It reads columns of the query around elsewhere.
    """
    split = _split(translator, query, binder.scope)
    if split is None:
        return translator.relation(query, binder.scope), []
    if _is_aggregate(translator, split.inside):
        if not _is_existence(query) or split.inside.args.get("having"):
            raise unsupported(
                "IN, or EXISTS with HAVING, with a correlated subquery that aggregates",
                query,
                hint="Compare with the subquery as a value: a = (SELECT …).",
            )
        return translator.relation(split.inside), []  # has its one row, of any rows
    columns = {
        column.sql(): column
        for each in split.outside
        for column in each.find_all(exp.Column)
        if split.scope.find(column) is not None
    }
    own = [] if _is_existence(query) else list(split.inside.expressions)
    selected = [*own, *_named(list(columns.values()))] or list(split.inside.expressions)
    split.inside.set("expressions", selected)
    right = translator.relation(split.inside)
    at = len(right.columns) - len(columns)
    behind = {
        text: InputColumn(len(outer.columns) + number, right.columns[number].type, text)
        for number, text in enumerate(columns, at)
    }
    between = Binder(binder.scope, translator.catalogue, BUILDERS)
    conditions: list[Scalar] = []
    for each in split.outside:
        for column in each.find_all(exp.Column):
            if column.sql() in behind:
                between.given[id(column)] = behind[column.sql()]
        conditions += conjuncts(between.condition(each, "the condition of WHERE"))
    return right, conditions


def _is_aggregate(translator: QueryTranslator, query: exp.Select) -> bool:
    """Return whether a query without GROUP BY has aggregates, and so one row."""
    having = query.args.get("having")
    nodes = [*query.expressions, *([having] if having else [])]
    return any(aggregate_nodes(each, translator.catalogue) for each in nodes)


def n_hidden(relation: SqlRelation) -> int:
    """Return how many columns a correlated subquery got behind its own."""
    return sum(each.name.startswith(_PREFIX) for each in relation.columns)


def with_correlated_value(
    translator: QueryTranslator, node: exp.Subquery, relation: SqlRelation, binder: Binder
) -> SqlRelation | None:
    """Return rows with the value of a correlated subquery, which the binder then knows; None if it is not correlated.

    Raises:
        SqlError: It may have several rows per row of the query around, or is correlated by other conditions than equalities.
    """
    split = _split(translator, node.this, binder.names)
    if split is None:
        return None
    inside, (value, *others) = split.inside, split.inside.expressions
    calls = aggregate_nodes(value, translator.catalogue)
    if others or inside.args.get("having") or not calls:
        raise unsupported(
            "a correlated subquery of one value that is no expression of aggregates",
            node,
            hint="Aggregate it, without HAVING.",
        )
    for column in value.find_all(exp.Column):
        if split.scope.find(column) is None and binder.names.find(column) is not None:
            raise unsupported("a column of the query around elsewhere than in WHERE", column)
    pairs = [_sides(each, split.scope) for each in split.outside]
    inside.set(
        "expressions",
        [
            exp.alias_(value.copy(), "$value", quoted=True),
            *_named([inner for inner, _ in pairs]),
            exp.alias_(exp.true(), "$there", quoted=True),
        ],
    )
    inside.set("group", exp.Group(expressions=[inner.copy() for inner, _ in pairs]))
    right = translator.relation(inside)
    width = len(relation.columns)
    found = [InputColumn(width + at, each.type, each.name) for at, each in enumerate(right.columns)]
    conditions: list[Scalar] = [
        compared("equal", made, binder.scalar(around), node)
        for made, (_, around) in zip(found[1:-1], pairs, strict=True)
    ]
    without = _of_no_rows(value, calls, Binder(split.scope, translator.catalogue, BUILDERS))
    is_missing = ScalarCall("is_null", (found[-1],), BOOLEAN)
    chosen = ScalarCall("case", (is_missing, without, found[0]), found[0].type)
    is_plain = isinstance(without, Constant) and without.value is None
    binder.given[id(node)] = found[0] if is_plain else chosen
    return joined_on(relation, right, JoinType.LEFT, conditions)


def _of_no_rows(value: exp.Expr, calls: Sequence[exp.Expr], inner: Binder) -> Scalar:
    """Return what an expression of aggregates is where there are no rows."""
    bound = {id(each): bound_aggregate(each, inner).call for each in calls}
    if any(each.user is not None for each in bound.values()):
        raise unsupported("an aggregate function of yours in a correlated subquery", value)
    alone = Binder(Scope(), inner.catalogue, BUILDERS)
    for key, call in bound.items():
        alone.given[key] = Constant(0 if call.function == "COUNT" else None, call.result)
    return alone.scalar(value.this if isinstance(value, exp.Alias) else value)


def _sides(condition: exp.Expr, scope: Scope) -> tuple[exp.Expr, exp.Expr]:
    """Return the side of an equality that reads the subquery, and the one that reads the query around."""
    if isinstance(condition, exp.EQ):
        sides = (condition.this, condition.expression)
        inner = [_reads(each, scope) for each in sides]
        if inner == [{True}, {False}]:
            return sides
        if inner == [{False}, {True}]:
            return sides[1], sides[0]
    raise unsupported(
        "a correlated subquery of one value with another condition than an equality of both queries",
        condition,
        hint="Compare an expression of the subquery with one of the query around it.",
    )


def _reads(node: exp.Expr, scope: Scope) -> set[bool]:
    return {scope.find(column) is not None for column in node.find_all(exp.Column)}


def _split(translator: QueryTranslator, query: exp.Expr, outer: Scope) -> _Split | None:
    where = query.args.get("where")
    if not isinstance(query, exp.Select) or where is None:
        return None
    if query.args.get("group") or query.args.get("limit"):
        return None
    _, scope = FromClause(translator, None).relation(query)
    inside = query.copy()
    parts = list(_parts(inside.args["where"].this))
    outside = [each for each in parts if _is_outside(each, scope, outer)]
    if not outside:
        return None
    kept = [each for each in parts if each not in outside]
    inside.set("where", exp.Where(this=exp.and_(*kept)) if kept else None)
    return _Split(inside, tuple(outside), scope)


def _is_outside(condition: exp.Expr, scope: Scope, outer: Scope) -> bool:
    return any(
        scope.find(column) is None and outer.find(column) is not None
        for column in condition.find_all(exp.Column)
    )


def _parts(node: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(node, exp.Paren):
        yield from _parts(node.this)
    elif isinstance(node, exp.And):
        yield from _parts(node.this)
        yield from _parts(node.expression)
    else:
        yield node


def _named(nodes: Sequence[exp.Expr]) -> list[exp.Expr]:
    return [exp.alias_(each.copy(), f"{_PREFIX}{at}", quoted=True) for at, each in enumerate(nodes)]


def _is_existence(query: exp.Expr) -> bool:
    around = query.parent
    while isinstance(around, exp.Subquery):
        around = around.parent
    return isinstance(around, exp.Exists)
