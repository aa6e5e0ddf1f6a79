"""A batch run: one Spark job over history, whose last stage stages the output, its progress, and its number of partitions.

A task counts the records that it makes. Spark SQL may drop or merge records before, by conditions, aggregates or
whole queries; only Spark counts those, as the metric of the nodes of its plan that read:

    sinks, levels: MapInArrow … ── Union ─┬─ MapInArrow ── aggregate ── scan 60,000,000 rows      part 0 of the union
                                          └─ MapInArrow ── scan of ranges                         part 1
"""

from __future__ import annotations

import base64
import logging
import pickle
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pyspark import SparkContext
from pyspark.accumulators import Accumulator
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from penstock.api.environment.job import RunSummary
from penstock.connectors.spark_source import SparkSource
from penstock.errors import PenstockError
from penstock.failpoint import failpoint
from penstock.graph.endpoints import EpochNumber
from penstock.metrics.values import CounterValue
from penstock.observe.events.job_events import BatchProgress
from penstock.plan.phases.pipelines import most_tasks
from penstock.plan.physical import HandOver, PhysicalPlan, RunPlan
from penstock.runtime.spill.spill_space import SPILLED_BYTES, SPILLED_FILES
from penstock.runtime.task.report import Report
from penstock.spark.driver.confirmations import Confirmations, ends_read, logs_read
from penstock.spark.driver.lost_output import LostOutput
from penstock.spark.driver.run_context import JobContext
from penstock.spark.driver.sink_stage import StagedEpoch
from penstock.spark.failures.final_failures import FinalFailure
from penstock.spark.failures.known_failures import java_causes
from penstock.spark.job.hand_over import describe_hand_over
from penstock.spark.job.state_layout import StateLayout
from penstock.spark.session.job_settings import plan_with_partitions
from penstock.spark.sources.bad_records import read_failure
from penstock.spark.sources.line_reads import LINES_NAMES
from penstock.spark.sources.read_context import Pinned, ReadContext
from penstock.spark.sources.source_reads import batch_frames, fewer_rows
from penstock.spark.worker.frames import DDL
from penstock.spark.worker.level_tasks import BatchLevelTask, make_batch_costs
from penstock.spark.worker.payload import Payload
from penstock.spark.worker.sink_task import MESSAGE_DDL
from penstock.user_failure import words_of

_POLL_SECONDS = 0.2
_COUNT_SECONDS = 1.0
"""Time between two questions to Spark's store of stages."""


class ProgressThread(threading.Thread):
    """Watches Spark's tasks, publishes progress, and cancels the job on request or on a final failure."""

    def __init__(
        self, job: JobContext, run: int, final: FinalFailure, lines_read: Accumulator[int] | None
    ) -> None:
        """Begin a group of Spark jobs: those that this thread begins from now on."""
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


_MERGED_BYTES = 32 << 20
"""Size of the files whose records are merged at once."""

_EXCHANGE = "Exchange"
"""Part of the names of nodes of physical plans that exchange rows, or read exchanged ones again."""


def merge_partitions(plan: PhysicalPlan, run: RunPlan, pinned: Pinned, tasks: int) -> int | None:
    """Return the number of partitions, a multiple of the number of tasks; None without exchange, or if Spark chooses.

    Spark chooses if a DataFrame of the program has exchanges of its own, because it may have statistics about them.
    """
    has_queries = any(plan.source(reading.source).is_query for reading in run.readings)
    if not has_queries and not merges_by_key(plan, run):
        return None
    size_bytes = 0
    for reading in run.readings:
        for number in reading.parts:
            part, files = (
                plan.source(reading.source).parts[number],
                pinned.files.get((reading.source, number)),
            )
            if files is not None:
                size_bytes += sum(size for size, _ in files.files.values())
            elif isinstance(part, SparkSource):
                estimated = _scanned_bytes(part.dataframe)
                if estimated is None:
                    return None
                size_bytes += estimated
    return tasks * max(1, size_bytes // (tasks * _MERGED_BYTES))


def merges_by_key(plan: PhysicalPlan, run: RunPlan) -> bool:
    """Return whether Spark SQL merges parts of aggregates by key in a run, or leaves the first rows of keys."""
    merging = (
        projection.run for projection in plan.projections if projection.merged_for is not None
    )
    return run.index in {*merging, *(rows.run for rows in plan.first_rows)}


def _scanned_bytes(frame: DataFrame) -> int | None:
    """Return Spark's estimate of the size of a DataFrame, None if it has exchanges."""
    planned = frame._jdf.queryExecution()  # noqa: SLF001 - Python shows plans as text only
    if _EXCHANGE in str(planned.executedPlan().toString()):
        return None
    return int(str(planned.optimizedPlan().stats().sizeInBytes()))


# FLIP-327, rule 5.
class BatchRun:
    """Executes one batch run of a job.

    Attributes:
        report: The merged report of its tasks; empty until the run is complete.
    """

    def __init__(self, job: JobContext, run: RunPlan) -> None:
        self._job = job
        self._run = run
        self.report = Report()
        cores = job.session.sparkContext.defaultParallelism
        self._most_tasks = most_tasks(job.plan, run, cores)
        own, usual = job.plan.history_tasks(run), job.plan.options.parallelism
        if not job.plan.exact_subtasks:
            usual = max(cores, usual)
            usual = min(usual, self._most_tasks or usual)
        self._tasks = min(own or usual, job.plan.options.max_parallelism)
        self._epoch = EpochNumber(run.index, is_whole_run=True)

    def execute(self) -> RunSummary:
        """Execute the run, or finish the run of an earlier driver."""
        started = time.monotonic()
        recorded = self._job.directory.step(f"run-{self._run.index}.staged")
        if recorded is None:
            recorded = self._stage()
        staged = self._staged_from(recorded)
        self._job.sinks.commit(self._epoch, staged)
        failpoint("batch.committed")
        self._confirm()
        self.report = staged.report
        self._job.report_metrics(self._run.index, 0, staged.report)
        self._log_spilled(staged.report)
        records = staged.report.records_read
        layout = StateLayout.from_json(recorded["layout"])
        done = {
            **describe_hand_over(staged.report, staged.state_files, layout),
            "records": records,
        }
        self._job.directory.record(f"run-{self._run.index}.done", done)
        failpoint("batch.done")
        seconds = time.monotonic() - started
        return RunSummary(self._run.name, "batch", records, seconds)

    def _confirm(self) -> None:
        """Confirm the positions that the run has read to the logs."""
        job, pinned = self._job, self._job.pinned_by(self._run)
        logs = logs_read(job.plan, pinned)
        with Confirmations(job.events, logs, job.check_cancelled) as confirmations:
            confirmations.note(ends_read(pinned))

    def _log_spilled(self, report: Report) -> None:
        """Log the spilling of workers in the driver, where a user sees it."""
        files, size = (
            sum(
                value.count
                for name, value in report.metrics.items()
                if name.endswith(f".{end}") and isinstance(value, CounterValue)
            )
            for end in (SPILLED_FILES, SPILLED_BYTES)
        )
        if files:
            _logger.info(
                "run %d (%s): key groups that did not fit in %d bytes spilled %d bytes to %d files",
                self._run.index,
                self._run.name,
                self._job.plan.options.sorted_inputs_bytes,
                size,
                files,
            )

    def _stage(self) -> dict[str, Any]:
        job, run = self._job, self._run
        pinned = job.pin(run)
        failpoint("batch.pinned")
        lost = LostOutput(job.events)
        while True:
            try:
                staged = self._attempt(pinned)
            except PenstockError as failure:
                if not lost.is_cause_of(failure):
                    raise
            else:
                break
            job.sinks.recover()  # the staged output of the attempt
        failpoint("batch.ran")
        job.check_pinned(run, pinned)
        recorded = self._staged_to(staged)
        job.directory.record(f"run-{run.index}.staged", recorded)
        failpoint("batch.staged")
        return recorded

    def _staged_to(self, staged: StagedEpoch) -> dict[str, Any]:
        """Return the form to record; it has pickles, because committables are objects of sinks."""
        packed = pickle.dumps((staged.committables, staged.report), 5)
        return {
            "committed": base64.b64encode(packed).decode(),
            "digest": self._job.directory.digest_of(packed),
            "state_files": staged.state_files,
            "layout": self._job.layout.to_json(),
        }

    def _staged_from(self, recorded: dict[str, Any]) -> StagedEpoch:
        packed = base64.b64decode(recorded["committed"])
        name = f"run-{self._run.index}.staged.json"
        self._job.directory.check_digest(packed, recorded.get("digest"), name)
        committables, report = pickle.loads(packed)
        assert isinstance(report, Report)
        return StagedEpoch(committables, recorded["state_files"], report)

    def _attempt(self, pinned: Pinned) -> StagedEpoch:
        job, run = self._job, self._run
        job.directory.forget_run_files(run.index, "snapshot")
        snapshot = job.directory.run_directory(run.index, "snapshot")
        programs = job.programs(run, self._tasks, HandOver(), pinned)
        times = make_batch_costs(job.session.sparkContext)
        reads = replace(
            job.read_context(run, programs, pinned),
            most_tasks=self._most_tasks,
            lines_read=job.session.sparkContext.accumulator(0),
        )
        sinks = job.sinks.task(snapshot)
        partitions = merge_partitions(job.plan, run, pinned, self._tasks)
        levels = [
            BatchLevelTask(Payload.of(program, job.workers), times) for program in programs[1:]
        ]
        frames_pass_levels = False
        if not levels:
            messages = batch_frames(reads, times, sinks)
        elif programs[1].is_local and partitions == self._tasks:
            (behind,) = levels
            messages = batch_frames(replace(reads, behind=behind), times, sinks)
        else:
            frames_pass_levels = True
            frames = batch_frames(reads, times)
            *others, last = levels
            for level in others:
                frames = self._exchanged(frames).mapInArrow(level, DDL)
            task = replace(sinks, last_level=last)
            messages = self._exchanged(frames).mapInArrow(task, MESSAGE_DDL)
        if partitions is not None:
            # To adapt costs a job per exchange. It pays for joins, whose sizes Spark cannot estimate before.
            plan_with_partitions(messages, partitions, adapts=not merges_by_key(job.plan, run))
        staged = self._run_spark_job(reads, messages)
        depth = len(levels) + 1 if frames_pass_levels else 1
        staged.report.source_records |= scanned_records(messages, fewer_rows(reads), depth)
        staged.report.merge(Report(times=times.value))
        return staged

    def _exchanged(self, frames: DataFrame) -> DataFrame:
        """Exchange frames: each task gets one key group after the other, in order of writing."""
        groups = self._job.plan.options.max_parallelism
        destination = sf.expr(
            f"IF(route < 0, CAST((-route - 1) % {self._tasks} AS INT), CAST(route * {self._tasks} DIV {groups} AS INT))"
        )
        return frames.repartitionById(self._tasks, destination).sortWithinPartitions(
            "route", "frame"
        )

    def _run_spark_job(self, reads: ReadContext, messages: DataFrame) -> StagedEpoch:
        failures = self._job.directory.failure_directory(self._run.index)
        with FinalFailure(self._job.session.sparkContext, failures) as final:
            tracker = ProgressThread(self._job, self._run.index, final, reads.lines_read)
            tracker.start()
            try:
                return self._job.sinks.collect(messages, self._epoch)
            except Exception as cause:
                self._job.check_cancelled()
                final.check()
                name = f"run {self._run.index} ({self._run.name})"
                raise read_failure(reads, cause, name) from cause
            finally:
                tracker.finish()


_logger = logging.getLogger("penstock")

_CALL = "MapInArrow"
_ROWS = "numOutputRows"
_ROWS_OF_CALL = "pythonNumRowsReceived"
_INNER = {
    "AdaptiveSparkPlan": "executedPlan",
    "ShuffleQueryStage": "plan",
    "BroadcastQueryStage": "plan",
    "TableCacheQueryStage": "plan",
    "ResultQueryStage": "plan",
}
"""Names of nodes without children to the method that returns the plan they stand for."""


def scanned_records(
    messages: DataFrame, sources: Sequence[int | None], depth: int
) -> dict[int, int]:
    """Return source to the rows that Spark has read of it.

    Rows that Spark reads twice, because a stage is repeated, count twice. A source is left out if a node that reads it does not count.
    """
    if not any(source is not None for source in sources):
        return {}
    parts = list(_calls(_executed(messages), depth))
    if len(parts) != len(sources):
        _logger.warning(
            "the counts of records that Spark has read are missing: its plan has an unknown form"
        )
        return {}
    totals: dict[int, int] = {}
    for source, part in zip(sources, parts, strict=True):
        if source is None:
            continue
        counts = list(_counts(part))
        if None not in counts:
            totals[source] = totals.get(source, 0) + sum(filter(None, counts))
    return totals


def _executed(messages: DataFrame) -> Any:
    plan: Any = messages._jdf.queryExecution().executedPlan()  # noqa: SLF001
    return plan


def _calls(node: Any, depth: int) -> Iterator[Any]:
    """Yield the calls of Python at a depth, from left to right."""
    left = depth - (node.nodeName() == _CALL)
    if left == 0:
        yield node
        return
    for child in _children(node):
        yield from _calls(child, left)


def _counts(part: Any) -> Iterator[int | None]:
    """Yield the number of records that each node of a plan has read. Each step is a call to the JVM."""
    for child in _children(part):
        if child.nodeName() == _CALL and _reads_lines(child):
            yield _metric(child, _ROWS_OF_CALL)
        elif child.children().isEmpty() and child.nodeName() not in _INNER:
            yield _metric(child, _ROWS)
        else:
            yield from _counts(child)


def _reads_lines(call: Any) -> bool:
    given = call.child().output()
    return [given.apply(index).name() for index in range(given.size())] == LINES_NAMES


def _children(node: Any) -> list[Any]:
    inner = _INNER.get(node.nodeName())
    if inner is not None:
        return [getattr(node, inner)()]
    children = node.children()
    return [children.apply(index) for index in range(children.size())]


def _metric(node: Any, name: str) -> int | None:
    metric = node.metrics().get(name)
    return int(metric.get().value()) if metric.isDefined() else None
