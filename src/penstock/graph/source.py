"""Shared parts of all sources, and the interface of sources that are read by positions.

A source of positions consists of splits, and a split of positions, which are integers. The driver decides
which positions a task reads, and records them, so a task can be repeated. Two classes are for users:

    SplitSource   positions are numbers of records; the splits are those of the start
    LogSource     positions have holes; splits are added, and their heads rise, while the job runs

The engine calls the methods `exact_…`, which are the same for both. They call the user's methods, check
what these return, and turn everything that they raise into our error.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.errors import PenstockError, SourceError
from penstock.graph.dataset import Dataset
from penstock.observe.notebook.card import Card, ShownAsCard
from penstock.types import TypeInformation
from penstock.user_failure import failure_as, raise_interrupt

_READING = frozenset({"read", "read_snapshot", "read_timestamped"})


class Source(ShownAsCard):
    """A source of records.

    Example:
        >>> numbers = IteratorSource(lambda split, start: count(start), counts=(3,))
        >>> numbers.describe(), numbers.get_produced_type(), numbers.datasets()
        ('iterators (3)', any object, ())
        >>> FileSource.text("/data/logs").datasets()
        (Dataset(namespace='file', name='/data/logs'),)
    """

    kind: ClassVar[str]
    """Short name for plans: `files`, `collection`."""

    has_declared_form: ClassVar[bool] = True
    """True if every record has the declared form of `get_produced_type`. If not, and if that type
    is declared, the reader coerces the records."""

    makes_records_anew: ClassVar[bool] = False
    """True if the source neither stores a record object nor returns it again. Such records are not
    copied for operators that may change them (FLIP-329). A class that overrides how records are
    read does not inherit the promise."""

    is_internal: ClassVar[bool] = False
    """True if Penstock adds the source to a program by itself, so that it has no uid of the user's."""

    gives_results: ClassVar[bool] = False
    """True if it reads the results of the bounded region of the job (FLIP-331). All of them are
    backlog."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Withdraw the promise about records from a class that overrides how they are read."""
        super().__init_subclass__(**options)
        own = vars(cls).keys()
        if own & _READING and "makes_records_anew" not in own:
            cls.makes_records_anew = False

    read_in_epochs_by: ClassVar[str | None] = None
    """Reader of the source in a live run, in words, if it is not read by positions."""

    is_written_first: ClassVar[bool] = False
    """True if a live run writes its rows to files, and reads these."""

    read_in_batch_by: ClassVar[str | None] = None
    """Reader of the source in a batch run, in words, if there is a choice in a live run."""

    @property
    def unprojected_because(self) -> str | None:
        """Reason why Spark SQL does not compute on its columns in a batch run; None if it can."""
        return "Spark does not read it as columns"

    @property
    def query_parts(self) -> tuple[Source, ...]:
        """The sources of which Spark SQL computes its records; nothing if they are not those of a query."""
        return ()

    @property
    def as_split(self) -> PositionedSource | None:
        """The source itself if it is read by positions, else None."""
        return None

    @property
    def takes_snapshot(self) -> bool:
        """True if it is a log whose history is captured when the job starts."""
        return False

    @property
    def gives_timestamps(self) -> bool:
        """True if records may have timestamps before any strategy assigns them."""
        return False

    @property
    def known_records(self) -> int | None:
        """The number of its records if that is known without asking it, else None."""
        return None

    @property
    def record_function(self) -> Callable[..., Any] | None:
        """The user's function that makes the records; its attributes declare whether it stores them."""
        return None

    @property
    @abstractmethod
    def is_bounded(self) -> bool:
        """True if the source ends by itself."""

    @abstractmethod
    def get_produced_type(self) -> TypeInformation:
        """Return the type of the records; `PICKLED_BYTE_ARRAY` if it is unknown."""

    def beside(self) -> Source:
        """Return the source with which a shadow of the job reads the same input; itself by default, as any job may read it.

        Example:
            >>> files = FileSource.text("/data/logs")
            >>> files.beside() is files
            True
        """
        return self

    def describe(self) -> str:
        """Return one short phrase for plans and messages, e.g. `files of data/*.csv`."""
        return self.kind

    def datasets(self) -> Sequence[Dataset]:
        """Return the data that it reads, by names for other systems; the default is empty."""
        return ()

    def _card(self) -> Card:
        ends = "ends" if self.is_bounded else "goes on"
        return Card(self.describe(), {"type": self.get_produced_type(), "input": ends})


SplitKey = int | str
"""Key of a split in its source: its number, or its id if the source names its splits."""

Batch = tuple[list[Any], list[int] | None]
"""Records, and their timestamps if the source has them."""


@dataclass(frozen=True, slots=True)
class StartSplits:
    """The splits of a source when a job begins to read it.

    Attributes:
        ranges: Start and end of every split; the end of an unbounded one is None.
        names: Id of every split; None if splits are known by their numbers.
        heads: Position behind the last record of every split that there was then; None if they are
            read later.
    """

    ranges: tuple[tuple[int, int | None], ...]
    names: tuple[str, ...] | None = None
    heads: tuple[int, ...] | None = None

    @property
    def keys(self) -> Sequence[SplitKey]:
        """The keys of the source's splits."""
        return range(len(self.ranges)) if self.names is None else self.names


class PositionedSource(Source):
    """A source that is read by positions, as the engine sees it. Users derive from its subclasses."""

    records_per_second: int | None = None
    """Rate limit over all splits in a live run; None reads as fast as it can."""

    has_declared_form: ClassVar[bool] = False

    is_log: ClassVar[bool] = False
    """True if splits have ids, and are looked up while the source is read."""

    @property
    def as_split(self) -> PositionedSource:
        """The source itself."""
        return self

    @property
    def asks_driver(self) -> str | None:
        """Request to the source before every epoch, in words; None without one."""
        return None

    @abstractmethod
    def exact_start(self, parallelism: int) -> StartSplits:
        """Return the splits, as they are recorded when a job begins to read the source.

        Raises:
            SourceError: The source failed, or did not return splits.
        """

    @abstractmethod
    def exact_ends_now(self, start: StartSplits) -> tuple[int | None, ...]:
        """Return the position of every split behind the last record that there is now, or its end.

        Raises:
            SourceError: The source failed, or did not return positions.
        """

    @abstractmethod
    def exact_position_at(
        self, split: SplitKey, timestamp_ms: int, start: int, end: int | None
    ) -> int:
        """Return the first position in `[start, end)` whose record is not before a timestamp.

        Raises:
            SourceError: The source failed, did not return a position, or has no timestamps.
        """

    @abstractmethod
    def exact_batches(self, split: SplitKey, start: int, end: int, most: int) -> Iterator[Batch]:
        """Yield all records of the positions `[start, end)`, some thousand at a time.

        Args:
            split: The split.
            start: First position.
            end: Position behind the last.
            most: Records of a batch, where a position is a record.

        Raises:
            SourceError: The source failed, or did not return what it promised.
        """

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
        except BaseException as cause:  # noqa: BLE001 - a message must not hide the failure it is about
            raise_interrupt(cause)
            return type(self).__name__
