"""Timers of one keyed operator, in event time and in processing time.

Timers are state: entries (key, timestamp). They are logged, and part of snapshots and hand-overs, like
any other state. The backend stores them in order of time.

| | event time | processing time |
|---|---|---|
| live run | when the watermark reaches them | when the clock reaches them, in a micro-batch; the driver |
| | | starts one if a timer is due and no records arrive |
| batch run | after the last record of their key | after them; BATCH mode: whatever the time; |
| | | history: those that are due; the live run has the others |
| end of a live input | all of them | dropped |

The last watermark is Long.MAX: a timer for a later time fires at Long.MAX.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.errors import TypeMismatchError
from penstock.state.backends.base import TimerTable
from penstock.state.handles.key_context import KeyContext
from penstock.state.schema.own_states import EVENT_TIMERS, PROCESSING_TIMERS
from penstock.wire.elements import MAX_WATERMARK, MIN_TIMESTAMP

TABLE = EVENT_TIMERS
PROCESSING_TABLE = PROCESSING_TIMERS
"""Names of the timer states of an operator."""

Fire = Callable[[int], None]
"""Called with the timestamp; the current key is that of the timer."""


class InternalTimerService:
    """Implements `TimerService` of the API.

    Attributes:
        watermark: The result of `current_watermark`.
    """

    def __init__(
        self,
        event_time: TimerTable,
        processing_time: TimerTable,
        keys: KeyContext,
        now_ms: Callable[[], int],
    ) -> None:
        self._event_time = event_time
        self._processing_time = processing_time
        self._keys = keys
        self._now_ms = now_ms
        self.watermark = MIN_TIMESTAMP

    def current_processing_time(self) -> int:
        """Return the wall clock in epoch milliseconds."""
        return self._now_ms()

    def current_watermark(self) -> int:
        """Return the watermark in epoch milliseconds, Long.MIN before the first.

        While history is read as a batch it stays Long.MIN until the key's timers fire.
        """
        return self.watermark

    def register_event_time_timer(self, timestamp: int) -> None:
        """Fire for the current key once the watermark reaches `timestamp`.

        A timestamp after Long.MAX fires at Long.MAX, with that timestamp. Registering a timestamp of a key
        twice has no effect.
        """
        keys = self._keys
        self._event_time.add(keys.group, keys.key, _checked(timestamp))

    def delete_event_time_timer(self, timestamp: int) -> None:
        """Delete the timer of the current key at `timestamp`, if there is one."""
        self._event_time.remove(self._keys.group, self._keys.key, _checked(timestamp))

    def register_processing_time_timer(self, timestamp: int) -> None:
        """Fire for the current key once the wall clock reaches `timestamp`.

        Registering a timestamp of a key twice has no effect.
        """
        keys = self._keys
        self._processing_time.add(keys.group, keys.key, _checked(timestamp))

    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Delete the timer of the current key at `timestamp`, if there is one."""
        self._processing_time.remove(self._keys.group, self._keys.key, _checked(timestamp))

    def fire_current_key(self, watermark: int, fire: Fire) -> None:
        """Fire the event-time timers of the current key up to `watermark`, in order."""
        self._fire_key(self._event_time, watermark, fire)

    def fire_current_key_processing_time(self, until: int, fire: Fire) -> None:
        """Fire the processing-time timers of the current key up to `until`, in order."""
        self._fire_key(self._processing_time, until, fire)

    def fire_all_keys(self, watermark: int, fire: Fire) -> None:
        """Fire the event-time timers of all keys up to `watermark`, in order of time."""
        self._fire_due(self._event_time, watermark, fire)

    def fire_processing_time(self, now_ms: int, fire: Fire) -> None:
        """Fire the processing-time timers of all keys up to `now_ms`, in order of time."""
        self._fire_due(self._processing_time, now_ms, fire)

    def processing_time_in_batch(self, *, is_last_run: bool) -> int:
        """Return the time up to which a batch run fires processing-time timers, after the records of a key.

        The end of the input fires all of them, as in Flink's BATCH mode. History fires those that are due,
        as FLIP-327 has it. It is read once per key, so a timer that registers the next one ends.
        """
        return MAX_WATERMARK if is_last_run else self._now_ms()

    def next_processing_time(self) -> int | None:
        """Return the time of the earliest processing-time timer, None if there is none."""
        return self._processing_time.next_due()

    def _fire_key(self, timers: TimerTable, until: int, fire: Fire) -> None:
        group, key = self._keys.group, self._keys.key
        while (pending := timers.of_key(group, key)) and pending[0] <= until:
            timers.remove(group, key, pending[0])
            fire(pending[0])

    def _fire_due(self, timers: TimerTable, until: int, fire: Fire) -> None:
        while (due := timers.pop_due(until)) is not None:
            timestamp, self._keys.group, self._keys.key = due
            fire(timestamp)


def _checked(timestamp: int) -> int:
    if type(timestamp) is not int:
        raise TypeMismatchError(
            f"a timer was registered for {timestamp!r}",
            hint="Pass epoch milliseconds as an int.",
        )
    return min(max(timestamp, MIN_TIMESTAMP), MAX_WATERMARK)
