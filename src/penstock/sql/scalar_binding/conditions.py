"""Conditions: comparisons, AND and OR, IS, BETWEEN, IN, LIKE, and the choice by CASE."""

from __future__ import annotations

from penstock.expressions.tree import Call, Expression, Literal
from penstock.sql.place import unsupported, wrong
from penstock.sql.scalar_binding import conversions as types
from penstock.sql.scalar_binding.binder import Binder, Build
from penstock.sql.scalar_binding.calls import call_named
from penstock.sql.sqlglot_source import exp
from penstock.types.sql_types import BOOLEAN, NULL

_MOST_MEMBERS = 10_000


def bind_comparison(name: str, *, needs_order: bool = True) -> Build:
    """Return the binder of a comparison."""

    def build(binder: Binder, node: exp.Expr) -> Expression:
        return compared(
            name,
            binder.scalar(node.this),
            binder.scalar(node.expression),
            node,
            needs_order=needs_order,
        )

    return build


def compared(
    name: str, left: Expression, right: Expression, node: exp.Expr, *, needs_order: bool = False
) -> Expression:
    """Return a comparison of two values."""
    operands, kind = types.together((left, right), node, "a comparison")
    if kind == NULL:
        return Literal(None, BOOLEAN)
    if needs_order and kind.name in {"BOOLEAN", "ARRAY", "MAP", "ROW", "ANY"}:
        raise wrong(f"{kind} has no order", node, hint="Compare with = or <>.")
    return types.folded(Call(name, operands, kind=BOOLEAN))


def bind_logic(name: str) -> Build:
    """Return the binder of AND or OR."""

    def build(binder: Binder, node: exp.Expr) -> Expression:
        operands = (
            binder.condition(node.this, "an operand"),
            binder.condition(node.expression, "an operand"),
        )
        return types.folded(Call(name, operands, kind=BOOLEAN))

    return build


def negated(condition: Expression) -> Expression:
    """Return the negation of a condition."""
    return types.folded(Call("not", (condition,), kind=BOOLEAN))


def either(conditions: list[Expression]) -> Expression:
    """Return whether one of some conditions is true."""
    disjunction = conditions[0]
    for condition in conditions[1:]:
        disjunction = Call("or", (disjunction, condition), kind=BOOLEAN)
    return disjunction


def both(conditions: list[Expression]) -> Expression:
    """Return whether all of some conditions are true."""
    conjunction = conditions[0]
    for condition in conditions[1:]:
        conjunction = Call("and", (conjunction, condition), kind=BOOLEAN)
    return conjunction


def bind_not(binder: Binder, node: exp.Expr) -> Expression:
    """Bind NOT."""
    return negated(binder.condition(node.this, "the operand of NOT"))


def bind_is(binder: Binder, node: exp.Expr) -> Expression:
    """Bind IS NULL, IS TRUE and the like."""
    other = node.expression
    if isinstance(other, exp.Null):
        return types.folded(Call("is_null", (binder.scalar(node.this),), kind=BOOLEAN))
    if isinstance(other, exp.Boolean):
        value = binder.condition(node.this, "the operand of IS")
        tested = value if other.this else negated(value)
        no = Literal(False, BOOLEAN)  # noqa: FBT003 - a value
        return types.folded(Call("coalesce", (tested, no), kind=BOOLEAN))
    if other.name.upper() == "UNKNOWN":
        value = binder.condition(node.this, "the operand of IS")
        return types.folded(Call("is_null", (value,), kind=BOOLEAN))
    raise unsupported(f"IS {other.sql()}", node)


def bind_distinct(*, is_negated: bool) -> Build:
    """Return the binder of IS DISTINCT FROM."""

    def build(binder: Binder, node: exp.Expr) -> Expression:
        operands = (binder.scalar(node.this), binder.scalar(node.expression))
        operands, kind = types.together(operands, node, "IS DISTINCT FROM")  # type: ignore[assignment]
        if kind == NULL:
            return Literal(is_negated, BOOLEAN)
        test = types.folded(Call("is_distinct", tuple(operands), kind=BOOLEAN))
        return negated(test) if is_negated else test

    return build


def bind_between(binder: Binder, node: exp.Expr) -> Expression:
    """Bind BETWEEN."""
    value, low, high = (binder.scalar(node.args[key]) for key in ("this", "low", "high"))
    test = _within(value, low, high, node)
    if node.args.get("symmetric"):
        return either([test, _within(value, high, low, node)])
    return test


def _within(value: Expression, low: Expression, high: Expression, node: exp.Expr) -> Expression:
    return both(
        [
            compared("greater_equal", value, low, node, needs_order=True),
            compared("less_equal", value, high, node, needs_order=True),
        ]
    )


def bind_in(binder: Binder, node: exp.Expr) -> Expression:
    """Bind IN with values; of constants as a set."""
    if node.args.get("query") is not None or node.args.get("unnest") is not None:
        raise unsupported(
            "IN with a subquery elsewhere than as a condition of WHERE that AND connects", node
        )
    value = binder.scalar(node.this)
    members = [binder.scalar(member) for member in node.expressions]
    if len(members) > _MOST_MEMBERS:
        raise unsupported(
            f"IN with more than {_MOST_MEMBERS} values", node, hint="Join a table of them."
        )
    (value, *members), kind = types.together((value, *members), node, "IN")
    constants = [member for member in members if isinstance(member, Literal)]
    has_null = any(constant.value is None for constant in constants)
    if len(constants) == len(members) and not has_null and kind.name not in {"ARRAY", "MAP", "ROW"}:
        if types.is_float(kind):
            return either([compared("equal", value, member, node) for member in members])
        values = dict.fromkeys(constant.value for constant in constants)
        return types.folded(Call("isin", (value,), tuple(sorted(values)), BOOLEAN))
    return either([Call("equal", (value, member), kind=BOOLEAN) for member in members])


def bind_like(binder: Binder, node: exp.Expr) -> Expression:
    """Bind LIKE and NOT LIKE."""
    return _like(binder, node, [node.this, node.expression], node)


def bind_escape(binder: Binder, node: exp.Expr) -> Expression:
    """Bind LIKE and NOT LIKE with ESCAPE."""
    like = node.this
    if not isinstance(like, exp.Like):
        raise unsupported("ESCAPE of another operator than LIKE", node)
    return _like(binder, like, [like.this, like.expression, node.expression], node)


def _like(binder: Binder, like: exp.Expr, operands: list[exp.Expr], node: exp.Expr) -> Expression:
    test = call_named("LIKE", [binder.scalar(operand) for operand in operands], node)
    return negated(test) if like.args.get("negate") else test


def bind_case(binder: Binder, node: exp.Expr) -> Expression:
    """Bind CASE."""
    subject = None if node.this is None else binder.scalar(node.this)
    tests, values = [], []
    for branch in node.args["ifs"]:
        if subject is None:
            tests.append(binder.condition(branch.this, "a condition of CASE"))
        else:
            tests.append(compared("equal", subject, binder.scalar(branch.this), branch))
        values.append(binder.scalar(branch.args["true"]))
    default = node.args.get("default")
    other = Literal(None, NULL) if default is None else binder.scalar(default)
    return _chosen(tests, [*values, other], node)


def bind_if(binder: Binder, node: exp.Expr) -> Expression:
    """Bind IF."""
    test = binder.condition(node.this, "the condition of IF")
    other = node.args.get("false")
    values = [binder.scalar(node.args["true"])]
    values.append(Literal(None, NULL) if other is None else binder.scalar(other))
    return _chosen([test], values, node)


def _chosen(tests: list[Expression], values: list[Expression], node: exp.Expr) -> Expression:
    (*values, other), kind = types.together(values, node, "CASE")
    if kind == NULL:
        return Literal(None, NULL)
    pairs = zip(tests, values, strict=True)
    return Call("case", (*(scalar for pair in pairs for scalar in pair), other), kind=kind)
