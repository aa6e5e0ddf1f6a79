"""The progress of a batch run: how many of its tasks are through, and what they have read."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Any

from pyspark import SparkContext
from pyspark.accumulators import Accumulator

from penstock.events.job_events import BatchProgress
from penstock.spark.driver.run_context import JobContext
from penstock.spark.failures.final_failures import FinalFailure
from penstock.spark.failures.java_causes import java_causes
from penstock.user_failure import words_of

_POLL_SECONDS = 0.2
_COUNT_SECONDS = 1.0
"""Time between two questions to Spark's store of stages."""

_logger = logging.getLogger("penstock")


class ProgressThread(threading.Thread):
    """Watches Spark's tasks, publishes progress, and cancels the job on request or on a final failure."""

    def __init__(
        self, job: JobContext, run: int, final: FinalFailure, lines_read: Accumulator[int] | None
    ) -> None:
        """Begin a group of Spark jobs: those that this thread begins from now on.

        Args:
            job: The job.
            run: Index of the run.
            final: Failures after which Spark must not try again.
            lines_read: Counts the lines that workers have read, which Spark does not count.
        """
        super().__init__(name="penstock-progress", daemon=True)
        self._job = job
        self._final = final
        self._lines_read = lines_read
        self._finished = threading.Event()
        self._begin = self._count_at = time.monotonic()
        self._records: int | None = None
        context = job.session.sparkContext
        self._group = f"penstock-{job.directory.job_id}-{run}"
        context.setJobGroup(self._group, "penstock batch run", interruptOnCancel=True)

    def run(self) -> None:
        """Poll until finished.

        It logs a failure to read the progress once and continues, because it must still cancel the job.
        """
        context = self._job.session.sparkContext
        logged = False
        while not self._finished.wait(_POLL_SECONDS):
            try:
                # A worker with a final failure waits until the job has ended, not until now: Spark cancels
                # asynchronously, and could begin another attempt before.
                if self._job.cancelled.is_set() or self._final.seen() is not None:
                    context.cancelJobGroup(self._group)
                self._publish(context)
            except Exception as cause:
                if not logged and not self._finished.is_set():
                    causes = java_causes(cause)[-1:]
                    why = causes[0].line if causes else words_of(cause)
                    _logger.warning("the progress of %s is not known: %s", self._group, why)
                    _logger.debug("because", exc_info=True)
                logged = True

    def _publish(self, context: SparkContext) -> None:
        done = total = 0
        stages = []
        tracker = context.statusTracker()
        for job_id in tracker.getJobIdsForGroup(self._group):
            info = tracker.getJobInfo(job_id)
            for stage_id in info.stageIds if info else ():
                stage = tracker.getStageInfo(stage_id)
                if stage is not None:
                    done += stage.numCompletedTasks
                    total += stage.numTasks
                    if stage.numActiveTasks or stage.numCompletedTasks:
                        stages.append(stage_id)
        now = time.monotonic()
        if now >= self._count_at:
            lines = 0 if self._lines_read is None else self._lines_read.value
            self._records = (_records_read(context, stages) + lines) or None
            self._count_at = now + _COUNT_SECONDS
        progress = BatchProgress(done, total, now - self._begin, self._records)
        self._job.events.publish(progress)

    def finish(self) -> None:
        """Stop polling."""
        self._finished.set()
        self.join()


def _records_read(context: SparkContext, stages: Sequence[int]) -> int:
    """Return the records that Spark has read from sources in stages, by what tasks report at their end."""
    java_context: Any = context._jsc  # noqa: SLF001
    store = java_context.sc().statusStore()
    counts = [int(store.lastStageAttempt(stage).inputRecords()) for stage in stages]
    return sum(counts)
