"""Runs the pipelines of a job at the same time, each in a thread of its own.

The first failure stops the others; it is the failure of the job. A job with one pipeline runs it in the
thread of the job.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from penstock.errors import JobCancelledError
from penstock.spark.driver.run_context import JobContext
from penstock.spark.pipeline_runs import JobCounts, PipelineRuns
from penstock.spark.savepoints.job_savepoints import JobSavepoints
from penstock.spark.session.job_settings import POOL


class Stop(threading.Event):
    """Signal that is set if the job is cancelled, or a pipeline of it has failed."""

    def __init__(self, job: threading.Event) -> None:
        super().__init__()
        self._job = job

    def is_set(self) -> bool:
        """Return whether to stop."""
        return self._job.is_set() or super().is_set()


class Pipelines:
    """One attempt to run the pipelines of a job."""

    def __init__(self, job: JobContext, savepoints: JobSavepoints, counts: JobCounts) -> None:
        """Prepare; see `PipelineRuns`."""
        self._stop = Stop(job.cancelled)
        self._jobs = [
            job.of_pipeline(pipeline.index, self._stop) for pipeline in job.plan.pipelines
        ]
        self._runs = [
            PipelineRuns(each, pipeline, savepoints, counts)
            for pipeline, each in enumerate(self._jobs)
        ]
        self._failures: list[BaseException] = []

    def recover(self) -> None:
        """Finish the commits of an earlier driver, before new output is staged."""
        for runs in self._runs:
            runs.recover()

    def execute(self) -> None:
        """Execute all that is left.

        Raises:
            JobCancelledError: The job was cancelled.
            PenstockError: A pipeline failed; it is the first failure.
        """
        if len(self._runs) == 1:
            self._runs[0].execute()
            return
        threads = self._started()
        for thread in threads:
            thread.join()
        if self._failures:
            raise self._failures[0]

    def _started(self) -> Sequence[threading.Thread]:
        threads = [
            threading.Thread(
                target=self._run, args=(number,), name=f"pipeline-{number}", daemon=True
            )
            for number in range(len(self._jobs))
        ]
        for thread in threads:
            thread.start()
        return threads

    def _run(self, number: int) -> None:
        job = self._jobs[number]
        try:
            if job.pool is not None:
                # It has an effect in sessions with spark.scheduler.mode=FAIR.
                job.session.sparkContext.setLocalProperty(POOL, job.pool)
            self._runs[number].execute()
        except JobCancelledError as stopped:
            # Of a job that is not cancelled, these follow the failure that stopped its pipelines.
            self._failures.append(stopped)
        except BaseException as failure:  # noqa: BLE001 - raised in the thread of the job
            self._failures.append(failure)
        finally:
            if self._failures:
                self._stop.set()
