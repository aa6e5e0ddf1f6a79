"""Sends run events of OpenLineage: START, RUNNING, then COMPLETE, FAIL or ABORT.

It is called in a thread of its own (`add_listener`). A receiver that does not answer is tried again with later events;
what waits for it is bounded, and the job is not affected.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.events.job_events import (
    JobEnded,
    JobEvent,
    JobStarted,
    MetricsReported,
    Restarting,
    RunStarted,
)
from penstock.events.listeners import JobListener
from penstock.reporters.lineage_events import LineageRun

_STATES = {"FINISHED": "COMPLETE", "FAILED": "FAIL", "CANCELED": "ABORT"}
_MOST_WAITING = 100
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 1.0, 60.0
_logger = logging.getLogger("penstock")


@dataclass(slots=True)
class _Known:
    """A run, and when the last event of it was made."""

    run: LineageRun
    told_ms: int


class LineageListener(JobListener):
    """Makes run events of the events of jobs. A program with a client of its own adds it with `add_listener`."""

    def __init__(
        self,
        emit: Callable[[Any], object],
        *,
        namespace: str = "default",
        interval_ms: int = 60_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare.

        Args:
            emit: Sends a `RunEvent`, such as `OpenLineageClient.emit`. If it raises, it gets the event again.
            namespace: Of the jobs.
            interval_ms: Least time between two events RUNNING that only have new numbers.
            clock: Seconds.
        """
        self._emit = emit
        self._namespace = namespace
        self._interval_ms = interval_ms
        self._clock = clock
        self._jobs: dict[str, _Known] = {}
        self._waiting: deque[Any] = deque()
        self._lost = 0
        self._pause = 0.0
        self._not_before = 0.0

    def on_event(self, event: JobEvent) -> None:
        """Send a run event if there is something to say."""
        if isinstance(event, JobStarted):
            run = LineageRun(event, self._namespace)
            self._jobs[event.job_id] = _Known(run, event.at_ms)
            self._send(run.event("START", event.at_ms))
            return
        known = self._jobs.get(event.job_id)
        if known is None:
            return  # it began before anybody listened
        if isinstance(event, MetricsReported):
            known.run.counts = event
        state = self._state_after(known, event)
        if state is None:
            return
        known.told_ms = event.at_ms
        self._send(known.run.event(state, event.at_ms), is_last=isinstance(event, JobEnded))

    def _state_after(self, known: _Known, event: JobEvent) -> str | None:
        if isinstance(event, JobEnded):
            del self._jobs[event.job_id]
            known.run.error = event.error
            return _STATES.get(event.status, "ABORT")
        if isinstance(event, Restarting):
            known.run.error = event.error
            return "RUNNING"
        if isinstance(event, RunStarted):
            known.run.error = {}
            return "RUNNING"
        is_due = not 0 <= event.at_ms - known.told_ms < self._interval_ms
        return "RUNNING" if isinstance(event, MetricsReported) and is_due else None

    def _send(self, made: Any, *, is_last: bool = False) -> None:
        self._waiting.append(made)
        if len(self._waiting) > _MOST_WAITING:
            self._waiting.popleft()
            self._lost += 1
        if self._clock() < self._not_before and not is_last:
            return
        try:
            while self._waiting:
                self._emit(self._waiting[0])
                self._waiting.popleft()
        except Exception as cause:  # noqa: BLE001 - the job goes on without it
            self._failed(cause)
            return
        if self._pause:
            _logger.warning("OpenLineage works again; %d events are lost", self._lost)
        self._pause, self._lost = 0.0, 0

    def _failed(self, cause: Exception) -> None:
        if not self._pause:
            # Only the class: the text of the library has the address, in which there may be a login.
            _logger.warning(
                "events of OpenLineage could not be sent, and are tried again; the job goes on: %s",
                type(cause).__name__,
            )
        self._pause = min(2 * self._pause or _FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS)
        self._not_before = self._clock() + self._pause
