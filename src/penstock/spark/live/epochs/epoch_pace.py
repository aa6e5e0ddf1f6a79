"""Begin and size of the epochs of a live run: after which interval, and how many tasks are worth their start."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from penstock.config.configuration import Configuration
from penstock.metrics.task_clock import START, WAIT, level_place
from penstock.plan.phases.backlog import backlog_lag_ms, checkpoint_interval, timed_sources
from penstock.plan.physical import PhysicalPlan, RunPlan
from penstock.runtime.task.report import Report
from penstock.wire.elements import MIN_TIMESTAMP

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


# FLIP-327, rule 15.
class BacklogInterval:
    """The checkpoint interval in force in one live run.

    Attributes:
        has_parts_left: True if a source of the run has further parts, or gives results.
    """

    def __init__(self, configuration: Configuration, plan: PhysicalPlan, run: RunPlan) -> None:
        """Begin before the first micro-batch; a source whose lag is unknown is not in backlog."""
        self._by_status = {
            backlog: checkpoint_interval(configuration, backlog=backlog).total_seconds()
            for backlog in (True, False)
        }
        self._threshold_ms = backlog_lag_ms(configuration)
        self.has_parts_left = bool(plan.backlog_sources(run))
        read = {reading.source for reading in run.readings}
        self._undecided = read & timed_sources(plan)
        self._lagging: set[int] = set()

    @property
    def is_backlog(self) -> bool:
        """True if a source of the run processes backlog."""
        return self.has_parts_left or bool(self._lagging)

    @property
    def seconds(self) -> float:
        """The least time between the starts of two micro-batches."""
        return self._by_status[self.is_backlog]

    def note(self, report: Report, now_ms: int) -> None:
        """Take the watermarks of a committed micro-batch."""
        if self._threshold_ms is None:
            return
        for source, watermark in report.source_watermarks.items():
            if source not in self._undecided:
                continue
            if watermark != MIN_TIMESTAMP and now_ms - watermark > self._threshold_ms:
                self._lagging.add(source)
            else:
                self._undecided -= {source}
                self._lagging -= {source}


_IDLE_SECONDS = 0.1
"""Longest wait: cancellation and requests for savepoints are seen after it.

Half of it is what an event waits that comes after a pause. A question takes 0.6 ms of CPU with its change of threads,
so an idle driver takes less than a hundredth of a core.
"""

_LEAST_WAIT_SECONDS = 0.002


@dataclass(slots=True)
class EpochPace:
    """Waits between the epochs of one live run.

    Attributes:
        interval_seconds: Least time between the starts of two epochs.
    """

    interval_seconds: float
    now_seconds: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _began: float | None = None
    _idle_seconds: float = _LEAST_WAIT_SECONDS

    @property
    def is_first(self) -> bool:
        """True if no epoch has begun in this process."""
        return self._began is None

    def begin(self) -> None:
        """Note that an epoch begins."""
        self._began = self.now_seconds()
        self._idle_seconds = _LEAST_WAIT_SECONDS

    def is_early(self) -> bool:
        """Return whether the next epoch must not begin yet; then it has waited a little."""
        if self._began is None:
            return False
        left = self._began + self.interval_seconds - self.now_seconds()
        if left <= 0:
            return False
        self.sleep(min(left, _IDLE_SECONDS))
        return True

    def idle(self, records_in_seconds: float | None, timer_in_seconds: float | None) -> None:
        """Wait while there is nothing to do: longer each time, so that an idle job takes little CPU."""
        waits = [wait for wait in (records_in_seconds, timer_in_seconds) if wait is not None]
        self.sleep(max(min([*waits, self._idle_seconds]), _LEAST_WAIT_SECONDS))
        self._idle_seconds = min(2 * self._idle_seconds, _IDLE_SECONDS)
