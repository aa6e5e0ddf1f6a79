"""The type that values have in common, and the casts that give it to them.

    TINYINT < SMALLINT < INT < BIGINT     the wider one
    a whole number with DECIMAL           DECIMAL, of enough digits
    FLOAT or DOUBLE with another number   DOUBLE
    DATE with TIMESTAMP                   TIMESTAMP
    NULL with t                           t

A text that is a constant becomes a date or time where it is compared with one. Nothing else is converted silently.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from penstock.errors import ExpressionError
from penstock.sql.binding.zone import zone_parameters
from penstock.sql.column_types import (
    DOUBLE,
    FLOATS,
    NULL,
    NUMBERS,
    TIMESTAMP,
    TIMESTAMPS,
    WHOLE,
    SqlType,
    array,
    as_decimal,
    decimal,
    row,
)
from penstock.sql.place import wrong
from penstock.sql.scalars.casts import cast
from penstock.sql.scalars.evaluation import value_of
from penstock.sql.scalars.tree import Constant, Scalar, ScalarCall
from penstock.sql.sqlglot_source import exp

_FROM_TEXT = frozenset({"DATE", "TIME", *TIMESTAMPS})


def common_type(left: SqlType, right: SqlType) -> SqlType | None:  # noqa: PLR0911 - one per rule
    """Return the type that two types have in common, None if they have none."""
    if right in (left, NULL):
        return left
    if left == NULL:
        return right
    names = {left.name, right.name}
    if names <= set(WHOLE):
        return max(left, right, key=lambda each: WHOLE.index(each.name))
    if names <= {*WHOLE, "DECIMAL"}:
        one, other = as_decimal(left), as_decimal(right)
        scale = max(one.scale, other.scale)
        return decimal(max(one.precision - one.scale, other.precision - other.scale) + scale, scale)
    if names <= NUMBERS:
        return DOUBLE
    if names <= {"DATE", *TIMESTAMPS}:
        return (
            next(each for each in (left, right) if each.name != "DATE") if "DATE" in names else None
        )
    return _common_inside(left, right)


def _common_inside(left: SqlType, right: SqlType) -> SqlType | None:
    if left.name != right.name or len(left.components) != len(right.components):
        return None
    pairs = zip(left.components, right.components, strict=True)
    found = [common_type(*pair) for pair in pairs]
    inside = tuple(each for each in found if each is not None)
    if len(inside) < len(found):
        return None
    if left.name == "ARRAY":
        return array(inside[0])
    return row(left.fields, inside) if left.name == "ROW" else None


def converted(scalar: Scalar, wanted: SqlType) -> Scalar:
    """Return an expression with another type; the types have been checked."""
    if scalar.type == wanted:
        return scalar
    if isinstance(scalar, Constant):
        if scalar.value is None:
            return Constant(None, wanted)
        made = cast(scalar.type, wanted, *zone_parameters(scalar.type, wanted))
        if made is not None:
            return Constant(made(scalar.value), wanted)
    return cast_call("cast", scalar, wanted)


def cast_call(name: str, scalar: Scalar, wanted: SqlType) -> Scalar:
    """Return the call of `cast` or `try_cast`, in the zone of the session."""
    return folded(ScalarCall(name, (scalar,), wanted, zone_parameters(scalar.type, wanted)))


def in_local_time(scalar: Scalar) -> Scalar:
    """Return an instant as the time of the zone of the session, and any other value as it is."""
    return converted(scalar, TIMESTAMP) if scalar.type.name == "TIMESTAMP_LTZ" else scalar


def folded(call: ScalarCall) -> Scalar:
    """Return the value of a call of constants as a constant; one that fails stays, it may never be reached."""
    if not all(isinstance(each, Constant) for each in call.arguments):
        return call
    try:
        return Constant(value_of(call), call.type)
    except ExpressionError:
        return call


def together(
    scalars: Sequence[Scalar], node: exp.Expr, what: str
) -> tuple[tuple[Scalar, ...], SqlType]:
    """Return expressions with one type in common, and that type.

    Raises:
        SqlError: There is none.
    """
    scalars = _with_moments(scalars)
    kinds = [each.type for each in scalars]
    first: SqlType | None = kinds[0]
    found = reduce(_or_none, kinds[1:], first)
    if found is None:
        shown = " and ".join(dict.fromkeys(map(str, kinds)))
        raise wrong(
            f"{what} got {shown}, which have no type in common", node, hint="CAST one of them."
        )
    return tuple(converted(each, found) for each in scalars), found


def _or_none(left: SqlType | None, right: SqlType) -> SqlType | None:
    return None if left is None else common_type(left, right)


def _with_moments(scalars: Sequence[Scalar]) -> Sequence[Scalar]:
    """Return expressions with constant texts as dates or times, if another one is a date or time."""
    moments = [each.type for each in scalars if each.type.name in _FROM_TEXT]
    if not moments:
        return scalars
    return [
        converted(each, moments[0])
        if isinstance(each, Constant) and each.type.name == "STRING"
        else each
        for each in scalars
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
