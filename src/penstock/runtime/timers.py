"""Event-time timers of one keyed operator.

Timers are state: the table maps a key to the sorted tuple of its pending timestamps, so they
are logged, snapshotted and handed over like any other state. A live run also needs to find the
next timer over all keys: a heap is built from the table when first needed and kept up to date;
an entry whose timer was deleted is skipped when it surfaces. A batch run fires the timers of
one key after its last record, and needs no heap.
"""

from __future__ import annotations

import heapq
import time
from bisect import insort
from collections.abc import Callable
from typing import Any

from penstock.errors import TypeMismatchError
from penstock.serde.elements import MIN_TIMESTAMP
from penstock.state.backend import StateTable
from penstock.state.key_context import KeyContext

TABLE = "_event_time_timers"
"""Name of the state the timers of an operator are kept under."""

Fire = Callable[[int], None]
"""Called with the timestamp while the current key is the timer's."""


class TimerService:
    """Implements `TimerService` of the API.

    Attributes:
        watermark: What `current_watermark` returns.
    """

    def __init__(self, table: StateTable, keys: KeyContext) -> None:
        self._entries = table.entries
        self._changed = table.changed
        self._keys = keys
        self._heap: list[tuple[int, int, Any]] | None = None
        self._order = 0
        self.watermark = MIN_TIMESTAMP

    def current_processing_time(self) -> int:
        """Return the wall clock in epoch milliseconds."""
        return time.time_ns() // 1_000_000

    def current_watermark(self) -> int:
        """Return the watermark in epoch milliseconds, Long.MIN before the first.

        While history is read as a batch it stays Long.MIN until the key's timers fire.
        """
        return self.watermark

    def register_event_time_timer(self, timestamp: int) -> None:
        """Fire for the current key once the watermark reaches `timestamp`.

        Registering the same timestamp again for a key changes nothing.

        Raises:
            TypeMismatchError: `timestamp` is not an int.
        """
        if type(timestamp) is not int:
            raise TypeMismatchError(
                f"a timer was registered for {timestamp!r}",
                hint="Pass epoch milliseconds as an int.",
            )
        key = self._keys.key
        pending = self._entries.get(key, ())
        if timestamp in pending:
            return
        if pending and timestamp < pending[-1]:
            ordered = list(pending)
            insort(ordered, timestamp)
            self._entries[key] = tuple(ordered)
        else:
            self._entries[key] = (*pending, timestamp)
        self._changed.add(key)
        if self._heap is not None:
            self._push(timestamp, key)

    def delete_event_time_timer(self, timestamp: int) -> None:
        """Forget the timer of the current key at `timestamp`, if there is one."""
        self._remove(self._keys.key, timestamp)

    def forget_order(self) -> None:
        """Forget the heap: the table was loaded anew."""
        self._heap = None

    def fire_current_key(self, watermark: int, fire: Fire) -> None:
        """Fire the timers of the current key up to `watermark`, in order."""
        key = self._keys.key
        while (pending := self._entries.get(key)) and pending[0] <= watermark:
            self._remove(key, pending[0])
            fire(pending[0])

    def fire_all_keys(self, watermark: int, fire: Fire) -> None:
        """Fire the timers of all keys up to `watermark`, in order of time."""
        heap = self._heap if self._heap is not None else self._build()
        while heap and heap[0][0] <= watermark:
            timestamp, _, key = heapq.heappop(heap)
            if timestamp in self._entries.get(key, ()):
                self._remove(key, timestamp)
                self._keys.key = key
                fire(timestamp)

    def _build(self) -> list[tuple[int, int, Any]]:
        self._heap = []
        for key, pending in self._entries.items():
            for timestamp in pending:
                self._order += 1
                self._heap.append((timestamp, self._order, key))
        heapq.heapify(self._heap)
        return self._heap

    def _push(self, timestamp: int, key: Any) -> None:
        # The running number breaks ties, because keys need not be comparable.
        assert self._heap is not None
        self._order += 1
        heapq.heappush(self._heap, (timestamp, self._order, key))

    def _remove(self, key: Any, timestamp: int) -> None:
        pending = self._entries.get(key, ())
        if timestamp not in pending:
            return
        first = pending[0] == timestamp
        left = pending[1:] if first else tuple(t for t in pending if t != timestamp)
        if left:
            self._entries[key] = left
        else:
            del self._entries[key]
        self._changed.add(key)
