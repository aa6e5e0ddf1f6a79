"""Conditions as values: what a chain computes of all records, also of those that its conditions drop.

where price > 0, select each=amount / price      kept: price > 0      each: case(price > 0, amount / price, NULL)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.expressions.kinds import BOOLEAN, COMPUTED, name_of
from penstock.expressions.steps import ExpressionChain, WhereStep
from penstock.expressions.tree import Call, Expression, Field, Literal

_FALSE = Literal(value=False, kind=BOOLEAN)


def inlined(chain: ExpressionChain) -> tuple[Expression | None, tuple[Expression, ...]]:
    """Return whether the conditions of a chain keep a record, None without any, and its results: expressions of the record that it reads."""
    kept: Expression | None = None
    named = zip(chain.records.field_names, chain.records.field_types, strict=True)
    known: dict[str, Expression] = {name: Field(name, kind) for name, kind in named}
    for step in chain.steps:
        if isinstance(step, WhereStep):
            kept = kept_by(kept, _of_records(step.condition, known))
        else:
            known = {name: if_kept(kept, _of_records(made, known)) for name, made in step.outputs}
    return kept, tuple(known.values())


def _of_records(expression: Expression, known: Mapping[str, Expression]) -> Expression:
    if isinstance(expression, Field):
        return known[expression.name]
    if not isinstance(expression, Call):
        return expression
    arguments = tuple(_of_records(each, known) for each in expression.arguments)
    return replace(expression, arguments=arguments)


def kept_by(before: Expression | None, condition: Expression) -> Expression:
    """Return whether a condition keeps a record that those before have kept; never NULL."""
    is_true = Call("coalesce", (condition, _FALSE), kind=BOOLEAN)
    return is_true if before is None else chosen(before, is_true, _FALSE)


def if_kept(kept: Expression | None, expression: Expression) -> Expression:
    """Return an expression that is not computed for other records: it may have no value for them."""
    if kept is None or not isinstance(expression, Call):
        return expression
    if name_of(expression) in COMPUTED:
        return chosen(kept, expression, Literal(None, expression.type_info))
    return replace(
        expression, arguments=tuple(if_kept(kept, each) for each in expression.arguments)
    )


def chosen(condition: Expression, value: Expression, other: Expression) -> Expression:
    """Return one of two expressions."""
    return Call("case", (condition, value, other), kind=value.type_info)
