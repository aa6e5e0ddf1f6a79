"""Results of the records so far, in memory: of a task before the exchange, of a key group behind it, up to a limit.

Entries belong to a key. Where windows at regular distances are folded there is a table per pane.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from penstock.program.fold import Fold
from penstock.runtime.fold.loops import fold_keys, fold_panes
from penstock.runtime.spill.record_size import bytes_per_record

_FIRST_LOOK = 4096  # records after which entries are looked at, and then twice as many
_SLOT_BYTES = 48  # of an entry in a dictionary, beside the pair
_TABLE_BYTES = 232  # of a dictionary with few entries, and its own entry in the one of panes
_SAMPLE = 32

Tables = Collection[Mapping[Any, Any]]


class EntryLimit:
    """Looks at a few entries now and then: values may grow as they are folded."""

    def __init__(self, memory_bytes: int) -> None:
        """Begin with empty tables."""
        self._memory_bytes = memory_bytes
        self._entry_bytes = 1  # at least
        self.start()

    def start(self) -> None:
        """Begin with other tables of the same kind: the size of entries stays known."""
        self._look_at = _FIRST_LOOK
        self._count_at = 0

    def is_reached(self, tables: Tables, taken: int) -> bool:
        """Return whether there are too many entries."""
        if taken >= self._look_at:
            self._look_at = 2 * taken
            self._count_at = 0
            self._entry_bytes = _SLOT_BYTES + bytes_per_record(_sample(tables))
        if taken < self._count_at:  # so many tables need not be counted once per batch
            return False
        used = sum(map(len, tables)) * self._entry_bytes + (len(tables) - 1) * _TABLE_BYTES
        left = self._memory_bytes - used
        self._count_at = taken + left // (self._entry_bytes + _TABLE_BYTES)
        return left <= 0


def _sample(tables: Tables) -> list[Any]:
    step = max(1, sum(map(len, tables)) // _SAMPLE)
    entries = chain.from_iterable(table.items() for table in tables)
    return list(islice(entries, 0, None, step))


Entries = dict[int | None, dict[Any, Any]]
"""Begin of a pane, None for a function without panes, to key to accumulator."""


class FoldTable:
    """A table that records of a batch run are folded into.

    Attributes:
        fold: Fold of records into one value.
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
        """Fold records."""
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
