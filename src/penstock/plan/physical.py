"""The physical plan: levels, channels, runs, hand-overs between runs, and the reason for each decision.

Every phase is a pure function from plan to plan. A field is empty before the phase that fills it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from penstock.config.options import RuntimeExecutionMode
from penstock.errors import CallSite
from penstock.graph.endpoints import Sink, Source
from penstock.graph.logical import LogicalGraph
from penstock.observe.notebook.card import Card, CardTable, ShownAsCard
from penstock.program.channel import ChannelSpec
from penstock.program.fold import FoldPlan
from penstock.program.level import Copies, OperatorSpec
from penstock.program.run_settings import LatencyGranularity, RunKind
from penstock.types import TypeInformation


@dataclass(frozen=True, slots=True)
class HandOver:
    """The values other than keyed state that a run passes to the next run.

    Attributes:
        watermarks: Channel to group to watermark; group -1 means every subtask.
        memory: uid to the value that the operator's `memory` returned.
    """

    watermarks: dict[int, dict[int, int]] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Redirection:
    """The place of the output of a shadow.

    Attributes:
        directory: It has a directory for each sink.
        keeps_records: Whether records are written; otherwise a count and a digest of them.
    """

    directory: str
    keeps_records: bool


@dataclass(frozen=True, slots=True)
class HistoryChoices:
    """The choices of the user about sources whose history a changed program cannot read again.

    Attributes:
        empty: Uids of the sources without history.
        tables: Uid to the path of the table that is read in the place of the history.
    """

    empty: tuple[str, ...] = ()
    tables: Mapping[str, str] = field(default_factory=dict)

    def of(self, uid: str) -> str | None:
        """Return what a source begins with, in words; None if with its own history."""
        if uid in self.empty:
            return "nothing"
        return f"the table {self.tables[uid]}" if uid in self.tables else None


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """The options of the planner.

    Attributes:
        mode_from: Layer of the configuration that decided the mode.
        backlog_as_batch: `execution.history` is `batch`, or `execution.checkpointing.interval-during-backlog` 0.
        chaining: Operators may be chained.
        default_parallelism: Number of subtasks of an operator without one of its own.
        parallelism_is_set: The program or its configuration sets it.
        force_timestamps: `pipeline.force-timestamp-support`.
        auto_watermarks: `pipeline.auto-watermark-interval` is not 0.
        drop_unused_timestamps: Channels may omit timestamps that no operator reads.
        latency_interval_ms: Least time between two latency markers; 0 sends none.
        latency_granularity: `metrics.latency.granularity`.
        latency_history: `metrics.latency.history-size`.
        sorted_inputs_bytes: `execution.sorted-inputs.memory`.
        state_ttl_ms: `table.exec.state.ttl`, None if it is 0.
        coded_rows: `table.exec.enable-coded-rowdata`.
        object_reuse: `pipeline.object-reuse`.
        verify_object_reuse: `pipeline.object-reuse.verify`.
        backlog_lag_ms: `pipeline.backlog.watermark-lag-threshold`.
        latest_in_backlog: `pipeline.backlog.output` is `latest`.
        combines: `execution.batch.combine`.
        projects: `execution.batch.expressions`.
        queries: `execution.batch.queries`.
        ignores_key_kinds: `execution.state-recovery.ignore-key-kinds`.
        makes_uids: `pipeline.auto-generate-uids`.
        backlog_share: `execution.backlog.share`.
        backlog_tasks: `execution.backlog.tasks`.
        history_parallelism: `execution.history.parallelism`.
        confirms: The job confirms read positions to logs; a job that only takes a sample does not.
        redirection: Where the sinks of a shadow write; None if the job is none.
        new_sinks_from_now: `execution.evolution.new-sinks` is `now`.
        history_choices: `execution.evolution.start-empty` and `execution.evolution.history`.
    """

    mode: RuntimeExecutionMode
    mode_from: str
    backlog_as_batch: bool
    chaining: bool
    default_parallelism: int
    parallelism: int
    max_parallelism: int
    force_timestamps: bool = True
    auto_watermarks: bool = True
    drop_unused_timestamps: bool = True
    latency_interval_ms: int = 0
    latency_granularity: LatencyGranularity = LatencyGranularity.OPERATOR
    latency_history: int | None = None
    sorted_inputs_bytes: int = 256 << 20
    state_ttl_ms: int | None = None
    coded_rows: bool = False
    state_compression: str = "none"
    object_reuse: bool = False
    verify_object_reuse: bool = False
    parallelism_is_set: bool = False
    backlog_lag_ms: int | None = None
    latest_in_backlog: bool = False
    combines: bool = True
    projects: bool = True
    queries: bool = True
    ignores_key_kinds: bool = False
    makes_uids: bool = True
    backlog_share: float = 0.5
    backlog_tasks: int | None = None
    history_parallelism: int | None = None
    confirms: bool = True
    redirection: Redirection | None = None
    new_sinks_from_now: bool = False
    history_choices: HistoryChoices = field(default_factory=HistoryChoices)


@dataclass(frozen=True, slots=True)
class Decision:
    """One choice of the planner.

    Attributes:
        subject: The job, a run, or the name of a node.
        reason: The reason, in a sentence that a user can act on.
    """

    subject: str
    choice: str
    reason: str


@dataclass(frozen=True, slots=True)
class SourcePlan:
    """One source of the job.

    Attributes:
        id: Node id.
        parts: The sources that are read one after the other: one, or those of a hybrid source.
        type_info: Type of its records.
        is_query: Whether its records are the rows of a query of the parts, which are read together.
    """

    id: int
    name: str
    parts: tuple[Source, ...]
    type_info: TypeInformation
    origin: CallSite | None
    is_query: bool = False


@dataclass(frozen=True, slots=True)
class SinkPlan:
    """One sink of the job.

    Attributes:
        index: Position among the sinks; the target of its channels.
        uid: Stable identity, safe in a file name.
    """

    index: int
    uid: str
    name: str
    sink: Sink
    type_info: TypeInformation
    origin: CallSite | None


@dataclass(frozen=True, slots=True)
class LevelPlan:
    """All operators at one exchange depth, upstream first."""

    level: int
    operators: tuple[OperatorSpec, ...]


@dataclass(frozen=True, slots=True)
class PipelinePlan:
    """A part of the job that shares no operator with the rest. Pipelines run at the same time.

    Attributes:
        index: Position among the pipelines.
        sources: Ids of its sources, in order.
        is_region: Whether it is a bounded region, which is one batch run.
        after: Pipelines that must have ended before it begins: it reads their results.
    """

    index: int
    sources: tuple[int, ...]
    is_region: bool = False
    after: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """The parts of one source that a run reads.

    Attributes:
        parts: Indexes of the parts, in order; all but the last of the source are bounded. A batch run reads
            them all, a live run each from the end of the one before.
        ends: Whether the run reaches the source's end of input.
        open_splits: Numbers of the splits of the last part that end with the run, but not for a later one.
    """

    source: int
    parts: tuple[int, ...]
    ends: bool
    open_splits: tuple[int, ...] = ()

    def is_open(self, part: int, split: int) -> bool:
        """Return whether a later run goes on with a split."""
        return part == self.parts[-1] and split in self.open_splits


@dataclass(frozen=True, slots=True)
class RunPlan:
    """One run of the job.

    Attributes:
        index: Position among the runs.
        name: `history` or `live` or `batch`; for people.
        kind: Batch or live.
        readings: The parts of sources that it reads.
        final_results_only: Rolling aggregates emit once per key.
        hands_over: Whether a later run takes over its state.
        pipeline: Index of its pipeline. Runs of one pipeline are executed in order.
        after: Indexes of runs of other pipelines that must be complete before.
    """

    index: int
    name: str
    kind: RunKind
    readings: tuple[Reading, ...]
    final_results_only: bool
    hands_over: bool
    pipeline: int = 0
    after: tuple[int, ...] = ()

    @property
    def is_bounded(self) -> bool:
        """True if the run ends by itself."""
        return self.hands_over or all(reading.ends for reading in self.readings)


@dataclass(frozen=True, slots=True)
class PlannedFold:
    """The fold plan of one operator in one run.

    Attributes:
        plan: Its places, and when it emits.
    """

    run: int
    operator: int
    plan: FoldPlan


@dataclass(frozen=True, slots=True)
class PlannedProjection:
    """An operator of expressions that Spark SQL evaluates in one run, before records are made.

    Attributes:
        run: Index of the run, a batch run.
        source: Id of the source that the operator reads.
        merged_for: Id of the operator of aggregates whose parts Spark SQL merges by key, or of their windows, by key and
            pane or session; None if it does not.
        timestamps: For windows the id of the operator before it that assigns timestamps of a column; else None.
        is_finished: Whether Spark SQL also makes the results of `merged_for`, which go straight to sinks.
    """

    run: int
    source: int
    operator: int
    merged_for: int | None = None
    timestamps: int | None = None
    is_finished: bool = False


@dataclass(frozen=True, slots=True)
class PlannedFirstRows:
    """Rows of a source of which Spark SQL leaves the first ones of each key in one run, for an operator that keeps these.

    Attributes:
        run: Index of the run, a batch run.
        keys: Positions of the columns of the key in its rows.
        timestamps: Id of the operator before it that assigns timestamps of a column; None if there is none.
        expressions: Id of the operator of expressions behind that one, whose results it reads; None if there is none, or
            if Spark SQL evaluates it.
    """

    run: int
    source: int
    operator: int
    keys: tuple[int, ...]
    timestamps: int | None = None
    expressions: int | None = None


@dataclass(frozen=True, slots=True)
class PhysicalPlan(ShownAsCard):
    """The whole plan. Equality is structural.

    Attributes:
        mode: The mode in force, after AUTOMATIC was resolved.
        sources: In order of id.
        sinks: In order of index.
        levels: In order; empty levels do not occur, except level 0 of a job without
            operators.
        channels: In order of id.
        source_operators: Source id to the operators that read it.
        source_channels: Source id to the channels it feeds directly.
        pipelines: In order of index; those that others read come before these.
        runs: Pipeline by pipeline, in order of execution.
        exact_subtasks: Whether results depend on the number of subtasks, so that a batch run has as
            many tasks per level.
        is_timeless: The job runs without timestamps and watermarks (FLIP-330).
        untimed_sources: Sources whose timestamps are dropped.
        source_copies: Source id to the copies that its readers get.
        folds: One fold plan per run and operator that folds.
        projections: The operators that Spark SQL evaluates, by run.
        first_rows: The sources of which it leaves the first rows of each key, by run.
        decisions: All decisions, in order.
        digests: Id of an operator's object to it and the digest of its functions, as far as they were computed.
        program: The graph of the user, which phases do not change.
    """

    graph: LogicalGraph
    options: PlanOptions
    mode: RuntimeExecutionMode | None = None
    sources: tuple[SourcePlan, ...] = ()
    sinks: tuple[SinkPlan, ...] = ()
    levels: tuple[LevelPlan, ...] = ()
    channels: tuple[ChannelSpec, ...] = ()
    source_operators: tuple[tuple[int, tuple[int, ...]], ...] = ()
    source_channels: tuple[tuple[int, tuple[int, ...]], ...] = ()
    pipelines: tuple[PipelinePlan, ...] = ()
    runs: tuple[RunPlan, ...] = ()
    exact_subtasks: bool = False
    is_timeless: bool = False
    untimed_sources: tuple[int, ...] = ()
    source_copies: tuple[tuple[int, Copies], ...] = ()
    folds: tuple[PlannedFold, ...] = ()
    projections: tuple[PlannedProjection, ...] = ()
    first_rows: tuple[PlannedFirstRows, ...] = ()
    decisions: tuple[Decision, ...] = ()
    digests: dict[int, tuple[OperatorSpec, bytes]] = field(
        default_factory=dict, compare=False, repr=False
    )
    program: LogicalGraph | None = field(default=None, compare=False, repr=False)
    _sources_by_id: dict[int, SourcePlan] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Have sources at hand by their ids."""
        object.__setattr__(self, "_sources_by_id", {source.id: source for source in self.sources})

    def history_tasks(self, run: RunPlan) -> int | None:
        """Return the number of tasks per level of a batch run that reads history, if it has one of its own."""
        is_history = run.kind is RunKind.BATCH and run.hands_over
        return self.options.history_parallelism if is_history else None

    def backlog_sources(self, run: RunPlan) -> frozenset[int]:
        """Return the sources of a pipeline that process backlog at the begin of a run (FLIP-309).

        A source does while it has further parts, and while a later run reads history of it. Results of the
        bounded region are always backlog (FLIP-331 §5.3).
        """
        runs = self.runs_of(run.pipeline)
        next_readings: dict[int, int] = {}
        for later_run in runs[runs.index(run) :]:
            position = 0 if later_run.kind is RunKind.LIVE else -1
            for reading in later_run.readings:
                next_readings.setdefault(reading.source, reading.parts[position])
        return frozenset(
            source
            for source, part in next_readings.items()
            if part < len(self.source(source).parts) - 1
            or self.source(source).parts[0].gives_results
        )

    def backlog_behind(self, run: RunPlan) -> frozenset[int]:
        """Return the sources whose backlog does not end with a run that hands over."""
        runs = self.runs_of(run.pipeline)
        later = runs[runs.index(run) + 1 :]
        return self.backlog_sources(later[0]) if later else frozenset()

    @property
    def mode_text(self) -> str:
        """The mode in force, for people, and whether the job is mixed."""
        if self.mode is None:
            return "undecided"
        is_mixed = {run.kind for run in self.runs} == set(RunKind)
        return (
            f"{self.mode.name}, mixed (history as a batch, then live)"
            if is_mixed
            else self.mode.name
        )

    def _card(self) -> Card:
        facts = {
            "mode": self.mode_text,
            "parallelism": self.options.parallelism,
            "key groups": self.options.max_parallelism,
        }
        sources = {source.id: source.name for source in self.sources}
        runs = [
            (
                run.name,
                run.kind.value,
                ", ".join(sources[reading.source] for reading in run.readings),
            )
            for run in self.runs
        ]
        operators = [
            (level.level, operator.name, operator.kind.name.lower(), operator.uid)
            for level in self.levels
            for operator in level.operators
        ]
        sinks = [(sink.name, sink.sink.describe(), sink.type_info) for sink in self.sinks]
        decisions = [
            (decision.subject, decision.choice, decision.reason) for decision in self.decisions
        ]
        return Card(
            "plan",
            facts,
            tables=(
                CardTable("runs", ("run", "kind", "reads"), runs),
                CardTable("operators", ("level", "operator", "kind", "uid"), operators),
                CardTable("sinks", ("sink", "writes", "type"), sinks),
                CardTable("decisions", ("of", "choice", "because"), decisions),
            ),
        )

    def pipeline_of(self, run: RunPlan) -> PipelinePlan:
        """Return the pipeline of a run."""
        return self.pipelines[run.pipeline]

    def runs_of(self, pipeline: int) -> tuple[RunPlan, ...]:
        """Return the runs of a pipeline, in order."""
        return tuple(run for run in self.runs if run.pipeline == pipeline)

    def sources_recorded_by(self, pipeline: int) -> tuple[SourcePlan, ...]:
        """Return the sources that a pipeline adds to a savepoint: its own, and those of bounded regions.

        Regions are complete by then, and add nothing themselves.
        """
        others = {
            source
            for other_pipeline in self.pipelines
            if other_pipeline.index != pipeline and not other_pipeline.is_region
            for source in other_pipeline.sources
        }
        return tuple(source for source in self.sources if source.id not in others)

    def with_parts(self, changed: Callable[[Source], Source]) -> PhysicalPlan:
        """Return the plan with other parts of sources."""
        sources = tuple(
            replace(source, parts=tuple([changed(part) for part in source.parts]))
            for source in self.sources
        )
        return replace(self, sources=sources)

    def source(self, source_id: int) -> SourcePlan:
        """Return one source."""
        return self._sources_by_id[source_id]
