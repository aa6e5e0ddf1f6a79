"""`map-batches`: what it computes of (key, v), for our job and for Spark's `mapInArrow`.

(key, v)        to (key, 3 v + key)
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.model.digest import as_text, digest_of
from benchmarks.model.program import Outputs
from benchmarks.model.shape import Shape


def scored(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the scores of a batch: little work, so that what is measured is the way to it and back."""
    key, v = batch.columns
    score = pc.add(pc.multiply(v, pa.scalar(3, pa.int64())), key)
    return pa.RecordBatch.from_arrays([key, score], ["key", "score"])


def expected(shape: Shape) -> Outputs:
    """Compute all scores."""
    v = np.arange(shape.total, dtype=np.int64)
    key = v % shape.keys
    return Outputs(len(v), as_text(digest_of(key, 3 * v + key)))
