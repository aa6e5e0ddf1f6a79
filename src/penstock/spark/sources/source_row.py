"""The columns of the table of sources: how Spark reads a kind of source.

The table is in `table`. The functions in its columns are in one file per way of reading: `split_reads`,
`file_reads` and `frame_reads`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from penstock.config.configuration import Configuration
from penstock.errors import CallSite
from penstock.filesystem.stored_path import JobPath, mounted
from penstock.spark.sources.listing.file_log import logged_files
from penstock.spark.sources.listing.file_readings import FileCaps, FileReading, PinnedReading
from penstock.spark.sources.listing.frame_writer import WriteLimits
from penstock.spark.sources.listing.stream_writer import StreamLimits
from penstock.spark.sources.pinned_files import PinnedFiles
from penstock.spark.sources.read_context import Names, Pinned, ReadContext, Splits
from penstock.spark.sources.stream_positions import files_read


class StreamKind(Enum):
    """Recorded names of the rows, by the form of a source's position."""

    SPLITS = auto()
    """Positions in the positions stream."""

    BOUNDED_FILES = auto()
    """Spark's log of files read; the other pinned files are left."""

    FILES = auto()
    """Spark's log of files read."""

    WRITTEN_FRAME = auto()
    """Spark's log of files read, of the files of a batch DataFrame."""

    FOREIGN = auto()
    """Offsets that only the user's stream can interpret."""

    LOGS = auto()
    """Positions by the id of a split, in the records of epochs."""


@dataclass(frozen=True, slots=True)
class Pinning:
    """The context for pinning a part of a source.

    Attributes:
        session: Spark.
        parallelism: Number of subtasks.
        origin: The user's line that made the source.
        patiently: Calls a function that may block, until the job is cancelled.
        configuration: Configuration of the job.
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
        splits: Positions.
        files: Files.
        names: Ids of the splits; None if they are known by their numbers.
    """

    splits: Splits | None = None
    files: PinnedFiles | None = None
    names: Names | None = None


@dataclass(frozen=True, slots=True)
class StreamReading:
    """One part of a source at the end of a micro-batch.

    Attributes:
        source: Id of the source.
        part: Index of the part.
        first_stream: Index of its first stream among the offsets.
        streams: Number of its streams.
        log: Index of its log of files.
        pinned: Pinned input of the run.
        run_directory: Directory of the run in the checkpoint directory.
        offsets: Offsets of all streams of the query; of a loop of epochs the positions of all sources.
    """

    source: int
    part: int
    first_stream: int
    streams: int
    log: int
    pinned: Pinned
    run_directory: JobPath
    offsets: list[str | None]

    def position_in_loop(self) -> int | None:
        """Return the next position of files in a loop of epochs; None in a query, or before the first epoch."""
        first = self.offsets[0] if self.offsets else None
        at = None if first is None else json.loads(first).get(str(self.source))
        return None if at is None else int(at[0])

    def files(self) -> dict[str, tuple[int, int]]:
        """Return the files read; in a query without their size, which Spark's log lacks."""
        position = self.position_in_loop()
        if position is not None:
            return logged_files(file_log_directory(self.run_directory, self.source), position)
        if self.first_stream >= len(self.offsets):
            return {}
        read = files_read(
            mounted(self.run_directory / "spark"), self.log, self.offsets[self.first_stream]
        )
        return {uri: (-1, time_ms) for uri, time_ms in read.items()}


def file_log_directory(run_directory: JobPath, source: int) -> JobPath:
    """Return the directory of the file log of a source."""
    return run_directory / "files" / str(source)


Position = tuple[dict[str, Any], dict[str, tuple[int, int]]]
"""Position in the form of a savepoint, and the files read."""


@dataclass(frozen=True, slots=True)
class ResumedPart:
    """The remaining input of a part of a source; by default the run determines it itself.

    Attributes:
        splits: Remaining positions.
        left: Remaining files.
        is_read: Whether no input remains.
        names: Ids of the splits; None if they are known by their numbers.
    """

    splits: Splits | None = None
    left: PinnedFiles | None = None
    is_read: bool = False
    names: Names | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of one part of a source.

    Attributes:
        source: Id of the source.
        splits: Pinned splits of the part, empty if it has none.
        positions: Offset of the positions stream at the end of the micro-batch.
        stream: Spark's report about its first stream.
    """

    source: int
    splits: Splits
    positions: Mapping[str, Any]
    stream: Any


@dataclass(frozen=True, slots=True)
class PendingFilesContext:
    """The context for listing the pending files of a part.

    Attributes:
        session: Spark.
        pinned: Pinned input of the run.
        earlier: Files that were read before the run.
        source: Id of the source.
        part: Index of the part.
        read: Files that the run has read, in the form of `_metadata.file_path`.
    """

    session: SparkSession
    pinned: Pinned
    earlier: Mapping[tuple[int, int], PinnedFiles]
    source: int
    part: int
    read: set[str]


@dataclass(frozen=True, slots=True)
class FileStream:
    """The facts about a file stream of Spark.

    Attributes:
        is_of_path: Whether its files are those of the source's path, rather than written by us.
        only_pinned: Whether it reads only pinned files; otherwise all files that were not read before.
        waiting: Returns the pending files in the form of `_metadata.file_path`; None if they are not
            needed.
    """

    is_of_path: bool = False
    only_pinned: bool = False
    waiting: Callable[[PendingFilesContext, Any], set[str]] | None = None


@dataclass(frozen=True, slots=True)
class LoopContext:
    """The context in which a loop of epochs begins to read the files of a part.

    Attributes:
        session: Spark.
        source: Id of the source.
        part: Index of the part.
        pinned: Pinned input of the run.
        earlier: Files that were read before the run.
        is_read: Whether the rows of a batch DataFrame were read before the job began.
        directory: Directory of the run.
        fence: Called before a commit; raises if another driver has taken over.
        caps: How many files an epoch takes.
        writes: How a batch DataFrame is written to files.
        streams: How a streaming one is.
        ends: Whether the source ends with this run.
        is_history: Whether further parts follow.
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
        kind: Name of the row.
        source: Class of the row's sources; subclasses are included.
        is_bounded: Whether the row is for bounded (True) or unbounded sources (False); None is both.
        pin: Pins the input of a part before a run reads it.
        batch: Returns the rows of a batch run, by source id and part index; None if workers make
            records of positions.
        live: Returns the rows of a live run. The positions stream is in every query.
        is_value: Whether the only column of a row is the record.
        streams: Returns the streams of a part in a query; Spark reads equal ones once.
        position: Returns the position of a part.
        resume: Returns the remaining input, given a position of a savepoint; None if it cannot resume.
        is_complete: Whether a bounded part has no input left.
        files: The facts about its stream, if that reads files.
        in_loop: How a loop of epochs reads it, if it is not read by positions; None if only a query can.
    """

    kind: StreamKind
    source: type
    is_bounded: bool | None
    pin: Callable[[Pinning, Any], PinnedPart]
    batch: Callable[[ReadContext, int, int, Any], DataFrame] | None
    live: Callable[[ReadContext, int, int, Any], DataFrame] | None
    is_value: Callable[[Any], bool]
    streams: Callable[[Any], list[Any]]
    position: Callable[[StreamReading], Position]
    resume: Callable[[Mapping[str, Any]], ResumedPart | None]
    is_complete: Callable[[Progress], bool]
    files: FileStream | None = None
    in_loop: FilesInLoop | None = None
