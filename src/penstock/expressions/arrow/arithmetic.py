"""Kernels of numbers: they fail with `pyarrow.ArrowInvalid` where a value has no result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.expressions.kinds import DECIMAL, FLOATS, name_of
from penstock.expressions.tree import Call

_SUMMAND = pa.decimal128(37, 18)
"""Decimals of which two make a sum of 38 digits, which is what a column holds."""


def _summands(left: Any, right: Any) -> tuple[Any, Any]:
    """Return two decimals with the digits of summands; a large one beside NULL is not added."""
    try:
        return pc.cast(left, _SUMMAND), pc.cast(right, _SUMMAND)
    except pa.ArrowInvalid:
        both = pc.and_(pc.is_valid(left), pc.is_valid(right))
        chosen = (pc.if_else(both, side, pa.scalar(None, side.type)) for side in (left, right))
        left, right = (pc.cast(side, _SUMMAND) for side in chosen)
        return left, right


def add(call: Call, left: Any, right: Any) -> Any:
    """Return sums."""
    if name_of(call) == DECIMAL:
        return pc.add(*_summands(left, right))
    return pc.add_checked(left, right)


def subtract(call: Call, left: Any, right: Any) -> Any:
    """Return differences."""
    if name_of(call) == DECIMAL:
        return pc.subtract(*_summands(left, right))
    return pc.subtract_checked(left, right)


def multiply(_: Call, left: Any, right: Any) -> Any:
    """Return products."""
    return pc.multiply_checked(left, right)


def divide(_: Call, left: Any, right: Any) -> Any:
    """Return quotients of floats."""
    return pc.divide_checked(left, right)


def bits(call: Call, value: Any) -> Any:
    """Return some bits of whole numbers as a number: from a place on so many, or all with the sign."""
    start, count = call.parameters
    shifted = pc.shift_right(value, pa.scalar(start, value.type))
    if count is None:
        return shifted
    return pc.bit_wise_and(shifted, pa.scalar((1 << count) - 1, value.type))


def modulo(call: Call, left: Any, right: Any) -> Any:
    """Return remainders with the sign of the divisor, as Python's `%`; pyarrow has no such kernel."""
    if name_of(call) in FLOATS:
        return _float_modulo(left, right)
    kind = left.type
    zero, one, minus_one = (pa.scalar(n, kind) for n in (0, 1, -1))
    # the remainder of -1 is 0 as well, and the least number divided by -1 overflows
    divisor = pc.if_else(pc.equal(right, minus_one), one, right)
    rest = pc.subtract(left, pc.multiply(pc.divide(left, divisor), divisor))
    differs = pc.not_equal(pc.less(rest, zero), pc.less(divisor, zero))
    wrong = pc.and_(pc.not_equal(rest, zero), differs)
    return pc.if_else(wrong, pc.add(rest, divisor), rest)


def _float_modulo(left: Any, right: Any) -> Any:
    length = len(left) if isinstance(left, pa.Array) else len(right)
    left, right = (x if isinstance(x, pa.Array) else pa.repeat(x, length) for x in (left, right))
    known = pc.and_(left.is_valid(), right.is_valid()).to_numpy(zero_copy_only=False)
    dividend, divisor = (x.to_numpy(zero_copy_only=False) for x in (left, right))
    if np.any(known & (divisor == 0)):
        msg = "divide by zero"
        raise pa.ArrowInvalid(msg)
    with np.errstate(invalid="ignore"):
        rest = np.fmod(dividend, divisor)
        wrong = (rest != 0) & ((rest < 0) != (divisor < 0))
        rest = np.where(wrong, rest + divisor, rest)
    return pa.array(rest, left.type, mask=~known)


def negate(call: Call, value: Any) -> Any:
    """Return numbers with the other sign."""
    return pc.negate(value) if name_of(call) == DECIMAL else pc.negate_checked(value)


def absolute(call: Call, value: Any) -> Any:
    """Return numbers without their sign."""
    return pc.abs(value) if name_of(call) == DECIMAL else pc.abs_checked(value)


def round_half_even(_: Call, value: Any) -> Any:
    """Return the nearest whole numbers, as floats."""
    return pc.round(value, ndigits=0, round_mode="half_to_even")


def is_member(call: Call, value: Any) -> Any:
    """Return whether values are among constants; NULL for NULL, which pyarrow calls False."""
    matches = pc.is_in(value, value_set=pa.array(call.parameters, value.type))
    return pc.if_else(value.is_valid(), matches, pa.scalar(None, pa.bool_()))


def greatest(_: Call, left: Any, right: Any) -> Any:
    """Return the greater of two values, in Java's order; NULL stays. pyarrow's own kernel does not have all types."""
    if not pa.types.is_floating(left.type):
        return pc.if_else(pc.less(left, right), right, left)
    is_right = pc.or_(pc.less(left, right), pc.is_nan(right))
    return _of_zeros(left, right, pc.add(left, right), pc.if_else(is_right, right, left))


def least(_: Call, left: Any, right: Any) -> Any:
    """Return the lesser of two values, in Java's order; NULL stays."""
    if not pa.types.is_floating(left.type):
        return pc.if_else(pc.less(right, left), right, left)
    is_right = pc.or_(pc.less(right, left), pc.is_nan(left))
    of_zeros = pc.negate(pc.add(pc.negate(left), pc.negate(right)))
    return _of_zeros(left, right, of_zeros, pc.if_else(is_right, right, left))


def _of_zeros(left: Any, right: Any, of_zeros: Any, other: Any) -> Any:
    """Return values, and others where both are zero: the sum of 0.0 and -0.0 is 0.0, the greater one."""
    zero = pa.scalar(0.0, left.type)
    return pc.if_else(pc.and_(pc.equal(left, zero), pc.equal(right, zero)), of_zeros, other)
