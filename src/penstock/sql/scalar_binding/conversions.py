"""The casts that give values the type that they have in common (`types.sql_types.common_type`), and arithmetic as Flink types it.

A text that is a constant becomes a date or time where it is compared with one. Nothing else is converted silently.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from penstock.errors import ExpressionError
from penstock.expressions.python.casts import cast
from penstock.expressions.row_values import value_of
from penstock.expressions.tree import OF_SQL, Call, Expression, Literal
from penstock.sql.place import wrong
from penstock.sql.scalar_binding.zone import zone_parameters
from penstock.sql.sqlglot_source import exp
from penstock.types.sql_types import (
    FLOATS,
    INT,
    NULL,
    NUMBERS,
    TIMESTAMP,
    TIMESTAMPS,
    SqlType,
    as_decimal,
    common_type,
    decimal,
)

_FROM_TEXT = frozenset({"DATE", "TIME", *TIMESTAMPS})


def converted(scalar: Expression, kind: SqlType) -> Expression:
    """Return an expression with another type; the types have been checked."""
    if scalar.type == kind:
        return scalar
    if isinstance(scalar, Literal):
        if scalar.value is None:
            return Literal(None, kind)
        convert = cast(scalar.type, kind, *zone_parameters(scalar.type, kind))
        if convert is not None:
            return Literal(convert(scalar.value), kind)
    return cast_call("sql_cast", scalar, kind)


def cast_call(name: str, scalar: Expression, kind: SqlType) -> Expression:
    """Return the call of `sql_cast` or `try_cast`, in the zone of the session."""
    return folded(Call(name, (scalar,), zone_parameters(scalar.type, kind), kind))


def in_local_time(scalar: Expression) -> Expression:
    """Return an instant as the time of the zone of the session, and any other value as it is."""
    return converted(scalar, TIMESTAMP) if scalar.type.name == "TIMESTAMP_LTZ" else scalar


def folded(call: Call) -> Expression:
    """Return the value of a call of constants as a constant; one that fails stays, it may never be reached."""
    if not all(isinstance(argument, Literal) for argument in call.arguments):
        return call
    try:
        return Literal(value_of(call), call.type)
    except ExpressionError:
        return call


def together(
    scalars: Sequence[Expression], node: exp.Expr, what: str
) -> tuple[tuple[Expression, ...], SqlType]:
    """Return expressions with one type in common, and that type."""
    scalars = _with_moments(scalars)
    kinds = [scalar.type for scalar in scalars]
    first: SqlType | None = kinds[0]
    kind = reduce(_or_none, kinds[1:], first)
    if kind is None:
        shown = " and ".join(dict.fromkeys(map(str, kinds)))
        raise wrong(
            f"{what} got {shown}, which have no type in common", node, hint="CAST one of them."
        )
    return tuple(converted(scalar, kind) for scalar in scalars), kind


def _or_none(left: SqlType | None, right: SqlType) -> SqlType | None:
    return None if left is None else common_type(left, right)


def _with_moments(scalars: Sequence[Expression]) -> Sequence[Expression]:
    """Return expressions with constant texts as dates or times, if another one is a date or time."""
    moments = [scalar.type for scalar in scalars if scalar.type.name in _FROM_TEXT]
    if not moments:
        return scalars
    return [
        converted(scalar, moments[0])
        if isinstance(scalar, Literal) and scalar.type.name == "STRING"
        else scalar
        for scalar in scalars
    ]


def sum_type(left: SqlType, right: SqlType) -> SqlType:
    """Return the decimal type of a sum."""
    scale = max(left.scale, right.scale)
    return decimal(
        max(left.precision - left.scale, right.precision - right.scale) + scale + 1, scale
    )


def product_type(left: SqlType, right: SqlType) -> SqlType:
    """Return the decimal type of a product."""
    return decimal(left.precision + right.precision, left.scale + right.scale)


def quotient_type(left: SqlType, right: SqlType) -> SqlType:
    """Return the decimal type of a quotient."""
    scale = max(6, left.scale + right.precision + 1)
    return decimal(left.precision - left.scale + right.scale + scale, scale)


def remainder_type(left: SqlType, right: SqlType) -> SqlType:
    """Return the decimal type of a remainder."""
    scale = max(left.scale, right.scale)
    return decimal(min(left.precision - left.scale, right.precision - right.scale) + scale, scale)


def is_float(kind: SqlType) -> bool:
    """Return whether values are binary floating-point numbers."""
    return kind.name in FLOATS


def arithmetic(
    name: str,
    decimal_type: Callable[[SqlType, SqlType], SqlType],
    operands: tuple[Expression, Expression],
    node: exp.Expr,
) -> Expression:
    """Return an arithmetic operation on numbers."""
    what = name.removeprefix(OF_SQL)
    for operand in operands:
        if operand.type.name not in NUMBERS and operand.type != NULL:
            raise wrong(f"{what} got {operand.type}, no number", node, hint="CAST it to a number.")
    (left, right), kind = together(operands, node, what)
    if kind == NULL:
        return Literal(None, INT)
    if kind.name != "DECIMAL":
        return folded(Call(name, (left, right), kind=kind))
    one, other = (
        as_decimal(operand.type) if operand.type != NULL else kind for operand in operands
    )
    left, right = converted(operands[0], one), converted(operands[1], other)
    return folded(Call(name, (left, right), kind=decimal_type(one, other)))
