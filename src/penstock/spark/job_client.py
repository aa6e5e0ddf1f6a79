"""The client of a job in this process, which checks its files and executes its pipelines in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from pyspark.sql import SparkSession

from penstock.api.environment.job import CompletableFuture, JobExecutionResult, JobID, JobStatus
from penstock.config.configuration import Configuration
from penstock.config.options import JOB_NAME, PARALLELISM
from penstock.connectors.files.local_listing import has_glob, local_path
from penstock.errors import (
    JobCancelledError,
    JobDirectoryError,
    JobFencedError,
    PenstockError,
    SavepointError,
    SourceError,
    StateMigrationError,
)
from penstock.failpoint import failpoint
from penstock.observe.events.job_events import JobEnded, JobStarted, Restarting, Resumed
from penstock.observe.events.listeners import JobEvents
from penstock.observe.notebook.card import Card, ShownAsCard
from penstock.observe.ui.job_controls import JobAction, JobControl, in_thread
from penstock.observe.ui.server import CONTROLS
from penstock.plan.phases.backlog import decide_cuts, known_cuts, with_cuts
from penstock.plan.physical import PhysicalPlan, RunPlan
from penstock.plan.planner import plan_job
from penstock.program.run_settings import RunKind
from penstock.spark.driver.changed_functions import compare_with_last_start
from penstock.spark.driver.dependencies import ship_dependencies, worker_executable
from penstock.spark.driver.restart_policy import Restarts
from penstock.spark.driver.restore import restore
from penstock.spark.driver.run_context import JobContext
from penstock.spark.driver.sink_stage import SinkStage
from penstock.spark.driver.snapshots import with_snapshots
from penstock.spark.failures.translation import ended_job_error, translate
from penstock.spark.job.event_log import error_of, job_started
from penstock.spark.job.job_directory import JobDirectory
from penstock.spark.job.later_parallelism import (
    ParallelismRequest,
    Rescaling,
    accept_parallelism,
)
from penstock.spark.job.outside import dropped, kept_by_sinks
from penstock.spark.pipelines import JobCounts, Pipelines
from penstock.spark.savepoints.job_savepoints import STOPPED, JobSavepoints
from penstock.spark.savepoints.savepoint_requests import SavepointFutures, no_live_run
from penstock.spark.session.job_settings import job_settings
from penstock.spark.session.settings import object_settings
from penstock.spark.sources.dataframes import check_sources
from penstock.spark.sources.table import files_of

_GO_ON = "start from it in a new checkpoint directory, with execution.state-recovery.path"


class SparkJobClient(ShownAsCard):
    """The client of a job in this process."""

    def __init__(
        self,
        plan: PhysicalPlan,
        configuration: Configuration,
        directory: JobDirectory,
        events: JobEvents,
        session: SparkSession,
        stopped: float | None = None,
    ) -> None:
        """Prepare a job, which runs from `start` on."""
        restored = restore(directory, plan, configuration, events)
        check_sources(session, plan)
        workers = ship_dependencies(session, configuration)
        pid = session._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]  # noqa: SLF001
        directory.note_jvm(pid)
        self._directory = directory
        self._cancelled = threading.Event()
        self._open_sinks = partial(
            SinkStage,
            job_id=directory.job_id,
            scratch=directory.path,
            fence=directory.fence,
            workers=workers,
            object_settings=object_settings(session),
        )
        self._job = JobContext(
            session,
            plan,
            configuration,
            directory,
            self._open_sinks(plan),
            self._cancelled,
            events,
            restored,
        )
        self._job.stopped = stopped
        self._job.workers = workers
        self._job.object_settings = object_settings(session)
        self._executable = worker_executable(session, configuration, workers)
        name = configuration.get(JOB_NAME)
        self._can_continue = any(run.kind is RunKind.LIVE for run in plan.runs)
        self._savepoints = SavepointFutures(
            directory.path, None if self._can_continue else no_live_run(name)
        )
        self._status = JobStatus.CREATED
        self._result = CompletableFuture[JobExecutionResult]()
        self._counts = JobCounts()
        self._forget_functions: Callable[[], None] = lambda: None
        self._thread = threading.Thread(
            target=self._main, name=f"penstock-{directory.job_id}", daemon=True
        )

    def start(self, begun: JobStarted | None) -> None:
        """Start the job's thread; publish its begin unless that was done."""
        self._status = JobStatus.RUNNING
        if begun is not None:
            self._job.events.publish(begun)
        try:
            self._directory.note_key_groups()
            self._forget_functions = compare_with_last_start(self._directory, self._job.events)
        except PenstockError as failure:
            self._end(JobStatus.FAILED, failure, is_refused=False)
            raise
        CONTROLS.add(self._directory.job_id, self._control())
        self._thread.start()

    def _card(self) -> Card:
        directory = None if self._directory.is_temporary else self._directory.path
        status = self.get_job_status().result().name.lower()
        facts = {"job": self._directory.job_id, "checkpoints": directory}
        return Card(f"{self._job.configuration.get(JOB_NAME)} · {status}", facts)

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
            failure, final = self._cancelled_by(error)
        except BaseException as error:  # noqa: BLE001 - stored, and raised by the future
            failure, final = ended_job_error(error, "the job"), JobStatus.FAILED
        is_refused = isinstance(failure, PenstockError) and self._is_refused(failure, final)
        try:
            if is_refused:
                self._job.sinks.recover()  # removes what was staged
                # Nothing else has the id, which the directory forgets.
                for kept in kept_by_sinks(self._directory):
                    dropped(kept)
            self._job.sinks.close()
            is_fenced = isinstance(failure, JobFencedError)
            self._savepoints.close(final.name, is_fenced=is_fenced)
        except Exception as error:  # noqa: BLE001 - see above; the first failure has the cause
            if failure is None:
                failure, final = ended_job_error(error, "closing the job"), JobStatus.FAILED
        finally:
            self._end(final, failure, is_refused=is_refused)
            if failure is not None:
                self._result.set_exception(failure)
            else:
                self._result.set_result(self._summary(time.monotonic() - started))

    def _cancelled_by(self, error: JobCancelledError) -> tuple[PenstockError, JobStatus]:
        """Publish the hidden output of sinks, since the job may never resume; return how it has ended."""
        try:
            self._job.sinks.publish()
        except BaseException as failure:  # noqa: BLE001 - stored, and raised by the future
            return ended_job_error(failure, "cancelling the job"), JobStatus.FAILED
        return error, JobStatus.CANCELED

    def _is_refused(self, failure: PenstockError, final: JobStatus) -> bool:
        """Return whether the first start of the job has failed before it wrote anything, or because of its state."""
        is_first = self._directory.is_new and not self._job.counted
        is_of_state = isinstance(failure, StateMigrationError | SavepointError)
        has_work = self._directory.has_begun or self._directory.has_captured
        is_refusal = is_of_state or not has_work
        return final is JobStatus.FAILED and is_first and is_refusal

    def _end(self, final: JobStatus, failure: PenstockError | None, *, is_refused: bool) -> None:
        """Publish how the job has ended, and then let others have its directory."""
        error = {} if failure is None or final is not JobStatus.FAILED else error_of(failure)
        try:
            self._job.events.publish(JobEnded(final.name, error))
            self._job.events.close()
        finally:
            CONTROLS.remove(self._directory.job_id)
            if not self._job.counted:
                self._forget_functions()
            if is_refused:
                self._directory.refuse()
            else:
                self._directory.release()
            self._status = final

    def _control(self) -> JobControl:
        """Return the actions that the page may request; a job without a live run cannot take savepoints."""
        stop: JobControl = {JobAction.STOP: lambda: in_thread(self.cancel)}
        if not self._can_continue:
            return stop
        return {
            JobAction.SAVEPOINT: self.trigger_savepoint,
            JobAction.STOP_WITH_SAVEPOINT: self.stop_with_savepoint,
            **stop,
        }

    def _summary(self, seconds: float) -> JobExecutionResult:
        return JobExecutionResult(
            self.get_job_id(),
            int(seconds * 1000),
            tuple(self._counts.summaries),
            self._counts.operator_records,
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
            except Rescaling:
                self._rescale()
                continue
            except Exception as error:
                failure = translate(error, "the job")
                again = restarts.after(failure)
                if again is None:
                    raise
            self._status = JobStatus.RESTARTING
            report = error_of(failure)
            reason = report["problem"].partition("\n")[0]
            self._job.events.publish(
                Restarting(again.number, again.limit, again.delay_seconds, reason, report)
            )
            self._cancelled.wait(again.delay_seconds)
            self._job.check_cancelled()
            self._job.attempt += 1
            self._status = JobStatus.RUNNING

    def _rescale(self) -> None:
        """Go on with the requested parallelism; if the program cannot run with it, go on as before."""
        failpoint("rescale.ended")
        job, directory = self._job, self._directory
        request = ParallelismRequest(directory.path)
        number, program = request.number(), directory.plan.program
        if number is None:  # withdrawn
            return
        if program is None:  # that of an upgrade or a hand-over, which ends by itself
            problem = (
                f"the job in {directory.path} reads for another job, with the parallelism of that"
            )
            request.refuse(JobDirectoryError(problem, hint="Rescale the other job when it runs."))
            return
        layer = {PARALLELISM.key: str(number)}
        settings = job.configuration.layered("penstock rescale", layer, is_final=True)
        try:
            plan = plan_job(program, settings)
            directory.go_on_with(plan)
        except PenstockError as refused:
            request.refuse(refused)
            return
        failpoint("rescale.planned")
        accept_parallelism(directory, number)
        failpoint("rescale.accepted")
        job.sinks.close()
        restored = restore(directory, plan, settings, job.events)
        self._job = job.rescaled(settings, plan, self._open_sinks(plan), restored)
        job.events.publish(job_started(plan, settings))

    def _run_all(self) -> None:
        job = self._job
        if self._directory.step("finished") is not None:
            job.events.publish(Resumed("finished; there is nothing left to do"))
            return
        stopped = self._directory.step(STOPPED)
        if stopped is not None:
            job.events.publish(Resumed(f"stopped with savepoint {stopped['savepoint']}; {_GO_ON}"))
            return
        Pipelines(job, JobSavepoints(job), self._counts).recover()
        job.sinks.recover()
        self._check_sources()
        Pipelines(job, JobSavepoints(job), self._counts).execute()
        if self._directory.step(STOPPED) is None:
            self._directory.record("finished", {"runs": len(job.plan.runs)})
            failpoint("job.finished")

    def _check_sources(self) -> None:
        """Decide the ends of backlog, take snapshots, and check that the files of later runs exist."""
        job = self._job
        recorded = self._directory.step("cuts")
        if recorded is None:
            cuts = job.patiently(partial(decide_cuts, job.plan))
            if not cuts:
                recorded = {}
            else:
                recorded = {
                    str(source): [cut.to_json() for cut in of] for source, of in cuts.items()
                }
                self._directory.record("cuts", recorded)
        job.plan = with_cuts(job.plan, known_cuts(recorded))
        job.plan = with_snapshots(job)
        for run in job.plan.runs:
            if self._directory.step(f"run-{run.index}.pinned") is None:
                check_files_there(job.plan, run)


def check_files_there(plan: PhysicalPlan, run: RunPlan) -> None:
    """Refuse a run that reads a missing path, if that can be known."""
    for reading in run.readings:
        source = plan.source(reading.source)
        for part in (source.parts[number] for number in reading.parts):
            files = files_of(part)
            here = None if files is None else local_path(files.path)
            if here is None or here.exists() or has_glob(here):
                continue
            raise SourceError(
                f"{part.describe()} cannot be read: there is no {here}",
                hint="Create the directory, empty if nothing has arrived yet, or correct the path.",
                origin=source.origin,
            )
