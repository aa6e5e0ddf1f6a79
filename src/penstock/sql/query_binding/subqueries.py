"""Subqueries in conditions and expressions: EXISTS, IN, and those of one value.

    WHERE a IN (SELECT b …)          semi join on a = b
    WHERE NOT EXISTS (SELECT …)      anti join
    WHERE a NOT IN (SELECT b …)      anti join of rows for which a = b is true or NULL
    a > (SELECT MAX(b) …)            left join with the one row

An aggregate without GROUP BY has one row also of no rows: there EXISTS is true and COUNT is 0. The relation of it has none, so what the
subquery makes of the row is computed behind the join.

A subquery may be correlated: conditions of its WHERE may read columns of the query around it, those of a value as equalities.

Subqueries that read columns of the query around them.

The conditions of their WHERE that do so become those of a join. Columns of the subquery in these are selected behind its own ones, as
`$outer…`. A subquery of one value is grouped by it:

    (SELECT MAX(b) + 1 FROM u WHERE u.k = t.k AND c > 2)
    LEFT JOIN (SELECT MAX(b) + 1, u.k, TRUE FROM u WHERE c > 2 GROUP BY u.k) ON $outer0 = t.k
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from penstock.expressions.tree import (
    Call,
    Expression,
    Field,
    Literal,
    conjuncts,
    shifted,
    with_fields,
)
from penstock.program.join import JoinKind
from penstock.relation.groups import GroupBy
from penstock.relation.ordered import Rank
from penstock.relation.parts import AggregateCall
from penstock.relation.tree import Filter, Project, Relation, SqlColumn
from penstock.sql.place import unsupported, wrong
from penstock.sql.query_binding.aggregates import aggregate_nodes, bound_aggregate, nodes_of
from penstock.sql.query_binding.conditions import all_of, where
from penstock.sql.query_binding.from_clause import FromClause, joined_on
from penstock.sql.scalar_binding.binder import Binder
from penstock.sql.scalar_binding.conditions import compared
from penstock.sql.scalar_binding.operators import BUILDERS
from penstock.sql.scalar_binding.scope import Scope
from penstock.sql.sqlglot_source import exp
from penstock.types.sql_types import BOOLEAN

if TYPE_CHECKING:
    from penstock.sql.query_binding.select import QueryTranslator


_PREFIX = "$outer"


@dataclass(frozen=True, slots=True)
class _Split:
    """A subquery without the conditions that read columns of the query around.

    Attributes:
        inside: The subquery, a copy.
        outside: The conditions.
        scope: Meanings of names in the subquery.
    """

    inside: exp.Select
    outside: tuple[exp.Expr, ...]
    scope: Scope


def correlated(
    translator: QueryTranslator, query: exp.Expr, outer: Relation, binder: Binder
) -> tuple[Relation, list[Expression]]:
    """Return the rows of a subquery, and the conditions between them and the rows around: over the columns of both."""
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
        for condition in split.outside
        for column in condition.find_all(exp.Column)
        if split.scope.find(column) is not None
    }
    own = [] if _is_existence(query) else list(split.inside.expressions)
    selected = [*own, *_named(list(columns.values()))] or list(split.inside.expressions)
    split.inside.set("expressions", selected)
    right = translator.relation(split.inside)
    start = len(right.columns) - len(columns)
    behind = {
        text: Field(text, right.columns[number].type, len(outer.columns) + number)
        for number, text in enumerate(columns, start)
    }
    between = Binder(binder.scope, translator.catalogue, BUILDERS)
    conditions: list[Expression] = []
    for condition in split.outside:
        for column in condition.find_all(exp.Column):
            if column.sql() in behind:
                between.given[id(column)] = behind[column.sql()]
        conditions += conjuncts(between.condition(condition, "the condition of WHERE"))
    return right, conditions


def _is_aggregate(translator: QueryTranslator, query: exp.Select) -> bool:
    """Return whether a query without GROUP BY has aggregates, and so one row."""
    having = query.args.get("having")
    nodes = [*query.expressions, *([having] if having else [])]
    return any(aggregate_nodes(item, translator.catalogue) for item in nodes)


def n_hidden(relation: Relation) -> int:
    """Return the number of columns that a correlated subquery got behind its own."""
    return sum(column.name.startswith(_PREFIX) for column in relation.columns)


def with_correlated_value(
    translator: QueryTranslator, node: exp.Subquery, relation: Relation, binder: Binder
) -> Relation | None:
    """Return rows with the value of a correlated subquery, registered in the binder; None if it is not correlated."""
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
    pairs = [_sides(condition, split.scope) for condition in split.outside]
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
    values = [
        Field(column.name, column.type, width + offset)
        for offset, column in enumerate(right.columns)
    ]
    conditions: list[Expression] = [
        compared("equal", field, binder.scalar(around), node)
        for field, (_, around) in zip(values[1:-1], pairs, strict=True)
    ]
    without = _of_no_rows(value, calls, Binder(split.scope, translator.catalogue, BUILDERS))
    is_missing = Call("is_null", (values[-1],), kind=BOOLEAN)
    chosen = Call("case", (is_missing, without, values[0]), kind=values[0].type)
    is_plain = isinstance(without, Literal) and without.value is None
    binder.given[id(node)] = values[0] if is_plain else chosen
    return joined_on(relation, right, JoinKind.LEFT, conditions)


def _of_no_rows(value: exp.Expr, calls: Sequence[exp.Expr], inner: Binder) -> Expression:
    """Return the value of an expression of aggregates over no rows."""
    bound = {id(call): bound_aggregate(call, inner).call for call in calls}
    if any(aggregate.user is not None for aggregate in bound.values()):
        raise unsupported("an aggregate function of yours in a correlated subquery", value)
    alone = Binder(Scope(), inner.catalogue, BUILDERS)
    for key, call in bound.items():
        alone.given[key] = Literal(0 if call.function == "COUNT" else None, call.result)
    return alone.scalar(value.this if isinstance(value, exp.Alias) else value)


def _sides(condition: exp.Expr, scope: Scope) -> tuple[exp.Expr, exp.Expr]:
    """Return the side of an equality that reads the subquery, and the one that reads the query around."""
    if isinstance(condition, exp.EQ):
        sides = (condition.this, condition.expression)
        inner = [_reads(side, scope) for side in sides]
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
    outside = [part for part in parts if _is_outside(part, scope, outer)]
    if not outside:
        return None
    rest = [part for part in parts if part not in outside]
    inside.set("where", exp.Where(this=exp.and_(*rest)) if rest else None)
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
    return [
        exp.alias_(item.copy(), f"{_PREFIX}{number}", quoted=True)
        for number, item in enumerate(nodes)
    ]


def _is_existence(query: exp.Expr) -> bool:
    around = query.parent
    while isinstance(around, exp.Subquery):
        around = around.parent
    return isinstance(around, exp.Exists)


_YES, _NO = Literal(True, BOOLEAN), Literal(False, BOOLEAN)  # noqa: FBT003 - values


def _inside(node: exp.Expr) -> tuple[exp.Expr, bool]:
    """Return a condition without NOT and parentheses, and whether it was negated."""
    negated = False
    while isinstance(node, exp.Paren | exp.Not):
        negated = negated is not isinstance(node, exp.Not)
        node = node.this
    return node, negated


def is_existence(node: exp.Expr) -> bool:
    """Return whether a condition is EXISTS or IN with a subquery, or its negation."""
    predicate, _ = _inside(node)
    return isinstance(predicate, exp.Exists) or (
        isinstance(predicate, exp.In) and predicate.args.get("query") is not None
    )


def with_existence(
    translator: QueryTranslator, node: exp.Expr, relation: Relation, binder: Binder
) -> Relation:
    """Return the rows for which EXISTS or IN is true."""
    predicate, is_negated = _inside(node)
    query = predicate.args["query"] if isinstance(predicate, exp.In) else predicate.this
    while isinstance(query, exp.Subquery):
        query = query.this
    right, conditions = correlated(translator, query, relation, binder)
    values: list[Expression] = []
    if isinstance(predicate, exp.In):
        operands = (
            predicate.this.expressions
            if isinstance(predicate.this, exp.Tuple)
            else [predicate.this]
        )
        values = [binder.scalar(operand) for operand in operands]
        columns = right.columns[: len(right.columns) - n_hidden(right)]
        if len(columns) != len(values):
            raise wrong(
                f"IN compares {len(values)} values with {len(columns)} columns",
                node,
                hint="Select as many columns.",
            )
    group = _one_row(right)
    if group is not None:
        return _with_one_row(relation, group, values, node, is_negated=is_negated)
    width = len(relation.columns)
    for number, value in enumerate(values):
        other = Field(right.columns[number].name, right.columns[number].type, width + number)
        equal = compared("equal", value, other, node)
        conditions.append(_unless_false(equal) if is_negated else equal)
    kind = JoinKind.ANTI if is_negated else JoinKind.SEMI
    return joined_on(relation, right, kind, conditions)


def _with_one_row(
    relation: Relation,
    one: _OneRow,
    values: Sequence[Expression],
    node: exp.Expr,
    *,
    is_negated: bool,
) -> Relation:
    """Return the rows for which the one row of an aggregate is there, and has some values."""
    width = len(relation.columns)
    conditions = [shifted(condition, width) for condition in one.conditions]
    for value, output in zip(values, one.outputs, strict=False):
        equal = compared("equal", value, shifted(output, width), node)
        conditions.append(_unless_false(equal) if is_negated else equal)
    joined = joined_on(relation, one.group, JoinKind.LEFT, []) if conditions else relation
    predicate = all_of(conditions) or _YES
    if is_negated:
        is_there = Call("coalesce", (predicate, _NO), kind=BOOLEAN)
        predicate = Call("not", (is_there,), kind=BOOLEAN)
    return where(joined, [predicate])


def _unless_false(condition: Expression) -> Expression:
    """Return whether a condition is true or NULL: a value is NOT IN others only if it differs from each."""
    return Call("coalesce", (condition, _YES), kind=BOOLEAN)


def with_scalars(
    translator: QueryTranslator,
    nodes: Sequence[exp.Expr],
    relation: Relation,
    binder: Binder,
) -> Relation:
    """Return rows with the values of the scalar subqueries of some expressions as further columns.

    The binder then resolves the subqueries to columns.
    """
    for node in nodes:
        for subquery in list(nodes_of(node)):
            if not isinstance(subquery, exp.Subquery) or id(subquery) in binder.given:
                continue
            if isinstance(subquery.parent, exp.In | exp.Exists):
                continue
            extended = with_correlated_value(translator, subquery, relation, binder)
            if extended is not None:
                relation = extended
                continue
            value = translator.relation(subquery.this, binder.scope)
            if len(value.columns) != 1:
                raise wrong(
                    f"a subquery of one value has {len(value.columns)} columns",
                    subquery,
                    hint="Select one column.",
                )
            group = _one_row(value)
            if group is None:
                raise unsupported(
                    "a subquery of one value that may have several rows",
                    subquery,
                    hint="Aggregate it without GROUP BY.",
                )
            position = len(relation.columns)
            relation = joined_on(relation, group.group, JoinKind.LEFT, [])
            binder.given[id(subquery)] = shifted(group.value(), position)
    return relation


@dataclass(frozen=True, slots=True)
class _OneRow:
    """An aggregate without GROUP BY, and what a subquery makes of its row.

    Attributes:
        group: The aggregate; its relation has no row while its input has none.
        outputs: Selected expressions, over its columns; these may be NULL, where it has no row.
        conditions: Conditions of HAVING, over the same.
    """

    group: GroupBy
    outputs: tuple[Expression, ...]
    conditions: tuple[Expression, ...] = ()

    def value(self) -> Expression:
        """Return the selected value, NULL if HAVING leaves no row."""
        (output,) = self.outputs
        condition = all_of(self.conditions)
        if condition is None:
            return output
        return Call("case", (condition, output, Literal(None, output.type)), kind=output.type)


def _one_row(relation: Relation) -> _OneRow | None:
    """Return the aggregate that a relation has the row of, None if it may have several rows."""
    if isinstance(relation, GroupBy) and relation.calls:
        calls = zip(relation.calls, relation.columns, strict=False)
        outputs = tuple(_of_call(number, *call) for number, call in enumerate(calls))
        return None if relation.group else _OneRow(relation, outputs)
    group = _one_row(relation.input) if isinstance(relation, _OF_ONE_ROW) else None
    if group is None:
        return None
    outputs = group.outputs
    if isinstance(relation, Filter):
        condition = with_fields(relation.condition, lambda c: outputs[c.position])
        return replace(group, conditions=(*group.conditions, condition))
    if isinstance(relation, Project):
        changed = (
            with_fields(output, lambda c: outputs[c.position]) for output in relation.outputs
        )
        return replace(group, outputs=tuple(changed))
    if isinstance(relation, Rank) and (relation.start or not relation.end or relation.has_number):
        return None
    return group


_OF_ONE_ROW = (Filter, Project, GroupBy, Rank)
"""Classes of relations that make one row of one; a GroupBy without aggregates is DISTINCT."""


def _of_call(position: int, call: AggregateCall, column: SqlColumn) -> Expression:
    field = Field(column.name, column.type, position)
    if call.function != "COUNT":
        return field
    return Call("coalesce", (field, Literal(0, call.result)), kind=call.result)
