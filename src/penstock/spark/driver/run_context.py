"""The context of batch runs and live runs: the job, its directory, its sinks, and calls that can be cancelled."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from pyspark.sql import SparkSession

from penstock.config.configuration import Configuration, job_parameters
from penstock.config.options import FRAME_RECORDS
from penstock.errors import JobCancelledError
from penstock.filesystem.store_settings import StoreSettings
from penstock.graph.endpoints import Source
from penstock.graph.source_switch import SourceSwitch, as_switched
from penstock.metrics.job_metrics import JobMetrics
from penstock.metrics.profile import WALL
from penstock.metrics.task_facts import TaskFacts
from penstock.observe.events.job_events import MetricsReported
from penstock.observe.events.listeners import JobEvents
from penstock.plan.physical import HandOver, PhysicalPlan, RunPlan
from penstock.plan.placement.expressions import with_projections
from penstock.plan.programs import programs_of
from penstock.program.channel import SINK_LEVEL
from penstock.program.level import LevelProgram
from penstock.runtime.task.report import Report
from penstock.spark.driver.restored import Restored
from penstock.spark.driver.sink_stage import SinkStage
from penstock.spark.driver.switches import switch_behind
from penstock.spark.job.job_directory import JobDirectory
from penstock.spark.job.run_outline import Began, begun_with
from penstock.spark.job.state_layout import StateLayout
from penstock.spark.sources.pinned_files import PinnedFiles, check_unchanged
from penstock.spark.sources.read_context import Pinned, ReadContext
from penstock.spark.sources.source_row import PinnedPart, Pinning
from penstock.spark.sources.table import files_of, row_of
from penstock.spark.worker.worker_environment import WorkerEnvironment
from penstock.wire import user_code

_POLL_SECONDS = 0.05

T = TypeVar("T")


def until_cancelled(call: Callable[[], T], check: Callable[[], None]) -> T:
    """Return the result of a call that is made in another thread.

    If the job is cancelled, the thread goes on alone: no caller waits for it, not even the end of the process.
    """
    caller = _idle_caller()
    caller.calls.put(call)
    try:
        result, failure = caller.answer(check)
    except BaseException:
        caller.is_abandoned = True
        raise
    _idle.append(caller)
    if failure is not None:
        raise failure
    answer: T = result
    return answer


class _Caller:
    """A thread that makes calls, one after the other. Starting one for each cost an idle job most of its CPU."""

    def __init__(self) -> None:
        self.calls: SimpleQueue[Callable[[], Any]] = SimpleQueue()
        self.is_abandoned = False
        self._answers: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        threading.Thread(target=self._run, name="penstock-source", daemon=True).start()

    def answer(self, check: Callable[[], None]) -> tuple[Any, BaseException | None]:
        """Return the result of the requested call, or the exception that it raised."""
        while True:
            try:
                return self._answers.get(timeout=_POLL_SECONDS)
            except Empty:
                check()

    def _run(self) -> None:
        while not self.is_abandoned:
            call = self.calls.get()
            answer: tuple[Any, BaseException | None]
            try:
                answer = call(), None
            except BaseException as cause:  # noqa: BLE001 - the caller raises it again
                answer = None, cause
            self._answers.put(answer)
            del call, answer  # the thread waits: it must not keep them alive


_idle: deque[_Caller] = deque()
"""Callers whose last call has returned, of all jobs of the process."""


def _idle_caller() -> _Caller:
    """Return an idle caller."""
    try:
        return _idle.pop()
    except IndexError:
        return _Caller()


@dataclass(slots=True)
class JobContext:
    """One job in this driver, or one pipeline of it.

    Attributes:
        cancelled: Set when the job should stop.
        restored: The part of the savepoint that the job took over; None without savepoint.
        earlier: Progress in files before this run, by (source id, part index).
        metrics: Metrics that were reported and committed in this process.
        facts: Facts in these metrics about subtasks, state and sinks.
        attempt: Number of restarts of the job in this process.
        counted: Index of a run to the last of its epochs that is in the metrics.
        workers: Files that the job ships beside its program; None without any.
        pool: Spark's scheduler pool of the pipeline; None is the default.
        stopped: Time at which this process stopped the job whose state this one takes over, on the monotonic clock.
        object_settings: Spark's addresses and logins of stores; None takes those of the environment.
    """

    session: SparkSession
    plan: PhysicalPlan
    configuration: Configuration
    directory: JobDirectory
    sinks: SinkStage
    cancelled: threading.Event
    events: JobEvents
    restored: Restored | None = None
    earlier: dict[tuple[int, int], PinnedFiles] = field(default_factory=dict)
    metrics: JobMetrics = field(default_factory=JobMetrics)
    facts: TaskFacts = field(default_factory=TaskFacts)
    attempt: int = 0
    counted: dict[int, int] = field(default_factory=dict)
    workers: WorkerEnvironment | None = None
    pool: str | None = None
    stopped: float | None = None
    object_settings: StoreSettings | None = None

    def rescaled(
        self,
        configuration: Configuration,
        plan: PhysicalPlan,
        sinks: SinkStage,
        restored: Restored | None,
    ) -> JobContext:
        """Return the context with which the job goes on with other subtasks; counts and metrics go on."""
        self.facts.forget_subtasks()
        return replace(
            self,
            configuration=configuration,
            plan=plan,
            sinks=sinks,
            restored=restored,
            earlier={},
            attempt=self.attempt + 1,
        )

    def of_pipeline(self, pipeline: int, cancelled: threading.Event) -> JobContext:
        """Return the context of one pipeline; pipelines share all but what runs add to."""
        if len(self.plan.pipelines) == 1:
            return replace(self, cancelled=cancelled, earlier=dict(self.earlier))
        sources = {*self.plan.pipelines[pipeline].sources}
        sinks = {
            channel.target_operator
            for channel in self.plan.channels
            if channel.target_level == SINK_LEVEL and sources.issuperset(channel.sources)
        }
        return replace(
            self,
            cancelled=cancelled,
            earlier=dict(self.earlier),
            restored=self.restored
            and self.restored.of_sources(
                {source.id for source in self.plan.sources_recorded_by(pipeline)}
            ),
            sinks=self.sinks.restricted_to(sinks),
            events=replace(self.events, pipeline=str(pipeline)),
            pool=f"penstock-{self.directory.job_id}-{pipeline}",
        )

    @property
    def layout(self) -> StateLayout:
        """The layout of the state that the job stores now."""
        return StateLayout.of(self.plan, self.directory.fingerprint)

    @property
    def source_names(self) -> dict[int, str]:
        """Source id to name."""
        return {source.id: source.name for source in self.plan.sources}

    def began_before(self, run: RunPlan) -> Began:
        """Return the splits with which earlier runs of the pipeline, or the jobs before, began to read parts."""
        known = {} if self.restored is None else self.restored.began
        before = [other for other in self.plan.runs_of(run.pipeline) if other.index < run.index]
        records = (self.directory.step(_step(other)) for other in before)
        return begun_with(known, [Pinned.from_json(step) for step in records if step is not None])

    def remember_read(self, files: dict[tuple[int, int], PinnedFiles]) -> None:
        """Add to what was read of files."""
        for key, more in files.items():
            known = self.earlier.get(key, PinnedFiles({}, ""))
            schema = more.schema or known.schema
            self.earlier[key] = PinnedFiles(known.files | more.files, schema)

    def report_metrics(self, run: int, epoch: int, report: Report) -> None:
        """Add the report of a committed batch run or micro-batch, and notify listeners.

        It counts an epoch once, also if a restarted job commits it again.
        """
        if epoch <= self.counted.get(run, -1):
            return
        self.counted[run] = epoch
        metrics = self.metrics
        metrics.add(report.metrics, report.state, {**report.times, WALL: metrics.lap_ns()})
        names = self.source_names
        read = Counter[str]()
        for source, count in report.source_records.items():
            read[names[source]] += count
        metrics.add_records(report.operator_records, read)
        self._add_facts(run, report)
        facts = self.facts.facts()
        self.events.publish(
            MetricsReported(
                metrics.metrics(),
                metrics.state(),
                metrics.seconds(),
                metrics.operator_records(),
                metrics.source_records(),
                facts.subtasks,
                facts.state_keys,
                facts.state_bytes,
                facts.sinks,
            )
        )

    def _add_facts(self, run: int, report: Report) -> None:
        """Add what is only shown."""
        plan, facts = self.plan, self.facts
        levels = {op.uid: level.level for level in plan.levels for op in level.operators}
        facts.add_records(run, report.subtask_records)
        facts.add_state(report.state_keys, report.state_log_bytes, report.state_written, levels)
        facts.add_sinks(
            {plan.sinks[sink].uid: count for sink, count in report.sink_records.items()},
            {plan.sinks[sink].uid: cost for sink, cost in report.commits.items()},
        )

    def check_cancelled(self) -> None:
        """Stop here if the job was cancelled."""
        if self.cancelled.is_set():
            raise JobCancelledError(
                "the job was cancelled", hint="Start the same command again to resume it."
            )

    def programs(
        self, run: RunPlan, tasks: int, handed: HandOver, pinned: Pinned
    ) -> tuple[LevelProgram, ...]:
        """Return the programs of a run."""
        _check_shippable(self.plan)
        programs = programs_of(
            self.plan,
            run,
            tasks=tasks,
            max_frame_records=self.configuration.get(FRAME_RECORDS),
            handed=handed,
            job_parameters=job_parameters(self.configuration),
            open_splits=pinned.open_splits(),
        )
        attempted = (
            replace(program, settings=replace(program.settings, attempt=self.attempt))
            for program in programs
        )
        return with_projections(self.plan, run, tuple(attempted))

    def read_context(
        self, run: RunPlan, programs: tuple[LevelProgram, ...], pinned: Pinned
    ) -> ReadContext:
        """Return the read context of a run."""
        return ReadContext(
            session=self.session,
            plan=self.plan,
            run=run,
            program=programs[0],
            levels=len(programs),
            pinned=pinned,
            earlier=self.earlier,
            read_frames=frozenset() if self.restored is None else self.restored.read_frames,
            directory=self.directory.path / f"run-{run.index}",
            configuration=self.configuration,
            workers=self.workers,
            fence=self.directory.fence,
            patiently=self.patiently,
        )

    def patiently(self, call: Callable[[], T]) -> T:
        """Return the result of a call of the user's that may block, unless the job is cancelled meanwhile."""
        return until_cancelled(call, self.check_cancelled)

    def pin(self, run: RunPlan) -> Pinned:
        """Pin the input of a run, or return the pinned input of an earlier driver."""
        step = _step(run)
        if self.directory.step(step) is None:
            self.directory.record(step, self._decide(run))
        pinned = self.pinned_by(run)
        self.check_pinned(run, pinned)
        return pinned

    def pinned_by(self, run: RunPlan) -> Pinned:
        """Return the pinned input of a run that has begun, without checking files."""
        recorded = self.directory.step(_step(run))
        assert recorded is not None, f"run {run.index} was pinned before it began"
        pinned = Pinned.from_json(recorded)
        for key, switch in self._known_switches().items():
            if any(
                key[0] == reading.source and key[1] in reading.parts for reading in run.readings
            ):
                self._make_source(key, switch)
        return pinned

    def check_pinned(self, run: RunPlan, pinned: Pinned) -> None:
        """Compare pinned files with the current ones."""
        for (source, part), files in pinned.files.items():
            described = files_of(self.plan.source(source).parts[part])
            if described is not None:
                check_unchanged(self.session, described, files)

    def _decide(self, run: RunPlan) -> dict[str, Any]:
        files: dict[str, Any] = {}
        splits: dict[str, Any] = {}
        names: dict[str, Any] = {}
        switches = self._known_switches()
        restored = self.restored
        goes_on = restored is not None and run.index in restored.goes_on
        for reading in run.readings:
            for part in reading.parts:
                name, key = f"{reading.source}.{part}", (reading.source, part)
                if key in switches:
                    self._make_source(key, switches[key])
                source = self.plan.source(reading.source)
                if restored is not None and goes_on and key in restored.splits | restored.left:
                    left, named = restored.left.get(key), restored.names.get(key)
                    pinned_part = PinnedPart(restored.splits.get(key), left, named)
                elif restored is not None and goes_on and restored.has_passed(*key):
                    pinned_part = _passed(source.parts[part], restored.read.get(key))
                else:
                    parallelism = self.plan.options.parallelism
                    pinning = Pinning(
                        self.session,
                        parallelism,
                        source.origin,
                        self.patiently,
                        self.configuration,
                    )
                    pinned_part = row_of(source.parts[part]).pin(pinning, source.parts[part])
                if pinned_part.splits is not None:
                    splits[name] = pinned_part.splits
                if pinned_part.files is not None:
                    files[name] = pinned_part.files.to_json()
                if pinned_part.names is not None:
                    names[name] = pinned_part.names
                switch = self._switch_behind(key, pinned_part)
                if switch is not None:
                    switches[reading.source, part + 1] = switch
        # All that is known, not only what this run needs: a savepoint of the run has it from here.
        read = {reading.source for reading in run.readings}
        of_run = {
            f"{of}.{index}": decided.to_json()
            for (of, index), decided in switches.items()
            if of in read
        }
        more = {"names": names, "switches": of_run}
        return {"files": files, "splits": splits, **{key: of for key, of in more.items() if of}}

    def _switch_behind(self, key: tuple[int, int], pinned: PinnedPart) -> SourceSwitch | None:
        """Return the switch behind a part of a source; None if the next one is not made there.

        It is decided with the input of the part, so that a savepoint has it, whatever was read by then.
        """
        parts, after = self.plan.source(key[0]).parts, (key[0], key[1] + 1)
        if self.restored is not None and after in self.restored.switches:
            return self.restored.switches[after]
        later = as_switched(parts[after[1]]) if after[1] < len(parts) else None
        if later is None:
            return None
        part, columns, origin = parts[key[1]], later.switch_columns, later.origin
        return self.patiently(lambda: switch_behind(self.session, part, pinned, columns, origin))

    def _known_switches(self) -> dict[tuple[int, int], SourceSwitch]:
        """Return the switches that were decided, by (source id, part)."""
        parts = (part for source in self.plan.sources for part in source.parts)
        if not any(map(as_switched, parts)):
            return {}
        known = {} if self.restored is None else dict(self.restored.switches)
        for run in self.plan.runs:
            recorded = self.directory.step(_step(run))
            known |= {} if recorded is None else Pinned.from_json(recorded).switches
        return known

    def _make_source(self, key: tuple[int, int], switch: SourceSwitch) -> None:
        """Replace the part that is made at a switch by its source, unless that was done."""
        later = as_switched(self.plan.source(key[0]).parts[key[1]])
        if later is not None and later.decided is None:
            switched = later.made(switch)
            self.plan = self.plan.with_parts(lambda part: switched if part is later else part)


def _passed(part: Source, read: PinnedFiles | None) -> PinnedPart:
    """Return the input of a part of which nothing is left, with the columns that its files had."""
    positioned = part.as_split
    if positioned is None:
        return PinnedPart(files=PinnedFiles({}, "" if read is None else read.schema))
    return PinnedPart([], names=() if positioned.is_log else None)


def _check_shippable(plan: PhysicalPlan) -> None:
    """Refuse functions that cannot be pickled. It pickles them one by one, to name the function."""
    for level in plan.levels:
        for op in level.operators:
            code = (op.function, op.key_selectors, op.timestamps, op.async_io)
            user_code.dump(code, f"operator {op.name!r}", op.origin)


def _step(run: RunPlan) -> str:
    return f"run-{run.index}.pinned"
