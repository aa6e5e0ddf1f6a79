"""A digest of outputs that does not depend on their order, the same in every language.

    mix(x)  = the finaliser of splitmix64, on unsigned 64-bit integers that wrap around
    h(row)  = mix(... mix(mix(SEED + first) + second) ... + last)
    digest  = the sum of h over all rows, modulo 2^64

A lost, doubled or changed row changes the sum; rows of two systems that are equal as multisets
give equal sums. For one row (1, 2, 3):

>>> hex(digest_of([1], [2], [3]))
'0xed671830066ae2ec'
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

UInt64s = npt.NDArray[np.uint64]

MODULUS = 1 << 64

SEED = np.uint64(0x9E3779B97F4A7C15)
"""Without it a row of zeros would have the hash 0, and nobody would miss it."""

_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def mix(values: UInt64s) -> UInt64s:
    """Return a bijective mixture of each value."""
    mixed = (values ^ (values >> np.uint64(30))) * _FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    return mixed ^ (mixed >> np.uint64(31))


def digest_of(*columns: Any) -> int:
    """Return the digest of rows given as columns of integers of equal length."""
    hashed: UInt64s = np.full(len(columns[0]), SEED, dtype=np.uint64)
    for column in columns:
        hashed = mix(hashed + np.asarray(column, dtype=np.int64).view(np.uint64))
    return int(hashed.sum(dtype=np.uint64))


def as_text(digest: int) -> str:
    """Return a digest as it is written in results.

    >>> as_text(255)
    '00000000000000ff'
    """
    return f"{digest % MODULUS:016x}"
