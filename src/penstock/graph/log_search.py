"""Finds the position of a timestamp in a log by reading it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from penstock.graph.log_values import LogBatch

Batches = Callable[[int, int], Iterator[tuple[int, LogBatch]]]
"""Start and end of a range to its batches, each with its first position."""


class NoTimestamps(Exception):  # noqa: N818 - its catcher makes an error of ours of it
    """The records have none."""


def first_position_at(batches: Batches, timestamp_ms: int, start: int, end: int) -> int:
    """Return the first position of a range whose record is not before a timestamp, else its end.

    A batch has no position per record: the ranges of its beginning are read, half as long each time.

    Raises:
        NoTimestamps: A record has no timestamp.
    """
    for at, batch in batches(start, end):
        if _has(batch, timestamp_ms):
            return _least(batches, timestamp_ms, at, batch.next_position) - 1
    return end


def _has(batch: LogBatch, timestamp_ms: int) -> bool:
    if batch.timestamps is None and batch.records:
        raise NoTimestamps
    return any(stamp >= timestamp_ms for stamp in batch.timestamps or ())


def _least(batches: Batches, timestamp_ms: int, start: int, end: int) -> int:
    """Return the least end of a range from `start` that has such a record; that up to `end` has one."""
    low, high = start + 1, end
    while low < high:
        middle = (low + high) // 2
        if any(_has(batch, timestamp_ms) for _, batch in batches(start, middle)):
            high = middle
        else:
            low = middle + 1
    return low
