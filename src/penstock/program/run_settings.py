"""The settings of a run, and the latency markers of FLIP-330 §1.2, as frozen values."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from enum import Enum, auto

from penstock.state.log.blob import Compression, StateFormat


@dataclass(frozen=True, slots=True)
class OperatorId:
    """The id of an operator: 128 bits, as in Flink.

    Attributes:
        upper: The high 64 bits.
        lower: The low 64 bits.

    Examples:
        >>> OperatorId(0, 255)
        000000000000000000000000000000ff
    """

    upper: int
    lower: int

    @classmethod
    def of_uid(cls, uid: str) -> OperatorId:
        """Return the id of the operator with a uid; it is the same in every process."""
        digest = hashlib.blake2b(uid.encode(), digest_size=16).digest()
        return cls(int.from_bytes(digest[:8], "big"), int.from_bytes(digest[8:], "big"))

    def __repr__(self) -> str:
        return f"{self.upper:016x}{self.lower:016x}"


@dataclass(frozen=True, slots=True)
class LatencyMarker:
    """A latency marker.

    Attributes:
        marked_time: Time at which its source emitted it, in epoch milliseconds.
        subtask_index: Subtask of the source, from 0.
    """

    marked_time: int
    operator_id: OperatorId
    subtask_index: int


@dataclass(frozen=True, slots=True)
class LatencyMarkerEvent:
    """The event that sends a latency marker through an exchange (FLIP-330 §1.2).

    It is no record. A channel sends it to one random subtask; the receiving operator turns it into a
    marker again.

    Attributes:
        marked_time: Time at which its source emitted it, in epoch milliseconds.
        operator_id: Id of the source.
        subtask_index: Subtask of the source, from 0.

    Example:
        >>> event = LatencyMarkerEvent(1_700_000_000_000, OperatorId(0, 255), 2)
        >>> event.get_marked_time(), event.get_operator_id(), event.get_subtask_index()
        (1700000000000, 000000000000000000000000000000ff, 2)
    """

    marked_time: int
    operator_id: OperatorId
    subtask_index: int

    def get_marked_time(self) -> int:
        """Return the time at which its source emitted it, in epoch milliseconds."""
        return self.marked_time

    def get_operator_id(self) -> OperatorId:
        """Return the id of the source."""
        return self.operator_id

    def get_subtask_index(self) -> int:
        """Return the subtask of the source, from 0."""
        return self.subtask_index


class RunKind(Enum):
    """Kind of execution of a run."""

    BATCH = auto()
    """A Spark batch job: bounded input, one pass, grouped by key."""

    LIVE = auto()
    """A loop of epochs: one Spark job each, committed by one record, with state."""


class LatencyGranularity(Enum):
    """Groups of latencies. The value is that of `metrics.latency.granularity`."""

    SINGLE = "single"
    """Nothing: an operator has one metric."""

    OPERATOR = "operator"
    """The source of the marker."""

    SUBTASK = "subtask"
    """The subtask of the source."""


@dataclass(frozen=True, slots=True)
class LatencySpec:
    """The settings of latency markers.

    Attributes:
        interval_ms: Least time between two markers of a subtask of a source.
        sources: Source id to the uid of the source, and its id in markers.
        granularity: Granularity of the metrics of latency.
        history_size: Number of latencies in a metric; None is all.
    """

    interval_ms: int
    sources: dict[int, tuple[str, OperatorId]]
    granularity: LatencyGranularity = LatencyGranularity.OPERATOR
    history_size: int | None = None


def source_of(uid: str) -> tuple[str, OperatorId]:
    """Return the entry of a source in `LatencySpec.sources`."""
    return uid, OperatorId.of_uid(uid)


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings of one run of a job.

    Attributes:
        parallelism: Number of subtasks (of tasks, in a batch run).
        routes: In a live run, the route of each subtask; empty in a batch run, where the
            route of a record is its key group.
        hands_over: Whether a next run takes over the state.
        ended_sources: Sources whose end of input this batch run reaches.
        initial_watermarks: Channel to group to the watermark of the hand-over.
        initial_memory: uid to the value of the operator's `memory`, of the hand-over.
        job_parameters: `pipeline.global-job-parameters`.
        attempt: Number of restarts after failures.
        final_results_only: Whether rolling operators emit once per key.
        latency: Settings of latency markers; None sends none.
        sorted_inputs_bytes: Memory for the records of one key group of a batch run.
        sends_backlog: Whether an operator reads record attributes.
        backlog_sources: Sources that are in backlog when this run begins, whether it reads them or a later one.
        backlog_behind: Sources whose backlog goes on behind this run.
        timed_sources: Sources that have watermarks.
        backlog_lag_ms: `pipeline.backlog.watermark-lag-threshold`: lag of a watermark from which on
            its source is in backlog; None ignores watermarks.
        coded_rows: Whether state of row, tuple and map types is written as coded rows.
        state_compression: Compression of state: `none`, `lz4` or `zstd`.
        group_order_from: Least number of records of a subtask and micro-batch that are sorted by key
            group: sorting fewer costs more than it saves.
        code: Digest of the functions of the job (`penstock.plan.compat.function_digest`); None does not
            compare kinds of keys.
    """

    kind: RunKind
    parallelism: int
    max_parallelism: int
    routes: tuple[int, ...] = ()
    max_frame_records: int = 4096
    hands_over: bool = False
    ended_sources: frozenset[int] = frozenset()
    initial_watermarks: dict[int, dict[int, int]] = field(default_factory=dict)
    initial_memory: dict[str, int] = field(default_factory=dict)
    job_parameters: dict[str, str] = field(default_factory=dict)
    attempt: int = 0
    final_results_only: bool = False
    latency: LatencySpec | None = None
    sorted_inputs_bytes: int = 256 << 20
    sends_backlog: bool = False
    backlog_sources: frozenset[int] = frozenset()
    backlog_behind: frozenset[int] = frozenset()
    timed_sources: frozenset[int] = frozenset()
    backlog_lag_ms: int | None = None
    coded_rows: bool = False
    state_compression: str = "none"
    group_order_from: int = 8192
    code: int | None = None

    def state_format(self) -> StateFormat:
        """Return the format of state."""
        return StateFormat(self.coded_rows, Compression(self.state_compression))
