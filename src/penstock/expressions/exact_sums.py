"""Sums of floats that are exact, so that they depend on neither order nor on what was added and taken away again.

A finite float is a whole number times a power of two, so a sum is a pair:

    0.1 + 0.5     3602879701896397 * 2^-55  +  1 * 2^-1   =   (21617278211378381, -55)

Only the result is rounded, once. NaN and infinities are counted apart.
"""

from __future__ import annotations

import math

ZERO = (0, 0)


def parts_of(value: float) -> tuple[int, int]:
    """Return a finite float as (whole number, exponent of two)."""
    numerator, denominator = value.as_integer_ratio()
    return numerator, 1 - denominator.bit_length()


def added(total: tuple[int, int], value: tuple[int, int], sign: int) -> tuple[int, int]:
    """Return a sum with a number added, or taken away if the sign is -1."""
    number, exponent = total
    other, other_exponent = value
    if other_exponent < exponent:
        number, exponent = number << exponent - other_exponent, other_exponent
    elif other_exponent > exponent:
        other <<= other_exponent - exponent
    number += sign * other
    return (number, exponent) if number else ZERO


def squared(value: tuple[int, int]) -> tuple[int, int]:
    """Return the square of a number."""
    return value[0] * value[0], 2 * value[1]


def quotient(total: tuple[int, int], divisor: int) -> float:
    """Return a sum divided by a whole number, rounded once."""
    number, exponent = total
    try:
        return number / (divisor << -exponent) if exponent < 0 else (number << exponent) / divisor
    except OverflowError:
        return math.inf if number > 0 else -math.inf
