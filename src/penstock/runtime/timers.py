"""Event-time timers of one keyed operator.

Timers are state: entries (key, timestamp), so they are logged, snapshotted and handed over like
any other state, and the backend keeps them in order of time. A live run fires the due timers of
all keys; a batch run fires those of one key after its last record.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from penstock.errors import TypeMismatchError
from penstock.serde.elements import MIN_TIMESTAMP
from penstock.state.backend import TimerTable
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

    def __init__(self, timers: TimerTable, keys: KeyContext) -> None:
        self._timers = timers
        self._keys = keys
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
        self._timers.add(self._keys.group, self._keys.key, timestamp)

    def delete_event_time_timer(self, timestamp: int) -> None:
        """Forget the timer of the current key at `timestamp`, if there is one."""
        self._timers.remove(self._keys.group, self._keys.key, timestamp)

    def fire_current_key(self, watermark: int, fire: Fire) -> None:
        """Fire the timers of the current key up to `watermark`, in order."""
        group, key = self._keys.group, self._keys.key
        while (pending := self._timers.of_key(group, key)) and pending[0] <= watermark:
            self._timers.remove(group, key, pending[0])
            fire(pending[0])

    def fire_all_keys(self, watermark: int, fire: Fire) -> None:
        """Fire the timers of all keys up to `watermark`, in order of time."""
        while (due := self._timers.pop_due(watermark)) is not None:
            timestamp, self._keys.group, self._keys.key = due
            fire(timestamp)
