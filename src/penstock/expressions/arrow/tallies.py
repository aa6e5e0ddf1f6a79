"""Kernels of tallies: maps from a value, or the bucket of a number, to how often it came.

A bucket is the upper bits of a double: its exponent, and the first seven bits behind the point. So every power of two has
128 buckets, their borders are exact in every engine, and a number is less than 1/128 of itself away from the lower border
of its bucket.

    3.0 = 1.1000000… · 2^1    exponent 1024, 1000000    bucket 1024 · 128 + 64
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.expressions.tree import Call

NAN_BUCKET = (1 << 31) - 1
"""Bucket of NaN, which is behind all others."""

_KEPT_BITS = 45
"""Bits of a double that its bucket leaves out: 52 less 7."""

_LEAST = 1 << 7
"""Bucket of the least number that has all its bits; those that are nearer to 0 are in the bucket of 0."""


def bucket(_: Call, value: Any) -> Any:
    """Return the buckets of floats; those of negative numbers are negative."""
    numbers = value.to_numpy(zero_copy_only=False)
    upper = np.abs(numbers).view(np.int64) >> _KEPT_BITS
    upper = np.where(upper < _LEAST, 0, upper)
    signed = np.where(numbers < 0, -upper, upper)
    buckets = np.where(np.isnan(numbers), NAN_BUCKET, signed).astype(np.int32)
    return pa.array(buckets, mask=~value.is_valid().to_numpy(zero_copy_only=False))


def borders(buckets: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the border of each bucket that is nearer to 0.

    Examples:
        >>> borders(np.array([1024 * 128 + 64, -(1024 * 128), 0])).tolist()
        [3.0, -2.0, 0.0]
    """
    size = (np.abs(buckets) << _KEPT_BITS).view(np.float64)
    signed = np.where(buckets < 0, -size, size)
    return np.where(buckets == NAN_BUCKET, np.nan, signed)


def tally(_: Call, value: Any) -> Any:
    """Return a map from each value to 1; NULL of NULL."""
    known = value.is_valid().to_numpy(zero_copy_only=False)
    offsets = np.concatenate(([0], np.cumsum(known))).astype(np.int32)
    ones = pa.array(np.ones(int(offsets[-1]), dtype=np.int64))
    return map_array(offsets, value.drop_null(), ones, known)


def map_array(offsets: Any, keys: Any, items: Any, known: npt.NDArray[np.bool_]) -> pa.Array:
    """Return maps of their entries, one behind the other."""
    return pa.MapArray.from_arrays(
        pa.array(offsets, pa.int32()), keys, items, mask=pa.array(~known)
    )


def entries(maps: pa.Array) -> tuple[npt.NDArray[np.int64], pa.Array, npt.NDArray[np.int64]]:
    """Return the entries of maps: the number of its map, key and item of each."""
    offsets = maps.offsets.to_numpy()
    first, end = int(offsets[0]), int(offsets[-1])
    rows = np.repeat(np.arange(len(maps)), np.diff(offsets))
    keys, items = maps.keys.slice(first, end - first), maps.items.slice(first, end - first)
    return rows, keys, items.to_numpy()


def summed(
    rows: npt.NDArray[np.int64],
    codes: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    length: int,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Add the counts of each code of each row: return how many codes each of `length` rows has, codes and sums but 0."""
    order = np.lexsort((codes, rows))
    rows, codes = rows[order], codes[order]
    begins = np.flatnonzero((np.diff(rows, prepend=-1) != 0) | (np.diff(codes, prepend=-1) != 0))
    totals = np.add.reduceat(counts[order], begins) if len(begins) else counts
    kept = totals != 0
    rows, codes = rows[begins][kept], codes[begins][kept]
    return np.bincount(rows, minlength=length), codes, totals[kept]


def size(_: Call, value: Any) -> Any:
    """Return how many values tallies have."""
    sizes = np.diff(value.offsets.to_numpy()).astype(np.int64)
    return pa.array(sizes, mask=~value.is_valid().to_numpy(zero_copy_only=False))


def quantile(call: Call, value: Any) -> Any:
    """Return a quantile of the numbers whose buckets tallies have; NaN if one of them is NaN."""
    (share,) = call.parameters
    rows, keys, counts = entries(value)
    if not len(rows):
        return pa.nulls(len(value), pa.float64())
    buckets = keys.to_numpy().astype(np.int64)
    order = np.lexsort((buckets, rows))
    rows, buckets, counts = rows[order], buckets[order], counts[order]
    starts, ends = (np.searchsorted(rows, np.arange(len(value)), side) for side in _SIDES)
    until = np.concatenate(([0], np.cumsum(counts)))
    rank = np.maximum(np.ceil(share * (until[ends] - until[starts])), 1).astype(np.int64)
    positions = np.searchsorted(until[1:], until[starts] + rank)
    quantiles = borders(buckets[np.minimum(positions, len(buckets) - 1)])
    has_nan = buckets[np.maximum(ends - 1, 0)] == NAN_BUCKET
    return pa.array(np.where(has_nan, np.nan, quantiles), mask=starts == ends)


_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


def variance(call: Call, count: Any, total: Any, squares: Any) -> Any:
    """Return variances of a sample, or their roots, from whole numbers: exact but for the last division."""
    (is_root,) = call.parameters
    results: list[float | None] = []
    for n, s, q in zip(*(column.to_pylist() for column in (count, total, squares)), strict=True):
        if n is None or n < 2:  # noqa: PLR2004 - one value does not differ
            results.append(None)
            continue
        result = (n * q - s * s) / (n * (n - 1))
        results.append(result**0.5 if is_root else result)
    return pa.array(results, pa.float64())
