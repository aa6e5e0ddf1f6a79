"""Subqueries in conditions and expressions: EXISTS, IN, and those of one value.

    WHERE a IN (SELECT b …)          semi join on a = b
    WHERE NOT EXISTS (SELECT …)      anti join
    WHERE a NOT IN (SELECT b …)      anti join of rows for which a = b is true or NULL
    a > (SELECT MAX(b) …)            left join with the one row

A subquery may be correlated: conditions of its WHERE may read columns of the query around it, those of a value as equalities.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from penstock.sql.binding.binder import Binder
from penstock.sql.binding.conditions import compared
from penstock.sql.column_types import BOOLEAN
from penstock.sql.place import unsupported, wrong
from penstock.sql.relations.aggregates import nodes_of
from penstock.sql.relations.correlation import correlated, n_hidden, with_correlated_value
from penstock.sql.relations.from_clause import joined_on
from penstock.sql.relations.joins import JoinType
from penstock.sql.relations.keyed import GroupBy
from penstock.sql.relations.tree import Filter, Project, SqlRelation
from penstock.sql.scalars.tree import Constant, InputColumn, Scalar, ScalarCall

if TYPE_CHECKING:
    from penstock.sql.relations.select import QueryTranslator


def _inside(node: exp.Expr) -> tuple[exp.Expr, bool]:
    """Return a condition without NOT and parentheses, and whether it was negated."""
    negated = False
    while isinstance(node, exp.Paren | exp.Not):
        negated = negated is not isinstance(node, exp.Not)
        node = node.this
    return node, negated


def is_existence(node: exp.Expr) -> bool:
    """Return whether a condition is EXISTS or IN with a subquery, or its negation."""
    found, _ = _inside(node)
    return isinstance(found, exp.Exists) or (
        isinstance(found, exp.In) and found.args.get("query") is not None
    )


def with_existence(
    translator: QueryTranslator, node: exp.Expr, relation: SqlRelation, binder: Binder
) -> SqlRelation:
    """Return the rows for which EXISTS or IN is true.

    Raises:
        SqlError: The subquery is wrong, or correlated in a way that is not supported.
    """
    found, is_negated = _inside(node)
    query = found.args["query"] if isinstance(found, exp.In) else found.this
    while isinstance(query, exp.Subquery):
        query = query.this
    right, conditions = correlated(translator, query, relation, binder)
    width = len(relation.columns)
    kind = JoinType.ANTI if is_negated else JoinType.SEMI
    if isinstance(found, exp.In):
        values = found.this.expressions if isinstance(found.this, exp.Tuple) else [found.this]
        made = [binder.scalar(each) for each in values]
        known = right.columns[: len(right.columns) - n_hidden(right)]
        if len(known) != len(made):
            raise wrong(
                f"IN compares {len(made)} values with {len(known)} columns",
                node,
                hint="Select as many columns.",
            )
        for at, value in enumerate(made):
            other = InputColumn(width + at, right.columns[at].type, right.columns[at].name)
            equal = compared("equal", value, other, node)
            conditions.append(_unless_false(equal) if is_negated else equal)
    return joined_on(relation, right, kind, conditions)


def _unless_false(condition: Scalar) -> Scalar:
    """Return whether a condition is true or NULL: a value is NOT IN others only if it differs from each."""
    yes = Constant(True, BOOLEAN)  # noqa: FBT003 - a value
    return ScalarCall("coalesce", (condition, yes), BOOLEAN)


def with_scalars(
    translator: QueryTranslator,
    nodes: Sequence[exp.Expr],
    relation: SqlRelation,
    binder: Binder,
) -> SqlRelation:
    """Return rows with the values of the scalar subqueries of some expressions as further columns.

    The binder then knows the subqueries as columns.

    Raises:
        SqlError: A subquery may have several rows.
    """
    for node in nodes:
        for each in list(nodes_of(node)):
            if not isinstance(each, exp.Subquery) or id(each) in binder.given:
                continue
            if isinstance(each.parent, exp.In | exp.Exists):
                continue
            made = with_correlated_value(translator, each, relation, binder)
            if made is not None:
                relation = made
                continue
            value = translator.relation(each.this, binder.scope)
            if len(value.columns) != 1:
                raise wrong(
                    f"a subquery of one value has {len(value.columns)} columns",
                    each,
                    hint="Select one column.",
                )
            if not _has_one_row(value):
                raise unsupported(
                    "a subquery of one value that may have several rows",
                    each,
                    hint="Aggregate it without GROUP BY.",
                )
            at = len(relation.columns)
            relation = joined_on(relation, value, JoinType.LEFT, [])
            column = relation.columns[at]
            binder.given[id(each)] = InputColumn(at, column.type, column.name)
    return relation


def _has_one_row(relation: SqlRelation) -> bool:
    while isinstance(relation, Filter | Project):
        relation = relation.input
    return isinstance(relation, GroupBy) and relation.group == 0
