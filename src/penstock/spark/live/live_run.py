"""A live run: a Structured Streaming query over the levels, committed per micro-batch.

The query reads the positions stream (ranges of split sources, control events) and the streams
of other sources, passes level after level of `transformWithState` and the sink stage, and ends in a
`foreachBatch` that runs it and commits the sinks in the driver. Spark's checkpoint contains offsets and
state. A micro-batch whose commit was interrupted is computed again, and the sinks recognise its epoch.

`foreachBatch` commits sinks, not a Python data source writer: only the driver process, which has the
job's lock, may make output visible.
"""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from penstock.api.environment.job import RunSummary
from penstock.config.options import MAX_FILES_PER_BATCH, STATE_BACKEND
from penstock.errors import PenstockError
from penstock.events.job_events import AdmissionChanged
from penstock.failpoint import failpoint
from penstock.filesystem.stored_path import mounted
from penstock.graph.epoch_number import EpochNumber
from penstock.plan.physical import RunPlan
from penstock.program.level import LevelProgram
from penstock.program.routing import live_routes
from penstock.spark.driver.first_failure import cleaned_up
from penstock.spark.driver.lost_output import LostOutput
from penstock.spark.driver.run_context import JobContext
from penstock.spark.failures.final_failures import FinalFailure
from penstock.spark.job.checkpoint_files import check_checkpoint
from penstock.spark.job.hand_over import describe_hand_over, initial_state
from penstock.spark.live.admission import FileAdmission
from penstock.spark.live.backlog_interval import BacklogInterval
from penstock.spark.live.bounded_inputs import BoundedInputs
from penstock.spark.live.live_columns import LiveColumns
from penstock.spark.live.live_progress import LiveProgress
from penstock.spark.live.own_positions import own_positions
from penstock.spark.live.pending_input import InputMonitor, PendingInput
from penstock.spark.live.planned_files import PlannedFiles
from penstock.spark.live.run_bounds import Predecessor, record_done, recorded_outline
from penstock.spark.savepoints.job_savepoints import JobSavepoints
from penstock.spark.savepoints.savepoint_taker import SavepointTaker
from penstock.spark.session.job_settings import query_settings
from penstock.spark.sources.bad_records import read_failure
from penstock.spark.sources.positions import ControlLog
from penstock.spark.sources.read_context import ReadContext
from penstock.spark.sources.source_reads import live_frames
from penstock.spark.worker.frames import DDL
from penstock.spark.worker.level_processor import LevelProcessor
from penstock.spark.worker.live_subtasks import LevelDescription
from penstock.spark.worker.local_state import IN_MEMORY, LocalCopies, remove_local_copies
from penstock.spark.worker.payload import Payload
from penstock.spark.worker.worker_memory import live_attempt, note_ended

_POLL_SECONDS = 0.05
_TICK_MS = 200
"""Least time between two ticks; a timer fires late by at most this time and a micro-batch."""


class _MicroBatchFailedError(Exception):
    """Fails a micro-batch in Spark; `LiveRun` stores the failure itself."""


class LiveRun:
    """Executes one live run of a job.

    Attributes:
        report: The merged report of the micro-batches that this process committed.
    """

    def __init__(
        self, job: JobContext, run: RunPlan, predecessor: Predecessor, savepoints: JobSavepoints
    ) -> None:
        """Prepare the run without starting it."""
        self._job = job
        self._run = run
        self._predecessor = predecessor
        self._first_state = predecessor.first_state(job.directory, run.index)
        control = mounted(job.directory.run_directory(run.index, "control"))
        self._control = ControlLog(control, job.directory.fence)
        outline = recorded_outline(job, run)
        self._savepoints = SavepointTaker(job, run, self._control, outline, savepoints)
        self._outline = outline
        self._pending: InputMonitor | None = None
        self._files: PlannedFiles | None = None
        self._running: StreamingQuery | None = None
        self._is_started = threading.Event()
        self._admission = FileAdmission(job.configuration.get(MAX_FILES_PER_BATCH))
        self._interval = BacklogInterval(job.configuration, job.plan, run)
        self._trigger_seconds = self._interval.seconds
        self._progress = LiveProgress(job.events, job.source_names)
        self.report = self._progress.report
        self._columns: LiveColumns | None = None
        self._failure: BaseException | None = None
        self._lost = LostOutput(job.events)
        self._last_tick_ms = 0
        self._has_switched = False
        self._run_id = f"{job.directory.job_id}-{run.index}"
        epoch = job.directory.fence.epoch
        self._attempt = live_attempt(self._run_id, (epoch, job.attempt))
        self._name = f"run {run.index} ({run.name})"

    def execute(self) -> RunSummary:
        """Run until the input ends or the job is cancelled.

        Raises:
            JobCancelledError: The job was cancelled.
            PenstockError: The query failed.
        """
        started = time.monotonic()
        job, run = self._job, self._run
        pinned = job.pin(run)
        self._control.append("start")
        # Also for a resumed run: only the subtasks know which timers are pending.
        self._control.set_tick(time.time_ns() // 1_000_000)
        self._savepoints.poll()
        programs = job.programs(run, job.plan.options.parallelism, self._predecessor.handed, pinned)
        self._files = PlannedFiles(job, run.index, self._outline, pinned)
        directory = job.directory.path / f"run-{run.index}"
        self._pending = InputMonitor(job, self._outline, pinned, directory)
        reads = replace(
            job.read_context(run, programs, pinned),
            first_records=self._first_state.first_records(),
            attempt=self._attempt,
        )
        self._columns = LiveColumns(reads)
        backend = job.configuration.get(STATE_BACKEND) if programs[1:] else IN_MEMORY
        removal = partial(remove_local_copies, job.session, self._run_id, backend)
        with (
            cleaned_up(partial(note_ended, self._run_id), "noting the end of the run"),
            cleaned_up(removal, "removing local copies of state"),
        ):
            while self._query(reads, programs, self._pending, self._files):
                pass  # restart the query with other sizes of micro-batches, or to repeat the last one
        self._first_state.end()
        if run.hands_over and not self._savepoints.has_stopped:
            record_done(job, run, self.report.records_read)
        failpoint("live.done")
        records = self.report.records_read
        return RunSummary(run.name, "live", records, time.monotonic() - started)

    def _query(
        self,
        reads: ReadContext,
        programs: Sequence[LevelProgram],
        pending: InputMonitor,
        planned: PlannedFiles,
    ) -> bool:
        """Run one query to its end; return whether to start another one."""
        files = pending.files_per_batch()
        for source, most in self._admission.begin(files).items():
            name = self._job.plan.source(source).name
            waiting = pending.files_waiting()[source]
            self._job.events.publish(AdmissionChanged(name, most, waiting))
        with own_positions(self._job.session):
            frames = live_frames(replace(reads, files_per_batch=files, as_trees=planned.begin()))
        for program in programs[1:]:
            frames = self._level(frames, program)
        snapshot = self._job.directory.run_directory(self._run.index, "snapshot")
        # In `foreachBatch` Spark would plan it again in every micro-batch.
        messages = self._job.sinks.messages(frames, snapshot)
        failures = self._job.directory.failure_directory(self._run.index)
        with FinalFailure(self._job.session.sparkContext, failures) as final:
            query = self._start(messages)
            with cleaned_up(query.stop, "stopping the query"):
                switched = self._predecessor.switched()
                if switched is not None and not self._has_switched:
                    self._job.events.publish(switched)
                self._has_switched = True
                failpoint("live.started")
                return self._follow(query, reads, final)

    def _level(self, frames: DataFrame, program: LevelProgram) -> DataFrame:
        options = self._job.plan.options
        routes = live_routes(options.parallelism)
        payload = Payload.of(program, self._job.workers)
        backend = self._job.configuration.get(STATE_BACKEND)
        described = LevelDescription(
            payload,
            self._attempt,
            LocalCopies(backend, self._run_id, payload.digest),
            program.level,
            {route: subtask for subtask, route in enumerate(routes)},
        )
        processor = LevelProcessor(pickle.dumps(described))
        initial = None
        if self._first_state.files is not None:
            initial = initial_state(
                self._job.session,
                self._first_state.files,
                {op.uid: op.parallelism or options.parallelism for op in program.operators},
                options.parallelism,
                options.max_parallelism,
            ).groupBy("route")
        return frames.groupBy("route").transformWithState(processor, DDL, "append", "none", initial)

    def _start(self, messages: DataFrame) -> StreamingQuery:
        self._trigger_seconds = self._interval.seconds
        directory = mounted(self._job.directory.run_directory(self._run.index, "spark"))
        check_checkpoint(directory)
        writer = (
            messages.writeStream.foreachBatch(self._commit)
            .option("checkpointLocation", str(directory))
            .queryName(f"{self._run.name}-{self._run_id}")
            .trigger(processingTime=f"{self._trigger_seconds} seconds")
        )
        with query_settings(self._job.session, self._job.plan.options.parallelism):
            self._is_started.clear()
            try:
                self._running = writer.start()
            finally:
                self._is_started.set()
            return self._running

    def _commit(self, messages: DataFrame, number: int) -> None:
        """Run, stage and commit one micro-batch; called by Spark in a thread of this process."""
        started = time.monotonic()
        self._wait_while_held()
        if self._begins_anew:  # no record of the micro-batch is processed yet
            raise _MicroBatchFailedError("the query begins anew with other micro-batches")
        try:
            self._job.directory.fence()
            files = self._check_files(number)
            assert self._columns is not None, "the query is started after it"
            assert self._files is not None, "the query is started after it"
            self._columns.check(files)
            self._first_state.begin_micro_batch(number)
            snapshot = self._job.directory.run_directory(self._run.index, "snapshot")
            epoch = EpochNumber(self._run.index, number)
            staged = self._job.sinks.collect(messages, epoch)
            failpoint("live.staged")
            self._files.check_again(number)
            self._job.sinks.commit(epoch, staged)
            if staged.report.snapshot == "handover":
                hand_over = describe_hand_over(staged.report, staged.state_files)
                self._job.directory.record(f"run-{self._run.index}.hand-over", hand_over)
            self._lost.succeeded()
            self.report.merge(staged.report)
            self._interval.note(staged.report, time.time_ns() // 1_000_000)
            self._job.report_metrics(self._run.index, number, staged.report)
            if self._pending is not None:
                self._pending.note_read(number, files)
            left = PendingInput() if self._pending is None else self._pending.current
            self._progress.publish(number, staged.report, time.monotonic() - started, left)
            self._savepoints.after_commit(number, staged, snapshot)
            failpoint("live.committed")
            self._job.directory.fence()  # otherwise Spark would record the micro-batch as committed
        except _MicroBatchFailedError:
            raise
        except BaseException as cause:  # noqa: BLE001 - stored, and raised in the thread of the job
            self._failure = cause
            # Spark matches this text with a recursive pattern: a Java stack trace would overflow.
            raise _MicroBatchFailedError(type(cause).__name__) from None

    def _wait_while_held(self) -> None:
        """Wait for other pipelines if the job stops with a savepoint: nothing may become visible after it."""
        while self._savepoints.is_held:
            if self._savepoints.has_stopped or self._job.cancelled.is_set():
                raise _MicroBatchFailedError("the job was stopped with a savepoint")
            time.sleep(_POLL_SECONDS)

    def _check_files(self, number: int) -> dict[int, set[str]]:
        """Return the files a micro-batch reads; see `PlannedFiles`."""
        assert self._files is not None, "the query is started after it"
        self._is_started.wait()
        if self._running is None:
            raise _MicroBatchFailedError("the query could not be started")
        files = self._files.check(self._running, number)
        if self._files.is_due:
            raise _MicroBatchFailedError("the query begins anew and lists files as a tree")
        return files

    def _follow(self, query: StreamingQuery, reads: ReadContext, final: FinalFailure) -> bool:
        """Watch the query until it is complete, stopped or fails, or the job is cancelled.

        Returns:
            Whether to restart the query.
        """
        measurements = 0
        inputs = BoundedInputs(
            self._job.plan, self._run, reads.pinned.splits, self._control, self._outline
        )
        while not self._savepoints.has_stopped:
            if query.exception() is not None or not query.isActive:
                if self._savepoints.has_stopped:
                    return False
                if (self._begins_anew or self._lists_anew()) and self._failure is None:
                    return True
                if self._failure is not None and self._lost.is_cause_of(self._failure):
                    self._failure = None
                    self._job.sinks.recover()  # the staged output of the micro-batch
                    return True
                self._raise_failure(query, reads)
            self._job.check_cancelled()
            self._job.sinks.check_background()
            final.check()
            self._savepoints.poll()
            self._call_for_timers()
            if self._pending is not None:
                self._pending.measure(self._progress.lag_ms)
                if self._pending.measurements > measurements:
                    measurements = self._pending.measurements
                    self._progress.publish_pending(self._pending.current)
                    wanted, waiting = self._pending.files_per_batch(), self._pending.files_waiting()
                    self._admission.note(wanted, waiting)
            progress = query.lastProgress
            # A savepoint in progress precedes: it must not be in the micro-batch of the hand-over. And
            # a micro-batch has failed before its query reports so.
            may_end = self._failure is None and not self._savepoints.is_busy
            if progress is not None and may_end and inputs.complete(progress):
                return False
            if self._begins_anew and not query.status["isTriggerActive"]:
                return True  # a micro-batch that starts now detects the restart and does nothing
            time.sleep(_POLL_SECONDS)
        return False

    @property
    def _begins_anew(self) -> bool:
        """True if to restart the query: Spark fixes its trigger, and the size of its micro-batches."""
        return self._admission.is_due or self._trigger_seconds != self._interval.seconds

    def _lists_anew(self) -> bool:
        return self._files is not None and self._files.is_due

    def _call_for_timers(self) -> None:
        """Send a tick if processing-time timers of subtasks are due."""
        wanted = [due for due in list(self.report.next_calls.values()) if due is not None]
        now_ms = time.time_ns() // 1_000_000
        if wanted and min(wanted) <= now_ms and now_ms - self._last_tick_ms >= _TICK_MS:
            self._control.set_tick(now_ms)
            self._last_tick_ms = now_ms

    def _raise_failure(self, query: StreamingQuery, reads: ReadContext) -> None:
        self._job.check_cancelled()
        cause = self._failure if self._failure is not None else query.exception()
        if isinstance(cause, PenstockError):
            raise cause
        if cause is None:
            cause = RuntimeError("the query stopped by itself")
        raise read_failure(reads, cause, self._name) from cause
