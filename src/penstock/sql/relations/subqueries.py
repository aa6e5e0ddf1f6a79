"""Subqueries in conditions and expressions: EXISTS, IN, and those of one value.

    WHERE a IN (SELECT b …)          semi join on a = b
    WHERE NOT EXISTS (SELECT …)      anti join
    WHERE a NOT IN (SELECT b …)      anti join of rows for which a = b is true or NULL
    a > (SELECT MAX(b) …)            left join with the one row

An aggregate without GROUP BY has one row also of no rows: there EXISTS is true and COUNT is 0. The relation of it has none, so what the
subquery makes of the row is computed behind the join.

A subquery may be correlated: conditions of its WHERE may read columns of the query around it, those of a value as equalities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from penstock.sql.binding.binder import Binder
from penstock.sql.binding.conditions import compared
from penstock.sql.catalogue import SqlColumn
from penstock.sql.column_types import BOOLEAN
from penstock.sql.functions.group_aggregate import AggregateCall
from penstock.sql.place import unsupported, wrong
from penstock.sql.relations.aggregates import nodes_of
from penstock.sql.relations.conditions import all_of, where
from penstock.sql.relations.correlation import correlated, n_hidden, with_correlated_value
from penstock.sql.relations.from_clause import joined_on
from penstock.sql.relations.joins import JoinType
from penstock.sql.relations.keyed import GroupBy, Rank
from penstock.sql.relations.tree import Filter, Project, SqlRelation
from penstock.sql.scalars.tree import (
    Constant,
    InputColumn,
    Scalar,
    ScalarCall,
    shifted,
    with_columns,
)
from penstock.sql.sqlglot_source import exp

if TYPE_CHECKING:
    from penstock.sql.relations.select import QueryTranslator

_YES, _NO = Constant(True, BOOLEAN), Constant(False, BOOLEAN)  # noqa: FBT003 - values


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
    values: list[Scalar] = []
    if isinstance(found, exp.In):
        given = found.this.expressions if isinstance(found.this, exp.Tuple) else [found.this]
        values = [binder.scalar(each) for each in given]
        known = right.columns[: len(right.columns) - n_hidden(right)]
        if len(known) != len(values):
            raise wrong(
                f"IN compares {len(values)} values with {len(known)} columns",
                node,
                hint="Select as many columns.",
            )
    one = _one_row(right)
    if one is not None:
        return _with_one_row(relation, one, values, node, is_negated=is_negated)
    width = len(relation.columns)
    for at, value in enumerate(values):
        other = InputColumn(width + at, right.columns[at].type, right.columns[at].name)
        equal = compared("equal", value, other, node)
        conditions.append(_unless_false(equal) if is_negated else equal)
    kind = JoinType.ANTI if is_negated else JoinType.SEMI
    return joined_on(relation, right, kind, conditions)


def _with_one_row(
    relation: SqlRelation,
    one: _OneRow,
    values: Sequence[Scalar],
    node: exp.Expr,
    *,
    is_negated: bool,
) -> SqlRelation:
    """Return the rows for which the one row of an aggregate is there, and has some values."""
    width = len(relation.columns)
    conditions = [shifted(each, width) for each in one.conditions]
    for value, output in zip(values, one.outputs, strict=False):
        equal = compared("equal", value, shifted(output, width), node)
        conditions.append(_unless_false(equal) if is_negated else equal)
    joined = joined_on(relation, one.group, JoinType.LEFT, []) if conditions else relation
    wanted = all_of(conditions) or _YES
    if is_negated:
        is_there = ScalarCall("coalesce", (wanted, _NO), BOOLEAN)
        wanted = ScalarCall("not", (is_there,), BOOLEAN)
    return where(joined, [wanted])


def _unless_false(condition: Scalar) -> Scalar:
    """Return whether a condition is true or NULL: a value is NOT IN others only if it differs from each."""
    return ScalarCall("coalesce", (condition, _YES), BOOLEAN)


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
            one = _one_row(value)
            if one is None:
                raise unsupported(
                    "a subquery of one value that may have several rows",
                    each,
                    hint="Aggregate it without GROUP BY.",
                )
            at = len(relation.columns)
            relation = joined_on(relation, one.group, JoinType.LEFT, [])
            binder.given[id(each)] = shifted(one.value(), at)
    return relation


@dataclass(frozen=True, slots=True)
class _OneRow:
    """An aggregate without GROUP BY, and what a subquery makes of its row.

    Attributes:
        group: The aggregate; its relation has no row while its input has none.
        outputs: What is selected, over its columns; these may be NULL, where it has no row.
        conditions: Of HAVING, over the same.
    """

    group: GroupBy
    outputs: tuple[Scalar, ...]
    conditions: tuple[Scalar, ...] = ()

    def value(self) -> Scalar:
        """Return what is selected, NULL if HAVING leaves no row."""
        (found,) = self.outputs
        kept = all_of(self.conditions)
        if kept is None:
            return found
        return ScalarCall("case", (kept, found, Constant(None, found.type)), found.type)


def _one_row(relation: SqlRelation) -> _OneRow | None:
    """Return the aggregate that a relation has the row of, None if it may have several rows."""
    if isinstance(relation, GroupBy) and relation.calls:
        calls = zip(relation.calls, relation.columns, strict=False)
        outputs = tuple(_of_call(at, *each) for at, each in enumerate(calls))
        return None if relation.group else _OneRow(relation, outputs)
    found = _one_row(relation.input) if isinstance(relation, _OF_ONE_ROW) else None
    if found is None:
        return None
    outputs = found.outputs
    if isinstance(relation, Filter):
        kept = with_columns(relation.condition, lambda c: outputs[c.position])
        return replace(found, conditions=(*found.conditions, kept))
    if isinstance(relation, Project):
        made = (with_columns(each, lambda c: outputs[c.position]) for each in relation.outputs)
        return replace(found, outputs=tuple(made))
    if isinstance(relation, Rank) and (relation.start or not relation.end or relation.has_number):
        return None
    return found


_OF_ONE_ROW = (Filter, Project, GroupBy, Rank)
"""Classes of relations that make one row of one; a GroupBy without aggregates is DISTINCT."""


def _of_call(at: int, call: AggregateCall, column: SqlColumn) -> Scalar:
    found = InputColumn(at, column.type, column.name)
    if call.function != "COUNT":
        return found
    return ScalarCall("coalesce", (found, Constant(0, call.result)), call.result)
