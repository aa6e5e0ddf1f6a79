"""Timers of the hash-map backend."""

from __future__ import annotations

import heapq
from typing import Any

from penstock.state.backends.hash.parts import HashTable
from penstock.state.log.blob import Section


class HashTimers:
    """Timers in order: a heap beside the table, made when first needed.

    Entries whose timer is gone are skipped when they surface.
    """

    def __init__(self, table: HashTable) -> None:
        self._table = table
        self._heap: list[tuple[int, int, int, Any]] | None = None
        self._number = 0

    def add(self, key_group: int, key: Any, timestamp: int) -> None:
        """Add a timer; nothing changes if it is there."""
        part = self._table[key_group]
        if part.get(key, timestamp) is None:
            part.put(key, timestamp, True)  # noqa: FBT003 - that the timer is there
            self._push(key_group, key, timestamp)

    def remove(self, key_group: int, key: Any, timestamp: int) -> None:
        """Remove a timer, if it is there."""
        self._table[key_group].remove(key, timestamp)

    def of_key(self, key_group: int, key: Any) -> list[int]:
        """Return the timestamps of one key, ascending."""
        return sorted(self._table[key_group].subkeys(key))

    def pop_due(self, until: int) -> tuple[int, int, Any] | None:
        """Remove and return (timestamp, key group, key) of the earliest timer up to `until`."""
        heap = self._heap if self._heap is not None else self._build()
        while heap and heap[0][0] <= until:
            timestamp, _, group, key = heapq.heappop(heap)
            part = self._table[group]
            if part.get(key, timestamp) is not None:
                part.remove(key, timestamp)
                return timestamp, group, key
        return None

    def next_due(self) -> int | None:
        """Return the timestamp of the earliest timer, None if there is none."""
        heap = self._heap if self._heap is not None else self._build()
        while heap:
            timestamp, _, group, key = heap[0]
            if self._table[group].get(key, timestamp) is not None:
                return timestamp
            heapq.heappop(heap)
        return None

    def loaded(self, key_group: int, section: Section) -> None:
        """Take note of timers that came from a blob."""
        if self._heap is not None:
            for key, timestamp in zip(section.keys, section.subkeys or (), strict=True):
                self._push(key_group, key, timestamp)

    def forget_order(self) -> None:
        """The table was emptied."""
        self._heap = None

    def _build(self) -> list[tuple[int, int, int, Any]]:
        self._heap = []
        for group, part in self._table.parts():
            for key in part.keys():  # noqa: SIM118 - a part is no dictionary
                for timestamp in part.subkeys(key):
                    self._push(group, key, timestamp)
        return self._heap

    def _push(self, key_group: int, key: Any, timestamp: int) -> None:
        # The running number breaks ties, because keys need not be comparable.
        if self._heap is not None:
            self._number += 1
            heapq.heappush(self._heap, (timestamp, self._number, key_group, key))
