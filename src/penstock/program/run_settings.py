"""What a run is told beside the program it runs, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

from penstock.program.latency_marker import OperatorId
from penstock.state.log.compression import Compression
from penstock.state.log.state_format import StateFormat


class RunKind(Enum):
    """How a run executes."""

    BATCH = auto()
    """A Spark batch job: bounded input, one pass, grouped by key."""

    LIVE = auto()
    """A Structured Streaming query: micro-batches, state in Spark's state store."""


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
        hands_over: State is passed on to a next run.
        ended_sources: Sources whose end of input is reached in this batch run.
        initial_watermarks: Channel to group to the watermark handed over.
        initial_memory: uid to what an operator remembered beside its keyed state.
        job_parameters: `pipeline.global-job-parameters`.
        attempt: How often the run was restarted after a failure.
        latency: How latency markers are sent; None sends none.
        sorted_inputs_bytes: Memory for the records of one key group of a batch run.
        sends_backlog: Some operator wants to know whether its records are stale.
        backlog_sources: Sources that are in backlog as long as this run reads them.
        timed_sources: Sources that have watermarks.
        backlog_lag_ms: `pipeline.backlog.watermark-lag-threshold`: how far behind the clock a
            watermark is while its source is in backlog; None is not by watermarks.
        coded_rows: State of row, tuple and map types is written as coded rows.
        state_compression: How state is compressed: `none`, `lz4` or `zstd`.
        group_order_from: Records of a subtask and micro-batch from which on they are put in order of
            key group: with fewer it costs more than it saves.
        code: What stands for the functions of the job (`penstock.plan.compat.code_digest`); None if kinds of
            keys are not to be compared.
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
    latency: LatencySpec | None = None
    sorted_inputs_bytes: int = 256 << 20
    sends_backlog: bool = False
    backlog_sources: frozenset[int] = frozenset()
    timed_sources: frozenset[int] = frozenset()
    backlog_lag_ms: int | None = None
    coded_rows: bool = False
    state_compression: str = "none"
    group_order_from: int = 8192
    code: int | None = None

    def state_format(self) -> StateFormat:
        """Return how state is written."""
        return StateFormat(self.coded_rows, Compression(self.state_compression))
