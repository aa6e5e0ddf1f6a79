"""Amount of work of the epochs of a live run, and so the number of tasks that are worth their start."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.metrics.task_clock import START, WAIT, level_place
from penstock.runtime.task.report import Report

_READ_TASK_SECONDS = 0.01
"""Work of level 0 that is not worth a task of its own: to run an empty one takes as much CPU."""

_FADING = 0.9
"""Weight of an epoch relative to the one after it."""

_BURST_FADING = 0.999
"""Share of a burst that is still expected after an epoch: a second of work counts for some thousand epochs.
A burst is what timers and windows do at once. Stages do it with all cores, one task does not, so a run with
bursts once a minute keeps its stages."""


@dataclass(slots=True)
class EpochWork:
    """The work of the epochs so far.

    Attributes:
        single_task_seconds: Work of all levels and sinks that one task does sooner than Spark runs
            several stages; 0 always uses stages.
        record_seconds: Time that level 0 took for a record lately; None before it is known.
        burst_seconds: Work of later levels and sinks that records do not explain, and that may come again.
    """

    single_task_seconds: float = 0.0
    record_seconds: float | None = None
    burst_seconds: float = 0.0
    _later_seconds: float = 0.0
    _records: float = 0.0

    def note(self, report: Report, *, is_usual: bool = True) -> None:
        """Note what an epoch took."""
        reading, later = _work_seconds(report)
        if report.records_read:
            self.record_seconds = reading / report.records_read
        if not is_usual:
            return
        excess = later - report.records_read * self._later_record_seconds
        is_burst = self._records > 0 and excess > 3 * self.single_task_seconds
        self.burst_seconds *= _BURST_FADING
        if is_burst:
            self.burst_seconds = max(self.burst_seconds, excess)
        elif report.records_read:
            self._later_seconds = self._later_seconds * _FADING + later
            self._records = self._records * _FADING + report.records_read

    def has_one_reader(self, records: int) -> bool:
        """Return whether one task reads so many records sooner than several tasks are started."""
        if self.record_seconds is None:
            return False
        return records * self.record_seconds <= _READ_TASK_SECONDS

    def is_single_task(self, records: int) -> bool:
        """Return whether an epoch of so many records is run sooner in one task than in stages."""
        if self.record_seconds is None or not self._records or not self.has_one_reader(records):
            return False
        per_record = self.record_seconds + self._later_record_seconds
        return records * per_record + self.burst_seconds < self.single_task_seconds

    @property
    def _later_record_seconds(self) -> float:
        return self._later_seconds / self._records if self._records else 0.0


def _work_seconds(report: Report) -> tuple[float, float]:
    """Return the time of level 0, and of later levels and sinks; without waiting and opening functions."""
    reading = later = 0
    for name, spent_ns in report.times.items():
        place, _, section = name.partition(".")
        if place == "driver" or section in {WAIT, START}:
            continue
        if place == level_place(0):
            reading += spent_ns
        else:
            later += spent_ns
    return reading / 1e9, later / 1e9
