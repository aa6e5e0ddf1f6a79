"""Writes the events of a job to its checkpoint directory.

A thread appends them (see `delivery`), so an epoch never waits for a file. While they cannot be written, on a disk
that is full, the job goes on, and they are written when there is room. The files have a bound: when the latest one is full,
what is before is thinned to half of its details, again and again, until it fits; milestones are thinned when
nothing else is left. The last event of each class stays, so the log keeps the begin of the job over any number of restarts.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from penstock.errors import JobFencedError
from penstock.observe.events.delivery import (
    END_SECONDS,
    FIRST_PAUSE_SECONDS,
    FLUSH_SECONDS,
    Delivery,
    DeliveryOver,
)
from penstock.observe.events.event_files import EventFiles
from penstock.observe.events.event_json import from_line, to_line
from penstock.observe.events.job_events import EVENTS, JobEvent, RunFinished, RunStarted
from penstock.observe.events.listeners import JobListener

MOST_BYTES = 4 << 20
"""Bound of all files of a log together."""

_Kind = tuple[str, str, str]
"""Class, pipeline and, of an event about a run, its name."""

_logger = logging.getLogger("penstock")


def _anybody() -> None:
    """Let any process write."""


class EventLog(JobListener):
    """The log of events of one job. Thread-safe."""

    def __init__(
        self,
        files: EventFiles,
        *,
        fence: Callable[[], None] = _anybody,
        most_bytes: int = MOST_BYTES,
        flush_seconds: float = FLUSH_SECONDS,
        end_seconds: float = END_SECONDS,
        first_pause_seconds: float = FIRST_PAUSE_SECONDS,
    ) -> None:
        """Start empty; nothing is written before the first event."""
        self._files = files
        self._fence = fence
        self._half = most_bytes // 2
        self._delivery = Delivery(
            self._write,
            "writing events",
            flush_seconds=flush_seconds,
            end_seconds=end_seconds,
            first_pause_seconds=first_pause_seconds,
        )

    def on_event(self, event: JobEvent) -> None:
        """Take an event; a thread writes it."""
        self._delivery.on_event(event)

    def close(self) -> None:
        """Write what was taken, and end the thread; later events are dropped."""
        self._delivery.close()

    def _write(self, events: Sequence[JobEvent]) -> None:
        try:
            self._fence()
        except JobFencedError as cause:
            raise DeliveryOver from cause
        lines = "".join(_lines(events))
        # Before they are appended: while files cannot be replaced, the latest one must not grow either.
        if self._files.latest_bytes > self._half:
            self._files.rotate(thinned(list(self._files.lines()), self._half))
        self._files.append(lines)


def _lines(events: Sequence[JobEvent]) -> Iterator[str]:
    """Yield the lines of events; one that has none, such as a gauge whose text raises, is left out."""
    for event in events:
        try:
            yield to_line(event)
        except Exception as cause:  # noqa: BLE001 - anything that a user's value may raise
            _logger.warning("an event %s cannot be written: %s", type(event).__name__, cause)


def thinned(lines: list[str], most_bytes: int) -> str:
    """Return lines that fit.

    Every second detail is left out until they do, then every second milestone of a kind, then the earliest lines.
    The last line of each kind stays as long as it fits.
    """
    kinds = [_kind(line) for line in lines]
    for are_milestones in (False, True):
        while _size(lines) > most_bytes:
            stay = _without_half(kinds, are_milestones=are_milestones)
            if all(stay):
                break
            lines = [line for line, stays in zip(lines, stay, strict=True) if stays]
            kinds = [kind for kind, stays in zip(kinds, stay, strict=True) if stays]
    while _size(lines) > most_bytes:
        lines = lines[len(lines) // 2 + 1 :]
    return "".join(lines)


def _without_half(kinds: list[tuple[_Kind, bool]], *, are_milestones: bool) -> list[bool]:
    """Return which lines stay: of details, or milestones too, every second of a kind, the last one too."""
    seen: Counter[_Kind] = Counter()
    stay = []
    for kind, is_detail in reversed(kinds):
        seen[kind] += 1
        stay.append(not (is_detail or are_milestones) or seen[kind] % 2 == 1)
    return stay[::-1]


def _size(lines: list[str]) -> int:
    return sum(len(line.encode()) for line in lines)


def _kind(line: str) -> tuple[_Kind, bool]:
    """Return the kind of a line, and whether it is a detail, as a line that is torn is."""
    event = from_line(line)
    if event is None:
        return ("", "", ""), True
    name = event.name if isinstance(event, RunStarted | RunFinished) else ""
    return (type(event).__name__, event.pipeline, name), EVENTS[type(event)].is_detail
