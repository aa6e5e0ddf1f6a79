"""Listeners: who is told about the progress of jobs.

Every listener of the process hears the events of all its jobs, each in threads of its job; an event says
which job it is of. By default there is one, which writes log lines; the command line replaces it
by progress bars. A listener that raises is told so in the log, once per job, and the job goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from penstock.metrics.values import MetricValue

_logger = logging.getLogger("penstock")


@dataclass(frozen=True, slots=True)
class OfJob:
    """What all events have.

    Attributes:
        job_id: The job, as `JobClient.get_job_id` returns it.
        job_name: Its name, which other jobs may have as well.
    """

    job_id: str = field(default="", kw_only=True, compare=False)
    job_name: str = field(default="", kw_only=True, compare=False)


@dataclass(frozen=True, slots=True)
class RunStarted(OfJob):
    """A run begins.

    Attributes:
        name: `history`, `live` or `batch`.
        kind: `batch` or `live`.
        reads: What it reads, in words.
        bounded: It will end by itself.
    """

    name: str
    kind: str
    reads: str
    bounded: bool


@dataclass(frozen=True, slots=True)
class BatchProgress(OfJob):
    """How far a batch run is; may go back when a stage adds tasks.

    Attributes:
        done_tasks: Tasks completed.
        total_tasks: Tasks known so far.
        seconds: Since the run began.
    """

    done_tasks: int
    total_tasks: int
    seconds: float


@dataclass(frozen=True, slots=True)
class MicroBatch(OfJob):
    """A micro-batch was committed.

    Attributes:
        number: From 0, over the life of the checkpoint.
        records: Records read.
        total_records: Records read by this run in this process.
        seconds: Wall clock of the micro-batch.
        lag_ms: Wall clock minus the greatest watermark of the sources; None without
            watermarks.
        records_behind: Records that wait, of sources that number them and end; None if there is no
            such source.
        files_behind: Files that wait, of those that were there when a directory was looked up
            some seconds ago; None without a file source.
        catch_up_seconds: Estimated time until nothing waits, or event time is close to the clock;
            None if it is not known, or the run does not come nearer.
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
class BehindLooked(OfJob):
    """How far a live run is behind was looked up, and is not what was told last.

    Attributes:
        records_behind: As in `MicroBatch`.
        files_behind: As in `MicroBatch`.
        catch_up_seconds: As in `MicroBatch`.
    """

    records_behind: int | None
    files_behind: int | None
    catch_up_seconds: float | None


@dataclass(frozen=True, slots=True)
class MetricsReported(OfJob):
    """A batch run or micro-batch was committed, and the metrics of the job are these now.

    Attributes:
        metrics: Full name (`uid.group.….name`) to value, over this process's part of the job.
        state: What keeping state cost, the same way: `copy_hits`, `copy_catch_ups` and
            `copy_rebuilds` say what local copies were worth, `log_bytes` and
            `compaction_bytes` what was written.
        seconds: Where time went, the same way: `<place>.<section>` to seconds.
    """

    metrics: Mapping[str, MetricValue]
    state: Mapping[str, int]
    seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunFinished(OfJob):
    """A run ended, or was stopped.

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
class Switched(OfJob):
    """State was handed from one run to the next.

    Attributes:
        seconds: From the last record of the earlier run to the start of the next query.
        watermark_ms: Greatest watermark handed over, None if there is none.
    """

    seconds: float
    watermark_ms: int | None


@dataclass(frozen=True, slots=True)
class AdmissionChanged(OfJob):
    """Micro-batches of a live run take more files of a source from now on, or fewer.

    Attributes:
        source: Name of the source.
        files: Largest number of files a micro-batch takes of it.
        files_behind: Files that wait.
    """

    source: str
    files: int
    files_behind: int


@dataclass(frozen=True, slots=True)
class Resumed(OfJob):
    """A job continues from its checkpoint directory.

    Attributes:
        step: The last step that was recorded, in words.
    """

    step: str


@dataclass(frozen=True, slots=True)
class Repeating(OfJob):
    """Spark lost output that comes out different again; the work since the last commit is repeated.

    Attributes:
        number: How often in a row, from 1.
        limit: After so many the job fails.
    """

    number: int
    limit: int


@dataclass(frozen=True, slots=True)
class Restarting(OfJob):
    """The job failed and will be started again in this process.

    Attributes:
        number: Which restart it is, from 1.
        limit: How many there may be, None for any number.
        delay_seconds: How long it waits.
        reason: What failed, in a line.
    """

    number: int
    limit: int | None
    delay_seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class SavepointTaken(OfJob):
    """A savepoint is complete.

    Attributes:
        path: Its directory.
        seconds: Wall clock of writing it, during which no records were processed.
        stops: The job stops with it.
        unnamed: Operators whose state is in it and that have no uid, said with the first savepoint
            of a run: only an operator at the same place gets the state.
    """

    path: str
    seconds: float
    stops: bool
    unnamed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SavepointFailed(OfJob):
    """A savepoint could not be taken; the job goes on.

    Attributes:
        problem: Why.
    """

    problem: str


@dataclass(frozen=True, slots=True)
class JobEnded(OfJob):
    """A job ended in this process, however it did; nothing more comes of it.

    Attributes:
        status: `FINISHED`, `CANCELED` or `FAILED`.
    """

    status: str


JobEvent = (
    RunStarted
    | BatchProgress
    | MicroBatch
    | BehindLooked
    | MetricsReported
    | RunFinished
    | Switched
    | AdmissionChanged
    | Resumed
    | Repeating
    | Restarting
    | SavepointTaken
    | SavepointFailed
    | JobEnded
)


class JobListener:
    """Receives events; the base class ignores them all."""

    def on_event(self, event: JobEvent) -> None:
        """Take one event. Must be quick: the job waits. What it raises is logged."""


class LogListener(JobListener):
    """Writes one log line per event; progress and metrics are details."""

    def on_event(self, event: JobEvent) -> None:
        """Log at INFO; progress within a batch run and metrics at DEBUG."""
        is_detail = isinstance(event, BatchProgress | BehindLooked | MetricsReported)
        level = logging.DEBUG if is_detail else logging.INFO
        _logger.log(level, "%s", event)


@dataclass(slots=True, eq=False)
class _Listening:
    """A listener of this process.

    Attributes:
        listener: Who is called.
        told: Jobs for which it was told that it failed.
    """

    listener: JobListener
    told: set[str] = field(default_factory=set)

    def hear(self, event: JobEvent) -> None:
        try:
            self.listener.on_event(event)
        except KeyboardInterrupt:
            raise  # meant for the program, not for its listener
        except BaseException:
            if event.job_id in self.told:
                return
            self.told.add(event.job_id)
            _logger.exception(
                "listener %r failed at %s of job %r; the job goes on, and more of this is not told",
                self.listener,
                type(event).__name__,
                event.job_name,
            )


_listeners: list[_Listening] = [_Listening(LogListener())]


def set_listeners(*listeners: JobListener) -> None:
    """Replace the listeners of this process."""
    _listeners[:] = map(_Listening, listeners)


@contextmanager
def also_listening(listener: JobListener) -> Iterator[None]:
    """Add a listener to those there are, for a while; it hears all jobs of the process."""
    added = _Listening(listener)
    _listeners.append(added)
    try:
        yield
    finally:
        if added in _listeners:
            _listeners.remove(added)


def publish(event: JobEvent) -> None:
    """Tell every listener; none of them can stop the caller."""
    for listening in tuple(_listeners):
        listening.hear(event)


@dataclass(frozen=True, slots=True)
class JobEvents:
    """Publishes the events of one job.

    Attributes:
        job_id: The job.
        job_name: Its name.
    """

    job_id: str
    job_name: str

    def publish(self, event: JobEvent) -> None:
        """Tell every listener what happened to this job."""
        publish(replace(event, job_id=self.job_id, job_name=self.job_name))
