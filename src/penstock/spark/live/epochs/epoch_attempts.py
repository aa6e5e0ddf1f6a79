"""Runs the Spark job of one epoch, and repeats it if Spark lost output of a stage.

An attempt that is not recorded has no effect: what its tasks staged is dropped, and segment files that they
wrote are swept.
"""

from __future__ import annotations

import pickle
import time

from penstock.errors import JobFailedError
from penstock.graph.endpoints import EpochNumber
from penstock.metrics.profile import SPARK_JOB
from penstock.spark.driver.lost_output import MOST_IN_A_ROW, LostOutput
from penstock.spark.driver.run_context import JobContext
from penstock.spark.driver.sink_stage import StagedEpoch
from penstock.spark.failures.final_failures import FinalFailure
from penstock.spark.live.epochs.epoch_files import EpochFiles
from penstock.spark.live.epochs.epoch_job import EpochJob
from penstock.spark.live.epochs.epoch_journal import EpochJournal
from penstock.spark.live.epochs.epoch_positions import PlannedEpoch
from penstock.spark.live.epochs.epoch_stages import EpochStages
from penstock.spark.live.epochs.epoch_tasks import EpochMessage, has_lost_output
from penstock.spark.sources.bad_records import read_failure
from penstock.spark.sources.read_context import ReadContext
from penstock.state.log.subtask_log import LogChange


class EpochAttempts:
    """Runs the Spark job of an epoch, as often as Spark loses output of a stage."""

    def __init__(
        self,
        job: JobContext,
        reads: ReadContext,
        spark: EpochJob,
        final: FinalFailure,
        stages: EpochStages,
        files: EpochFiles,
    ) -> None:
        self._job = job
        self._reads = reads
        self._spark = spark
        self._final = final
        self._stages = stages
        self._files = files
        self._lost = LostOutput(job.events)

    def run(
        self, planned: PlannedEpoch, journal: EpochJournal
    ) -> tuple[StagedEpoch, list[LogChange]] | None:
        """Run the job; return what its tasks staged and changed, None if it must be repeated.

        Raises:
            JobCancelledError: The job was cancelled.
            PenstockError: The job failed.
        """
        started_ns = time.perf_counter_ns()
        rows = self._files.rows(planned.files)
        inputs = self._stages.inputs(planned, journal.view)
        try:
            single = planned.is_single_task
            epoch = EpochNumber(self._reads.run.index, journal.next_number)
            messages = self._spark.run(inputs, epoch, self._ends_early, rows, is_single_task=single)
        except Exception as cause:
            self._job.check_cancelled()
            self._final.check()
            if self._lost.is_cause_of(cause):
                return None
            run = self._reads.run
            raise read_failure(self._reads, cause, f"run {run.index} ({run.name})") from cause
        finally:
            self._spark.remove_shuffle()
        made: list[EpochMessage] = [pickle.loads(message) for message in messages]
        if has_lost_output(made):
            if self._lost.repeat():
                return None
            raise _lost_too_often()
        self._files.check_again()
        staged, changes = StagedEpoch(), []
        for message in made:
            staged.add(message)
            changes += message.changes
        staged.report.times[SPARK_JOB] = time.perf_counter_ns() - started_ns
        return staged, changes

    def succeeded(self) -> None:
        """Reset the count of repetitions: an epoch was committed."""
        self._lost.succeeded()

    def _ends_early(self) -> bool:
        return self._job.cancelled.is_set() or self._final.seen() is not None


def _lost_too_often() -> JobFailedError:
    return JobFailedError(
        f"Spark lost output of a stage {MOST_IN_A_ROW + 1} times in a row",
        hint="Look into Spark's log why executors are lost, with --verbose.",
    )
