"""Programs: what one level runs, as frozen values.

The planner writes programs, a worker turns them into operators. A program knows nothing of
Spark; `cloudpickle` carries it to the workers because it holds user functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from penstock.errors import CallSite
from penstock.state.compression import Compression
from penstock.state.state_format import StateFormat
from penstock.types import TypeInformation
from penstock.types.async_spec import AsyncSpec
from penstock.types.combine_spec import CombineSpec
from penstock.types.interval_spec import IntervalSpec
from penstock.types.join_spec import JoinSpec
from penstock.types.latency_marker import OperatorId
from penstock.types.partitioner import Partitioner
from penstock.types.watermark_generator import WatermarkGenerator
from penstock.types.window_spec import WindowSpec

SINK_LEVEL = 255
"""Target level of what goes to the sink stage behind the last level: the records of sinks,
state and reports."""


class OperatorKind(Enum):
    """What an operator does; `runtime.operators.OPERATORS` has one class per member."""

    MAP = auto()
    FLAT_MAP = auto()
    FILTER = auto()
    PROCESS = auto()
    TIMESTAMPS = auto()
    ASYNC = auto()
    KEYED_ASYNC = auto()
    KEYED_MAP = auto()
    KEYED_FLAT_MAP = auto()
    KEYED_FILTER = auto()
    KEYED_REDUCE = auto()
    KEYED_PROCESS = auto()
    KEYED_WINDOW = auto()
    CO_MAP = auto()
    CO_FLAT_MAP = auto()
    CO_PROCESS = auto()
    KEYED_CO_MAP = auto()
    KEYED_CO_FLAT_MAP = auto()
    KEYED_CO_PROCESS = auto()
    KEYED_CO_GROUP = auto()
    KEYED_INTERVAL_JOIN = auto()
    KEYED_REGULAR_JOIN = auto()
    BROADCAST_PROCESS = auto()
    KEYED_BROADCAST_PROCESS = auto()
    CUSTOM = auto()
    CO_CUSTOM = auto()
    KEYED_CUSTOM = auto()
    KEYED_CO_CUSTOM = auto()


class RunKind(Enum):
    """How a run executes."""

    BATCH = auto()
    """A Spark batch job: bounded input, one pass, grouped by key."""

    LIVE = auto()
    """A Structured Streaming query: micro-batches, state in Spark's state store."""


class ChannelTime(Enum):
    """What of time travels on a channel."""

    FULL = auto()
    """Timestamps of the records that have one, and watermarks."""

    WATERMARKS = auto()
    """Watermarks only: nothing behind looks at timestamps."""

    NONE = auto()
    """Values only: the job runs without time (FLIP-330). Only the end of input is told."""


@dataclass(frozen=True, slots=True)
class TimestampSpec:
    """How an operator assigns timestamps and makes watermarks.

    Attributes:
        assigner: (value, previous timestamp) to epoch milliseconds; None keeps them.
        out_of_orderness_ms: The watermark is greatest timestamp minus this minus 1; None
            makes no watermarks.
        make_generator: Makes the user's own watermark generators, given the runtime context;
            then there is no out-of-orderness.
        idle_ms: Time without records after which a split is idle; None is never.
    """

    assigner: Callable[[Any, int], int] | None
    out_of_orderness_ms: int | None
    make_generator: Callable[[Any], WatermarkGenerator] | None = None
    idle_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Copies:
    """Which readers of an output get objects of their own (FLIP-329).

    Attributes:
        at_emission: Every value is copied when it leaves the function (of a source: when its
            batch is read), before the function goes on.
        type_info: What is known of the values; None is nothing.
        operators: Chained readers that get copies beside others.
        channels: Channels that do.
    """

    at_emission: bool = False
    type_info: TypeInformation | None = None
    operators: tuple[int, ...] = ()
    channels: tuple[int, ...] = ()


NO_COPIES = Copies()
"""All readers get the objects that were emitted."""


@dataclass(frozen=True, slots=True)
class SideOutput:
    """Where the values of one output tag go.

    Attributes:
        tag: Id of the tag.
        result_type: Type the values are brought to; None leaves them as they are.
        chained_to: Ids of operators in the same level that take them.
        channels: Ids of channels that take them.
        copies: Which of these get copies.
    """

    tag: str
    result_type: TypeInformation | None = None
    chained_to: tuple[int, ...] = ()
    channels: tuple[int, ...] = ()
    copies: Copies = NO_COPIES


@dataclass(frozen=True, slots=True)
class OperatorSpec:
    """One operator of a level.

    Attributes:
        id: Unique in the job.
        uid: Stable identity; state is kept under it.
        name: For people.
        kind: What it does.
        function: The user's function or object.
        method: Name of the method to call on `function`; None calls it directly.
        origin: The user's line that created the operator.
        key_selectors: Value to key, per input, for keyed kinds; None for an input without
            a key.
        timestamps: For TIMESTAMPS.
        result_type: Type the results are brought to; None leaves them as they are.
        chained_to: Ids of operators in the same level that take the output.
        channels: Ids of channels that take the output.
        side_outputs: Where values with an output tag go; those of other tags are dropped.
        parallelism: Number of subtasks; None is that of the run.
        broadcast_states: Names of the states of a broadcast input.
        window: For KEYED_WINDOW and KEYED_CO_GROUP.
        async_io: For ASYNC and KEYED_ASYNC.
        interval: For KEYED_INTERVAL_JOIN.
        join: For KEYED_REGULAR_JOIN.
        drops_timestamps: Results leave without timestamps: nothing behind looks at them.
        is_timeless: The job runs without time (FLIP-330), so asking for it is an error.
        sorts_itself: It groups its input by key itself, so that the runtime does not.
        copies: Which readers of the output get copies.
        verifies_promise: It is checked that values it has emitted are not changed by it.
        takes_pairs: Its records come as (key, value) pairs, and may be combined on their way.
    """

    id: int
    uid: str
    name: str
    kind: OperatorKind
    function: Any
    method: str | None
    origin: CallSite | None
    key_selectors: tuple[Callable[[Any], Any] | None, ...] = ()
    timestamps: TimestampSpec | None = None
    result_type: TypeInformation | None = None
    chained_to: tuple[int, ...] = ()
    channels: tuple[int, ...] = ()
    side_outputs: tuple[SideOutput, ...] = ()
    parallelism: int | None = None
    broadcast_states: tuple[str, ...] = ()
    window: WindowSpec | None = None
    async_io: AsyncSpec | None = None
    interval: IntervalSpec | None = None
    join: JoinSpec | None = None
    drops_timestamps: bool = False
    is_timeless: bool = False
    sorts_itself: bool = False
    copies: Copies = NO_COPIES
    verifies_promise: bool = False
    takes_pairs: bool = False

    def key_type(self) -> TypeInformation | None:
        """Return the declared type of keys; None if it is not the same for all inputs with keys.

        A selector that brings keys to a type has it as its attribute `key_type`.
        """
        selectors = [selector for selector in self.key_selectors if selector is not None]
        found = {getattr(selector, "key_type", None) for selector in selectors}
        return found.pop() if len(found) == 1 else None


@dataclass(frozen=True, slots=True)
class WatermarkGroup:
    """One speaker whose watermark a channel waits for.

    Attributes:
        group: Source id (channels of level 0) or subtask.
        splits: Number of splits that must each have spoken before the group has a
            watermark; 0 if splits come and go, as files do.
        idle_ms: Time without records after which a split is no longer waited for; None is
            never.
    """

    group: int
    splits: int
    idle_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ChannelSpec:
    """One numbered edge whose records travel in frames: across levels, to a sink, or in place.

    Attributes:
        id: Unique in the job.
        source_level: Level that writes it.
        target_level: Level that reads it; `SINK_LEVEL` for sinks.
        target_operator: Id of the reading operator; for sinks, the index of the sink.
        partitioner: How records find their subtask.
        key_selector: For HASH and CUSTOM.
        origin: The user's line that created the edge.
        sources: Ids of the sources whose records can arrive here.
        target_input: Which input of the operator it feeds.
        subtasks: Number of subtasks that receive: the first ones; None is all.
        senders: Number of subtasks that write it, behind level 0; None is all.
        partition_function: For CUSTOM: (key, number of subtasks) to subtask.
        time: What of time travels on it.
        target_name: Of the operator or sink it leads to, for messages.
        combine: How records of a key are combined before they leave; None sends records.
    """

    id: int
    source_level: int
    target_level: int
    target_operator: int
    partitioner: Partitioner
    key_selector: Callable[[Any], Any] | None
    origin: CallSite | None
    sources: tuple[int, ...]
    target_input: int = 0
    subtasks: int | None = None
    partition_function: Callable[[Any, int], int] | None = None
    time: ChannelTime = ChannelTime.FULL
    target_name: str = ""
    combine: CombineSpec | None = None
    senders: int | None = None

    @property
    def is_local(self) -> bool:
        """Whether it stays within the subtask that writes it: no exchange, but frames."""
        return self.source_level == self.target_level


@dataclass(frozen=True, slots=True)
class LatencySpec:
    """How latency markers are sent.

    Attributes:
        interval_ms: Least time between two markers of a subtask of a source.
        sources: Source id to the uid of the source, and what stands for it in markers.
    """

    interval_ms: int
    sources: dict[int, tuple[str, OperatorId]]


def source_of(uid: str) -> tuple[str, OperatorId]:
    """Return the entry of a source in `LatencySpec.sources`."""
    return uid, OperatorId.of_uid(uid)


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How the run that executes a program differs from other runs of the same job.

    Attributes:
        kind: Batch or live.
        parallelism: Number of subtasks (of tasks, in a batch run).
        max_parallelism: Number of key groups.
        routes: In a live run, the route of each subtask; empty in a batch run, where the
            route of a record is its key group.
        max_frame_records: Records per frame.
        final_results_only: Rolling aggregates emit one result per key, at the end.
        hands_over: State is passed on to a next run.
        ended_sources: Sources whose end of input is reached in this batch run.
        initial_watermarks: Channel to group to the watermark handed over.
        initial_memory: uid to what an operator remembered beside its keyed state.
        job_parameters: `pipeline.global-job-parameters`.
        attempt: How often the run was restarted after a failure.
        latency: How latency markers are sent; None sends none.
        sorted_inputs_bytes: Memory for the records of one key group of a batch run.
        tells_backlog: Some operator wants to know whether its records are stale.
        backlog_sources: Sources that are in backlog as long as this run reads them.
        timed_sources: Sources that have watermarks.
        backlog_lag_ms: `pipeline.backlog.watermark-lag-threshold`: how far behind the clock a
            watermark is while its source is in backlog; None is not by watermarks.
        coded_rows: State of row, tuple and map types is written as coded rows.
        state_compression: How state is compressed: `none`, `lz4` or `zstd`.
        code: What stands for the functions of the job (`penstock.plan.code_digest`); None if kinds of
            keys are not to be compared.
    """

    kind: RunKind
    parallelism: int
    max_parallelism: int
    routes: tuple[int, ...] = ()
    max_frame_records: int = 4096
    final_results_only: bool = False
    hands_over: bool = False
    ended_sources: frozenset[int] = frozenset()
    initial_watermarks: dict[int, dict[int, int]] = field(default_factory=dict)
    initial_memory: dict[str, int] = field(default_factory=dict)
    job_parameters: dict[str, str] = field(default_factory=dict)
    attempt: int = 0
    latency: LatencySpec | None = None
    sorted_inputs_bytes: int = 256 << 20
    tells_backlog: bool = False
    backlog_sources: frozenset[int] = frozenset()
    timed_sources: frozenset[int] = frozenset()
    backlog_lag_ms: int | None = None
    coded_rows: bool = False
    state_compression: str = "none"
    code: int | None = None

    def state_format(self) -> StateFormat:
        """Return how state is written."""
        return StateFormat(self.coded_rows, Compression(self.state_compression))


@dataclass(frozen=True, slots=True)
class SourceType:
    """The declared type of a source whose records may not have it.

    Attributes:
        name: Name of the source.
        type_info: What its records are brought to.
        origin: The user's line that created the source.
    """

    name: str
    type_info: TypeInformation
    origin: CallSite | None


@dataclass(frozen=True, slots=True)
class LevelProgram:
    """Everything a level runs in one run.

    Attributes:
        level: Exchange depth.
        operators: In topological order.
        source_operators: Source id to the ids of the operators that read it; level 0 only.
        source_channels: Source id to the channels it feeds directly; level 0 only.
        inputs: Channels this level reads from other levels.
        outputs: Channels this level writes to other levels, and to sinks.
        watermark_groups: Input channel to the groups it waits for.
        settings: Of the run.
        source_types: Source id to declared type, of sources whose records may lack it; level
            0 only.
        untimed_sources: Sources whose records enter without their timestamps; level 0 only.
        source_copies: Source id to which of its readers get copies; level 0 only.
        local_channels: Channels between operators of this level.
    """

    level: int
    operators: tuple[OperatorSpec, ...]
    source_operators: dict[int, tuple[int, ...]]
    source_channels: dict[int, tuple[int, ...]]
    inputs: tuple[ChannelSpec, ...]
    outputs: tuple[ChannelSpec, ...]
    watermark_groups: dict[int, tuple[WatermarkGroup, ...]]
    settings: RunSettings
    source_types: dict[int, SourceType] = field(default_factory=dict)
    untimed_sources: frozenset[int] = frozenset()
    source_copies: dict[int, Copies] = field(default_factory=dict)
    local_channels: tuple[ChannelSpec, ...] = ()
