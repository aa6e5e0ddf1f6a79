"""What records gave so far, in memory: of a task before the exchange, of a key group behind it.

An entry belongs to a key; where windows at regular distances are folded, to a key and a pane.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from penstock.program.folding.fold import Fold
from penstock.runtime.fold.entry_limit import EntryLimit
from penstock.runtime.fold.loops import fold_keys


class FoldTable:
    """A table that records of a batch run are folded into.

    Attributes:
        fold: What turns records into one value.
        records: How many were folded into it since it was taken.
    """

    __slots__ = ("_entries", "_limit", "fold", "records")

    def __init__(self, fold: Fold, memory_bytes: int) -> None:
        """Begin empty.

        Args:
            fold: What turns records into one value.
            memory_bytes: What keys and values may take.
        """
        self.fold = fold
        self.records = 0
        self._entries: dict[Any, Any] = {}
        self._limit = EntryLimit(memory_bytes)

    def add(self, keys: Iterable[Any], values: Iterator[Any], count: int) -> None:
        """Fold records.

        Args:
            keys: One per record.
            values: The records. What is left of it tells, if anything raises, on which one.
            count: How many there are.

        Raises:
            Exception: Whatever the function, or the hash or equality of a key, raises.
        """
        fold_keys(self.fold, self._entries, keys, values)
        self.records += count

    @property
    def is_full(self) -> bool:
        """Whether the table takes more memory than it may."""
        return self._limit.is_reached(self._entries, self.records)

    def take(self) -> dict[Any, Any]:
        """Return the entries, in order of their first record, and begin with an empty table."""
        entries, self._entries = self._entries, {}
        self.records = 0
        self._limit.start()
        return entries
