"""Digests of rows where they are, for systems whose outputs are spread over workers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.model.digest import as_text, digest_of
from benchmarks.model.program import Outputs

Part = tuple[int, str]
"""Rows, and their digest as decimal text: it does not fit a signed integer."""


def digest_batches(keep: Any, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return count and digest of every batch of rows."""
    for batch in batches:
        columns = [
            column.to_numpy(zero_copy_only=False).astype("int64") for column in batch.columns
        ]
        if keep is not None:
            mask = keep(columns)
            columns = [column[mask] for column in columns]
        rows = [len(columns[0])], [str(digest_of(*columns))]
        yield pa.RecordBatch.from_arrays([pa.array(each) for each in rows], ["count", "digest"])


def added_up(parts: Iterable[Part]) -> Outputs:
    """Return the outputs of all parts: (count, digest as decimal text)."""
    found = list(parts)
    digest = sum(int(digest) for _, digest in found)
    return Outputs(sum(count for count, _ in found), as_text(digest))


def digest_rows(rows: Iterator[Any]) -> Iterator[Part]:
    """Return count and digest of rows, tuples of integers or integers; nothing if there are none."""
    found = list(rows)
    if found:
        columns = np.array(found, dtype=np.int64).reshape(len(found), -1).T
        yield len(found), str(digest_of(*columns))
