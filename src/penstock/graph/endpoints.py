"""The contracts of sources and sinks, and the number of an epoch, whose data becomes visible together.

A source or sink object is a *description*: picklable, without open files, shared by all
subtasks. A sink makes one `SinkWriter` per task, and one `Committer` in the driver.

Exactly once is a two-phase protocol. Writers stage data, which is invisible. When all tasks of an
epoch (a batch run, or one micro-batch) have succeeded, the driver passes their committables to
`Committer.commit`, which makes all data of the epoch visible. After a crash the driver may call
`commit` for the same epoch again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from penstock.errors import CallSite
from penstock.filesystem.store_settings import StoreSettings
from penstock.filesystem.stored_path import JobPath
from penstock.graph.dataset import Dataset
from penstock.graph.log_source import LogSource
from penstock.graph.log_values import KeptOutside, LogBatch, LogSnapshot, LogSplit
from penstock.graph.source import Source
from penstock.graph.split_source import SplitSource
from penstock.types import TypeInformation


@dataclass(frozen=True, slots=True, order=True)
class EpochNumber:
    """A batch run, or a micro-batch of a live run. Later epochs of a job are greater.

    An epoch that is computed again, after a failure or by the next driver, has the same number.

    Attributes:
        run: Index of the run in the job, from 0.
        number: Number of the micro-batch in the run, from 0.
        is_whole_run: Whether no epoch of the run follows, because it is a batch run.

    Example:
        >>> str(EpochNumber(1, 17)), EpochNumber(0, 99) < EpochNumber(1, 0)
        ('1-17', True)
    """

    run: int = 0
    number: int = 0
    is_whole_run: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        """Return e.g. `1-17`; safe in a file name."""
        return f"{self.run}-{self.number}"


__all__ = [
    "Committer",
    "EpochNumber",
    "KeptOutside",
    "LogBatch",
    "LogSnapshot",
    "LogSource",
    "LogSplit",
    "Sink",
    "SinkContext",
    "SinkWriter",
    "Source",
    "SplitSource",
]


def _always() -> None:
    """Do nothing: no other driver can take the job over."""


@dataclass(frozen=True, slots=True)
class SinkContext:
    """The job, the sink and the task of a writer.

    Attributes:
        job_id: Identifies the job across restarts; safe in a file name.
        sink_id: Identifies the sink within the job; safe in a file name.
        subtask: Index of the writing task.
        type_info: Declared type of the records.
        name: Name of the sink for messages.
        origin: The user's line that created the sink.
        scratch: Directory of this job for staged data of sinks without a directory of their own; a `Path`, unless the
            sink sets `may_stage_in_store`.
        epoch: For the writer: the epoch that it writes. Later epochs are greater, and one that is written again, after
            a failure, has the same number.
        may_commit: For the committer: called right before something becomes visible, it raises
            if another driver has taken the job over meanwhile.
        object_settings: Addresses and logins of stores; None takes them from the environment.
    """

    job_id: str
    sink_id: str
    subtask: int
    type_info: TypeInformation
    name: str
    origin: CallSite | None
    scratch: JobPath
    epoch: EpochNumber = EpochNumber()
    may_commit: Callable[[], None] = _always
    object_settings: StoreSettings | None = None

    @property
    def mounted_scratch(self) -> Path:
        """The directory of this job, of a sink that has not set `may_stage_in_store`."""
        assert isinstance(self.scratch, Path), (
            "such a sink has no job whose directory is in a store"
        )
        return self.scratch


class SinkWriter(ABC):
    """Stages the records of one task of one epoch.

    Call order: any number of `write` and `write_columns`, then either `prepare_commit` or `abort`. A writer
    whose task is killed gets neither call; `Committer.recover` removes its staged data.
    """

    @abstractmethod
    def write(self, values: list[Any]) -> None:
        """Stage `values` in order."""

    def write_columns(self, batch: Any) -> bool:
        """Stage the rows of an Arrow batch in order, and return True; False leaves them to `write`, as records.

        Called in place of `write` where records arrive as columns of the type of the stream. The default returns False.

        Example:
            >>> import pyarrow as pa
            >>> class Counting(SinkWriter):
            ...     rows = 0
            ...     def write(self, values):
            ...         self.rows += len(values)
            ...     def write_columns(self, batch):
            ...         self.rows += batch.num_rows
            ...         return True
            ...     def prepare_commit(self):
            ...         return [self.rows]
            ...     def abort(self):
            ...         self.rows = 0
            >>> writer = Counting()
            >>> writer.write_columns(pa.record_batch({"n": [1, 2]}))
            True
            >>> writer.prepare_commit()
            [2]
        """
        del batch
        return False

    @abstractmethod
    def prepare_commit(self) -> list[Any]:
        """Make the staged data durable and return picklable committables."""

    @abstractmethod
    def abort(self) -> None:
        """Drop the staged data."""


@runtime_checkable
class FileCommittable(Protocol):
    """A committable that becomes a file, or an object of a store."""

    byte_count: int


class Committer(ABC):
    """Makes staged data visible. Lives in the driver, one per sink."""

    @abstractmethod
    def recover(self) -> None:
        """Finish commits that a crash interrupted, and drop staged data that is not committed.

        Called once before the job's first writer starts, also on the first start.
        """

    @abstractmethod
    def commit(self, epoch: str, committables: Sequence[Any]) -> None:
        """Make everything of `epoch` visible.

        Idempotent: a second call for the same epoch has no visible effect, even
        with other committables (the epoch was computed again after a crash); those are
        dropped. Epochs come in order and are safe in file names.

        Raises:
            SinkError: The data could not be made visible; the job fails and may be resumed.
        """

    def publish(self) -> None:
        """Make visible what `commit` may have held back, to put it in order or to combine it.

        Called before a savepoint of the job is complete, when a pipeline has ended, and when the job was cancelled;
        `commit` may be called again afterwards. A sink that holds nothing back needs none, which is the default.

        Raises:
            SinkError: It could not be made visible; the job fails and may be resumed.
        """

    def check_background(self) -> None:
        """Raise what went wrong beside the calls, in a thread of the committer; called often. The default does nothing.

        Raises:
            SinkError: Something did; the job fails and may be resumed.
        """

    def close(self) -> None:
        """Release resources; called once when the job ends or fails, also where `recover` was not called."""


class Sink(ABC):
    """A sink of records.

    Example:
        >>> FileSink.parquet("/data/out").describe(), FileSink.parquet("/data/out").datasets()
        ('parquet files in /data/out', (Dataset(namespace='file', name='/data/out'),))
    """

    kind: ClassVar[str]
    """Short name for plans: `files`, `print`."""

    may_stage_in_store: ClassVar[bool] = False
    """True if it works if `SinkContext.scratch` is a path of a store of objects, or not at all with it. Jobs whose
    checkpoint directory is in a store take no other sinks."""

    def check(self, type_info: TypeInformation, origin: CallSite | None) -> None:
        """Refuse a stream that this sink cannot write; called when the sink is attached.

        Raises:
            GraphError: The type of the stream does not fit the sink.
        """

    @abstractmethod
    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Return the writer of one task; called in a worker."""

    @abstractmethod
    def create_committer(self, context: SinkContext) -> Committer:
        """Return the committer; called in the driver, `context.subtask` is -1 there."""

    def kept_outside(self, context: SinkContext) -> Sequence[KeptOutside]:
        """Return the objects that the sink keeps for a job in another system, and that are there now, for `penstock drop`.

        The call is outside a job, and `context.subtask` is -1. Data for readers is not included. The default is empty.

        Raises:
            SinkError: The system does not answer.
        """
        del context
        return ()

    def beside(self, directory: str) -> Sink | None:
        """Return the sink with which a shadow of the job writes to a directory; itself if it writes to nothing that others read.

        None lets the shadow write lines of JSON there, which is the default.

        Args:
            directory: One for this sink alone, below the checkpoint directory of the shadow.

        Example:
            >>> FileSink.json("/data/out").beside("/jobs/visits-2/outputs/out").describe()
            'json files in /jobs/visits-2/outputs/out'
        """
        del directory
        return None

    def datasets(self) -> Sequence[Dataset]:
        """Return the written data, by names for other systems; the default is empty."""
        return ()

    def describe(self) -> str:
        """Return one short phrase for plans and messages."""
        return self.kind
