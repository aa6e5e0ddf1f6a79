"""The contracts of sources and sinks.

A source or sink object is a *description*: picklable, without open files, shared by all
subtasks. A sink makes one `SinkWriter` per task, and one `Committer` in the driver.

Exactly once is a two-phase protocol. Writers stage data, which is invisible. When all tasks of an
epoch (a batch run, or one micro-batch) have succeeded, the driver passes their committables to
`Committer.commit`, which makes all data of the epoch visible. After a crash the driver may call
`commit` for the same epoch again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import index
from pathlib import Path
from typing import Any, ClassVar, final

from penstock.errors import CallSite, PenstockError, SourceError
from penstock.types.information import TypeInformation
from penstock.user_failure import failure_as, raise_interrupt, short

_SEARCH_RECORDS = 8192
_READING = frozenset({"read", "read_timestamped"})


class Source(ABC):
    """A source of records."""

    kind: ClassVar[str]
    """Short name for plans: `files`, `collection`."""

    has_declared_form: ClassVar[bool] = True
    """Whether every record has the declared form of `get_produced_type`. If not, and if that type
    is declared, the reader coerces the records."""

    makes_records_anew: ClassVar[bool] = False
    """Whether the source neither stores a record object nor returns it again. Such records are not
    copied for operators that may change them (FLIP-329). A class that overrides how records are
    read does not inherit the promise."""

    is_internal: ClassVar[bool] = False
    """Whether Penstock adds the source to a program by itself, so that it has no uid of the user's."""

    gives_results: ClassVar[bool] = False
    """Whether it reads the results of the bounded region of the job (FLIP-331). All of them are
    backlog."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Withdraw the promise about records from a class that overrides how they are read."""
        super().__init_subclass__(**options)
        own = vars(cls).keys()
        if own & _READING and "makes_records_anew" not in own:
            cls.makes_records_anew = False

    streamed_by: ClassVar[str] = "a stream of Spark"
    """What reads the source in a live run if it is not read by positions, in words. A live run that
    reads such a source is a query."""

    @property
    def as_split(self) -> SplitSource | None:
        """The source itself if it is read by positions, else None."""
        return None

    @property
    def gives_timestamps(self) -> bool:
        """Whether records may have timestamps before any strategy assigns them."""
        return False

    @property
    def record_function(self) -> Callable[..., Any] | None:
        """The user's function that makes the records; its attributes say whether it stores them."""
        return None

    @property
    @abstractmethod
    def is_bounded(self) -> bool:
        """Whether the source ends by itself."""

    @abstractmethod
    def get_produced_type(self) -> TypeInformation:
        """Return the type of the records; `PICKLED_BYTE_ARRAY` if it is unknown."""

    def describe(self) -> str:
        """Return one short phrase for plans and messages, e.g. `files of data/*.csv`."""
        return self.kind


class SplitSource(Source):
    """A source whose records are numbered within splits, and made in the worker.

    Each split is a range of positions; a position is one record. The driver decides which
    positions a batch covers, so a batch can be read again exactly.
    """

    records_per_second: int | None = None
    """Rate limit over all splits in a live run; None reads as fast as it can."""

    has_declared_form: ClassVar[bool] = False

    @property
    def as_split(self) -> SplitSource:
        """The source itself."""
        return self

    @property
    def gives_timestamps(self) -> bool:
        """Whether records may have timestamps before any strategy assigns them."""
        return type(self).read_timestamped is not SplitSource.read_timestamped

    @property
    def has_head(self) -> bool:
        """Whether the source says how many records there are now, so that reading never waits."""
        return type(self).head is not SplitSource.head

    @abstractmethod
    def splits(self, parallelism: int) -> Sequence[tuple[int, int | None]]:
        """Return `[start, end)` positions per split; `end` None is unbounded.

        Called once per job, in the driver. The job records the result, so it may depend on
        `parallelism` but not on the time of the call.
        """

    @abstractmethod
    def read(self, split: int, start: int, end: int) -> Sequence[Any]:
        """Return the records at positions `[start, end)` of `split`, in order.

        Called in a worker with a few thousand positions at a time. Must return exactly
        `end - start` records, the same ones at every call.
        """

    def read_timestamped(
        self, split: int, start: int, end: int
    ) -> tuple[Sequence[Any], Sequence[int] | None]:
        """Return the records at `[start, end)` and, if the source knows them, their timestamps.

        The engine calls this method. Override it to attach event time (epoch milliseconds,
        one per record); `read` may then return only the records. A timestamp assigner
        gets the timestamp as `record_timestamp` and may replace it.
        """
        return self.read(split, start, end), None

    def head(self, split: int) -> int | None:
        """Return the position behind the last record that there is now; None if all are there.

        Called in the driver before every epoch of a live run, so it must be cheap. Override it if
        records arise while the job runs: positions at and behind the head are read later. It never
        falls. Only the engine `jobs` asks for it.
        """
        del split
        return None

    @final
    def exact_head(self, split: int, at: int) -> int | None:
        """Return `head(split)` as Python's integer; the engine calls this method.

        Args:
            split: The split.
            at: The position that was read to.

        Raises:
            SourceError: It failed, did not return a position, or fell below what was read.
        """
        with self._failing(f"head of split {split}"):
            found = self.head(split)
            found = None if found is None else index(found)
        if found is not None and found < at:
            raise SourceError(
                f"{self._described()} says that split {split} has records up to position {found}, "
                f"and the job has read up to {at}",
                hint="A head must not fall. Bring the records back, or start in a new checkpoint "
                "directory.",
                origin=CallSite.of_definition(self.head),
            )
        return found

    def position_at(self, split: int, timestamp_ms: int, start: int, end: int | None) -> int:
        """Return the first position in `[start, end)` whose record is not before a timestamp.

        Called in the driver, once per split of a source whose backlog ends at a timestamp. The
        default reads records from the start until it finds one. It never returns if an unbounded
        split has none. Override it if the source has an index of timestamps.

        Raises:
            SourceError: Records have no timestamps.
        """
        at = start
        while end is None or at < end:
            until = at + _SEARCH_RECORDS if end is None else min(at + _SEARCH_RECORDS, end)
            _, stamps = self.read_exactly(split, at, until)
            if stamps is None:
                raise SourceError(
                    f"the backlog of {self.describe()} cannot end at timestamp {timestamp_ms}: its "
                    "records have no timestamps when they are read",
                    hint="End it at a position, or return timestamps from read_timestamped().",
                )
            found = next((n for n, stamp in enumerate(stamps) if stamp >= timestamp_ms), None)
            if found is not None:
                return at + found
            at = until
        return at

    @final
    def exact_splits(self, parallelism: int) -> list[tuple[int, int | None]]:
        """Return `splits(parallelism)` as Python's integers; the engine calls this method.

        Raises:
            SourceError: It failed, or did not return pairs of positions.
        """
        with self._failing("splits"):
            found = list(self.splits(parallelism))
        return [self._exact_split(number, split) for number, split in enumerate(found)]

    @final
    def exact_position_at(self, split: int, timestamp_ms: int, start: int, end: int | None) -> int:
        """Return `position_at(…)` as Python's integer; the engine calls this method.

        Raises:
            SourceError: It failed, or did not return a position.
        """
        with self._failing(f"position_at of split {split}"):
            return index(self.position_at(split, timestamp_ms, start, end))

    def _exact_split(self, number: int, split: Any) -> tuple[int, int | None]:
        try:
            first, last = split
            start, end = index(first), None if last is None else index(last)
        except (TypeError, ValueError) as cause:
            raise self._wrong_split(number, split, f": {cause}") from cause
        if end is not None and end < start:
            raise self._wrong_split(number, split, ", which ends before it starts")
        return start, end

    def _wrong_split(self, number: int, split: Any, why: str) -> SourceError:
        return SourceError(
            f"splits() of {self._described()} gave {short(split)} as split {number}{why}",
            hint="Return a pair of ints per split, [start, end); end may be None.",
            origin=CallSite.of_definition(self.splits),
        )

    @contextmanager
    def _failing(self, doing: str) -> Iterator[None]:
        """Turn an exception of the user's source in the block into our error."""
        try:
            yield
        except PenstockError:
            raise
        except BaseException as cause:
            # The source is described here only: that is code of the user's, and costs something.
            failed = f"{self._described()} failed on {doing}"
            raise failure_as(
                SourceError, failed, cause, None, hint="Correct the source."
            ) from cause

    def _described(self) -> str:
        """Return `describe()`, or the name of the class if that raises."""
        try:
            return self.describe()
        except BaseException as cause:  # noqa: BLE001 - what it is told in must not hide a failure
            raise_interrupt(cause)
            return type(self).__name__

    @final
    def read_exactly(self, split: int, start: int, end: int) -> tuple[list[Any], list[int] | None]:
        """Return `read_timestamped(split, start, end)`, checked; the engine calls this method.

        Raises:
            SourceError: There are more or fewer records than positions: the job records positions
                as read, so records would silently be lost or doubled. Or the timestamps are not
                one integer per record.
        """
        with self._failing(f"positions [{start}, {end}) of split {split}"):
            records, stamps = self.read_timestamped(split, start, end)
            values = list(records)
            times = None if stamps is None else list(stamps)
        if len(values) != end - start:
            raise SourceError(
                f"{self._described()} gave {len(values)} records for the {end - start} positions "
                f"[{start}, {end}) of split {split}",
                hint="Return exactly one record per position from read().",
            )
        if times is None:
            return values, None
        if len(times) != len(values) or set(map(type, times)) - {int}:
            raise SourceError(
                f"{self._described()} gave {len(times)} timestamps for {len(values)} records of "
                f"split {split}, of types {sorted({type(time).__name__ for time in times})}",
                hint="Return one int, in epoch milliseconds, per record from read_timestamped().",
            )
        return values, times


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
        scratch: Directory of this job for staged data of sinks without a directory of their own.
        may_commit: For the committer: called right before something becomes visible, it raises
            if another driver has taken the job over meanwhile.
    """

    job_id: str
    sink_id: str
    subtask: int
    type_info: TypeInformation
    name: str
    origin: CallSite | None
    scratch: Path
    may_commit: Callable[[], None] = _always


class SinkWriter(ABC):
    """Stages the records of one task of one epoch.

    Call order: any number of `write`, then either `prepare_commit` or `abort`. A writer
    whose task is killed gets neither call; `Committer.recover` removes its staged data.
    """

    @abstractmethod
    def write(self, values: list[Any]) -> None:
        """Stage `values` in order."""

    @abstractmethod
    def prepare_commit(self) -> list[Any]:
        """Make the staged data durable and return picklable committables."""

    @abstractmethod
    def abort(self) -> None:
        """Drop the staged data."""


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

        Idempotent: a second call for the same epoch changes nothing that is visible, even
        with other committables (the epoch was computed again after a crash); those are
        dropped. Epochs come in order and are safe in file names.

        Raises:
            SinkError: The data could not be made visible; the job fails and may be resumed.
        """

    def close(self) -> None:
        """Release resources; called once when the job ends or fails."""


class Sink(ABC):
    """A sink of records."""

    kind: ClassVar[str]
    """Short name for plans: `files`, `print`."""

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

    def describe(self) -> str:
        """Return one short phrase for plans and messages."""
        return self.kind
