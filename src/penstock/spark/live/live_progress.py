"""The published progress of a live run: its pending input, and an estimate of the time until there is none.

The pending input at two moments gives a speed, and the speed a time. The speed is that of processing
minus that of new records: without progress there is no estimate. Pending input is a number of
records or of files if the sources count them, else a length of event time.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from operator import itemgetter

from penstock.metrics.job_metrics import late_records
from penstock.metrics.profile import COMMIT, SPARK_JOB
from penstock.observe.events.job_events import MicroBatch, PendingInputMeasured
from penstock.observe.events.listeners import JobEvents
from penstock.runtime.task.report import Report
from penstock.wire.elements import MAX_WATERMARK, MIN_TIMESTAMP

_REMEMBERED = 16
_SHORTEST_SECONDS = 1.0
"""A speed measured over a shorter time is not reliable."""


class CatchUp:
    """Estimates the time from the last measurements of the pending input."""

    def __init__(self) -> None:
        self._measurements: deque[tuple[float, float]] = deque(maxlen=_REMEMBERED)

    def note(self, now_seconds: float, left: float | None) -> float | None:
        """Add a measurement and return the seconds until no input is pending.

        They are None if the pending input is unknown or does not shrink, 0 if there is none.
        """
        if left is None:
            self._measurements.clear()
            return None
        if left <= 0:
            self._measurements.clear()
            return 0.0
        if self._measurements and left > self._measurements[-1][1]:
            self._measurements.clear()  # more input arrived: older measurements would give a wrong speed
        self._measurements.append((now_seconds, left))
        begun, at_first = self._measurements[0]
        elapsed, done = now_seconds - begun, at_first - left
        if elapsed < _SHORTEST_SECONDS or done <= 0:
            return None
        return left * elapsed / done


MEASURE_SECONDS = 5.0
"""Least time between two estimates."""

_NOTABLE_LAG_SECONDS = 10.0
"""A lag of event time below this counts as no pending input."""


@dataclass(frozen=True, slots=True)
class PendingInput:
    """The pending input of a run.

    Attributes:
        records: Pending records of sources that number them; None if there is no such source.
        files: Pending files of file sources; None if there is no such source.
        seconds: Estimated time until no input is pending; None if it is unknown.
    """

    records: int | None = None
    files: int | None = None
    seconds: float | None = None


class PendingEstimates:
    """Estimates from several measurements when no input will be pending."""

    def __init__(self) -> None:
        self._estimates = CatchUp(), CatchUp(), CatchUp()

    def note(
        self, now_seconds: float, records: int | None, files: int | None, lag_ms: int | None
    ) -> PendingInput:
        """Add a measurement and return the pending input, with the estimated time."""
        lag = None if lag_ms is None else max(lag_ms / 1000 - _NOTABLE_LAG_SECONDS, 0.0)
        lefts = records, files, lag
        pairs = zip(self._estimates, lefts, strict=True)
        times = [estimate.note(now_seconds, left) for estimate, left in pairs]
        # All known counts must reach 0; event time is used only if there are no counts.
        counted = [
            seconds for seconds, left in zip(times[:2], lefts[:2], strict=True) if left is not None
        ]
        if not counted:
            seconds = times[2]
        else:
            seconds = None if None in counted else max(s for s in counted if s is not None)
        return PendingInput(records, files, seconds)


class KnownPendingInput:
    """The pending input of a live run that can measure it at every moment."""

    def __init__(self) -> None:
        self._estimates = PendingEstimates()
        self._next_estimate = 0.0
        self.current = PendingInput()

    def note(self, records: int | None, files: int | None, lag_ms: int | None) -> None:
        """Note the pending input after an epoch; the time is estimated every few seconds."""
        now = time.monotonic()
        if now >= self._next_estimate:
            self._next_estimate = now + MEASURE_SECONDS
            self.current = self._estimates.note(now, records, files, lag_ms)
        counts = {records, files} - {None}
        seconds = 0.0 if counts == {0} else self.current.seconds
        self.current = PendingInput(records, files, seconds)


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
        """Publish the pending input, if it differs from that of the last event; at first if a source counts it."""
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
