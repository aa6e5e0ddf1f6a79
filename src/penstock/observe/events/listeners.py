"""Job listeners.

Every listener of the process receives the events of all jobs of the process; each event has the id of its job. The
default listener writes log lines; the command line replaces it by progress bars.

    set_listeners, also_listening    are called in the threads of a job, which waits; one that is slow is named in the log
    add_listener                     has a thread of its own (`delivery`), unless `is_quick` is true

A listener that raises is named in the log once and is not called again; the job goes on.
"""

from __future__ import annotations

import atexit
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from penstock.observe.events.delivery import Delivery
from penstock.observe.events.job_events import EVENTS, JobEnded, JobEvent, RunStarted
from penstock.observe.events.sentences import sentence

_logger = logging.getLogger("penstock")

SLOW_SECONDS = 1.0
"""A listener for which the job waits longer than this is named in the log."""


class JobListener:
    """Receives events; the base class ignores them all.

    Attributes:
        is_quick: True if it returns at once whatever happens: it reaches no file and no network. `add_listener`
            gives others a thread.
    """

    is_quick = False

    def on_event(self, event: JobEvent) -> None:
        """Receive one event.

        It must return soon, unless it has a thread of its own: the job waits. If it raises, the log names it, and it
        is not called again.
        """

    def close(self) -> None:
        """Called once, when there will be no further event, of listeners of one job only."""


class LogListener(JobListener):
    """Writes one log line per event, a sentence; the event is the attribute `event` of its record.

    Levels are those of `EVENTS`: progress within a batch run and metrics are DEBUG.
    """

    def __init__(self) -> None:
        self._runs: dict[tuple[str, str], str] = {}

    def on_event(self, event: JobEvent) -> None:
        """Log the event."""
        key = event.job_id, event.pipeline
        if isinstance(event, RunStarted):
            self._runs[key] = event.name
        level = EVENTS[type(event)].log_level
        if _logger.isEnabledFor(level):
            pipeline = f" pipeline {event.pipeline}" if event.pipeline else ""
            line = sentence(event, self._runs.get(key, "job"))
            _logger.log(level, "%s%s: %s", event.job_name, pipeline, line, extra={"event": event})
        if isinstance(event, JobEnded):
            for known in [known for known in self._runs if known[0] == event.job_id]:
                del self._runs[known]


@dataclass(slots=True, eq=False)
class Registration:
    """The registration of a listener.

    Attributes:
        is_dropped: True if it has raised, and is not called any more.
        is_named: True if the log has named it for being slow.
    """

    listener: JobListener
    is_dropped: bool = False
    is_named: bool = False

    def call(self, event: JobEvent) -> None:
        """Call the listener, unless it is dropped; drop it if it raises."""
        if self.is_dropped:
            return
        began = time.monotonic()
        try:
            self.listener.on_event(event)
        except KeyboardInterrupt:
            raise  # meant for the program, not for its listener
        except BaseException:
            self.is_dropped = True
            _logger.exception(
                "listener %r failed at %s of job %r; the job goes on, and the listener is not called again",
                self.listener,
                type(event).__name__,
                event.job_name,
            )
        took = time.monotonic() - began
        if took > SLOW_SECONDS and not self.is_named:
            self.is_named = True
            _logger.warning("listener %r took %.1f s; the job waited", self.listener, took)

    def close(self) -> None:
        """Close the listener; a failure of it is logged."""
        try:
            self.listener.close()
        except Exception:
            _logger.exception("listener %r could not be closed", self.listener)


class _Apart(JobListener):
    """Calls a listener in a thread of its own, so that the job does not wait for it."""

    def __init__(self, listener: JobListener) -> None:
        self._registration = Registration(listener, is_named=True)
        self._delivery = Delivery(self._call, f"listener {type(listener).__name__}")

    def on_event(self, event: JobEvent) -> None:
        self._delivery.on_event(event)

    def close(self) -> None:
        self._delivery.close()
        self._registration.close()

    def _call(self, events: Sequence[JobEvent]) -> None:
        for event in events:
            self._registration.call(event)


_listeners: list[Registration] = [Registration(LogListener())]
_lasting: list[Registration] = []
"""Listeners that `set_listeners` keeps."""


def set_listeners(*listeners: JobListener) -> None:
    """Replace the listeners of this process."""
    _listeners[:] = map(Registration, listeners)


def add_listener(listener: JobListener) -> None:
    """Add a listener of all jobs of the process, for as long as it lasts; `set_listeners` leaves it there.

    It is called in a thread of its own, unless it is quick. Then it gets of progress, micro-batches, pending input and metrics
    the last event of each second, and at the end of the process what is left.
    """
    if listener.is_quick:
        _lasting.append(Registration(listener))
        return
    apart = _Apart(listener)
    atexit.register(apart.close)
    _lasting.append(Registration(apart))


@contextmanager
def also_listening(listener: JobListener) -> Iterator[None]:
    """Add a listener of all jobs of the process until the context ends."""
    added = Registration(listener)
    _listeners.append(added)
    try:
        yield
    finally:
        if added in _listeners:
            _listeners.remove(added)


def publish(event: JobEvent) -> None:
    """Call every listener; their exceptions do not reach the caller."""
    for registration in (*_listeners, *_lasting):
        registration.call(event)


@dataclass(frozen=True, slots=True)
class JobEvents:
    """Publishes the events of one job.

    Attributes:
        pipeline: Number of the pipeline, empty for the whole job.
        own: Listeners of this job only, such as its log of events.
    """

    job_id: str
    job_name: str
    pipeline: str = ""
    own: tuple[Registration, ...] = field(default=(), compare=False)

    def publish(self, event: JobEvent) -> None:
        """Call every listener with an event of this job, which has happened now."""
        dated = replace(
            event,
            job_id=self.job_id,
            job_name=self.job_name,
            pipeline=self.pipeline,
            at_ms=time.time_ns() // 1_000_000,
        )
        for registration in self.own:
            registration.call(dated)
        publish(dated)

    def close(self) -> None:
        """Close the listeners of this job."""
        for registration in self.own:
            registration.close()
