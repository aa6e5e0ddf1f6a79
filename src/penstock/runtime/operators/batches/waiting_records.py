"""Records that wait for each other until their batch is full."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import pyarrow as pa

Stamps = list[int] | None


class WaitingRecords:
    """Records in order of arrival, of which either all have a timestamp or none has.

    Attributes:
        values: The records.
        stamps: Their timestamps.
    """

    __slots__ = ("_since", "stamps", "values")

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.stamps: Stamps = None
        self._since = 0.0

    def fits(self, timestamps: Stamps) -> bool:
        """Return whether records with these timestamps may wait with the others."""
        return not self.values or (timestamps is None) == (self.stamps is None)

    def add(self, values: list[Any], timestamps: Stamps) -> None:
        """Append records that fit."""
        if not self.values:
            self._since = time.monotonic()
            self.stamps = None if timestamps is None else []
        self.values += values
        if self.stamps is not None and timestamps is not None:
            self.stamps += timestamps

    def take(self, count: int) -> tuple[list[Any], Stamps]:
        """Remove and return the first records; the others wait from now on."""
        values, self.values = self.values[:count], self.values[count:]
        stamps = None
        if self.stamps is not None:
            stamps, self.stamps = self.stamps[:count], self.stamps[count:]
        self._since = time.monotonic()
        return values, stamps

    def have_waited(self, limit_ms: int | None) -> bool:
        """Return whether there are records that have waited for a time."""
        if not self.values or limit_ms is None:
            return False
        return (time.monotonic() - self._since) * 1000 >= limit_ms


class WaitingColumns:
    """Columns of records in order of arrival, none of which has a timestamp.

    Attributes:
        rows: Number of records.
    """

    __slots__ = ("_batches", "_since", "rows")

    def __init__(self) -> None:
        self.rows = 0
        self._batches: deque[pa.RecordBatch] = deque()
        self._since = 0.0

    def add(self, batch: pa.RecordBatch) -> None:
        """Append records; all batches have one schema."""
        if not self.rows:
            self._since = time.monotonic()
        self._batches.append(batch)
        self.rows += batch.num_rows

    def take(self, count: int) -> pa.RecordBatch:
        """Remove and return the first records; they are copied only if they came in several batches."""
        found: list[pa.RecordBatch] = []
        missing = count
        while missing:
            batch = self._batches.popleft()
            if batch.num_rows > missing:
                self._batches.appendleft(batch.slice(missing))
                batch = batch.slice(0, missing)
            found.append(batch)
            missing -= batch.num_rows
        self.rows -= count
        self._since = time.monotonic()
        return found[0] if len(found) == 1 else pa.concat_batches(found)

    def have_waited(self, limit_ms: int | None) -> bool:
        """Return whether there are records that have waited for a time."""
        if not self.rows or limit_ms is None:
            return False
        return (time.monotonic() - self._since) * 1000 >= limit_ms
