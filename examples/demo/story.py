"""What happened while the demo's job ran, gathered from its events."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import Any

from penstock.observe.events.job_events import JobEvent, MicroBatch, RunFinished, Switched
from penstock.observe.events.listeners import JobListener


@dataclass(slots=True)
class Story:
    """The job so far.

    Attributes:
        history_records: Records read as history.
        history_seconds: Wall clock of that.
        switch_seconds: Wall clock from the last record of history to the start of the live run, as progress tells it.
        switch_watermark_ms: How far history went in event time.
        live_records: Records read as they arrived.
        live_seconds: Wall clock of the micro-batches that read any.
        live_batches: Number of those.
    """

    history_records: int = 0
    history_seconds: float = 0.0
    switch_seconds: float = 0.0
    switch_watermark_ms: int | None = None
    live_records: int = 0
    live_seconds: float = 0.0
    live_batches: int = 0


class StoryListener(JobListener):
    """Gathers the story, and knows when all that will ever arrive has been processed.

    Attributes:
        story: What happened so far.
        first_processed: Set when the live run has committed its first records.
        all_processed: Set when it has committed the last record.
        last_event: When the last event came, by the clock.
    """

    def __init__(
        self,
        live_records: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make a listener.

        Args:
            live_records: Records that will arrive.
            clock: Returns seconds.
        """
        self.story = Story()
        self.first_processed = Event()
        self.all_processed = Event()
        self.last_event = clock()
        self._clock = clock
        self._expected = live_records

    def on_event(self, event: JobEvent) -> None:
        """Take note of an event."""
        self.last_event = self._clock()
        note = _NOTES.get(type(event))
        if note is not None:
            note(self, event)

    def _micro_batch(self, event: MicroBatch) -> None:
        if not event.records:
            return
        story = self.story
        story.live_records += event.records
        story.live_seconds += event.seconds
        story.live_batches += 1
        self.first_processed.set()
        if story.live_records >= self._expected:
            self.all_processed.set()

    def _switched(self, event: Switched) -> None:
        self.story.switch_seconds = event.seconds
        self.story.switch_watermark_ms = event.watermark_ms

    def _run_finished(self, event: RunFinished) -> None:
        if event.kind == "batch":
            self.story.history_records = event.records
            self.story.history_seconds = event.seconds


_NOTES: dict[type, Callable[[StoryListener, Any], None]] = {
    MicroBatch: StoryListener._micro_batch,  # noqa: SLF001 - its own methods
    Switched: StoryListener._switched,  # noqa: SLF001
    RunFinished: StoryListener._run_finished,  # noqa: SLF001
}
