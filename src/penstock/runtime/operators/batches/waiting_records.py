"""Records that wait for each other until their batch is full."""

from __future__ import annotations

import time
from typing import Any

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
