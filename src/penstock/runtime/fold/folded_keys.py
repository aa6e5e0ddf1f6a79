"""What records gave so far, key by key: of a task before the exchange, of a key group behind it."""

from __future__ import annotations

from typing import Any

from penstock.runtime.fold.entry_limit import EntryLimit


class FoldedKeys:
    """A table that records of a batch run are folded into.

    Attributes:
        table: Key to what its records gave.
        records: How many were folded into it.
    """

    __slots__ = ("_limit", "records", "table")

    def __init__(self, memory_bytes: int) -> None:
        """Begin empty.

        Args:
            memory_bytes: What keys and values may take.
        """
        self.table: dict[Any, Any] = {}
        self.records = 0
        self._limit = EntryLimit(memory_bytes)

    @property
    def is_full(self) -> bool:
        """Whether the table takes more memory than it may."""
        return self._limit.is_reached(self.table, self.records)

    def take(self) -> dict[Any, Any]:
        """Return the table and begin with an empty one."""
        table, self.table = self.table, {}
        self.records = 0
        self._limit.start()
        return table
