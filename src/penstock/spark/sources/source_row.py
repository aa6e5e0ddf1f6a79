"""The columns of the table of sources: how Spark reads a kind of source.

The table is in `table`. The functions in its columns are in one file per way of reading: `split_reads`,
`file_reads` and `frame_reads`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from penstock.config.configuration import Configuration
from penstock.errors import CallSite
from penstock.filesystem.stored_path import JobPath
from penstock.spark.sources.listing.file_readings import FileCaps, FileReading, PinnedReading
from penstock.spark.sources.listing.frame_writer import WriteLimits
from penstock.spark.sources.listing.stream_writer import StreamLimits
from penstock.spark.sources.pinned_files import PinnedFiles
from penstock.spark.sources.read_context import Names, Pinned, ReadContext, Splits


class SourceKind(Enum):
    """Recorded names of the rows, by the form of a source's position."""

    SPLITS = auto()
    """Positions by the number of a split."""

    BOUNDED_FILES = auto()
    """The pinned files that are left."""

    FILES = auto()
    """The files that were read."""

    WRITTEN_FRAME = auto()
    """Rows of a batch DataFrame: that some were read, and that some are left."""

    FOREIGN = auto()
    """Offsets that only the user's stream can interpret."""

    LOGS = auto()
    """Positions by the id of a split."""


@dataclass(frozen=True, slots=True)
class Pinning:
    """The context for pinning a part of a source.

    Attributes:
        patiently: Calls a function that may block, until the job is cancelled.
    """

    session: SparkSession
    parallelism: int
    origin: CallSite | None
    patiently: Callable[[Callable[[], Any]], Any]
    configuration: Configuration


@dataclass(frozen=True, slots=True)
class PinnedPart:
    """The pinned input of one part of a source; it may be empty.

    Attributes:
        names: Ids of the splits; None if they are known by their numbers.
    """

    splits: Splits | None = None
    files: PinnedFiles | None = None
    names: Names | None = None


@dataclass(frozen=True, slots=True)
class PartReading:
    """One part of a source at the end of an epoch.

    Attributes:
        run_directory: Directory of the run in the checkpoint directory.
        positions: Next position of every split; None before the first epoch.
        names: Id of every split, if the source names them.
    """

    source: int
    part: int
    pinned: Pinned
    run_directory: JobPath
    positions: Sequence[int] | None = None
    names: Sequence[str] | None = None

    def position(self) -> int:
        """Return the next position of a part whose rows are in files, which are one split."""
        return 0 if self.positions is None else self.positions[0]


def file_log_directory(run_directory: JobPath, source: int) -> JobPath:
    """Return the directory of the file log of a source."""
    return run_directory / "files" / str(source)


Position = tuple[dict[str, Any], dict[str, tuple[int, int]]]
"""Position in the form of a savepoint, and the files read."""


@dataclass(frozen=True, slots=True)
class ResumedPart:
    """The remaining input of a part of a source; by default the run determines it itself.

    Attributes:
        is_read: True if no input remains.
        names: Ids of the splits; None if they are known by their numbers.
    """

    splits: Splits | None = None
    left: PinnedFiles | None = None
    is_read: bool = False
    names: Names | None = None


@dataclass(frozen=True, slots=True)
class LoopContext:
    """The context in which a loop of epochs begins to read the files of a part.

    Attributes:
        earlier: Files that were read before the run.
        is_read: True if the rows of a batch DataFrame were read before the job began.
        fence: Called before a commit; raises if another driver has taken over.
        caps: Most files of an epoch.
        writes: Writer of a batch DataFrame to files.
        streams: Writer of a streaming one.
        ends: True if the source ends with this run.
        is_history: True if further parts follow.
    """

    session: SparkSession
    source: int
    part: int
    pinned: Pinned
    earlier: Mapping[tuple[int, int], PinnedFiles]
    is_read: bool
    directory: JobPath
    fence: Callable[[], None]
    caps: FileCaps
    writes: WriteLimits
    streams: StreamLimits
    ends: bool
    is_history: bool

    def pinned_reading(
        self, files: Mapping[str, tuple[int, int]], order: list[str] | None = None
    ) -> PinnedReading:
        """Return the reading of files that are known; see `PinnedReading`."""
        return PinnedReading(
            self.source,
            self.caps,
            files,
            ends=self.ends,
            part=self.part,
            is_history=self.is_history,
            order=order,
        )


@dataclass(frozen=True, slots=True)
class FilesInLoop:
    """Reading of a source whose rows are in files, in a loop of epochs.

    Attributes:
        reading: Begins to read a part.
        schema: Returns the schema of the rows, given the files of an epoch of this driver, and the position of
            the first of them. It is the same for all epochs of the run.
        rows: Returns the rows of files, given their schema and their URIs, in any order.
    """

    reading: Callable[[LoopContext, Any], FileReading]
    schema: Callable[[ReadContext, int, int, Any, Sequence[str], int], StructType]
    rows: Callable[[ReadContext, Any, StructType, Sequence[str]], DataFrame]


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One kind of source. `Any` in a column is a part whose class is that of the row.

    Attributes:
        source: Class of the row's sources; subclasses are included.
        is_bounded: True if the row is for bounded (True) or unbounded sources (False); None is both.
        pin: Pins the input of a part before a run reads it.
        batch: Returns the rows of a batch run, by source id and part index; None if workers make
            records of positions.
        is_value: Test whether the only column of a row is the record.
        resume: Returns the remaining input, given a position of a savepoint; None if it cannot resume.
        in_loop: Reading of a live run; None if by positions.
        is_of_path: True if its files are those of the source's path, rather than written by us.
    """

    kind: SourceKind
    source: type
    is_bounded: bool | None
    pin: Callable[[Pinning, Any], PinnedPart]
    batch: Callable[[ReadContext, int, int, Any], DataFrame] | None
    is_value: Callable[[Any], bool]
    position: Callable[[PartReading], Position]
    resume: Callable[[Mapping[str, Any]], ResumedPart | None]
    in_loop: FilesInLoop | None = None
    is_of_path: bool = False
