"""Tells when a table of values by key has as many entries as fit in memory."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from penstock.runtime.spill.record_size import bytes_per_record

_FIRST_LOOK = 4096  # records after which entries are looked at, and then twice as many
_SLOT_BYTES = 48  # of an entry in a dictionary, beside the pair
_SAMPLE = 32


class EntryLimit:
    """Looks at a few entries now and then: values may grow as they are folded."""

    def __init__(self, memory_bytes: int) -> None:
        """Begin with an empty table.

        Args:
            memory_bytes: What keys and values may take.
        """
        self._memory_bytes = memory_bytes
        self._most = memory_bytes  # an entry has a byte at least
        self._look_at = _FIRST_LOOK

    def start(self) -> None:
        """Begin with another table of the same kind: the size of entries stays known."""
        self._look_at = _FIRST_LOOK

    def is_reached(self, table: Mapping[Any, Any], taken: int) -> bool:
        """Return whether there are too many entries.

        Args:
            table: Key to value.
            taken: Records that were folded into it so far.
        """
        if taken >= self._look_at:
            self._look_at = 2 * taken
            step = max(1, len(table) // _SAMPLE)
            sample = list(islice(table.items(), 0, None, step))
            self._most = max(1, self._memory_bytes // (bytes_per_record(sample) + _SLOT_BYTES))
        return len(table) >= self._most
