"""`aggregate`: what it computes, for our job and for peers in Python.

record i = (i % K, 1.0)         summed by key
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.model.digest import as_text, digest_of
from benchmarks.model.program import Outputs
from benchmarks.model.shape import Shape

Pair = tuple[int, float]


def record_maker(keys: int) -> Callable[[int], Pair]:
    """Return the function from index to record."""
    return lambda i: (i % keys, 1.0)


def combine(a: Pair, b: Pair) -> Pair:
    """Add two records of a key."""
    return a[0], a[1] + b[1]


def key_of(record: Pair) -> int:
    """Return the key."""
    return record[0]


def expected(shape: Shape) -> Outputs:
    """Compute the sum of every key that has records."""
    keys = np.arange(min(shape.keys, shape.total), dtype=np.int64)
    sums = shape.total // shape.keys + (keys < shape.total % shape.keys)
    return Outputs(len(keys), as_text(digest_of(keys, sums)))
