"""Results of the records so far, in memory: of a task before the exchange, of a key group behind it.

Entries belong to a key. Where windows at regular distances are folded there is a table per pane.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from penstock.program.folding.fold import Fold
from penstock.runtime.fold.entry_limit import EntryLimit
from penstock.runtime.fold.loops import fold_keys, fold_panes

Entries = dict[int | None, dict[Any, Any]]
"""Begin of a pane, None for what has no panes, to key to accumulator."""


class FoldTable:
    """A table that records of a batch run are folded into.

    Attributes:
        fold: What turns records into one value.
        records: How many were folded into it since it was taken.
    """

    __slots__ = ("_limit", "_tables", "fold", "records")

    def __init__(self, fold: Fold, memory_bytes: int) -> None:
        """Begin empty."""
        self.fold = fold
        self.records = 0
        self._tables: defaultdict[int | None, dict[Any, Any]] = defaultdict(dict)
        self._limit = EntryLimit(memory_bytes)

    def add(
        self, keys: Sequence[Any], values: Iterator[Any], panes: Sequence[int] | None = None
    ) -> None:
        """Fold records.

        Raises:
            Exception: Whatever the function, or the hash or equality of a key, raises.
        """
        if panes is None:
            fold_keys(self.fold, self._tables[None], keys, values)
        else:
            fold_panes(self.fold, self._tables, keys, panes, values)
        self.records += len(keys)

    @property
    def is_full(self) -> bool:
        """True if the table takes more memory than it may."""
        return self._limit.is_reached(self._tables.values(), self.records)

    def take(self) -> Entries:
        """Return the entries, those of a pane in order of their first record, and begin empty."""
        entries: Entries = dict(self._tables)
        self._tables.clear()
        self.records = 0
        self._limit.start()
        return entries
