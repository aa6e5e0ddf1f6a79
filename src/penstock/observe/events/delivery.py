"""Delivery of events in a thread of its own, to a receiver that may be slow or fail for a while.

    on_event   puts the event into a buffer; of details only the last one of its class and pipeline stays
    thread     waits for an event, then for a second or a milestone, and delivers what is in the buffer

So a job never waits for a receiver, an idle job wakes no thread, and a job of a thousand epochs a second delivers one
detail a second of each class. After a failure the thread tries the same events again, after longer and longer
pauses. The buffer is bounded: it keeps the events that began the job, and drops the earliest of the others.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Sequence

from penstock.observe.events.job_events import EVENTS, JobEvent, JobStarted

FLUSH_SECONDS = 1.0
"""Longest time that a detail stays in the buffer."""

MOST_WAITING = 1000
"""Bound of the events in the buffer."""

END_SECONDS = 5.0
"""Longest time that the end of a job waits for a receiver."""

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 60.0
"""Pauses after failures; each is twice as long as the one before."""

_Key = tuple[str, str] | int
"""Class and pipeline of a detail, the number of a milestone."""

_logger = logging.getLogger("penstock")


class DeliveryOver(Exception):  # noqa: N818 - no error: the receiver is done
    """Raised by a receiver that must get no further event."""


class Delivery:
    """The events on their way to one receiver. Thread-safe."""

    def __init__(
        self,
        receive: Callable[[Sequence[JobEvent]], None],
        what: str,
        *,
        flush_seconds: float = FLUSH_SECONDS,
        most_waiting: int = MOST_WAITING,
        end_seconds: float = END_SECONDS,
        first_pause_seconds: float = FIRST_PAUSE_SECONDS,
    ) -> None:
        """Begin without a thread."""
        self._receive = receive
        self._what = what
        self._flush_seconds = flush_seconds
        self._most_waiting = most_waiting
        self._end_seconds = end_seconds
        self._first_pause_seconds = first_pause_seconds
        self._buffer: dict[_Key, JobEvent] = {}
        self._milestones = itertools.count()
        self._changed = threading.Condition()
        self._is_urgent = False
        self._is_closed = False
        self._is_given_up = False
        self._lost = 0
        self._thread: threading.Thread | None = None

    def on_event(self, event: JobEvent) -> None:
        """Take an event into the buffer."""
        is_detail = EVENTS[type(event)].is_detail
        with self._changed:
            if self._is_closed or self._is_given_up:
                return
            key: _Key = (
                (type(event).__name__, event.pipeline) if is_detail else next(self._milestones)
            )
            is_first = not self._buffer
            self._buffer.pop(key, None)  # the new one is the last in order
            self._buffer[key] = event
            self._bound()
            if self._thread is None:
                name = f"penstock {self._what}"
                self._thread = threading.Thread(target=self._run, name=name, daemon=True)
                self._thread.start()
            if is_first or not is_detail:
                self._is_urgent = self._is_urgent or not is_detail
                self._changed.notify()

    def close(self) -> None:
        """Deliver what is in the buffer, and end the thread; later events are dropped.

        A receiver that does not return in time is left alone: the job ends without it.
        """
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        if self._thread is None:
            return
        self._thread.join(self._end_seconds)
        if self._thread.is_alive():
            self._is_given_up = True
            _logger.warning(
                "%s has not ended within %g s; the job ends without it",
                self._what,
                self._end_seconds,
            )

    def _bound(self) -> None:
        while len(self._buffer) > self._most_waiting:
            first = next(
                k for k, event in self._buffer.items() if not isinstance(event, JobStarted)
            )
            del self._buffer[first]
            self._lost += 1

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._buffer or self._is_closed)
                self._changed.wait_for(
                    lambda: self._is_urgent or self._is_closed, self._flush_seconds
                )
            if not self._deliver():
                return
            with self._changed:
                if self._is_closed and not self._buffer:
                    return

    def _deliver(self) -> bool:
        """Deliver the buffer, again and again until it works; return whether to go on."""
        pause, failures = self._first_pause_seconds, 0
        while not self._is_given_up:
            with self._changed:
                taken, self._buffer = self._buffer, {}
                self._is_urgent = False
                is_last = self._is_closed
            try:
                if taken:
                    self._receive(tuple(taken.values()))
            except DeliveryOver:
                self._is_given_up = True
                return False
            except Exception as cause:  # noqa: BLE001 - the job goes on without it
                failures += 1
                if failures == 1:
                    _logger.warning(
                        "%s failed, and is tried again; the job goes on: %s", self._what, cause
                    )
            else:
                if failures:
                    _logger.warning("%s works again; %d events are lost", self._what, self._lost)
                    self._lost = 0
                return True
            self._put_back(taken)
            if is_last:
                return False
            with self._changed:
                self._changed.wait_for(lambda: self._is_closed, pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        return False

    def _put_back(self, taken: dict[_Key, JobEvent]) -> None:
        with self._changed:
            newer = self._buffer
            self._buffer = {key: event for key, event in taken.items() if key not in newer} | newer
            self._bound()
