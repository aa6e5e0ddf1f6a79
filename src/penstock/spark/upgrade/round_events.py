"""The events of the rounds of an upgrade, in the log of the job that begins with it.

A round is a job of its own (`program_part`), whose events are in its own directory, which is removed when the upgrade is
complete. The events published here stay: they are the second time line of the page.
"""

from __future__ import annotations

import time

from penstock.observe.events.job_events import (
    BatchProgress,
    JobEvent,
    MicroBatch,
    RoundFinished,
    RoundProgress,
)
from penstock.observe.events.job_view import JobView
from penstock.observe.events.listeners import JobEvents, JobListener
from penstock.plan.compat.function_digest import source_labels
from penstock.plan.physical import PhysicalPlan
from penstock.program.run_settings import RunKind
from penstock.spark.upgrade.position_diff import position_differences
from penstock.state.savepoint import Savepoint


class RoundWatch(JobListener):
    """Listens to the job of one round, and publishes what it reads as progress of the round."""

    def __init__(self, events: JobEvents, number: int, kind: RunKind) -> None:
        self._events = events
        self._number, self._kind = number, kind.name.lower()
        self._view = JobView()
        self._begun = time.monotonic()
        events.publish(RoundProgress(self._number, self._kind))

    def on_event(self, event: JobEvent) -> None:
        """Publish progress."""
        self._view.on_event(event)
        if isinstance(event, BatchProgress | MicroBatch):
            self._events.publish(
                RoundProgress(
                    self._number, self._kind, self._seconds, self._records(), self._progress()
                )
            )

    def finish(self, plan: PhysicalPlan, read: Savepoint, old: Savepoint, *, is_last: bool) -> None:
        """Publish the end of the round, given the positions up to which it has read and those of the old job."""
        labels = source_labels(plan)
        behind = [
            {
                "source": labels.get(difference.source, difference.source),
                "ahead": difference.ahead_b,
                "unit": difference.unit,
            }
            for difference in position_differences(read, old)
            if difference.ahead_b
        ]
        self._events.publish(
            RoundFinished(
                self._number,
                self._kind,
                self._records(),
                self._seconds,
                behind=behind,
                is_last=is_last,
            )
        )

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._begun

    def _records(self) -> int:
        reading = sum(run.records_so_far or 0 for run in self._view.runs_now())
        return self._view.records() + reading

    def _progress(self) -> float | None:
        batches = [run for run in self._view.runs if run.kind == RunKind.BATCH.name.lower()]
        total = sum(run.total_tasks for run in batches)
        return sum(run.done_tasks for run in batches) / total if total else None
