"""Runs the pipelines of a job, each in a thread of its own: its runs in order, each takes over what the one before handed over.

The first failure stops the others; it is the failure of the job. A job with one pipeline runs it in the
thread of the job.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from penstock.api.environment.job import RunSummary
from penstock.connectors.cache import with_stored_result
from penstock.errors import JobCancelledError
from penstock.filesystem.stored_path import JobPath
from penstock.metrics.job_metrics import late_records
from penstock.observe.events.job_events import DONE, STOPPED, Resumed, RunFinished, RunStarted
from penstock.plan.phases.bounded_region import RESULTS_RUN
from penstock.plan.physical import HandOver, RunPlan
from penstock.program.run_settings import RunKind
from penstock.runtime.task.report import Report
from penstock.spark.driver.batch_run import BatchRun
from penstock.spark.driver.restore import state_files_of
from penstock.spark.driver.run_context import JobContext
from penstock.spark.job.hand_over import read_hand_over, verified_files
from penstock.spark.job.later_parallelism import Rescaling
from penstock.spark.job.state_layout import StateLayout
from penstock.spark.live.epochs.epoch_run import EpochRun, recommit
from penstock.spark.live.run_bounds import Predecessor, is_superseded, remove_superseded
from penstock.spark.savepoints.job_savepoints import JobSavepoints
from penstock.spark.session.job_settings import POOL

_POLL_SECONDS = 0.05


class JobCounts:
    """Counts of the runs of a job in this process. Thread-safe.

    Attributes:
        summaries: Summaries of the runs, in order of their end.
    """

    def __init__(self) -> None:
        self.summaries: list[RunSummary] = []
        self.operator_records: dict[str, int] = {}
        self._lock = threading.Lock()

    def add(self, report: Report, summary: RunSummary | None) -> None:
        """Add a run, or an attempt of one."""
        with self._lock:
            for uid, count in report.operator_records.items():
                self.operator_records[uid] = self.operator_records.get(uid, 0) + count
            if summary is not None:
                self.summaries.append(summary)


class PipelineRuns:
    """Executes the runs of one pipeline that are left."""

    def __init__(
        self, job: JobContext, pipeline: int, savepoints: JobSavepoints, counts: JobCounts
    ) -> None:
        """Prepare."""
        self._job = job
        self._pipeline = pipeline
        self._savepoints = savepoints
        self._counts = counts
        self._runs = job.plan.runs_of(pipeline)

    def recover(self) -> None:
        """Finish the commits of an earlier driver, before new output is staged."""
        job = self._job
        for run in self._runs:
            staged = job.directory.step(f"run-{run.index}.staged")
            done = job.directory.step(f"run-{run.index}.done")
            if staged is not None and done is None:
                BatchRun(job, run).execute()
            if done is None and run.kind is RunKind.LIVE:
                recommit(job, run)
            if done is not None or staged is not None:
                job.events.publish(Resumed(f"run {run.index} ({run.name}) was complete"))
            elif job.directory.step(f"run-{run.index}.pinned") is not None:
                how = "begins again" if run.kind is RunKind.BATCH else "goes on"
                job.events.publish(Resumed(f"run {run.index} ({run.name}) {how}"))

    def execute(self) -> None:
        """Execute the runs."""
        job, predecessor = self._job, Predecessor(HandOver(), None, None)
        skips = frozenset[int]() if job.restored is None else job.restored.skips
        if job.restored is not None:
            job.remember_read(job.restored.read)
        for run in self._runs:
            if run.index in skips:
                continue
            if job.restored is not None and run.index in job.restored.goes_on:
                files = state_files_of(job.directory, job.restored)
                readers = job.restored.goes_on
                files = self._needed(files, run.index, readers)
                groups = (
                    None if job.restored.layout is None else job.restored.layout.max_parallelism
                )
                stopped = None if job.attempt else job.stopped
                predecessor = Predecessor(job.restored.handed, files, stopped, readers, groups)
            ended: float | None = None
            if job.directory.step(f"run-{run.index}.done") is None:
                self._wait_for(run)
                self._execute(run, predecessor)
                if self._savepoints.has_stopped:
                    return
                ended = time.monotonic()
            if run.hands_over:
                predecessor = self._handed_over(run, ended)
        job.sinks.publish()
        self._savepoints.end(self._pipeline, self._runs[-1])

    def _wait_for(self, run: RunPlan) -> None:
        """Wait until the runs whose results a run reads are complete."""
        job = self._job
        missing = [*run.after]
        while missing:
            job.check_cancelled()
            if job.directory.step(f"run-{missing[0]}.done") is not None:
                missing.pop(0)
            else:
                job.cancelled.wait(_POLL_SECONDS)
        job.check_cancelled()
        job.plan = job.plan.with_parts(
            lambda part: with_stored_result(part, lambda read: read.found_in(job.directory.path))
        )

    def _handed_over(self, run: RunPlan, ended: float | None) -> Predecessor:
        """Return the run as predecessor of the next one."""
        job = self._job
        job.remember_read(job.pinned_by(run).files)
        done = job.directory.step(f"run-{run.index}.done")
        assert done is not None, "it has ended, and hands over"
        snapshot = job.directory.path / f"run-{run.index}" / "snapshot"
        recorded = done["state_files"]
        after = run.index + 1
        files = self._needed([snapshot / name for name in recorded], after, (after,))
        if files:
            files = verified_files(snapshot, recorded)
        layout = StateLayout.from_json(done["layout"])
        handed = layout.moved(read_hand_over(done), job.plan, job.directory.fingerprint)
        return Predecessor(handed, files, ended, key_groups=layout.max_parallelism)

    def _needed(self, files: list[JobPath], run: int, readers: tuple[int, ...]) -> list[JobPath]:
        """Return files of initial state, or none if the checkpoint of the run contains the state."""
        directory = self._job.directory
        if not is_superseded(directory, (run,)):
            return files
        if is_superseded(directory, readers):
            remove_superseded(directory, files)
        return []

    def _execute(self, run: RunPlan, predecessor: Predecessor) -> None:
        job = self._job
        reads = ", ".join(
            job.plan.source(r.source).parts[part].describe()
            for r in run.readings
            for part in r.parts
        )
        kind = run.kind.name.lower()
        job.events.publish(RunStarted(run.name, kind, reads, run.is_bounded))
        started = time.monotonic()
        executed: BatchRun | EpochRun
        if run.kind is RunKind.BATCH:
            executed = BatchRun(job, run)
        else:
            executed = EpochRun(job, run, predecessor, self._savepoints)
            if run.name != RESULTS_RUN:
                self._savepoints.begin(self._pipeline)
        try:
            summary = executed.execute()
        except BaseException as failure:
            seconds, report = time.monotonic() - started, executed.report
            self._count_failed(run, report, seconds)
            if isinstance(failure, JobCancelledError | Rescaling):
                job.events.publish(_ended(run, report, seconds, STOPPED))
            raise
        finally:
            self._savepoints.leave(self._pipeline)
        self._counts.add(executed.report, summary)
        outcome = STOPPED if self._savepoints.has_stopped else DONE
        job.events.publish(_ended(run, executed.report, summary.seconds, outcome))

    def _count_failed(self, run: RunPlan, report: Report, seconds: float) -> None:
        """Add the committed counts of a failed attempt to the result of the job."""
        summary = None
        if report.records_read:
            kind = run.kind.name.lower()
            summary = RunSummary(run.name, kind, report.records_read, seconds)
        self._counts.add(report, summary)


def _ended(run: RunPlan, report: Report, seconds: float, outcome: str) -> RunFinished:
    kind, late = run.kind.name.lower(), late_records(report.metrics)
    return RunFinished(run.name, kind, report.records_read, seconds, outcome, late)


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
            PipelineRuns(pipeline_job, pipeline, savepoints, counts)
            for pipeline, pipeline_job in enumerate(self._jobs)
        ]
        self._failures: list[BaseException] = []

    def recover(self) -> None:
        """Finish the commits of an earlier driver, before new output is staged."""
        for runs in self._runs:
            runs.recover()

    def execute(self) -> None:
        """Execute all that is left."""
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
            # If the job was not cancelled, these follow the failure that stopped its pipelines.
            self._failures.append(stopped)
        except BaseException as failure:  # noqa: BLE001 - raised in the thread of the job
            self._failures.append(failure)
        finally:
            if self._failures:
                self._stop.set()
