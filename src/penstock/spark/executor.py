"""Executes plans on Spark: one job, its runs in order, in a thread of its own."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from penstock.api.completable_future import CompletableFuture
from penstock.api.job import JobExecutionResult, JobStatus, RunSummary
from penstock.config.configuration import Configuration
from penstock.config.options import CHECKPOINT_DIR, JOB_NAME
from penstock.errors import JobCancelledError, PenstockError
from penstock.failpoint import failpoint
from penstock.metrics.listener import Resumed, RunFinished, RunStarted, publish
from penstock.plan.physical import PhysicalPlan, RunPlan
from penstock.plan.programs import HandOver
from penstock.runtime.program import RunKind
from penstock.spark.batch_run import BatchRun
from penstock.spark.failures import translate
from penstock.spark.hand_over import read_hand_over, verified_files
from penstock.spark.job_directory import JobDirectory
from penstock.spark.live_run import LiveRun
from penstock.spark.recovery import Restored
from penstock.spark.restore import restore, state_files_of
from penstock.spark.run_context import JobContext
from penstock.spark.savepoint_futures import SavepointFutures
from penstock.spark.savepoint_taker import STOPPED
from penstock.spark.session import get_session
from penstock.spark.sink_stage import SinkStage

_GO_ON = "start from it in a new checkpoint directory, with execution.state-recovery.path"


class SparkExecutor:
    """`execution.target: spark`."""

    def submit(self, plan: PhysicalPlan, configuration: Configuration) -> SparkJobClient:
        """Start a job and return at once.

        Raises:
            PenstockError: The job cannot start.
        """
        settings = Configuration(configuration)
        name = settings.get(JOB_NAME)
        directory = JobDirectory.open(settings.get(CHECKPOINT_DIR), plan, name)
        try:
            restored = restore(directory, plan, settings)
            client = SparkJobClient(plan, settings, directory, restored)
        except BaseException:
            if directory.is_new:
                directory.forget_job()
            directory.release()
            raise
        client.start()
        return client


class SparkJobClient:
    """A job in this process."""

    def __init__(
        self,
        plan: PhysicalPlan,
        configuration: Configuration,
        directory: JobDirectory,
        restored: Restored | None,
    ) -> None:
        session = get_session(configuration)
        pid = session._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]  # noqa: SLF001
        directory.note_jvm(pid)
        self._directory = directory
        self._cancelled = threading.Event()
        sinks = SinkStage(plan, directory.job_id, directory.path)
        self._job = JobContext(
            session, plan, configuration, directory, sinks, self._cancelled, restored
        )
        self._savepoints = SavepointFutures(directory.path)
        self._status = JobStatus.CREATED
        self._result: JobExecutionResult | None = None
        self._error: PenstockError | None = None
        self._operator_records: dict[str, int] = {}
        self._thread = threading.Thread(
            target=self._main, name=f"penstock-{directory.job_id}", daemon=True
        )

    def start(self) -> None:
        """Start the job's thread."""
        self._status = JobStatus.RUNNING
        self._thread.start()

    def get_job_id(self) -> str:
        """Return the job id."""
        return self._directory.job_id

    def get_job_status(self) -> JobStatus:
        """Return where the job is in its life."""
        return self._status

    def cancel(self) -> None:
        """Stop the job cleanly and wait until it has stopped; it can be resumed."""
        self._cancelled.set()
        self._thread.join()

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Ask for a savepoint; see `JobClient`."""
        return self._savepoints.submit(savepoint_directory, stop=False, drain=False)

    def stop_with_savepoint(
        self,
        advance_to_end_of_event_time: bool = False,  # noqa: FBT001, FBT002 - as in PyFlink
        savepoint_directory: str | None = None,
    ) -> CompletableFuture[str]:
        """Ask for a savepoint with which the job stops; see `JobClient`."""
        return self._savepoints.submit(
            savepoint_directory, stop=True, drain=advance_to_end_of_event_time
        )

    def get_job_execution_result(self) -> JobExecutionResult:
        """Wait for the end of the job and return its result.

        Raises:
            PenstockError: The job failed, or was cancelled.
        """
        # In steps, because a join without a timeout cannot be interrupted by Ctrl-C.
        while self._thread.is_alive():
            self._thread.join(0.2)
        if self._error is not None:
            raise self._error
        assert self._result is not None
        return self._result

    def _main(self) -> None:
        started = time.monotonic()
        try:
            summaries = self._run_all()
            milliseconds = int((time.monotonic() - started) * 1000)
            self._result = JobExecutionResult(
                self._directory.job_id, milliseconds, tuple(summaries), self._operator_records
            )
            final = JobStatus.FINISHED
        except JobCancelledError as error:
            self._error, final = error, JobStatus.CANCELED
        except BaseException as error:  # noqa: BLE001 - kept, and raised where the user waits
            self._error, final = translate(error, "the job"), JobStatus.FAILED
        try:
            self._job.sinks.close()
            self._savepoints.close(final.name)
        finally:
            self._directory.release()
            self._status = final

    def _run_all(self) -> list[RunSummary]:
        job = self._job
        if self._directory.step("finished") is not None:
            publish(Resumed("finished; there is nothing left to do"))
            return []
        stopped = self._directory.step(STOPPED)
        if stopped is not None:
            publish(Resumed(f"stopped with savepoint {stopped['savepoint']}; {_GO_ON}"))
            return []
        self._settle_sinks()
        summaries = []
        handed = HandOver()
        state_files: list[Path] | None = None
        restored = job.restored
        if restored is not None:
            handed, state_files = restored.handed, state_files_of(self._directory, restored)
            job.remember_read(restored.read)
        ended: float | None = None
        for run in job.plan.runs[0 if restored is None else restored.run :]:
            done = self._directory.step(f"run-{run.index}.done")
            if done is None:
                job.check_cancelled()
                summaries.append(self._execute(run, handed, state_files, ended))
                if self._directory.step(STOPPED) is not None:
                    return summaries
                ended = time.monotonic()
                done = self._directory.step(f"run-{run.index}.done")
            if done is not None and run.hands_over:
                job.remember_read(job.pinned_by(run).files)
                snapshot = self._directory.path / f"run-{run.index}" / "snapshot"
                handed = read_hand_over(done)
                state_files = verified_files(snapshot, done["state_files"])
        self._directory.record("finished", {"runs": len(job.plan.runs)})
        failpoint("job.finished")
        return summaries

    def _settle_sinks(self) -> None:
        """Finish the commits of an earlier driver before new output is staged."""
        job = self._job
        for run in job.plan.runs:
            staged = self._directory.step(f"run-{run.index}.staged")
            done = self._directory.step(f"run-{run.index}.done")
            if staged is not None and done is None:
                BatchRun(job, run).execute()
            if done is not None or staged is not None:
                publish(Resumed(f"run {run.index} ({run.name}) was complete"))
            elif self._directory.step(f"run-{run.index}.pinned") is not None:
                how = "begins again" if run.kind is RunKind.BATCH else "goes on"
                publish(Resumed(f"run {run.index} ({run.name}) {how}"))
        job.sinks.recover()

    def _execute(
        self,
        run: RunPlan,
        handed: HandOver,
        state_files: list[Path] | None,
        ended: float | None,
    ) -> RunSummary:
        reads = ", ".join(
            self._job.plan.source(r.source).parts[part].describe()
            for r in run.readings
            for part in r.parts
        )
        kind = run.kind.name.lower()
        publish(RunStarted(run.name, kind, reads, run.is_bounded))
        started = time.monotonic()
        executed: BatchRun | LiveRun
        if run.kind is RunKind.BATCH:
            executed = BatchRun(self._job, run)
        else:
            executed = LiveRun(self._job, run, handed, state_files, predecessor_ended=ended)
        try:
            summary = executed.execute()
        except JobCancelledError:
            seconds = time.monotonic() - started
            publish(RunFinished(run.name, kind, executed.report.records_read, seconds))
            raise
        self._add(executed.report.operator_records)
        publish(RunFinished(run.name, kind, summary.records, summary.seconds))
        return summary

    def _add(self, counts: dict[str, int]) -> None:
        for uid, count in counts.items():
            self._operator_records[uid] = self._operator_records.get(uid, 0) + count
