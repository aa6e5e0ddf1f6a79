"""A live run as a loop of epochs. Each epoch is one Spark job and one record.

    plan     the planner chooses positions and control events; nothing is written
    run      one Spark job; sinks stage their output, which is invisible
    record   the record is put, exclusively: the epoch counts now
    commit   the sinks commit what the record names; may be repeated
    after    hand-over, savepoint, metrics, events; the epoch is settled

If the driver is killed before the record, the epoch never happened: the next driver drops the staged
output and plans another one. If it is killed later, the next driver commits the sinks of the newest
record once more. Only one driver can put the record of an epoch, so a driver that was replaced and wakes
up fails at its record.

An attempt that is not recorded has no effect, and is repeated if Spark lost output of a stage: what its tasks
staged is dropped, and segment files that they wrote are swept. A failure of the cleanup does not hide the one
before it: the cleanup uses the same JVM and executors, so it often fails for the same reason, with a less
useful message.
"""

from __future__ import annotations

import logging
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from penstock.api.environment.job import RunSummary
from penstock.config.options import MAX_RECORDS_PER_BATCH, STATE_BACKEND
from penstock.config.run_options import SINGLE_TASK_WORK
from penstock.errors import JobDirectoryError, JobFailedError
from penstock.failpoint import failpoint
from penstock.graph.endpoints import EpochNumber
from penstock.metrics.profile import SPARK_JOB
from penstock.observe.events.job_events import Resumed
from penstock.plan.phases.backlog import catch_up_factor
from penstock.plan.physical import RunPlan
from penstock.program.level import LevelProgram
from penstock.spark.driver.confirmations import Confirmations, logs_read
from penstock.spark.driver.lost_output import MOST_IN_A_ROW, LostOutput
from penstock.spark.driver.run_context import JobContext
from penstock.spark.driver.sink_stage import StagedEpoch
from penstock.spark.failures.final_failures import FinalFailure
from penstock.spark.job.hand_over import describe_hand_over
from penstock.spark.job.later_parallelism import RescaleLookout
from penstock.spark.job.run_outline import RunOutline
from penstock.spark.live.epochs.epoch_files import EpochFiles
from penstock.spark.live.epochs.epoch_job import EpochJob
from penstock.spark.live.epochs.epoch_journal import (
    HANDOVER,
    EpochJournal,
    EpochPositions,
    PlannedEpoch,
    RecordedEpoch,
)
from penstock.spark.live.epochs.epoch_pace import BacklogInterval, EpochPace, EpochWork
from penstock.spark.live.epochs.epoch_planner import EpochPlanner, PlannerAnswer, answer_of
from penstock.spark.live.epochs.epoch_savepoints import EpochSavepoints
from penstock.spark.live.epochs.epoch_stages import EpochStages
from penstock.spark.live.epochs.epoch_tasks import EpochMessage, has_lost_output
from penstock.spark.live.epochs.rescaled_run import forget_rows, rescaled_state
from penstock.spark.live.epochs.split_readings import file_readings, split_readings
from penstock.spark.live.live_progress import KnownPendingInput, LiveProgress, PendingInput
from penstock.spark.live.run_bounds import (
    Predecessor,
    made_outline,
    record_done,
    record_outline,
)
from penstock.spark.savepoints.job_savepoints import JobSavepoints
from penstock.spark.sources.bad_records import read_failure
from penstock.spark.sources.read_context import Pinned, ReadContext
from penstock.spark.sources.split_advance import Budgets
from penstock.spark.worker.worker_memory import (
    IN_MEMORY,
    live_attempt,
    note_ended,
    remove_local_copies,
)
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
        """Run the job; return what its tasks staged and changed, None if it must be repeated."""
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
        epoch_messages: list[EpochMessage] = [pickle.loads(message) for message in messages]
        if has_lost_output(epoch_messages):
            if self._lost.repeat():
                return None
            raise _lost_too_often()
        self._files.check_again()
        staged, changes = StagedEpoch(), []
        for message in epoch_messages:
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
        hint="Run again with --verbose, and look for lost executors in Spark's log.",
    )


_logger = logging.getLogger("penstock")


@contextmanager
def cleaned_up(clean: Callable[[], object], what: str) -> Iterator[None]:
    """Call `clean` at the end of the context."""
    try:
        yield
    except BaseException:
        try:
            clean()
        except Exception as second:  # noqa: BLE001 - it is logged; the first exception has the cause
            _logger.warning("%s failed as well, after the failure: %s", what, second)
        raise
    clean()


SAVEPOINT = "savepoint:"
"""Begin of the control event of a savepoint."""


class EpochRun:
    """Executes one live run of a job as a loop of epochs.

    Attributes:
        report: The merged report of the epochs that this process committed.
    """

    def __init__(
        self, job: JobContext, run: RunPlan, predecessor: Predecessor, savepoints: JobSavepoints
    ) -> None:
        """Prepare the run without starting it."""
        self._job = job
        self._run = run
        self._predecessor = predecessor
        self._first_state = predecessor.first_state(job.directory, run.index)
        self._outline = made_outline(job, run)
        self._served = savepoints
        self._savepoints = EpochSavepoints(job, run, self._outline, savepoints)
        self._journal = EpochJournal(job, run)
        self._snapshot = job.directory.run_directory(run.index, "snapshot")
        self._progress = LiveProgress(job.events, job.source_names)
        self._pending = KnownPendingInput()
        self._work = EpochWork(job.configuration.get(SINGLE_TASK_WORK).total_seconds())
        self._source_records: dict[int, int] = {}
        self._is_rescaled = False
        self._lookout = RescaleLookout(job.directory)
        self._interval = BacklogInterval(job.configuration, job.plan, run)
        self.report = self._progress.report

    def execute(self) -> RunSummary:
        """Run until the input ends or the job is cancelled."""
        started = time.monotonic()
        job, run = self._job, self._run
        pinned = job.pin(run)
        planner = self._planner = self._made_planner(pinned)
        newest = self._journal.open()
        layout = None if newest is None else newest.layout
        before = record_outline(job, run.index, self._outline, layout)
        stopped = cleaned_up(planner.close, "stopping the writing of DataFrames")
        with stopped, self._confirmations(pinned) as self._confirmed:
            if newest is None:
                positions = planner.begin()
                self._note(positions)
            else:
                positions = newest.positions
                self._take_over(newest, before)
            if not planner.is_complete(positions) and not self._savepoints.has_stopped:
                with self._writing():
                    planner.open(positions)
                self._loop(planner, positions, pinned, before)
        self._first_state.end()
        if run.hands_over and not self._savepoints.has_stopped:
            record_done(job, run, self.report.records_read)
        failpoint("live.done")
        seconds = time.monotonic() - started
        return RunSummary(run.name, "live", self.report.records_read, seconds)

    def _confirmations(self, pinned: Pinned) -> Confirmations:
        job = self._job
        return Confirmations(job.events, logs_read(job.plan, pinned), job.check_cancelled)

    def _take_over(self, newest: RecordedEpoch, outline: RunOutline) -> None:
        """Finish an epoch that was recorded before, with an outline; its sinks have committed (see `recommit`)."""
        self._savepoints = EpochSavepoints(self._job, self._run, outline, self._served)
        if self._job.attempt and newest.number > self._job.counted.get(self._run.index, -1):
            self._count(newest, 0.0)  # recorded by an earlier attempt of this process
        self._finish(newest)
        self._savepoints = EpochSavepoints(self._job, self._run, self._outline, self._served)

    def _loop(
        self,
        planner: EpochPlanner,
        positions: EpochPositions,
        pinned: Pinned,
        before: RunOutline,
    ) -> None:
        """Run epochs until the run is complete, or stopped with a savepoint."""
        job, run = self._job, self._run
        programs = job.programs(run, job.plan.options.parallelism, self._predecessor.handed, pinned)
        self._rescale(before, programs)
        run_id = f"{job.directory.job_id}-{run.index}"
        attempt = live_attempt(run_id, (job.directory.fence.epoch, job.attempt))
        reads = replace(job.read_context(run, programs, pinned), attempt=attempt)
        stages = EpochStages(job, reads, programs, self._snapshot, self._first_state)
        backend = job.configuration.get(STATE_BACKEND) if programs[1:] else IN_MEMORY
        removal = partial(remove_local_copies, job.session, run_id, backend)
        failures = job.directory.failure_directory(run.index)
        context = job.session.sparkContext
        with (
            cleaned_up(partial(note_ended, run_id), "noting the end of the run"),
            cleaned_up(removal, "removing local copies of state"),
            EpochJob(context, run_id, stages.all, job.pool) as spark,
            spark.watched(failures) as final,
            ThreadPoolExecutor(1, f"penstock-merge-{run_id}") as threads,
        ):
            switched = self._predecessor.switched()
            if switched is not None:
                job.events.publish(switched)
            failpoint("live.started")
            files = EpochFiles(reads, planner.files, stages, spark)
            attempts = EpochAttempts(job, reads, spark, final, stages, files)
            pace = EpochPace(self._interval.seconds)
            while not planner.is_complete(positions) and not self._savepoints.has_stopped:
                self._check()
                if pace.is_early() or self._is_held(pace):
                    continue
                timer_in = self._timer_in_seconds()
                answer = self._plan(planner, positions, pace, timer_in)
                planned, left = answer.planned, PendingInput(answer.records_left, answer.files_left)
                if planned is None:
                    self._note_pending(left)
                    pace.idle(answer.seconds_to_next, timer_in)
                    continue
                pace.begin()
                positions = self._epoch(attempts, planned, positions, left)
                with self._writing():
                    planner.note_recorded(positions)
                if positions is planned.after:
                    planner.note_read(self._source_records)
                    files.note_read(self._source_records)
                pace.interval_seconds = self._interval.seconds
                self._merge(threads)

    def _rescale(self, before: RunOutline, programs: Sequence[LevelProgram]) -> None:
        """Let the next epoch begin with new logs, if those there are of other subtasks."""
        forget_rows(self._job, self._run)
        if before is not self._outline:
            self._first_state = rescaled_state(self._job, self._run, before, programs)
            self._planner.first_records = self._first_state.first_records()
            self._journal.drop_logs()
            self._is_rescaled = True
            now = f"{self._outline.parallelism} subtasks and {self._outline.max_parallelism} key groups"
            step = f"run {self._run.index} ({self._run.name}) goes on with {now}"
            self._job.events.publish(Resumed(step))

    def _plan(
        self,
        planner: EpochPlanner,
        positions: EpochPositions,
        pace: EpochPace,
        timer_in_seconds: float | None,
    ) -> PlannerAnswer:
        """Return the next epoch, and what is left behind it."""
        request = self._savepoints.next()
        plan_next = partial(
            answer_of,
            planner,
            positions,
            is_first=self._journal.next_number == 0 or self._is_rescaled,
            is_due=pace.is_first or (timer_in_seconds is not None and timer_in_seconds <= 0),
            savepoint=None if request is None else request.event,
            drains=request is not None and request.drain,
        )
        with self._writing():  # file logs
            answer = self._job.patiently(plan_next) if planner.may_block else plan_next()
        self._progress.waiting = answer.waiting
        if answer.planned is not None and self._progress.is_due():
            # The epoch may take long, and what it reads waits until it is committed.
            left = planner.records_left(positions), planner.files_left(positions)
            self._progress.publish_pending(PendingInput(*left, self._pending.current.seconds))
        return answer

    def _epoch(
        self,
        attempts: EpochAttempts,
        planned: PlannedEpoch,
        before: EpochPositions,
        left: PendingInput,
    ) -> EpochPositions:
        """Run and commit one epoch; return the positions at the end of the last recorded one."""
        job, started = self._job, time.monotonic()
        job.directory.fence()
        outcome = attempts.run(planned, self._journal)
        if outcome is None:  # Spark lost output: nothing was recorded
            job.sinks.recover()
            return before
        staged, changes = outcome
        failpoint("live.staged")
        try:
            recorded = self._journal.put(planned.after, planned.event, staged, changes)
        except FileExistsError:
            return self._adopt()
        except OSError as cause:
            raise self._unwritable(cause) from cause
        self._is_rescaled = False
        failpoint("live.recorded")
        commit(job, self._run, recorded)
        self._pending.note(left.records, left.files, self._progress.lag_ms)
        self._count(recorded, time.monotonic() - started)
        self._finish(recorded)
        attempts.succeeded()
        failpoint("live.committed")
        return recorded.positions

    def _check(self) -> None:
        """Stop here if the job was cancelled or rescaled, or if what sinks do beside epochs has failed."""
        self._job.check_cancelled()
        self._job.sinks.check_background()
        if not self._savepoints.is_held:  # a job that stops with a savepoint has parts of it
            self._lookout.check()

    def _is_held(self, pace: EpochPace) -> bool:
        """Return whether the run must wait for a savepoint with which the job stops; then it has waited."""
        if not self._savepoints.is_held:
            return False
        pace.idle(None, None)
        return True

    def _note_pending(self, left: PendingInput) -> None:
        """Publish the pending input of an idle run, if it has changed."""
        self._pending.note(left.records, left.files, self._progress.lag_ms)
        self._progress.publish_pending(self._pending.current)

    def _merge(self, threads: Executor) -> None:
        """Keep the number of files and of extents small."""
        try:
            self._journal.merge(threads)
        except OSError as cause:
            raise self._unwritable(cause) from cause

    def _adopt(self) -> EpochPositions:
        """Take over a record that an earlier driver has put, which woke up; it counts."""
        self._job.directory.fence()
        newest = self._journal.open()
        assert newest is not None, "its record exists"
        if newest.layout != self._job.directory.fingerprint:
            raise JobFailedError(
                f"an earlier driver has recorded epoch {newest.number} with another parallelism",
                hint="Start the same command again.",
            )
        commit(self._job, self._run, newest)
        self._job.sinks.recover()
        self._finish(newest)
        return newest.positions

    def _unwritable(self, cause: OSError) -> JobDirectoryError:
        """Return the error for a record or segment that cannot be written."""
        self._job.directory.fence()
        return JobDirectoryError(
            f"an epoch cannot be recorded in {self._job.directory.path}: {cause}",
            hint="Make room, or make the directory writable, and start again.",
        )

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Turn errors of files in the block into ours."""
        try:
            yield
        except OSError as cause:
            raise self._unwritable(cause) from cause

    def _count(self, recorded: RecordedEpoch, seconds: float) -> None:
        """Add an epoch to the report and the metrics, and publish it."""
        report = recorded.staged.report
        self._source_records = report.source_records
        self._work.note(report, is_usual=recorded.number > 0 and recorded.event is None)
        self.report.merge(report)
        self._interval.note(report, time.time_ns() // 1_000_000)
        self._job.report_metrics(self._run.index, recorded.number, report)
        splits = recorded.positions.names
        self._progress.publish(recorded.number, report, seconds, self._pending.current, splits)

    def _finish(self, recorded: RecordedEpoch) -> None:
        """Do what follows the commit of an epoch, once or again."""
        self._note(recorded.positions)
        if recorded.event == HANDOVER:
            staged = recorded.staged
            layout = self._savepoints.layout
            hand_over = describe_hand_over(staged.report, staged.state_files, layout)
            self._job.directory.record(f"run-{self._run.index}.hand-over", hand_over)
        self._first_state.begin_epoch(recorded.number + 1)
        if (recorded.event or "").startswith(SAVEPOINT):
            self._job.sinks.publish()  # a job that starts from it has no record of hidden output
            self._savepoints.complete(recorded, self._snapshot)
        try:
            self._journal.settle(recorded)
        except OSError as cause:
            raise self._unwritable(cause) from cause

    def _note(self, positions: EpochPositions) -> None:
        """Note how far the run has read, for logs and for the checkpoint interval."""
        self._confirmed.note(self._planner.by_name(positions))
        self._interval.has_parts_left = self._planner.is_in_backlog(positions)

    def _timer_in_seconds(self) -> float | None:
        """Return the time until a processing-time timer of a subtask is due; None if there is none."""
        due_times = [due for due in self.report.next_calls.values() if due is not None]
        return min(due_times) / 1000 - time.time() if due_times else None

    def _made_planner(self, pinned: Pinned) -> EpochPlanner:
        job, run = self._job, self._run
        most = job.configuration.get(MAX_RECORDS_PER_BATCH)
        factor = catch_up_factor(job.configuration, MAX_RECORDS_PER_BATCH)
        return EpochPlanner(
            split_readings(job.plan, run, pinned),
            run.hands_over,
            Budgets(most, factor, job.plan.options.backlog_share),
            job.plan.options.parallelism,
            self._first_state.first_records(),
            self._work,
            files=file_readings(job, run, pinned),
        )


def commit(job: JobContext, run: RunPlan, recorded: RecordedEpoch) -> None:
    """Commit the sinks of a recorded epoch; may be repeated."""
    job.sinks.commit(EpochNumber(run.index, recorded.number), recorded.staged)


def recommit(job: JobContext, run: RunPlan) -> None:
    """Commit the sinks of the newest epoch once more, before uncommitted output is dropped."""
    newest = EpochJournal(job, run).open()
    if newest is not None:
        commit(job, run, newest)
