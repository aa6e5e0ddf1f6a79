"""Timers of the LMDB backend: stored ones in the order of a database, new ones in a heap."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any

from penstock.state.backends.lmdb.format import unpack_timer
from penstock.state.backends.lmdb.table import LmdbTable
from penstock.state.backends.lmdb.view import View

_Timer = tuple[int, int, bytes, Any]
"""(timestamp, key group, bytes of the key, key): ordered, since no two keys share their bytes."""


class LmdbTimers:
    """Timers of one operator. Memory: in proportion to the timers a micro-batch touches."""

    def __init__(self, table: LmdbTable) -> None:
        self._table = table
        self._view: View | None = None
        self._added: list[_Timer] = []
        self._stored: Iterator[_Timer] = iter(())
        self._next: _Timer | None = None

    def add(self, key_group: int, key: Any, timestamp: int) -> None:
        """Add a timer; nothing changes if it is there."""
        part = self._table[key_group]
        if part.get(key, timestamp) is None:
            part.put(key, timestamp, True)  # noqa: FBT003 - that the timer is there
            heapq.heappush(
                self._added, (timestamp, key_group, self._table.coders.keys.encode(key), key)
            )

    def remove(self, key_group: int, key: Any, timestamp: int) -> None:
        """Remove a timer, if it is there."""
        self._table[key_group].remove(key, timestamp)

    def of_key(self, key_group: int, key: Any) -> list[int]:
        """Return the timestamps of one key, ascending."""
        return sorted(self._table[key_group].subkeys(key))

    def pop_due(self, until: int) -> tuple[int, int, Any] | None:
        """Remove and return (timestamp, key group, key) of the earliest timer up to `until`.

        Raises:
            StateError: The copy is damaged.
        """
        while True:
            added, stored = self._added, self._next
            if stored is not None and (not added or stored[:3] <= added[0][:3]):
                if stored[0] > until:
                    return None
                self._next = next(self._stored, None)
                timer, is_stored = stored, True
            elif added and added[0][0] <= until:
                timer, is_stored = heapq.heappop(added), False
            else:
                return None
            timestamp, group, _, key = timer
            part = self._table[group]
            is_new = not part.knows(key, timestamp)
            if part.get(key, timestamp) is not None:
                part.remove(key, timestamp)
                return timestamp, group, key
            if is_stored and is_new and self._view is not None:
                self._view.damaged(f"the timer {timestamp} of key {key!r} is only in the order")

    def next_due(self) -> int | None:
        """Return the timestamp of the earliest timer, None if there is none."""
        while self._next is not None and self._is_gone(self._next):
            self._next = next(self._stored, None)
        while self._added and self._is_gone(self._added[0]):
            heapq.heappop(self._added)
        heads = [timer for timer in (self._next, *self._added[:1]) if timer is not None]
        return min(heads)[0] if heads else None

    def _is_gone(self, timer: _Timer) -> bool:
        timestamp, group, _, key = timer
        return self._table[group].get(key, timestamp) is None

    def begin(self, view: View) -> None:
        """A micro-batch begins."""
        self.end()
        table = view.catalog.ids.get((self._table.operator, self._table.state))
        self._view = view
        if table is not None:
            keys = self._table.coders.keys
            self._stored = (unpack_timer(*stored, keys) for stored in view.timers(table))
            self._next = next(self._stored, None)

    def end(self) -> None:
        """The micro-batch ended."""
        self._view = None
        self._added = []
        self._stored = iter(())
        self._next = None
