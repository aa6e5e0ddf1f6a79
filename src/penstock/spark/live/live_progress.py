"""Publishes the progress of a live run."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from heapq import nlargest
from operator import itemgetter

from penstock.events.job_events import MicroBatch, PendingInputMeasured
from penstock.events.listeners import JobEvents
from penstock.metrics.job_metrics import late_records
from penstock.metrics.profile import COMMIT, SPARK_JOB
from penstock.runtime.task.report import Report
from penstock.spark.live.pending_input import PendingInput
from penstock.wire.elements import MAX_WATERMARK, MIN_TIMESTAMP

_NANOSECONDS = 1_000_000_000

_INTERVAL_SECONDS = 1.0
"""Time after which pending input is out of date."""

MOST_SPLITS = 16
"""Bound of the splits of a source in an event."""


class LiveProgress:
    """The progress of one live run in this process.

    Attributes:
        report: The merged report of the micro-batches that this process committed.
        lag_ms: Wall clock minus the greatest watermark of the last micro-batch with records; None
            without watermarks.
        waiting: Source to split to pending records, as far as it is known; set before each event.
    """

    def __init__(self, events: JobEvents, names: Mapping[int, str]) -> None:
        """Begin with nothing read."""
        self._events = events
        self._names = names
        self._published: tuple[int | None, int | None] | None = None
        self._published_at = -_INTERVAL_SECONDS
        self.report = Report()
        self.lag_ms: int | None = None
        self.waiting: Mapping[int, Mapping[str, int]] = {}

    def publish(
        self,
        number: int,
        report: Report,
        seconds: float,
        left: PendingInput,
        splits: Mapping[int, Sequence[str]] | None = None,
    ) -> None:
        """Publish a micro-batch, unless it had only a control event or a tick."""
        if report.records_read == 0:
            self.publish_pending(left)
            return
        greatest = report.greatest_timestamp_ms
        self.lag_ms = None if greatest is None else time.time_ns() // 1_000_000 - greatest
        self._publish(
            left,
            MicroBatch(
                number,
                report.records_read,
                self.report.records_read,
                seconds,
                self.lag_ms,
                records_behind=left.records,
                files_behind=left.files,
                catch_up_seconds=left.seconds,
                durations=_durations(report, seconds),
                watermarks={
                    self._names[source]: mark
                    for source, mark in report.source_watermarks.items()
                    if MIN_TIMESTAMP < mark < MAX_WATERMARK
                },
                split_watermarks={
                    self._names[source]: _most_behind(marks, (splits or {}).get(source, ()))
                    for source, marks in report.split_watermarks.items()
                },
                split_records_behind=self._waiting(),
                late_records=late_records(report.metrics),
            ),
        )

    def publish_pending(self, left: PendingInput) -> None:
        """Publish the pending input, if it differs from that of the last event; at first if anybody counts it."""
        if left.records is None and left.files is None:
            return
        if self._published != (left.records, left.files):
            measured = PendingInputMeasured(left.records, left.files, left.seconds, self._waiting())
            self._publish(left, measured)

    def is_due(self) -> bool:
        """Return whether the pending input was published so long ago that it is out of date."""
        return time.monotonic() >= self._published_at + _INTERVAL_SECONDS

    def _publish(self, left: PendingInput, event: MicroBatch | PendingInputMeasured) -> None:
        self._published, self._published_at = (left.records, left.files), time.monotonic()
        self._events.publish(event)

    def _waiting(self) -> dict[str, dict[str, int]]:
        """Return name of a source to the splits that have most to read."""
        return {
            self._names[source]: dict(nlargest(MOST_SPLITS, splits.items(), key=itemgetter(1)))
            for source, splits in self.waiting.items()
        }


def _most_behind(marks: Mapping[int, int], ids: Sequence[str]) -> dict[str, int]:
    """Return id of a split to its watermark, of the splits that are most behind."""
    known = ((mark, split) for split, mark in marks.items() if MIN_TIMESTAMP < mark < MAX_WATERMARK)
    least = sorted(known)[:MOST_SPLITS]
    return {ids[split] if split < len(ids) else str(split): mark for mark, split in least}


def _durations(report: Report, seconds: float) -> dict[str, float]:
    """Return the parts of a micro-batch; see `MicroBatch.durations`."""
    job, commit = (report.times.get(name, 0) / _NANOSECONDS for name in (SPARK_JOB, COMMIT))
    return {"job": job, "commit": commit, "driver": max(0.0, seconds - job - commit)}
