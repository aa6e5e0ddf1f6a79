"""The events of a job: everything that it publishes of itself.

Each is a frozen value with the id of its job. They are published to listeners (`listeners`), written as JSON
(`event_json`, `event_log`), and folded to what is known of the job now (`job_view`). Fields that are added have a default.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.metrics.values import MetricValue

DONE = "done"
STOPPED = "stopped"
"""Those of `RunFinished`."""

RUNNING = "running"
FAILED = "failed"
LOST = "lost"
"""End of a run whose driver was killed."""


@dataclass(frozen=True, slots=True)
class JobEventBase:
    """Base of all events.

    Attributes:
        job_id: The id that `JobClient.get_job_id` returns.
        job_name: Name of the job; it need not be unique.
        pipeline: Number of the pipeline whose run it is about; empty if the job has one, or if the event
            is about the whole job.
        at_ms: When it happened, by the clock of the driver; 0 if it was not published.
    """

    job_id: str = field(default="", kw_only=True, compare=False)
    job_name: str = field(default="", kw_only=True, compare=False)
    pipeline: str = field(default="", kw_only=True, compare=False)
    at_ms: int = field(default=0, kw_only=True, compare=False)


@dataclass(frozen=True, slots=True)
class JobStarted(JobEventBase):
    """A driver has begun to execute a job, or goes on with it.

    Attributes:
        mode: `BATCH` or `STREAMING`, the mode in force; of a mixed job `STREAMING, mixed (…)`, as `penstock plan` has it.
        settings: Options that were set, without the values of secret ones.
        nodes: Sources, operators and sinks, as `plan.explain.outline` describes them, with what was decided of them.
    """

    version: str
    mode: str
    parallelism: int
    settings: Mapping[str, str] = field(default_factory=dict)
    nodes: Sequence[Mapping[str, Any]] = ()
    edges: Sequence[Mapping[str, Any]] = ()
    plan: str = ""


@dataclass(frozen=True, slots=True)
class RunStarted(JobEventBase):
    """A run has begun.

    Attributes:
        name: `history`, `live` or `batch`.
        kind: `batch` or `live`.
        reads: Its sources, in words.
        bounded: True if all its sources are bounded.
    """

    name: str
    kind: str
    reads: str
    bounded: bool


@dataclass(frozen=True, slots=True)
class BatchProgress(JobEventBase):
    """A batch run has made progress. The progress may decrease when a stage adds tasks.

    Attributes:
        seconds: Since the run began.
        records: Records that tasks which are through have read for it; one that is repeated counts again. None before the first.
    """

    done_tasks: int
    total_tasks: int
    seconds: float
    records: int | None = None


@dataclass(frozen=True, slots=True)
class MicroBatch(JobEventBase):
    """A micro-batch was committed.

    Attributes:
        number: From 0, over the life of the checkpoint.
        total_records: Records read by this run in this process.
        lag_ms: Wall clock minus the greatest watermark of the sources; None without
            watermarks.
        records_behind: Pending records of bounded sources that number their records, and of logs, of
            which it is an estimate; None if there is no such source.
        files_behind: Pending files, of the last listing of the directory, some seconds ago; None
            without a file source.
        catch_up_seconds: Estimated time until no input is pending, or event time is close to the
            clock; None if it is unknown, or the pending input does not shrink.
        durations: Seconds of its parts, which add up to `seconds`: `job` is the Spark job, `commit` are the
            commits of sinks, `driver` is all else.
        watermarks: Name of a source to the least watermark of its splits that had records, in epoch
            milliseconds.
        split_watermarks: Name of a source to the id of a split and its watermark, of the splits that had records; at most
            the 16 that are most behind.
        split_records_behind: Name of a source to the id of a split and its pending records, of logs; at most the 16 that have
            most, as of the last second.
        late_records: uid of an operator to the late records that it dropped, of those that dropped some.
    """

    number: int
    records: int
    total_records: int
    seconds: float
    lag_ms: int | None
    records_behind: int | None = None
    files_behind: int | None = None
    catch_up_seconds: float | None = None
    durations: Mapping[str, float] = field(default_factory=dict)
    watermarks: Mapping[str, int] = field(default_factory=dict)
    split_watermarks: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    split_records_behind: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    late_records: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PendingInputMeasured(JobEventBase):
    """The pending input of a live run was measured and differs from that of the last event.

    Attributes:
        records_behind: As in `MicroBatch`.
        files_behind: As in `MicroBatch`.
        catch_up_seconds: As in `MicroBatch`.
        split_records_behind: As in `MicroBatch`.
    """

    records_behind: int | None
    files_behind: int | None
    catch_up_seconds: float | None
    split_records_behind: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """A metric as it stands in JSON.

    Attributes:
        kind: `counter`, `gauge`, `meter`, `histogram` or `distribution`.
        values: Its values: `count`, `value`, `rate`, `sum`, `min`, `max`, and quantiles of a histogram: `p50`,
            `p95`, `p99`.
    """

    kind: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MetricsReported(JobEventBase):
    """A batch run or micro-batch was committed and has changed the metrics of the job.

    Attributes:
        metrics: Full name (`uid.group.….name`) to value, over all that this process committed; to a summary if
            the event was read from a log.
        state: Metrics of state access, over the same: `copy_hits`, `copy_catch_ups` and
            `copy_rebuilds` count uses of local copies, `log_bytes` and `compaction_bytes` the
            bytes written.
        seconds: `<place>.<section>` to seconds, over the same.
        operators: uid to records received, over the same.
        sources: Name of a source to records read, over the same.
        subtasks: uid to records received by each subtask, in the run that reported last; of operators before the
            first exchange in live runs only.
        state_keys: uid to keys with state, if the state backend counts them and each subtask has.
        state_bytes: uid to what its state takes in the checkpoint, changes that are not compacted included; of
            operators of one level it is divided by what they wrote.
        sinks: uid of a sink to `records`, `commits`, `seconds` of its commits, and `files` and `bytes` if it has
            files, over all that this process committed.
    """

    metrics: Mapping[str, MetricValue | MetricSummary]
    state: Mapping[str, int]
    seconds: Mapping[str, float] = field(default_factory=dict)
    operators: Mapping[str, int] = field(default_factory=dict)
    sources: Mapping[str, int] = field(default_factory=dict)
    subtasks: Mapping[str, Sequence[int]] = field(default_factory=dict)
    state_keys: Mapping[str, int] = field(default_factory=dict)
    state_bytes: Mapping[str, int] = field(default_factory=dict)
    sinks: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunFinished(JobEventBase):
    """A run has ended or was stopped.

    Attributes:
        name: As in `RunStarted`.
        kind: As in `RunStarted`.
        outcome: `done` if it has read its input, `stopped` if it was cancelled or stopped with a savepoint.
        late_records: As in `MicroBatch`, over all that this attempt committed.
    """

    name: str
    kind: str
    records: int
    seconds: float
    outcome: str = "done"
    late_records: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Switched(JobEventBase):
    """The next run has taken over the state of a run.

    Attributes:
        seconds: From the last record of the earlier run to the start of the next query.
        watermark_ms: Greatest watermark taken over, None if there is none.
    """

    seconds: float
    watermark_ms: int | None


@dataclass(frozen=True, slots=True)
class RoundProgress(JobEventBase):
    """A round of an upgrade has begun, or has made progress: what is new in a program reads what the old job has read.

    Attributes:
        number: From 0.
        kind: `batch` or `live`.
        seconds: Since the round began.
        records: Records that it has read so far.
        progress: Share of its tasks that are through, of a batch run; None if it is unknown.
    """

    number: int
    kind: str
    seconds: float = 0.0
    records: int = 0
    progress: float | None = None


@dataclass(frozen=True, slots=True)
class RoundFinished(JobEventBase):
    """A round of an upgrade has ended.

    Attributes:
        number: As in `RoundProgress`.
        kind: As in `RoundProgress`.
        records: Records that it has read in this process.
        seconds: Wall clock.
        behind: Input that the old job has read meanwhile: per source `source`, `ahead` and `unit`, which is `files`, `positions`
            or `parts` of a hybrid source.
        is_last: True if the new part stands where the old job has stopped.
    """

    number: int
    kind: str
    records: int
    seconds: float
    behind: Sequence[Mapping[str, Any]] = ()
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class Resumed(JobEventBase):
    """A job continues from its checkpoint directory.

    Attributes:
        step: The last step that was recorded, in words.
    """

    step: str


@dataclass(frozen=True, slots=True)
class FunctionChanged(JobEventBase):
    """An operator has another function than the one that made its state. It is no error.

    Attributes:
        since: Where the earlier function is recorded: the last start, or a savepoint.
    """

    operator: str
    uid: str
    since: str


@dataclass(frozen=True, slots=True)
class StartedEmpty(JobEventBase):
    """New and changed parts of a program begin without the history of a source, as the user chose.

    Attributes:
        source: Name of the source.
        parts: Operators and sinks whose results lack it.
    """

    source: str
    parts: Sequence[str]


@dataclass(frozen=True, slots=True)
class Repeating(JobEventBase):
    """The job repeats the work since its last commit: Spark lost output that is not deterministic.

    Attributes:
        number: Number of repetitions in a row, from 1.
        limit: Number of repetitions after which the job fails.
    """

    number: int
    limit: int


@dataclass(frozen=True, slots=True)
class Restarting(JobEventBase):
    """The job failed and will be started again in this process.

    Attributes:
        limit: Greatest number of restarts, None for any number.
        reason: The failure, in one line.
        error: The failure: `code`, `problem`, `hint` and, if it has one, `origin`.
    """

    number: int
    limit: int | None
    delay_seconds: float
    reason: str
    error: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SavepointTaken(JobEventBase):
    """A savepoint is complete.

    Attributes:
        seconds: Wall clock of writing it, during which no records were processed.
        stops: The job stops with it.
        unnamed: Operators without a uid whose state is in it; empty after the first savepoint of a
            run. Only an operator at the same place restores such state.
        size_bytes: Size of its files together; None if it is unknown.
    """

    path: str
    seconds: float
    stops: bool
    unnamed: tuple[str, ...] = ()
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class SavepointFailed(JobEventBase):
    """A savepoint could not be taken; the job goes on."""

    problem: str


@dataclass(frozen=True, slots=True)
class ConfirmFailed(JobEventBase):
    """The confirmation of read positions to a log failed; the job goes on and repeats it."""

    source: str
    problem: str


@dataclass(frozen=True, slots=True)
class JobEnded(JobEventBase):
    """A job has ended in this process; it publishes no further events.

    Attributes:
        status: `FINISHED`, `CANCELED` or `FAILED`.
        error: Why it failed, as in `Restarting`; empty if it did not.
    """

    status: str
    error: Mapping[str, str] = field(default_factory=dict)


JobEvent = (
    JobStarted
    | RunStarted
    | BatchProgress
    | MicroBatch
    | PendingInputMeasured
    | MetricsReported
    | RunFinished
    | Switched
    | RoundProgress
    | RoundFinished
    | Resumed
    | Repeating
    | FunctionChanged
    | StartedEmpty
    | Restarting
    | SavepointTaken
    | SavepointFailed
    | ConfirmFailed
    | JobEnded
)


@dataclass(frozen=True, slots=True)
class EventKind:
    """Treatment of the events of a class by views.

    Attributes:
        is_detail: It supersedes the last one of its class and pipeline, and there may be many of them: a log
            of events may leave it out.
    """

    log_level: int
    is_detail: bool = False


_MILESTONE = EventKind(logging.INFO)
_TROUBLE = EventKind(logging.WARNING)
_DETAIL = EventKind(logging.DEBUG, is_detail=True)

EVENTS: Mapping[type[JobEvent], EventKind] = {
    JobStarted: EventKind(logging.DEBUG),
    RunStarted: _MILESTONE,
    BatchProgress: _DETAIL,
    MicroBatch: EventKind(logging.INFO, is_detail=True),
    PendingInputMeasured: _DETAIL,
    MetricsReported: _DETAIL,
    RunFinished: _MILESTONE,
    Switched: _MILESTONE,
    RoundProgress: _DETAIL,
    RoundFinished: _MILESTONE,
    Resumed: _MILESTONE,
    FunctionChanged: _TROUBLE,
    StartedEmpty: _TROUBLE,
    Repeating: _MILESTONE,
    Restarting: _MILESTONE,
    SavepointTaken: _MILESTONE,
    SavepointFailed: _MILESTONE,
    ConfirmFailed: _TROUBLE,
    JobEnded: _MILESTONE,
}
"""Every class of events."""
