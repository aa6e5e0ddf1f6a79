"""Kernels of floats whose aggregates are exact, so that they do not depend on the order of records.

A sum is kept as whole numbers, its limbs: of each place the sum of the digits there, to the base 2^24. A double has up to
four of them; two sums are added place by place, and 10^11 values fit into LONG.

    3.5 = 3 * 2^0 + 8388608 * 2^-24      {0: 3, -1: 8388608}

An extreme is that of ordinals: whole numbers in the order of Java, -0.0 before 0.0, NaN last.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Context, Decimal
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.expressions import exact_sums
from penstock.expressions.arrow.tallies import entries, map_array, summed
from penstock.expressions.kinds import DIGITS
from penstock.expressions.tree import Call

_BASE_BITS = 24
_MASK = (1 << _BASE_BITS) - 1
_HALF_BITS = 27
"""Bits of the lower half of a mantissa, whose square is exact."""

_NAN, _UP, _DOWN = 1 << 16, (1 << 16) + 1, (1 << 16) + 2
"""Places at which values that are not finite are counted."""

_MOST_DIGITS = 38
_MASK_WORD = np.uint64(_MASK)
_WIDE = Context(prec=76)

_Ints = npt.NDArray[np.int64]


def limbs(call: Call, value: Any) -> Any:
    """Return the limbs of doubles, or of their squares if the parameter is 2: maps from place to digits."""
    (power,) = call.parameters
    known = value.is_valid().to_numpy(zero_copy_only=False)
    numbers = value.drop_null().to_numpy(zero_copy_only=False).astype(np.float64)
    finite = np.isfinite(numbers)
    if power > 1 and not finite.all():
        msg = f"a variance got {numbers[~finite][0]}; filter values that are not finite"
        raise pa.ArrowInvalid(msg)
    mantissas, exponents = np.frexp(np.where(finite, numbers, 0.0))
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    powers = exponents.astype(np.int64) - 53
    terms = [(whole, powers)] if power == 1 else list(_squared(whole, powers))
    rows, places, digits = _digits(terms)
    others = np.flatnonzero(~finite)
    if len(others):
        kinds = np.where(np.isnan(numbers[others]), _NAN, np.where(numbers[others] > 0, _UP, _DOWN))
        rows, places = np.concatenate((rows, others)), np.concatenate((places, kinds))
        digits = np.concatenate((digits, np.ones(len(others), dtype=np.int64)))
    counts, codes, digits = summed(rows, places, digits, len(numbers))
    sizes = np.zeros(len(value), dtype=np.int64)
    sizes[known] = counts
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    return map_array(offsets.astype(np.int32), pa.array(codes, pa.int32()), pa.array(digits), known)


def decimal_limbs(call: Call, value: Any) -> Any:
    """Return the limbs of decimals: of the whole numbers that they are in units of a scale."""
    (scale,) = call.parameters
    known = value.is_valid().to_numpy(zero_copy_only=False)
    whole = value.drop_null().cast(pa.decimal128(_MOST_DIGITS, scale))
    words = np.frombuffer(whole.buffers()[1] or b"", dtype=np.uint64).reshape(-1, 2)
    words = words[whole.offset : whole.offset + len(whole)]
    low, high = words[:, 0], words[:, 1]
    digits = [
        low & _MASK_WORD,
        (low >> np.uint64(24)) & _MASK_WORD,
        (low >> np.uint64(48)) | ((high << np.uint64(16)) & _MASK_WORD),
        (high >> np.uint64(8)) & _MASK_WORD,
        (high >> np.uint64(32)) & _MASK_WORD,
        (high.view(np.int64) >> np.int64(56)),
    ]
    matrix = np.stack([digit.astype(np.int64) for digit in digits], axis=1)
    rows, places = np.nonzero(matrix)
    sizes = np.zeros(len(value), dtype=np.int64)
    sizes[known] = np.count_nonzero(matrix, axis=1)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
    codes = pa.array(places.astype(np.int32))
    return map_array(offsets, codes, pa.array(matrix[rows, places]), known)


def decimal_quotient(call: Call, sums: Any, count: Any) -> Any:
    """Return sums, or by a parameter the means, of decimals; NULL of none, and if it has too many digits."""
    is_mean, scale, result_type = call.parameters
    precision, kept = result_type.digits or DIGITS
    quotients = [
        None
        if n is None or n <= 0
        else _decimal(_number(limbs_of), (n if is_mean else 1, scale), precision, kept)
        for limbs_of, n in zip(_maps(sums), count.to_pylist(), strict=True)
    ]
    return pa.array(quotients, pa.decimal128(precision, kept))


def _decimal(
    total: tuple[int, int], by: tuple[int, int], precision: int, scale: int
) -> Decimal | None:
    """Return a sum, in units of a scale, by a number: rounded half up, None if it has too many digits."""
    number, exponent = total
    count, unit = by
    divisor = count * 10**unit
    numerator = (number << exponent) * 10**scale
    whole, rest = divmod(abs(numerator), divisor)
    whole += 2 * rest >= divisor
    if whole >= 10**precision:
        return None
    return Decimal(whole if numerator >= 0 else -whole).scaleb(-scale, _WIDE)


def _squared(whole: _Ints, powers: _Ints) -> Iterator[tuple[_Ints, _Ints]]:
    """Yield numbers, with their powers of two, whose sums are the squares."""
    size = np.abs(whole)
    low, high = size & ((1 << _HALF_BITS) - 1), size >> _HALF_BITS
    yield low * low, 2 * powers
    yield low * high, 2 * powers + _HALF_BITS + 1
    yield high * high, 2 * powers + 2 * _HALF_BITS


def _digits(terms: list[tuple[_Ints, _Ints]]) -> tuple[_Ints, _Ints, _Ints]:
    """Return row, place and digit of each digit that is not 0 of numbers by powers of two."""
    parts: list[tuple[_Ints, _Ints, _Ints]] = []
    for whole, powers in terms:
        places, shifts = powers // _BASE_BITS, powers % _BASE_BITS
        size, sign, carry = np.abs(whole), np.sign(whole), np.zeros_like(whole)
        for limb in range(4):
            carry += (size & _MASK) << shifts
            parts.append((np.arange(len(whole)), places + limb, sign * (carry & _MASK)))
            carry, size = carry >> _BASE_BITS, size >> _BASE_BITS
    rows, places, digits = map(np.concatenate, zip(*parts, strict=True))
    kept = digits != 0
    return rows[kept], places[kept], digits[kept]


def quotient(call: Call, sums: Any, count: Any) -> Any:
    """Return sums, or by a parameter the means, of values whose number is given; NULL of none."""
    (is_mean,) = call.parameters
    counts = count.to_pylist()
    quotients = [
        None if n is None or n <= 0 else _rounded(limbs_of, n if is_mean else 1)
        for limbs_of, n in zip(_maps(sums), counts, strict=True)
    ]
    return pa.array(quotients, pa.float64())


def variance(call: Call, count: Any, sums: Any, squares: Any) -> Any:
    """Return variances, or their roots, by the numbers of values less 0 or 1."""
    less, is_root = call.parameters
    results: list[float | None] = []
    for n, total, square in zip(count.to_pylist(), _maps(sums), _maps(squares), strict=True):
        divisor = (n or 0) - less
        if divisor <= 0:
            results.append(None)
            continue
        # n * sum of squares - square of the sum, over n * divisor
        number, exponent = _number(square)
        spread = exact_sums.added((number * n, exponent), exact_sums.squared(_number(total)), -1)
        result = exact_sums.quotient(spread, n * divisor)
        results.append(math.sqrt(result) if is_root else result)
    return pa.array(results, pa.float64())


def _maps(column: Any) -> Iterator[dict[int, int]]:
    """Yield the limbs of each row; NULL has none."""
    _, places, digits = entries(column)
    pairs = zip(places.to_pylist(), digits.tolist(), strict=True)
    for size in np.diff(column.offsets.to_numpy()).tolist():
        yield dict(islice(pairs, size))


def _number(limbs_of: dict[int, int]) -> tuple[int, int]:
    """Return the sum of limbs as (whole number, exponent of two)."""
    least = min(limbs_of, default=0)
    number = sum(digit << _BASE_BITS * (place - least) for place, digit in limbs_of.items())
    return number, _BASE_BITS * least


def _rounded(limbs_of: dict[int, int], divisor: int) -> float:
    nan, up, down = (limbs_of.pop(kind, 0) > 0 for kind in (_NAN, _UP, _DOWN))
    if nan or (up and down):
        return math.nan
    if up or down:
        return math.inf if up else -math.inf
    return exact_sums.quotient(_number(limbs_of), divisor)


def times(_: Call, sums: Any, factor: Any) -> Any:
    """Return tallies or limbs with each number multiplied by that of the row."""
    rows, keys, items = entries(sums)
    known = sums.is_valid().to_numpy(zero_copy_only=False)
    offsets = sums.offsets.to_numpy()
    factors = np.broadcast_to(np.asarray(factor), (len(sums),))
    return map_array(offsets - offsets[0], keys, pa.array(items * factors[rows]), known)


_SIGNLESS = np.int64((1 << 63) - 1)


def ordinal(_: Call, value: Any) -> Any:
    """Return whole numbers that have the order of doubles."""
    known = value.is_valid().to_numpy(zero_copy_only=False)
    numbers = value.fill_null(0.0).to_numpy(zero_copy_only=False)
    bits = np.where(np.isnan(numbers), np.nan, numbers).view(np.int64)
    return pa.array(bits ^ ((bits >> 63) & _SIGNLESS), mask=~known)


def of_ordinal(_: Call, value: Any) -> Any:
    """Return the doubles of their ordinals."""
    known = value.is_valid().to_numpy(zero_copy_only=False)
    ordinals = value.fill_null(0).to_numpy(zero_copy_only=False)
    return pa.array((ordinals ^ ((ordinals >> 63) & _SIGNLESS)).view(np.float64), mask=~known)
