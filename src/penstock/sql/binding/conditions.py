"""Conditions: comparisons, AND and OR, IS, BETWEEN, IN, LIKE, and the choice by CASE."""

from __future__ import annotations

from penstock.sql.binding import conversions as types
from penstock.sql.binding.binder import Binder, Build
from penstock.sql.binding.calls import call_named
from penstock.sql.column_types import BOOLEAN, NULL
from penstock.sql.place import unsupported, wrong
from penstock.sql.scalars.tree import Constant, Scalar, ScalarCall
from penstock.sql.sqlglot_source import exp

_MOST_MEMBERS = 10_000


def bind_comparison(name: str, *, needs_order: bool = True) -> Build:
    """Return what binds a comparison."""

    def build(binder: Binder, node: exp.Expr) -> Scalar:
        return compared(
            name,
            binder.scalar(node.this),
            binder.scalar(node.expression),
            node,
            needs_order=needs_order,
        )

    return build


def compared(
    name: str, left: Scalar, right: Scalar, node: exp.Expr, *, needs_order: bool = False
) -> Scalar:
    """Return a comparison of two values.

    Raises:
        SqlError: They have no type in common, or one without an order.
    """
    operands, kind = types.together((left, right), node, "a comparison")
    if kind == NULL:
        return Constant(None, BOOLEAN)
    if needs_order and kind.name in {"BOOLEAN", "ARRAY", "MAP", "ROW", "ANY"}:
        raise wrong(f"{kind} has no order", node, hint="Compare with = or <>.")
    return types.folded(ScalarCall(name, operands, BOOLEAN))


def bind_logic(name: str) -> Build:
    """Return what binds AND or OR."""

    def build(binder: Binder, node: exp.Expr) -> Scalar:
        operands = (
            binder.condition(node.this, "an operand"),
            binder.condition(node.expression, "an operand"),
        )
        return types.folded(ScalarCall(name, operands, BOOLEAN))

    return build


def negated(condition: Scalar) -> Scalar:
    """Return the negation of a condition."""
    return types.folded(ScalarCall("not", (condition,), BOOLEAN))


def either(conditions: list[Scalar]) -> Scalar:
    """Return whether one of some conditions is true."""
    found = conditions[0]
    for each in conditions[1:]:
        found = ScalarCall("or", (found, each), BOOLEAN)
    return found


def both(conditions: list[Scalar]) -> Scalar:
    """Return whether all of some conditions are true."""
    found = conditions[0]
    for each in conditions[1:]:
        found = ScalarCall("and", (found, each), BOOLEAN)
    return found


def bind_not(binder: Binder, node: exp.Expr) -> Scalar:
    """Bind NOT."""
    return negated(binder.condition(node.this, "the operand of NOT"))


def bind_is(binder: Binder, node: exp.Expr) -> Scalar:
    """Bind IS NULL, IS TRUE and the like."""
    other = node.expression
    if isinstance(other, exp.Null):
        return types.folded(ScalarCall("is_null", (binder.scalar(node.this),), BOOLEAN))
    if isinstance(other, exp.Boolean):
        value = binder.condition(node.this, "the operand of IS")
        wanted = value if other.this else negated(value)
        no = Constant(False, BOOLEAN)  # noqa: FBT003 - a value
        return types.folded(ScalarCall("coalesce", (wanted, no), BOOLEAN))
    if other.name.upper() == "UNKNOWN":
        value = binder.condition(node.this, "the operand of IS")
        return types.folded(ScalarCall("is_null", (value,), BOOLEAN))
    raise unsupported(f"IS {other.sql()}", node)


def bind_distinct(*, is_negated: bool) -> Build:
    """Return what binds IS DISTINCT FROM."""

    def build(binder: Binder, node: exp.Expr) -> Scalar:
        operands = (binder.scalar(node.this), binder.scalar(node.expression))
        operands, kind = types.together(operands, node, "IS DISTINCT FROM")  # type: ignore[assignment]
        if kind == NULL:
            return Constant(is_negated, BOOLEAN)
        found = types.folded(ScalarCall("is_distinct", tuple(operands), BOOLEAN))
        return negated(found) if is_negated else found

    return build


def bind_between(binder: Binder, node: exp.Expr) -> Scalar:
    """Bind BETWEEN."""
    value, low, high = (binder.scalar(node.args[key]) for key in ("this", "low", "high"))
    found = _within(value, low, high, node)
    if node.args.get("symmetric"):
        return either([found, _within(value, high, low, node)])
    return found


def _within(value: Scalar, low: Scalar, high: Scalar, node: exp.Expr) -> Scalar:
    return both(
        [
            compared("greater_equal", value, low, node, needs_order=True),
            compared("less_equal", value, high, node, needs_order=True),
        ]
    )


def bind_in(binder: Binder, node: exp.Expr) -> Scalar:
    """Bind IN with values; of constants as a set."""
    if node.args.get("query") is not None or node.args.get("unnest") is not None:
        raise unsupported(
            "IN with a subquery elsewhere than as a condition of WHERE that AND connects", node
        )
    value = binder.scalar(node.this)
    members = [binder.scalar(each) for each in node.expressions]
    if len(members) > _MOST_MEMBERS:
        raise unsupported(
            f"IN with more than {_MOST_MEMBERS} values", node, hint="Join a table of them."
        )
    (value, *members), kind = types.together((value, *members), node, "IN")
    constants = [each for each in members if isinstance(each, Constant)]
    has_null = any(each.value is None for each in constants)
    if len(constants) == len(members) and not has_null and kind.name not in {"ARRAY", "MAP", "ROW"}:
        if types.is_float(kind):
            return either([compared("equal", value, each, node) for each in members])
        found = frozenset(each.value for each in constants)
        return types.folded(ScalarCall("isin", (value,), BOOLEAN, (found,)))
    return either([ScalarCall("equal", (value, each), BOOLEAN) for each in members])


def bind_like(binder: Binder, node: exp.Expr) -> Scalar:
    """Bind LIKE and NOT LIKE."""
    return _like(binder, node, [node.this, node.expression], node)


def bind_escape(binder: Binder, node: exp.Expr) -> Scalar:
    """Bind LIKE and NOT LIKE with ESCAPE."""
    like = node.this
    if not isinstance(like, exp.Like):
        raise unsupported("ESCAPE of another operator than LIKE", node)
    return _like(binder, like, [like.this, like.expression, node.expression], node)


def _like(binder: Binder, like: exp.Expr, operands: list[exp.Expr], node: exp.Expr) -> Scalar:
    found = call_named("LIKE", [binder.scalar(each) for each in operands], node)
    return negated(found) if like.args.get("negate") else found


def bind_case(binder: Binder, node: exp.Expr) -> Scalar:
    """Bind CASE."""
    subject = None if node.this is None else binder.scalar(node.this)
    tests, values = [], []
    for each in node.args["ifs"]:
        if subject is None:
            tests.append(binder.condition(each.this, "a condition of CASE"))
        else:
            tests.append(compared("equal", subject, binder.scalar(each.this), each))
        values.append(binder.scalar(each.args["true"]))
    default = node.args.get("default")
    other = Constant(None) if default is None else binder.scalar(default)
    return _chosen(tests, [*values, other], node)


def bind_if(binder: Binder, node: exp.Expr) -> Scalar:
    """Bind IF."""
    test = binder.condition(node.this, "the condition of IF")
    other = node.args.get("false")
    values = [binder.scalar(node.args["true"])]
    values.append(Constant(None) if other is None else binder.scalar(other))
    return _chosen([test], values, node)


def _chosen(tests: list[Scalar], values: list[Scalar], node: exp.Expr) -> Scalar:
    (*values, other), kind = types.together(values, node, "CASE")
    if kind == NULL:
        return Constant(None)
    pairs = zip(tests, values, strict=True)
    return ScalarCall("case", (*(each for pair in pairs for each in pair), other), kind)
