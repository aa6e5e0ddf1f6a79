"""Records of the PostgreSQL programs: row `i` has the key `i % K`, and is inserted and then updated where changes are read."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.model.digest import as_text, digest_of
from benchmarks.model.program import Outputs
from benchmarks.model.shape import Shape


def changed_rows(shape: Shape) -> int:
    """Return how many rows make the changes of a shape."""
    return shape.records // 2


def expected_changes(shape: Shape) -> Outputs:
    """Return the outputs (key, number of its changes) of all keys."""
    keys = np.arange(min(shape.keys, changed_rows(shape)))
    return Outputs(len(keys), as_text(digest_of(keys, _changes_of(shape, keys))))


def is_last_change(shape: Shape, columns: Any) -> Any:
    """Return which rows (key, count) are the last ones of their keys."""
    return columns[1] == _changes_of(shape, columns[0])


def _changes_of(shape: Shape, keys: Any) -> Any:
    rows = changed_rows(shape)
    return 2 * (rows // shape.keys + (keys < rows % shape.keys))
