"""Job listeners and their events.

Every listener of the process receives the events of all jobs of the process. A job calls listeners
in its own threads; each event has the id of its job. The default listener writes log lines; the
command line replaces it by progress bars. The log names a listener that raises, once per job; the
job goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from penstock.metrics.values import MetricValue

_logger = logging.getLogger("penstock")


@dataclass(frozen=True, slots=True)
class JobEventBase:
    """Base of all events.

    Attributes:
        job_id: The id that `JobClient.get_job_id` returns.
        job_name: Name of the job; it need not be unique.
        pipeline: Number of the pipeline whose run it is about; empty if the job has one, or if the event
            is about the whole job.
    """

    job_id: str = field(default="", kw_only=True, compare=False)
    job_name: str = field(default="", kw_only=True, compare=False)
    pipeline: str = field(default="", kw_only=True, compare=False)


@dataclass(frozen=True, slots=True)
class RunStarted(JobEventBase):
    """A run has begun.

    Attributes:
        name: `history`, `live` or `batch`.
        kind: `batch` or `live`.
        reads: Its sources, in words.
        bounded: Whether all its sources are bounded.
    """

    name: str
    kind: str
    reads: str
    bounded: bool


@dataclass(frozen=True, slots=True)
class BatchProgress(JobEventBase):
    """A batch run has made progress. The progress may decrease when a stage adds tasks.

    Attributes:
        done_tasks: Tasks completed.
        total_tasks: Tasks known so far.
        seconds: Since the run began.
    """

    done_tasks: int
    total_tasks: int
    seconds: float


@dataclass(frozen=True, slots=True)
class MicroBatch(JobEventBase):
    """A micro-batch was committed.

    Attributes:
        number: From 0, over the life of the checkpoint.
        records: Records read.
        total_records: Records read by this run in this process.
        seconds: Wall clock of the micro-batch.
        lag_ms: Wall clock minus the greatest watermark of the sources; None without
            watermarks.
        records_behind: Pending records of bounded sources that number their records, and of logs, of
            which it is an estimate; None if there is no such source.
        files_behind: Pending files, of the last listing of the directory, some seconds ago; None
            without a file source.
        catch_up_seconds: Estimated time until no input is pending, or event time is close to the
            clock; None if it is unknown, or the pending input does not shrink.
    """

    number: int
    records: int
    total_records: int
    seconds: float
    lag_ms: int | None
    records_behind: int | None = None
    files_behind: int | None = None
    catch_up_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class PendingInputMeasured(JobEventBase):
    """The pending input of a live run was measured and differs from that of the last event.

    Attributes:
        records_behind: As in `MicroBatch`.
        files_behind: As in `MicroBatch`.
        catch_up_seconds: As in `MicroBatch`.
    """

    records_behind: int | None
    files_behind: int | None
    catch_up_seconds: float | None


@dataclass(frozen=True, slots=True)
class MetricsReported(JobEventBase):
    """A batch run or micro-batch was committed and has changed the metrics of the job.

    Attributes:
        metrics: Full name (`uid.group.….name`) to value, over all that this process committed.
        state: Metrics of state access, over the same: `copy_hits`, `copy_catch_ups` and
            `copy_rebuilds` count uses of local copies, `log_bytes` and `compaction_bytes` the
            bytes written.
        seconds: `<place>.<section>` to seconds, over the same.
    """

    metrics: Mapping[str, MetricValue]
    state: Mapping[str, int]
    seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunFinished(JobEventBase):
    """A run has ended or was stopped.

    Attributes:
        name: As in `RunStarted`.
        kind: As in `RunStarted`.
        records: Records read in this process.
        seconds: Wall clock.
    """

    name: str
    kind: str
    records: int
    seconds: float


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
class AdmissionChanged(JobEventBase):
    """The limit of files per micro-batch of a live run has changed.

    Attributes:
        source: Name of the source.
        files: Largest number of files of the source in a micro-batch.
        files_behind: Pending files.
    """

    source: str
    files: int
    files_behind: int


@dataclass(frozen=True, slots=True)
class Resumed(JobEventBase):
    """A job continues from its checkpoint directory.

    Attributes:
        step: The last step that was recorded, in words.
    """

    step: str


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
        number: Number of the restart, from 1.
        limit: Greatest number of restarts, None for any number.
        delay_seconds: Time until the restart.
        reason: The failure, in one line.
    """

    number: int
    limit: int | None
    delay_seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class SavepointTaken(JobEventBase):
    """A savepoint is complete.

    Attributes:
        path: Its directory.
        seconds: Wall clock of writing it, during which no records were processed.
        stops: The job stops with it.
        unnamed: Operators without a uid whose state is in it; empty after the first savepoint of a
            run. Only an operator at the same place restores such state.
    """

    path: str
    seconds: float
    stops: bool
    unnamed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SavepointFailed(JobEventBase):
    """A savepoint could not be taken; the job goes on.

    Attributes:
        problem: Why.
    """

    problem: str


@dataclass(frozen=True, slots=True)
class ConfirmFailed(JobEventBase):
    """A log could not be told what the job has read; the job goes on and tells it again.

    Attributes:
        source: Name of the source.
        problem: Why.
    """

    source: str
    problem: str


@dataclass(frozen=True, slots=True)
class JobEnded(JobEventBase):
    """A job has ended in this process; it publishes no further events.

    Attributes:
        status: `FINISHED`, `CANCELED` or `FAILED`.
    """

    status: str


JobEvent = (
    RunStarted
    | BatchProgress
    | MicroBatch
    | PendingInputMeasured
    | MetricsReported
    | RunFinished
    | Switched
    | AdmissionChanged
    | Resumed
    | Repeating
    | Restarting
    | SavepointTaken
    | SavepointFailed
    | ConfirmFailed
    | JobEnded
)


class JobListener:
    """Receives events; the base class ignores them all."""

    def on_event(self, event: JobEvent) -> None:
        """Receive one event. It must return soon: the job waits. Its exceptions are logged."""


class LogListener(JobListener):
    """Writes one log line per event; progress and metrics are details."""

    def on_event(self, event: JobEvent) -> None:
        """Log at INFO; progress within a batch run and metrics at DEBUG, what needs a look at WARNING."""
        is_detail = isinstance(event, BatchProgress | PendingInputMeasured | MetricsReported)
        level = logging.DEBUG if is_detail else logging.INFO
        _logger.log(logging.WARNING if isinstance(event, ConfirmFailed) else level, "%s", event)


@dataclass(slots=True, eq=False)
class _Registration:
    """The registration of a listener.

    Attributes:
        listener: The listener.
        failed_jobs: Ids of jobs for which a failure of it was logged.
    """

    listener: JobListener
    failed_jobs: set[str] = field(default_factory=set)

    def call(self, event: JobEvent) -> None:
        try:
            self.listener.on_event(event)
        except KeyboardInterrupt:
            raise  # meant for the program, not for its listener
        except BaseException:
            if event.job_id in self.failed_jobs:
                return
            self.failed_jobs.add(event.job_id)
            _logger.exception(
                "listener %r failed at %s of job %r; the job goes on, and further failures are not logged",
                self.listener,
                type(event).__name__,
                event.job_name,
            )


_listeners: list[_Registration] = [_Registration(LogListener())]


def set_listeners(*listeners: JobListener) -> None:
    """Replace the listeners of this process."""
    _listeners[:] = map(_Registration, listeners)


@contextmanager
def also_listening(listener: JobListener) -> Iterator[None]:
    """Add a listener of all jobs of the process until the context ends."""
    added = _Registration(listener)
    _listeners.append(added)
    try:
        yield
    finally:
        if added in _listeners:
            _listeners.remove(added)


def publish(event: JobEvent) -> None:
    """Call every listener; their exceptions do not reach the caller."""
    for registration in tuple(_listeners):
        registration.call(event)


@dataclass(frozen=True, slots=True)
class JobEvents:
    """Publishes the events of one job.

    Attributes:
        job_id: The job.
        job_name: Its name.
        pipeline: Number of the pipeline, empty for the whole job.
    """

    job_id: str
    job_name: str
    pipeline: str = ""

    def publish(self, event: JobEvent) -> None:
        """Call every listener with an event of this job."""
        publish(replace(event, job_id=self.job_id, job_name=self.job_name, pipeline=self.pipeline))
