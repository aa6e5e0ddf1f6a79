"""Subqueries that read columns of the query around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from penstock.sql.binding.binder import Binder
from penstock.sql.binding.operators import BUILDERS
from penstock.sql.binding.scope import Scope
from penstock.sql.relations.from_clause import FromClause
from penstock.sql.relations.tree import SqlRelation
from penstock.sql.scalars.tree import InputColumn, Scalar, conjuncts

if TYPE_CHECKING:
    from penstock.sql.relations.select import QueryTranslator


def correlated(
    translator: QueryTranslator, query: exp.Expr, outer: SqlRelation, binder: Binder
) -> tuple[SqlRelation, list[Scalar]]:
    """Return the rows of a subquery, and the conditions between them and the rows around.

    A condition of its WHERE that reads columns of both becomes one of the join, over the columns of the query around and then
    those of the result. What such conditions read of the subquery is selected behind its own columns, as `$outer…`.

    Args:
        translator: Of queries.
        query: The subquery.
        outer: The rows around.
        binder: Of the query around.

    Raises:
        SqlError: It reads columns of the query around elsewhere.
    """
    outside = _outer_conditions(query, binder.scope, translator)
    if not outside:
        return translator.relation(query, binder.scope), []
    assert isinstance(query, exp.Select)
    inside = query.copy()
    places = {id(each): at for at, each in enumerate(_parts(query.args["where"].this))}
    moved = [places[id(each)] for each in outside]
    parts = _parts(inside.args["where"].this)
    kept = [each for at, each in enumerate(parts) if at not in moved]
    inside.set("where", exp.Where(this=exp.and_(*kept)) if kept else None)
    scope = FromClause(translator, None).relation(inside)[1]
    read = list(
        dict.fromkeys(
            column.sql()
            for each in outside
            for column in each.find_all(exp.Column)
            if scope.find(column) is not None
        )
    )
    names = [f"$outer{at}" for at in range(len(read))]
    columns = {column.sql(): column for each in outside for column in each.find_all(exp.Column)}
    is_exists = isinstance(query.parent, exp.Exists) or (
        isinstance(query.parent, exp.Subquery) and isinstance(query.parent.parent, exp.Exists)
    )
    own = [] if is_exists else list(inside.expressions)
    extra = [
        exp.alias_(columns[text].copy(), name, quoted=True)
        for text, name in zip(read, names, strict=True)
    ]
    inside.set("expressions", [*own, *extra] or list(inside.expressions))
    right = translator.relation(inside)
    width = len(outer.columns)
    first = len(right.columns) - len(names)
    behind = {
        text: InputColumn(width + first + at, right.columns[first + at].type, name)
        for at, (text, name) in enumerate(zip(read, names, strict=True))
    }
    between = Binder(binder.scope, translator.catalogue, BUILDERS)
    conditions: list[Scalar] = []
    for each in outside:
        for column in each.find_all(exp.Column):
            if column.sql() in behind:
                between.given[id(column)] = behind[column.sql()]
        conditions += conjuncts(between.condition(each, "the condition of WHERE"))
    return right, conditions


def _parts(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Paren):
        return _parts(node.this)
    if isinstance(node, exp.And):
        return [*_parts(node.this), *_parts(node.expression)]
    return [node]


def _outer_conditions(query: exp.Expr, outer: Scope, translator: QueryTranslator) -> list[exp.Expr]:
    """Return the conditions of WHERE of a subquery that read columns of the query around."""
    where = query.args.get("where")
    if not isinstance(query, exp.Select) or where is None:
        return []
    if query.args.get("group") or query.args.get("limit"):
        return []
    _, scope = FromClause(translator, None).relation(query)
    return [
        each
        for each in _parts(where.this)
        if any(
            scope.find(column) is None and outer.find(column) is not None
            for column in each.find_all(exp.Column)
        )
    ]
