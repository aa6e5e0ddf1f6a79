"""Numbers in Spark SQL, with the semantics of expressions.

Spark raises errors of arithmetic in ANSI mode only (`projection` checks it). It orders NaN above all
numbers and calls it equal to itself; expressions compare as IEEE 754 and Python do. Its remainder has the
sign of the dividend; that of expressions has the sign of the divisor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as sf

from penstock.expressions.arrow.tallies import NAN_BUCKET
from penstock.expressions.kinds import FLOATS, name_of
from penstock.expressions.tree import Call

Builder = Callable[..., Column]
"""Takes the call and the columns of its arguments."""


def modulo(_: Call, left: Column, right: Column) -> Column:
    """Build a remainder."""
    rest = left % right
    differs = (rest < sf.lit(0)) != (right < sf.lit(0))
    # Spark's `+` of two small integers has their type, so the sum needs no cast
    return sf.when((rest != sf.lit(0)) & differs, rest + right).otherwise(rest)


def bits(call: Call, value: Column) -> Column:
    """Build some bits of a whole number; Spark's shift keeps the sign."""
    start, count = call.parameters
    shifted = sf.shiftright(value, start)
    return shifted if count is None else shifted.bitwiseAND(sf.lit((1 << count) - 1).cast("bigint"))


def _is_float(call: Call) -> bool:
    return name_of(call.arguments[0]) in FLOATS


def equal(call: Call, left: Column, right: Column) -> Column:
    """Build a test whether values are equal."""
    is_equal = left == right
    return is_equal & ~_both_nan(left, right) if _is_float(call) else is_equal


def not_equal(call: Call, left: Column, right: Column) -> Column:
    """Build a test whether values are not equal."""
    differs = left != right
    return differs | _both_nan(left, right) if _is_float(call) else differs


def _both_nan(left: Column, right: Column) -> Column:
    return sf.isnan(left) & sf.isnan(right)


def below(operation: Callable[[Any, Any], Column]) -> Builder:
    """Return the builder of `<` or `<=`: for NaN on the right it is false, not true."""

    def build(call: Call, left: Column, right: Column) -> Column:
        is_below = operation(left, right)
        return is_below & ~(sf.isnan(right) & left.isNotNull()) if _is_float(call) else is_below

    return build


def above(operation: Callable[[Any, Any], Column]) -> Builder:
    """Return the builder of `>` or `>=`: for NaN on the left it is false, not true."""

    def build(call: Call, left: Column, right: Column) -> Column:
        is_above = operation(left, right)
        return is_above & ~(sf.isnan(left) & right.isNotNull()) if _is_float(call) else is_above

    return build


def greatest(call: Call, left: Column, right: Column) -> Column:
    """Build the greater of two values; Spark's function leaves out NULL, and 0.0 and -0.0 are equal to it."""
    return _extreme(call, left, right, sf.greatest(left, right), lambda: left + right)


def least(call: Call, left: Column, right: Column) -> Column:
    """Build the lesser of two values."""
    return _extreme(call, left, right, sf.least(left, right), lambda: -(-left + -right))


def _extreme(
    call: Call, left: Column, right: Column, extreme: Column, of_zeros: Callable[[], Column]
) -> Column:
    if _is_float(call):  # the sum of 0.0 and -0.0 is 0.0, the greater one
        are_zeros = (left == sf.lit(0)) & (right == sf.lit(0))
        extreme = sf.when(are_zeros, of_zeros()).otherwise(extreme)
    return sf.when(left.isNotNull() & right.isNotNull(), extreme)


def is_nan(_: Call, value: Column) -> Column:
    """Build a test for NaN, which is NULL for NULL."""
    return sf.when(value.isNotNull(), sf.isnan(value))


def floor(call: Call, value: Column) -> Column:
    """Build the next whole number below, as a float: Spark's `floor` has 64 bits."""
    near = _round(call, value)
    return sf.when(near > value, near - _one(call)).otherwise(near)


def ceil(call: Call, value: Column) -> Column:
    """Build the next whole number above, as a float."""
    near = _round(call, value)
    return sf.when(near < value, near + _one(call)).otherwise(near)


def _round(call: Call, value: Column) -> Column:
    return sf.rint(value).cast(_width(call))


def _one(call: Call) -> Column:
    return sf.lit(1).cast(_width(call))


def _width(call: Call) -> str:
    return "float" if name_of(call) == "Float" else "double"


def round_half_even(call: Call, value: Column) -> Column:
    """Build the nearest whole number."""
    return _round(call, value)


def sqrt(call: Call, value: Column) -> Column:
    """Build a square root."""
    return sf.sqrt(value).cast(_width(call))


_BUCKETS = 128
"""Buckets of every power of two (`penstock.expressions.arrow.tallies`)."""

_LEAST_EXPONENT, _BIAS = -1022, 1023


def bucket(_: Call, value: Column) -> Column:
    """Return the buckets of floats.

    Java's logarithm may miss the exponent by one, which the powers of two, exact in Java, correct.
    """
    size = sf.abs(value)
    near = sf.floor(sf.log2(size)).cast("int")
    power = sf.pow(sf.lit(2.0), near)
    exponent = sf.when(size < power, near - 1).when(size >= power * 2, near + 1).otherwise(near)
    within = sf.floor((size / sf.pow(sf.lit(2.0), exponent) - 1) * _BUCKETS).cast("int")
    number = (exponent + _BIAS) * _BUCKETS + within
    signed = sf.when(value < 0, -number).otherwise(number)
    infinite = sf.lit((2 * _BIAS + 1) * _BUCKETS)
    return (
        sf.when(value.isNull(), sf.lit(None).cast("int"))
        .when(sf.isnan(value), sf.lit(NAN_BUCKET))
        .when(size < 2.0**_LEAST_EXPONENT, sf.lit(0))
        .when(size == sf.lit(float("inf")), sf.when(value < 0, -infinite).otherwise(infinite))
        .otherwise(signed)
    )
