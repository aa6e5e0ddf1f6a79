"""Records of the Kafka programs: record `i` has the key `i % K`; the answer is how many each key has."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.model.digest import as_text, digest_of
from benchmarks.model.program import Outputs
from benchmarks.model.shape import Shape


def expected_counts(shape: Shape) -> Outputs:
    """Return the outputs (key, count) of all keys."""
    keys = np.arange(min(shape.keys, shape.total))
    return Outputs(len(keys), as_text(digest_of(keys, _count_of(shape, keys))))


def is_last_count(shape: Shape, columns: Any) -> Any:
    """Return which rows (key, count) are the last ones of their keys."""
    return columns[1] == _count_of(shape, columns[0])


def expected_numbers(shape: Shape) -> Outputs:
    """Return the outputs of numbers that are written as they are."""
    return numbers_below(shape.total)


def numbers_below(count: int) -> Outputs:
    """Return the outputs 0, 1, … below a number."""
    return Outputs(count, as_text(digest_of(np.arange(count))))


def _count_of(shape: Shape, keys: Any) -> Any:
    return shape.total // shape.keys + (keys < shape.total % shape.keys)
