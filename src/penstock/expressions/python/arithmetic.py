"""Functions of numbers, on values that are not NULL.

Whole numbers that leave their type are an error, as everywhere in Penstock; Flink wraps them around. Decimals are exact
up to their type, rounded half up, and one of more than 38 digits is NULL, as in Flink.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from ctypes import c_float
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from operator import neg
from typing import Any

from penstock.errors import ExpressionError
from penstock.expressions.merging import float_order
from penstock.types.sql_types import SqlType

_HINT = "Cast an operand to a wider type, or guard it with CASE."
_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
LIMITS = {name: 1 << bits - 1 for name, bits in _BITS.items()}
EXACT = Context(prec=120, rounding=ROUND_HALF_UP)
"""Enough digits for the product and the quotient of any two decimals."""

Binary = Callable[[Any, Any], Any]


def overflow(what: str, value: Any, kind: str) -> ExpressionError:
    """Return the error of a value that its type does not have."""
    return ExpressionError(f"{what} is {value}, which does not fit {kind}", hint=_HINT)


def division_by_zero(what: str) -> ExpressionError:
    """Return the error of a division by zero."""
    return ExpressionError(f"{what} by zero", hint="Guard it: CASE WHEN divisor <> 0 THEN … END.")


def in_range(value: int, kind: str, what: str) -> int:
    """Return a whole number of a type."""
    limit = LIMITS[kind]
    if -limit <= value < limit:
        return value
    raise overflow(what, value, kind)


def to_scale(value: Decimal, kind: SqlType) -> Decimal | None:
    """Return a decimal with the scale of a type, None if it has more digits."""
    try:
        rounded = value.quantize(Decimal(1).scaleb(-kind.scale), context=EXACT)
    except InvalidOperation:
        return None
    limit = Decimal(10) ** (kind.precision - kind.scale)
    return (rounded or rounded.copy_abs()) if -limit < rounded < limit else None  # 0 has no sign


def single(value: float) -> float:
    """Return a float of 32 bits."""
    return float(c_float(value).value)


def _exact(
    name: str, whole: Binary, exact: Binary, floating: Binary
) -> Callable[[SqlType], Binary]:
    def of_type(kind: SqlType) -> Binary:
        if kind.name in _BITS:
            return lambda a, b: in_range(whole(a, b), kind.name, name)
        if kind.name == "DECIMAL":
            return lambda a, b: to_scale(exact(a, b), kind)
        return floating

    return of_type


def _truncated(a: int, b: int) -> int:
    if b == 0:
        raise division_by_zero("division")
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _divided(a: Decimal, b: Decimal) -> Decimal:
    if b == 0:
        raise division_by_zero("division")
    return EXACT.divide(a, b)


def _ieee(a: float, b: float) -> float:
    if b == 0:
        if a == 0 or math.isnan(a):
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


def _remainder(a: int, b: int) -> int:
    if b == 0:
        raise division_by_zero("remainder")
    rest = abs(a) % abs(b)
    return -rest if a < 0 else rest


def _decimal_remainder(a: Decimal, b: Decimal) -> Decimal:
    if b == 0:
        raise division_by_zero("remainder")
    return EXACT.remainder(a, b)


def _float_remainder(a: float, b: float) -> float:
    return math.nan if b == 0 or math.isinf(a) else math.fmod(a, b)


add = _exact("sum", lambda a, b: a + b, EXACT.add, lambda a, b: a + b)
subtract = _exact("difference", lambda a, b: a - b, EXACT.subtract, lambda a, b: a - b)
multiply = _exact("product", lambda a, b: a * b, EXACT.multiply, lambda a, b: a * b)
divide = _exact("quotient", _truncated, _divided, _ieee)
modulo = _exact("remainder", _remainder, _decimal_remainder, _float_remainder)


def negate(kind: SqlType) -> Callable[[Any], Any]:
    """Return the negation of values of a type."""
    if kind.name in _BITS:
        return lambda a: in_range(-a, kind.name, "negation")
    return Decimal.copy_negate if kind.name == "DECIMAL" else neg  # `-` would round to 28 digits


def absolute(kind: SqlType) -> Callable[[Any], Any]:
    """Return the absolute value of values of a type."""
    if kind.name in _BITS:
        return lambda a: in_range(abs(a), kind.name, "absolute value")
    return Decimal.copy_abs if kind.name == "DECIMAL" else abs


def floor(kind: SqlType) -> Callable[[Any], Any]:
    """Return the next whole number below, in the type of the number."""
    if kind.name == "DECIMAL":
        return lambda a: Decimal(math.floor(a))
    return _with_sign(math.floor)


def ceil(kind: SqlType) -> Callable[[Any], Any]:
    """Return the next whole number above, in the type of the number."""
    if kind.name == "DECIMAL":
        return lambda a: Decimal(math.ceil(a))
    return _with_sign(math.ceil)


def _with_sign(whole: Callable[[float], int]) -> Callable[[float], float]:
    """Return a whole number near a float, as a float; its zero has the sign of the float, as in IEEE 754."""
    return lambda a: math.copysign(whole(a), a) if math.isfinite(a) else a


def rounded(kind: SqlType) -> Callable[[Any, int], Any]:
    """Return rounding to some digits behind the point, half away from zero."""

    def of_exact(a: Any, digits: int) -> Any:
        number = Decimal(a).quantize(Decimal(1).scaleb(-digits), context=EXACT)
        if kind.name == "DECIMAL":
            return to_scale(number, kind)
        return in_range(int(number), kind.name, "rounded number")

    def of_float(a: float, digits: int) -> float:
        if a != a or math.isinf(a):  # noqa: PLR0124
            return a
        # Flink's zero has no sign
        return float(Decimal(repr(a)).quantize(Decimal(1).scaleb(-digits), context=EXACT)) + 0.0

    return of_float if kind.name in {"FLOAT", "DOUBLE"} else of_exact


def sign(kind: SqlType) -> Callable[[Any], Any]:
    """Return -1, 0 or 1 in the type of the number."""
    if kind.name == "DECIMAL":
        return lambda a: to_scale(Decimal((a > 0) - (a < 0)), kind)
    if kind.name in _BITS:
        return lambda a: (a > 0) - (a < 0)
    return lambda a: math.copysign(1.0, a) if a and a == a else a  # noqa: PLR0124 - NaN


def logarithm(function: Callable[[float], float]) -> Callable[[float], float]:
    """Return a logarithm as IEEE has it: of 0 minus infinity, of a negative number NaN."""

    def compute(value: float) -> float:
        if value > 0:
            return function(value)
        return -math.inf if value == 0 else math.nan

    return compute


_natural = logarithm(math.log)


def log(base: float, value: float) -> float:
    """Return the logarithm of a value to a base."""
    return _ieee(_natural(value), _natural(base))


def power(base: float, exponent: float) -> float:
    """Return a power as Java has it."""
    try:
        if abs(base) == 1 and (math.isinf(exponent) or math.isnan(exponent)):
            return math.nan
        return math.pow(base, exponent)
    except ValueError:
        if base != 0:
            return math.nan
        is_odd = exponent == math.floor(exponent) and exponent % 2 == 1
        return math.copysign(math.inf, base if is_odd else 1.0)
    except OverflowError:
        is_odd = exponent == math.floor(exponent) and exponent % 2 == 1
        return math.copysign(math.inf, base if is_odd else 1.0)


def greatest(*values: Any) -> Any:
    """Return the greatest value, in Java's order: -0.0, 0.0, NaN last."""
    return max(values, key=float_order) if isinstance(values[0], float) else max(values)


def least(*values: Any) -> Any:
    """Return the least value, in Java's order: -0.0, 0.0, NaN last."""
    return min(values, key=float_order) if isinstance(values[0], float) else min(values)


def of_floats(name: str, function: Callable[..., float]) -> Callable[..., float]:
    """Return a function of floats; where it has no value the result is NaN."""

    def guarded(*values: float) -> float:
        try:
            return function(*values)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    guarded.__name__ = name
    return guarded
