"""The one schema of every exchange: `route INT, frame BINARY`, as Arrow batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

DDL = "route INT, frame BINARY"
SCHEMA = pa.schema([pa.field("route", pa.int32()), pa.field("frame", pa.binary())])

_BATCH_BYTES = 4 << 20


def to_batches(rows: Iterable[list[tuple[int, bytes]]]) -> Iterator[pa.RecordBatch]:
    """Gather (route, frame) pairs into Arrow batches of a few megabytes."""
    waiting: list[tuple[int, bytes]] = []
    size = 0
    for some in rows:
        waiting += some
        size += sum(len(frame) for _, frame in some)
        if size >= _BATCH_BYTES:
            yield to_batch(waiting)
            waiting, size = [], 0
    if waiting:
        yield to_batch(waiting)


def to_batch(rows: list[tuple[int, bytes]]) -> pa.RecordBatch:
    """Return one Arrow batch of (route, frame) pairs."""
    routes, frames = zip(*rows, strict=True)
    return pa.RecordBatch.from_arrays(
        [pa.array(routes, pa.int32()), pa.array(frames, pa.binary())], schema=SCHEMA
    )


def from_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, bytes]]:
    """Yield the (route, frame) pairs of Arrow batches."""
    for batch in batches:
        yield from zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)
