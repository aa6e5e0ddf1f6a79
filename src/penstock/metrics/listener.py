"""Listeners: who is told about the progress of a job.

The executor calls every listener of the process, in the thread that drives the job. By default
there is one, which writes log lines; the command line replaces it by progress bars.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from penstock.metrics.values import MetricValue

_logger = logging.getLogger("penstock")


@dataclass(frozen=True, slots=True)
class RunStarted:
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
class BatchProgress:
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
class MicroBatch:
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
class BehindLooked:
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
class MetricsReported:
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
class RunFinished:
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
class Switched:
    """State was handed from one run to the next.

    Attributes:
        seconds: From the last record of the earlier run to the start of the next query.
        watermark_ms: Greatest watermark handed over, None if there is none.
    """

    seconds: float
    watermark_ms: int | None


@dataclass(frozen=True, slots=True)
class AdmissionChanged:
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
class Resumed:
    """A job continues from its checkpoint directory.

    Attributes:
        step: The last step that was recorded, in words.
    """

    step: str


@dataclass(frozen=True, slots=True)
class Repeating:
    """Spark lost output that comes out different again; the work since the last commit is repeated.

    Attributes:
        number: How often in a row, from 1.
        limit: After so many the job fails.
    """

    number: int
    limit: int


@dataclass(frozen=True, slots=True)
class Restarting:
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
class SavepointTaken:
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
class SavepointFailed:
    """A savepoint could not be taken; the job goes on.

    Attributes:
        problem: Why.
    """

    problem: str


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
)


class JobListener:
    """Receives events; the base class ignores them all."""

    def on_event(self, event: JobEvent) -> None:
        """Take one event. Must be quick, and must not raise."""


class LogListener(JobListener):
    """Writes one log line per event; progress and metrics are details."""

    def on_event(self, event: JobEvent) -> None:
        """Log at INFO; progress within a batch run and metrics at DEBUG."""
        is_detail = isinstance(event, BatchProgress | BehindLooked | MetricsReported)
        level = logging.DEBUG if is_detail else logging.INFO
        _logger.log(level, "%s", event)


_listeners: list[JobListener] = [LogListener()]


def set_listeners(*listeners: JobListener) -> None:
    """Replace the listeners of this process."""
    _listeners[:] = listeners


@contextmanager
def also_listening(listener: JobListener) -> Iterator[None]:
    """Add a listener to those there are, for a while."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def publish(event: JobEvent) -> None:
    """Tell every listener."""
    for listener in tuple(_listeners):
        listener.on_event(event)
