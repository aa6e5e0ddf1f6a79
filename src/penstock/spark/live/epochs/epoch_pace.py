"""Begin of the epochs of a live run: at once, after the interval, or after the interval of backlog."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from penstock.config.configuration import Configuration
from penstock.plan.phases.backlog import backlog_lag_ms, checkpoint_interval, timed_sources
from penstock.plan.physical import PhysicalPlan, RunPlan
from penstock.runtime.task.report import Report
from penstock.wire.elements import MIN_TIMESTAMP


# FLIP-327, rule 15.
class BacklogInterval:
    """The checkpoint interval in force in one live run.

    Attributes:
        has_parts_left: Whether a source of the run has further parts, or gives results.
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
        now_seconds: A monotonic clock.
        sleep: Sleeps some seconds.
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
