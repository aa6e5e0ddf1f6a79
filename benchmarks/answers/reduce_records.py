"""`reduce`: what it computes, for our job and for peers in Python.

record v = (v % K, v, 1)        reduced by key to (key, greatest v, number of records)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.model.digest import as_text, digest_of
from benchmarks.model.program import Outputs
from benchmarks.model.shape import Shape

Triple = tuple[int, int, int]


def record_maker(keys: int) -> Callable[[int], Triple]:
    """Return the function from index to record."""
    return lambda v: (v % keys, v, 1)


def combine(a: Triple, b: Triple) -> Triple:
    """Reduce two records of a key."""
    return a[0], max(a[1], b[1]), a[2] + b[2]


def key_of(record: Triple) -> int:
    """Return the key."""
    return record[0]


def count_of(shape: Shape, keys: Any) -> Any:
    """Return how many records the keys of an array have."""
    return shape.total // shape.keys + (keys < shape.total % shape.keys)


def is_output(shape: Shape, columns: Any) -> Any:
    """Return which rows are the last of their keys; more than right is kept, to be seen."""
    return columns[2] >= count_of(shape, columns[0])


def expected(shape: Shape) -> Outputs:
    """Compute the last result of every key that has records."""
    keys = np.arange(min(shape.keys, shape.total), dtype=np.int64)
    counts = count_of(shape, keys)
    return Outputs(len(keys), as_text(digest_of(keys, keys + (counts - 1) * shape.keys, counts)))
