"""The begin and the end of a live run, whichever engine executes it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.config.options import JOB_NAME
from penstock.events.job_events import Switched
from penstock.filesystem.stored_path import JobPath
from penstock.plan.hand_over import HandOver
from penstock.plan.phases.regions import region_of
from penstock.plan.physical import RunPlan
from penstock.runtime.task.report import Report
from penstock.spark.driver.run_context import JobContext
from penstock.spark.job.hand_over import describe_hand_over, greatest_watermark
from penstock.spark.job.job_directory import JobDirectory
from penstock.spark.job.run_outline import RunOutline, outline_of
from penstock.spark.live.superseded_state import FirstState


@dataclass(frozen=True, slots=True)
class Predecessor:
    """State and positions that a live run takes over.

    Attributes:
        handed: Hand-over of the previous run, or of a savepoint.
        state_files: Its snapshot; None if the job begins with this run.
        ended: End of the previous run on the monotonic clock; None if this process did not execute it.
        readers: Indexes of the runs that take over state from these files, if there are several.
    """

    handed: HandOver
    state_files: Sequence[JobPath] | None
    ended: float | None
    readers: tuple[int, ...] = ()

    def first_state(self, directory: JobDirectory, run: int) -> FirstState:
        """Return the files of initial state of a run."""
        return FirstState(directory, self.readers or (run,), self.state_files)

    def switched(self) -> Switched | None:
        """Return the event that the next run begins now, None if this process executed no other."""
        if self.ended is None:
            return None
        return Switched(time.monotonic() - self.ended, greatest_watermark(self.handed))


def recorded_outline(job: JobContext, run: RunPlan) -> RunOutline:
    """Return the outline of a run that begins, after recording it."""
    outline = outline_of(job.plan, run, job.directory.job_id, job.configuration.get(JOB_NAME))
    job.directory.record(f"run-{run.index}.outline", outline.to_json())
    return outline


def record_done(job: JobContext, run: RunPlan, records: int) -> None:
    """Record that a run which hands over is complete, with what the next one takes over.

    Args:
        job: The job.
        run: The run.
        records: Records that it read in this process.
    """
    recorded = describe_hand_over(Report(), {})  # level 0 alone has no state
    if len(region_of(job.plan, run).levels) > 1:
        found = job.directory.step(f"run-{run.index}.hand-over")
        assert found is not None, "the micro-batch that hands over records it"
        recorded = found
    job.directory.record(f"run-{run.index}.done", {**recorded, "records": records})
