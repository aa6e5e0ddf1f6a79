"""Publishes the progress of a live run."""

from __future__ import annotations

import time

from penstock.metrics.listener import JobEvents, MicroBatch, PendingInputMeasured
from penstock.runtime.task.report import Report
from penstock.spark.live.pending_input import PendingInput


class LiveProgress:
    """The progress of one live run in this process.

    Attributes:
        report: The merged report of the micro-batches that this process committed.
        lag_ms: Wall clock minus the greatest watermark of the last micro-batch with records; None
            without watermarks.
    """

    def __init__(self, events: JobEvents) -> None:
        self._events = events
        self._published: tuple[int | None, int | None] | None = None
        self.report = Report()
        self.lag_ms: int | None = None

    def publish(self, number: int, report: Report, seconds: float, left: PendingInput) -> None:
        """Publish a micro-batch, unless it had only a control event or a tick.

        Args:
            number: Number of the micro-batch.
            report: Its report, which is in `self.report` already.
            seconds: Its wall clock.
            left: The pending input.
        """
        if report.records_read == 0:
            return
        greatest = report.greatest_timestamp_ms
        self.lag_ms = None if greatest is None else time.time_ns() // 1_000_000 - greatest
        self._published = left.records, left.files
        self._events.publish(
            MicroBatch(
                number,
                report.records_read,
                self.report.records_read,
                seconds,
                self.lag_ms,
                records_behind=left.records,
                files_behind=left.files,
                catch_up_seconds=left.seconds,
            )
        )

    def publish_pending(self, left: PendingInput) -> None:
        """Publish the pending input, if it differs from that of the last event."""
        if self._published not in {None, (left.records, left.files)}:
            self._published = left.records, left.files
            self._events.publish(PendingInputMeasured(left.records, left.files, left.seconds))
