"""Intervals: constants that are added to times, and lengths of windows."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from penstock.expressions.python.times import MILLIS, MONTHS
from penstock.expressions.tree import Call, Expression, Literal
from penstock.sql.place import unsupported, wrong
from penstock.sql.scalar_binding.binder import Binder
from penstock.sql.scalar_binding.conversions import folded
from penstock.sql.sqlglot_source import exp
from penstock.types.sql_types import BIGINT, INT, TIMESTAMPS

_UNITS = {**{f"{unit}S": unit for unit in (*MILLIS, *MONTHS)}, "WEEKS": "WEEK"}


def is_interval(node: exp.Expr) -> bool:
    """Return whether a node is an interval."""
    return isinstance(node, exp.Interval) or (
        isinstance(node, exp.Paren) and is_interval(node.this)
    )


def interval(node: exp.Expr) -> tuple[int, bool]:
    """Return the length of an interval, and whether it counts months and not milliseconds."""
    if isinstance(node, exp.Paren):
        return interval(node.this)
    if not isinstance(node, exp.Interval):
        raise wrong("an interval is required", node, hint="Write INTERVAL '5' SECOND.")
    unit, amount = node.args.get("unit"), node.this
    text = (
        ""
        if amount is None
        else amount.name
        if not isinstance(amount, exp.Neg)
        else f"-{amount.this.name}"
    )
    word = "" if unit is None else unit.name.upper()
    word = _UNITS.get(word, word)
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise unsupported(
            "an interval of several units, or one that is no number,",
            node,
            hint="Write a number and a unit.",
        ) from None
    if word in MONTHS:
        return int(number) * MONTHS[word], True
    millis = {**MILLIS, "WEEK": 7 * MILLIS["DAY"]}.get(word)
    if millis is None:
        raise unsupported(
            f"the unit {word or 'of an interval'}",
            node,
            hint=f"Use one of {', '.join((*MILLIS, *MONTHS))}.",
        )
    return int(number * millis), False


def milliseconds(node: exp.Expr, what: str) -> int:
    """Return the milliseconds of an interval that has no months."""
    length, counts_months = interval(node)
    if counts_months:
        raise wrong(f"{what} is in months, whose lengths differ", node, hint="Use days.")
    return length


def shifted_by(binder: Binder, node: exp.Expr, *, is_negative: bool) -> Expression:
    """Return a time with an interval added or taken away."""
    left, right = node.this, node.expression
    if is_interval(left) and is_negative:
        raise wrong("an interval minus something", node, hint="Write the time before the minus.")
    moment, length = (right, left) if is_interval(left) else (left, right)
    amount, counts_months = interval(length)
    return shifted(
        binder.scalar(moment), -amount if is_negative else amount, node, counts_months=counts_months
    )


def shifted(value: Expression, amount: int, node: exp.Expr, *, counts_months: bool) -> Expression:
    """Return a time some milliseconds or months later."""
    if value.type.name not in {"DATE", *TIMESTAMPS}:
        raise wrong(
            f"an interval is added to {value.type}", node, hint="Add it to a date or timestamp."
        )
    name = "shift_months" if counts_months else "sql_shift"
    return folded(
        Call(name, (value, Literal(amount, INT if counts_months else BIGINT)), kind=value.type)
    )
