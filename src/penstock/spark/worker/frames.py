"""The one schema of every exchange: `route INT, frame BINARY`, and the task of a frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

import pyarrow as pa
from pyspark import TaskContext

from penstock.metrics.task_clock import ARROW, WAIT, TaskClock

DDL = "route INT, frame BINARY"
SCHEMA = pa.schema([pa.field("route", pa.int32()), pa.field("frame", pa.binary())])

_BATCH_BYTES = 4 << 20

T = TypeVar("T")


def waited_for(batches: Iterable[T], clock: TaskClock) -> Iterator[T]:
    """Yield the batches of another producer; the time until a batch arrives belongs to `WAIT`."""
    arriving = iter(batches)
    while True:
        before = clock.switch(WAIT)
        batch = next(arriving, None)
        clock.switch(before)
        if batch is None:
            return
        yield batch


def to_batches(
    rows: Iterable[list[tuple[int, bytes]]], clock: TaskClock
) -> Iterator[pa.RecordBatch]:
    """Combine (route, frame) pairs into Arrow batches of a few megabytes."""
    waiting: list[tuple[int, bytes]] = []
    size = 0
    for some in rows:
        waiting += some
        size += sum(len(frame) for _, frame in some)
        if size >= _BATCH_BYTES:
            yield from _leaving(waiting, clock)
            waiting, size = [], 0
    if waiting:
        yield from _leaving(waiting, clock)


def _leaving(rows: list[tuple[int, bytes]], clock: TaskClock) -> Iterator[pa.RecordBatch]:
    before = clock.switch(ARROW)
    batch = to_batch(rows)
    clock.switch(WAIT)
    yield batch
    clock.switch(before)


def to_batch(rows: list[tuple[int, bytes]]) -> pa.RecordBatch:
    """Return one Arrow batch of (route, frame) pairs."""
    routes, frames = zip(*rows, strict=True)
    return pa.RecordBatch.from_arrays(
        [pa.array(routes, pa.int32()), pa.array(frames, pa.binary())], schema=SCHEMA
    )


def from_batches(
    batches: Iterable[pa.RecordBatch], clock: TaskClock
) -> Iterator[tuple[int, bytes]]:
    """Yield the (route, frame) pairs of Arrow batches."""
    for batch in waited_for(batches, clock):
        before = clock.switch(ARROW)
        rows = zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)
        clock.switch(before)
        yield from rows


def task_id() -> int:
    """Return the index of this task within its stage."""
    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())
