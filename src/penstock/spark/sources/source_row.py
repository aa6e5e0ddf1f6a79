"""The columns of the table of sources: all that Spark must know of a kind of source.

The table is `table`; what is in its columns stands in a file per way of reading: `split_reads`,
`file_reads` and `frame_reads`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from penstock.errors import CallSite
from penstock.spark.sources.pinned_files import PinnedFiles
from penstock.spark.sources.read_context import Pinned, ReadContext, Splits
from penstock.spark.sources.stream_positions import files_read


class StreamKind(Enum):
    """Names of the rows, as they are recorded: how the position of a source is known."""

    SPLITS = auto()
    """Positions in the positions stream."""

    BOUNDED_FILES = auto()
    """Spark's log of files read; the rest of the pinned ones is left."""

    FILES = auto()
    """Spark's log of files read."""

    WRITTEN_FRAME = auto()
    """Spark's log of files read, of those a batch DataFrame was written to."""

    FOREIGN = auto()
    """Offsets that mean something only to the user's stream."""


@dataclass(frozen=True, slots=True)
class Pinning:
    """What is needed to decide what a run reads of a part of a source.

    Attributes:
        session: Spark.
        parallelism: Number of subtasks.
        origin: The user's line that made the source.
    """

    session: SparkSession
    parallelism: int
    origin: CallSite | None


@dataclass(frozen=True, slots=True)
class PinnedPart:
    """What a run reads of one part of a source; nothing, if that is not decided before.

    Attributes:
        splits: Positions.
        files: Files.
    """

    splits: Splits | None = None
    files: PinnedFiles | None = None


@dataclass(frozen=True, slots=True)
class StreamReading:
    """One part of a source at the end of a micro-batch.

    Attributes:
        source: Id of the source.
        part: Index of the part.
        first_stream: Index of its first stream among the offsets.
        streams: Number of its streams.
        log: Index of its log of files.
        pinned: What the run reads.
        run_directory: Of the run, in the checkpoint directory.
        offsets: Of all streams of the query.
    """

    source: int
    part: int
    first_stream: int
    streams: int
    log: int
    pinned: Pinned
    run_directory: Path
    offsets: list[str | None]

    def files(self) -> dict[str, tuple[int, int]]:
        """Return the files read; their size is not in Spark's log."""
        read = files_read(self.run_directory / "spark", self.log, self.offsets[self.first_stream])
        return {uri: (-1, time_ms) for uri, time_ms in read.items()}


Position = tuple[dict[str, Any], dict[str, tuple[int, int]]]
"""Position as a savepoint has it, and the files read."""


@dataclass(frozen=True, slots=True)
class ResumedPart:
    """Where a part of a source goes on; by default that needs no word.

    Attributes:
        splits: Positions that are left.
        left: Files that are left.
        is_read: Nothing is left.
    """

    splits: Splits | None = None
    left: PinnedFiles | None = None
    is_read: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
    """What a report of progress says of one part of a source.

    Attributes:
        source: Id of the source.
        splits: Those pinned for the part, empty if it has none.
        positions: Offset of the positions stream at the end of the micro-batch.
        stream: Spark's report about its first stream.
    """

    source: int
    splits: Splits
    positions: Mapping[str, Any]
    stream: Any


@dataclass(frozen=True, slots=True)
class Look:
    """What is needed to find out which files of a part wait to be read.

    Attributes:
        session: Spark.
        pinned: What the run reads.
        earlier: What was read of files before it.
        source: Id of the source.
        part: Index of the part.
        read: Files the run has read, as `_metadata.file_path` has them.
    """

    session: SparkSession
    pinned: Pinned
    earlier: Mapping[tuple[int, int], PinnedFiles]
    source: int
    part: int
    read: set[str]


@dataclass(frozen=True, slots=True)
class FileStream:
    """What is known of a stream of Spark's that reads files.

    Attributes:
        is_of_path: They are those of the source's own path, and none is written by us.
        only_pinned: Of these it reads the pinned ones alone; else all but those that were read before.
        waiting: Returns the files that wait, as `_metadata.file_path` has them; None if nobody asks.
    """

    is_of_path: bool = False
    only_pinned: bool = False
    waiting: Callable[[Look, Any], set[str]] | None = None


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One kind of source. `Any` in a column is a part of the class the row is for.

    Attributes:
        kind: Names the row.
        source: The class it is for, those that derive from it included.
        is_bounded: Whether it is for those that end; None is for all.
        pin: Decides what is read of a part before a run reads it.
        batch: Returns the rows a batch run reads, by source id and part index; None if records are
            made of positions in the worker.
        live: The same of a live run. The positions stream is in every query.
        is_value: Whether the only column of a row is the record.
        streams: Returns the streams a part brings into a query; equal ones are one to Spark.
        position: Returns where reading stood.
        resume: Returns where it goes on, given a position out of a savepoint; None if it cannot.
        is_complete: Whether nothing is left of what ends.
        files: About its stream, if that reads files.
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
