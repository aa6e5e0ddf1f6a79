"""Executes plans on Spark. A job executes its runs in order, in a separate thread."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

from penstock.api.environment.completable_future import CompletableFuture
from penstock.api.environment.job import JobExecutionResult, JobID, JobStatus, RunSummary
from penstock.config.configuration import Configuration
from penstock.config.options import CHECKPOINT_DIR, JOB_NAME
from penstock.connectors.blocking_result import with_stored_result
from penstock.errors import JobCancelledError, JobFencedError, PenstockError
from penstock.failpoint import failpoint
from penstock.graph.backlog_end import Cut
from penstock.metrics.listener import (
    JobEnded,
    JobEvents,
    Restarting,
    Resumed,
    RunFinished,
    RunStarted,
)
from penstock.plan.hand_over import HandOver
from penstock.plan.phases.backlog_cuts import decide_cuts, with_cuts
from penstock.plan.physical import PhysicalPlan, RunPlan
from penstock.program.run_settings import LiveEngine, RunKind
from penstock.runtime.task.report import Report
from penstock.spark.driver.batch_run import BatchRun
from penstock.spark.driver.dependencies import (
    ship_dependencies,
    worker_executable,
)
from penstock.spark.driver.recovery import Restored
from penstock.spark.driver.restart_policy import Restarts
from penstock.spark.driver.restore import restore, state_files_of
from penstock.spark.driver.run_context import JobContext
from penstock.spark.driver.sink_stage import SinkStage
from penstock.spark.failures.translation import ended_job_error, translate
from penstock.spark.job.hand_over import read_hand_over, verified_files
from penstock.spark.job.job_directory import JobDirectory
from penstock.spark.live.engine import engine_of
from penstock.spark.live.epochs.epoch_run import EpochRun, recommit
from penstock.spark.live.live_run import LiveRun
from penstock.spark.live.run_bounds import Predecessor
from penstock.spark.live.superseded_state import is_superseded, remove_superseded
from penstock.spark.savepoints.savepoint_futures import SavepointFutures, no_live_run
from penstock.spark.savepoints.savepoint_writer import STOPPED
from penstock.spark.session.factory import get_session
from penstock.spark.session.job_settings import job_settings
from penstock.spark.sources.column_names import check_sources
from penstock.spark.sources.missing_files import check_files_there

_LIVE_RUNS: dict[LiveEngine, type[LiveRun | EpochRun]] = {
    LiveEngine.JOBS: EpochRun,
    LiveEngine.QUERY: LiveRun,
}

_GO_ON = "start from it in a new checkpoint directory, with execution.state-recovery.path"


class SparkExecutor:
    """Executes jobs with `execution.target: spark`."""

    def submit(self, plan: PhysicalPlan, configuration: Configuration) -> SparkJobClient:
        """Start a job and return at once.

        Raises:
            PenstockError: The job cannot start.
        """
        settings = Configuration(configuration)
        name = settings.get(JOB_NAME)
        directory = JobDirectory.open(settings.get(CHECKPOINT_DIR), plan, name)
        try:
            events = JobEvents(directory.job_id, name)
            restored = restore(directory, directory.plan, settings, events)
            client = SparkJobClient(directory.plan, settings, directory, events, restored)
        except BaseException:
            if directory.is_new:
                directory.forget_job()
            directory.release()
            raise
        client.start()
        return client


class SparkJobClient:
    """The client of a job in this process."""

    def __init__(
        self,
        plan: PhysicalPlan,
        configuration: Configuration,
        directory: JobDirectory,
        events: JobEvents,
        restored: Restored | None,
    ) -> None:
        session = get_session(configuration)
        check_sources(session, plan)
        workers = ship_dependencies(session, configuration)
        pid = session._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]  # noqa: SLF001
        directory.note_jvm(pid)
        self._directory = directory
        self._cancelled = threading.Event()
        sinks = SinkStage(plan, directory.job_id, directory.path, directory.fence, workers)
        self._job = JobContext(
            session, plan, configuration, directory, sinks, self._cancelled, events, restored
        )
        self._job.workers = workers
        self._executable = worker_executable(session, configuration, workers)
        name = configuration.get(JOB_NAME)
        can_continue = any(run.kind is RunKind.LIVE for run in plan.runs)
        self._savepoints = SavepointFutures(
            directory.path, None if can_continue else no_live_run(name)
        )
        self._status = JobStatus.CREATED
        self._result = CompletableFuture[JobExecutionResult]()
        self._summaries: list[RunSummary] = []
        self._operator_records: dict[str, int] = {}
        self._thread = threading.Thread(
            target=self._main, name=f"penstock-{directory.job_id}", daemon=True
        )

    def start(self) -> None:
        """Start the job's thread."""
        self._status = JobStatus.RUNNING
        self._thread.start()

    def get_job_id(self) -> JobID:
        """Return the job id."""
        return JobID(self._directory.job_id)

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """Return the status of the job; the future is done."""
        status = self._status
        if self._cancelled.is_set() and not status.is_globally_terminal_state():
            status = JobStatus.CANCELLING
        return CompletableFuture.completed(status)

    def cancel(self) -> CompletableFuture[None]:
        """Stop the job and wait until it has stopped; it can be resumed."""
        self._cancelled.set()
        self._thread.join()
        return CompletableFuture.completed(None)

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Request a savepoint; see `JobClient`."""
        return self._savepoints.submit(savepoint_directory, stop=False, drain=False)

    def stop_with_savepoint(
        self,
        advance_to_end_of_event_time: bool = False,  # noqa: FBT001, FBT002 - as in PyFlink
        savepoint_directory: str | None = None,
    ) -> CompletableFuture[str]:
        """Request a savepoint with which the job stops; see `JobClient`."""
        return self._savepoints.submit(
            savepoint_directory, stop=True, drain=advance_to_end_of_event_time
        )

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """Return the results of all metrics; see `JobClient`."""
        future = CompletableFuture[dict[str, Any]]()
        future.set_result(self._job.metrics.results())
        return future

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """Return the result of the job, a future that is done at its end; see `JobClient`."""
        return self._result

    def _main(self) -> None:
        started = time.monotonic()
        failure: PenstockError | None = None
        try:
            with job_settings(self._job.session, self._executable):
                self._run_with_restarts()
            final = JobStatus.FINISHED
        except JobCancelledError as error:
            failure, final = error, JobStatus.CANCELED
        except BaseException as error:  # noqa: BLE001 - stored, and raised by the future
            failure, final = ended_job_error(error, "the job"), JobStatus.FAILED
        try:
            self._job.sinks.close()
            is_fenced = isinstance(failure, JobFencedError)
            self._savepoints.close(final.name, is_fenced=is_fenced)
        except Exception as error:  # noqa: BLE001 - see above; the first failure has the cause
            if failure is None:
                failure, final = ended_job_error(error, "closing the job"), JobStatus.FAILED
        finally:
            self._directory.release()
            self._status = final
            self._job.events.publish(JobEnded(final.name))
            if failure is not None:
                self._result.set_exception(failure)
            else:
                self._result.set_result(self._summary(time.monotonic() - started))

    def _summary(self, seconds: float) -> JobExecutionResult:
        return JobExecutionResult(
            self.get_job_id(),
            int(seconds * 1000),
            tuple(self._summaries),
            self._operator_records,
            self._job.metrics.results(),
        )

    def _run_with_restarts(self) -> None:
        """Execute all runs; after a failure again, as often as the restart strategy allows.

        A restart equals the start of a new driver after another one was killed: it relies only on the
        records in the checkpoint directory.
        """
        restarts = Restarts(self._job.configuration)
        while True:
            try:
                return self._run_all()
            except Exception as error:
                failure = translate(error, "the job")
                again = restarts.after(failure)
                if again is None:
                    raise
            self._status = JobStatus.RESTARTING
            reason = str(failure.problem).partition("\n")[0]
            self._job.events.publish(
                Restarting(again.number, again.limit, again.delay_seconds, reason)
            )
            self._cancelled.wait(again.delay_seconds)
            self._job.check_cancelled()
            self._job.attempt = again.number
            self._status = JobStatus.RUNNING

    def _run_all(self) -> None:
        job = self._job
        if self._directory.step("finished") is not None:
            self._job.events.publish(Resumed("finished; there is nothing left to do"))
            return
        stopped = self._directory.step(STOPPED)
        if stopped is not None:
            self._job.events.publish(
                Resumed(f"stopped with savepoint {stopped['savepoint']}; {_GO_ON}")
            )
            return
        self._recover_sinks()
        self._check_sources()
        handed = HandOver()
        state_files: list[Path] | None = None
        restored = job.restored
        if restored is not None:
            handed = restored.handed
            state_files = self._needed(state_files_of(self._directory, restored), restored.run)
            job.remember_read(restored.read)
        ended: float | None = None
        for run in job.plan.runs[0 if restored is None else restored.run :]:
            done = self._directory.step(f"run-{run.index}.done")
            if done is None:
                job.check_cancelled()
                job.plan = job.plan.with_parts(
                    lambda part: with_stored_result(
                        part, lambda read: read.found_in(job.directory.path)
                    )
                )
                self._summaries.append(self._execute(run, handed, state_files, ended))
                if self._directory.step(STOPPED) is not None:
                    return
                ended = time.monotonic()
                done = self._directory.step(f"run-{run.index}.done")
            if done is not None and run.hands_over:
                job.remember_read(job.pinned_by(run).files)
                snapshot = self._directory.path / f"run-{run.index}" / "snapshot"
                handed = read_hand_over(done)
                recorded = done["state_files"]
                state_files = self._needed([snapshot / name for name in recorded], run.index + 1)
                if state_files:
                    state_files = verified_files(snapshot, recorded)
        self._directory.record("finished", {"runs": len(job.plan.runs)})
        failpoint("job.finished")

    def _needed(self, files: list[Path], run: int) -> list[Path]:
        """Return files of initial state, or none if the checkpoint of the run contains the state."""
        if not is_superseded(self._directory, run):
            return files
        remove_superseded(self._directory, files)
        return []

    def _check_sources(self) -> None:
        """Decide the ends of backlog, and check that the files of later runs exist."""
        job = self._job
        recorded = self._directory.step("cuts")
        if recorded is None:
            cuts = decide_cuts(job.plan)
            if not cuts:
                recorded = {}
            else:
                recorded = {
                    str(source): [cut.to_json() for cut in of] for source, of in cuts.items()
                }
                self._directory.record("cuts", recorded)
        known = {int(source): [Cut(*cut) for cut in of] for source, of in recorded.items()}
        job.plan = with_cuts(job.plan, known)
        for run in job.plan.runs:
            if self._directory.step(f"run-{run.index}.pinned") is None:
                check_files_there(job.plan, run)

    def _recover_sinks(self) -> None:
        """Finish the commits of an earlier driver before new output is staged."""
        job = self._job
        for run in job.plan.runs:
            staged = self._directory.step(f"run-{run.index}.staged")
            done = self._directory.step(f"run-{run.index}.done")
            if staged is not None and done is None:
                BatchRun(job, run).execute()
            if done is None and run.kind is RunKind.LIVE:
                recommit(job, run)
            if done is not None or staged is not None:
                self._job.events.publish(Resumed(f"run {run.index} ({run.name}) was complete"))
            elif self._directory.step(f"run-{run.index}.pinned") is not None:
                how = "begins again" if run.kind is RunKind.BATCH else "goes on"
                self._job.events.publish(Resumed(f"run {run.index} ({run.name}) {how}"))
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
        self._job.events.publish(RunStarted(run.name, kind, reads, run.is_bounded))
        started = time.monotonic()
        executed: BatchRun | LiveRun | EpochRun
        if run.kind is RunKind.BATCH:
            executed = BatchRun(self._job, run)
        else:
            live = _LIVE_RUNS[engine_of(self._directory.path, run)]
            executed = live(self._job, run, Predecessor(handed, state_files, ended))
        try:
            summary = executed.execute()
        except JobCancelledError:
            seconds = time.monotonic() - started
            self._job.events.publish(
                RunFinished(run.name, kind, executed.report.records_read, seconds)
            )
            raise
        except BaseException:
            self._count_failed(run, executed.report, time.monotonic() - started)
            raise
        self._add(executed.report.operator_records)
        self._job.events.publish(RunFinished(run.name, kind, summary.records, summary.seconds))
        return summary

    def _count_failed(self, run: RunPlan, report: Report, seconds: float) -> None:
        """Add the committed counts of a failed attempt to the result of the job."""
        self._add(report.operator_records)
        if report.records_read:
            kind = run.kind.name.lower()
            self._summaries.append(RunSummary(run.name, kind, report.records_read, seconds))

    def _add(self, counts: dict[str, int]) -> None:
        for uid, count in counts.items():
            self._operator_records[uid] = self._operator_records.get(uid, 0) + count
