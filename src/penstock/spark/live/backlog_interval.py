"""The checkpoint interval of a live run, which changes at the end of backlog (FLIP-309, FLIP-328).

A source of the run processes backlog

    as long as it has further parts   a run of the loop may read several of them
    as long as the run reads it       if it gives results of the bounded region
    until its watermark is close      if `pipeline.backlog.watermark-lag-threshold` is set, and the least
                                      watermark of its splits in a micro-batch was further behind the clock

The second is known after the first micro-batch with a watermark. Once out of backlog, a source stays out.
A source that ends is out of it; one without records keeps its status.
"""

from __future__ import annotations

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
