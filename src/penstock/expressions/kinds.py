"""The types that functions of columns take, and the common type of two of them.

    Byte < Short < Integer < Long       the wider one
    a whole number with BigDecimal      BigDecimal
    a whole number with a float         Double
    Float with Double                   Double
    BigDecimal with a float             none: cast one of them

A constant takes the type of the other operand if that has its value exactly, so `col.small + 1` stays a Byte.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

from penstock.expressions.tree import Expression, Literal
from penstock.types import sql_types
from penstock.types.base import TypeInformation
from penstock.types.containers import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
)
from penstock.types.scalars import BasicTypeInfo
from penstock.types.sql_types import OF_COLUMNS, of_type_info
from penstock.types.types import Types

WHOLE = ("Byte", "Short", "Integer", "Long")
"""Names of the types of whole numbers, narrow ones first."""

FLOATS = ("Float", "Double")
"""Names of the binary floating-point types."""

DECIMAL = "BigDecimal"
"""Name of the decimal type: 20 digits and 18 more."""
DIGITS = (38, 18)
"""Precision and scale of its columns if it has no others."""

NUMBERS = frozenset({*WHOLE, *FLOATS, DECIMAL})
TIMESTAMPS = frozenset({"SqlTimestamp", "TimestampLtz"})
ORDERED = NUMBERS | TIMESTAMPS | {"String", "SqlDate"}
COMPUTED = ORDERED | {"Boolean"}
"""Names of the types whose values functions compute with; others are only passed on."""
COUNTED = COMPUTED | {"SqlTime"}
"""Names of the types whose values can be counted and be keys; bytes can too."""

MICROS_PER_DAY = 86_400_000_000
"""Microseconds of a day: the unit of `shift` is microseconds."""

LISTS = (ListTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo, PrimitiveArrayTypeInfo)

BOOLEAN, INT, LONG = Types.BOOLEAN(), Types.INT(), Types.LONG()
DOUBLE, STRING, DATE = Types.DOUBLE(), Types.STRING(), Types.SQL_DATE()
DATETIME, INSTANT = Types.SQL_TIMESTAMP(), Types.TIMESTAMP_LTZ()

_BITS = dict(zip(WHOLE, (8, 16, 32, 64), strict=True))
_EXACT = {name: 1 << bits - 1 for name, bits in _BITS.items()} | {
    "Float": 1 << 24,
    "Double": 1 << 53,
    DECIMAL: 10**19,
}
"""Name of a type to the whole numbers below it that all are values of the type."""


class TypingError(Exception):
    """An expression has no type; the text gives the reason."""


def name_of(expression: Expression) -> str:
    """Return the name of the basic type of a typed expression, empty for any other type."""
    type_info = expression.type_info
    return type_info.name if isinstance(type_info, BasicTypeInfo) else ""


def is_list(type_info: TypeInformation | None) -> bool:
    """Return whether values are lists; arrays of bytes are none."""
    return isinstance(type_info, LISTS) and not is_bytes(type_info)


def is_bytes(type_info: TypeInformation | None) -> bool:
    """Return whether values are bytes."""
    return isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.is_bytes


def is_null_constant(expression: Expression) -> bool:
    """Return whether an expression is a None that has no type yet."""
    return isinstance(expression, Literal) and expression.type_info is None


def literal(value: Any) -> Literal:
    """Return a typed constant; None has no type yet."""
    kind = _kind_of(value)
    if kind is None:
        return Literal(value)
    return Literal(kind.coerce(value), kind)


def _kind_of(value: Any) -> TypeInformation | None:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        for whole in (INT, LONG):
            if fits(value, whole):
                return whole
        msg = f"{value} has more than 64 bits"
        raise TypingError(msg)
    if isinstance(value, datetime):
        return DATETIME if value.tzinfo is None else INSTANT
    for python_class, kind in _KINDS.items():
        if isinstance(value, python_class):
            return kind
    msg = f"{value!r} of class {type(value).__name__} cannot be the value of a column"
    raise TypingError(msg)


_KINDS: dict[type, TypeInformation] = {
    bool: BOOLEAN,
    float: DOUBLE,
    str: STRING,
    Decimal: Types.BIG_DEC(),
    date: DATE,
}


def fits(value: int, kind: TypeInformation) -> bool:
    """Return whether a whole number is in the range of a type."""
    bits = _BITS.get(getattr(kind, "name", ""))
    return bits is not None and -(1 << bits - 1) <= value < 1 << bits - 1


def adapted(constant: Literal, kind: TypeInformation | None) -> Literal | None:
    """Return a constant as a value of another type, None if it is not exactly that value."""
    value = constant.value
    if kind is None or constant.type_info == kind:
        return constant if kind is not None else None
    if value is None:
        return Literal(None, kind)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    name = getattr(kind, "name", "")
    limit = _EXACT.get(name)
    if limit is None or not -limit <= value < limit:
        return None
    return Literal(kind.coerce(value), kind)


def common_type(left: TypeInformation, right: TypeInformation) -> TypeInformation:
    """Return the type in which two values are compared and computed with."""
    if left == right:
        return left
    are_numbers = {getattr(left, "name", ""), getattr(right, "name", "")} <= NUMBERS
    common = (
        sql_types.common_type(of_type_info(left), of_type_info(right), OF_COLUMNS)
        if are_numbers
        else None
    )
    if common is None:
        hint = "; cast one of them" if are_numbers else ""
        msg = f"{left!r} and {right!r} have no type in common{hint}"
        raise TypingError(msg)
    return common.type_info
