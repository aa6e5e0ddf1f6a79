"""Reads the user's DataFrames. A live run reads them from files, to which they are written first: a stream by a query of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from penstock.connectors.files.local_listing import list_local
from penstock.connectors.spark_source import SparkSource, by_position
from penstock.filesystem.stored_path import mounted
from penstock.spark.sources.file_paths import escaped, load_path, uri_of
from penstock.spark.sources.listing.file_log import PinnedFile
from penstock.spark.sources.listing.file_readings import FileCaps, FileReading, PinnedReading
from penstock.spark.sources.listing.frame_writer import (
    FrameWriter,
    WriteLimits,
    directory_of,
    is_written,
)
from penstock.spark.sources.listing.stream_writer import (
    StreamWriter,
    batch_directory,
    offsets_before,
    stream_directory,
)
from penstock.spark.sources.read_context import ReadContext
from penstock.spark.sources.source_row import LoopContext, PartReading, Position, ResumedPart


class Writer(Protocol):
    """Writes the files; see `frame_writer`."""

    def start(self) -> None:
        """Begin, unless it is done or under way."""

    def check(self) -> bool:
        """Return whether all files are there; raises what went wrong."""

    def stop(self) -> None:
        """Cancel what is under way."""


class WrittenReading(PinnedReading):
    """Reads files that are known when all of them are written. Until then there are none, and no end.

    Writing begins when the source comes to the part.
    """

    def __init__(
        self,
        source: int,
        caps: FileCaps,
        writer: Writer,
        listed: Callable[[], Mapping[str, tuple[int, int]]],
        *,
        ends: bool,
        part: int = 0,
        is_history: bool = False,
    ) -> None:
        super().__init__(source, caps, {}, ends=ends, part=part, is_history=is_history, order=[])
        self._writer = writer
        self._listed = listed
        self._is_written = False

    @property
    def awaits_files(self) -> bool:
        """True if files are being written."""
        if not self._is_written and self._writer.check():
            self._facts = self._listed()
            self._order = list(self._facts)
            self._is_written = True
        return not self._is_written

    def open(self, position: int) -> None:
        """Begin to write."""
        super().open(position)
        self._writer.start()

    def advance(self, position: int, most_records: int | None = None) -> int:
        """Return the position behind the files of the next epoch: of none, as long as they are written."""
        return position if self.awaits_files else super().advance(position, most_records)

    def is_at_end(self, position: int) -> bool:
        """Return whether all files are read."""
        return self._is_written and super().is_at_end(position)

    def close(self) -> None:
        """Cancel what is under way."""
        self._writer.stop()


class Stream(Protocol):
    """Writes micro-batches of a stream; see `stream_writer`."""

    def start(self, position: int) -> None:
        """Begin behind the micro-batches before a position."""

    def check(self) -> None:
        """Raise what went wrong."""

    def stop(self) -> None:
        """Stop writing."""

    def forget_before(self, position: int) -> None:
        """Note that the micro-batches before a position are read."""


class StreamedReading(FileReading):
    """Reads the micro-batches of a stream, in order of their numbers, which are the positions. A micro-batch is read as a whole."""

    measures_input: ClassVar[bool] = False
    """Only the stream itself could count what it has not written yet."""

    def __init__(
        self,
        source: int,
        caps: FileCaps,
        stream: Stream,
        listed: Callable[[int], Mapping[str, tuple[int, int]] | None],
        *,
        part: int = 0,
    ) -> None:
        super().__init__(source, caps, ends=False, part=part)
        self._stream = stream
        self._listed = listed
        self._waiting: list[Mapping[str, tuple[int, int]]] = []
        self._begin = 0

    def open(self, position: int) -> None:
        """Start the stream."""
        self._begin, self._waiting = position, []
        self._stream.start(position)

    def close(self) -> None:
        """Stop the stream."""
        self._stream.stop()

    def advance(self, position: int, most_records: int | None = None) -> int:
        """Return the position behind the micro-batches of the next epoch."""
        while (files := self._listed(self._begin + len(self._waiting))) is not None:
            self._waiting.append(files)
        waiting = self._waiting[position - self._begin :]
        if not waiting:
            self._stream.check()
        sizes = [sum(size for size, _ in files.values()) for files in waiting]
        return position + self._taken(sizes, most_records)

    def files(self, first: int, last: int) -> list[PinnedFile]:
        """Return the files of the micro-batches `[first, last)`."""
        batches = self._waiting[first - self._begin : last - self._begin]
        return [PinnedFile(uri, *facts) for files in batches for uri, facts in files.items()]

    def is_at_end(self, position: int) -> bool:
        """Return False."""
        del position
        return False

    def files_left(self, position: int) -> int:
        """Return the number of micro-batches that wait."""
        return self._begin + len(self._waiting) - position

    def forget_before(self, position: int) -> None:
        """Drop the micro-batches before a position."""
        del self._waiting[: max(position - self._begin, 0)]
        self._begin = max(position, self._begin)
        self._stream.forget_before(position)


_NUMBER = re.compile(r"(\d+)")


def own_rows(_context: ReadContext, _source: int, _part: int, described: SparkSource) -> DataFrame:
    """Return the rows of a DataFrame."""
    frame: DataFrame = described.dataframe
    return frame


def _writer(
    frame: DataFrame,
    target: Path,
    limits: WriteLimits,
    fence: Callable[[], None],
    *,
    is_read: bool,
) -> FrameWriter:
    """Return the writer of a batch DataFrame, without rows if all were read before the job began."""
    rows = by_position(frame.limit(0) if is_read else frame)
    return FrameWriter(rows, target, limits, fence)


def _schema(session: SparkSession, target: Path) -> StructType:
    """Return the schema of the files."""
    schema: StructType = session.read.parquet(escaped(target)).schema
    return schema


def _files(target: Path) -> dict[str, tuple[int, int]]:
    """Return the files of a written DataFrame, in the order of its rows."""
    files = sorted(list_local([str(target)]), key=lambda file: _order_of(file[1]))
    return {uri_of(name): (size, time_ms) for time_ms, name, size in files}


def _order_of(name: str) -> tuple[str | int, ...]:
    """Return the sort key of names of files: tasks number their files, with three digits or more."""
    return tuple(
        int(piece) if number % 2 else piece for number, piece in enumerate(_NUMBER.split(name))
    )


def written_reading(context: LoopContext, part: SparkSource) -> FileReading:
    """Return the reading of the files to which a batch DataFrame is written, beside the epochs."""
    target = directory_of(mounted(context.directory), context.source, context.part)
    frame: DataFrame = part.dataframe
    return WrittenReading(
        context.source,
        context.caps,
        _writer(frame, target, context.writes, context.fence, is_read=context.is_read),
        partial(_files, target),
        ends=context.ends,
        part=context.part,
        is_history=context.is_history,
    )


def written_schema(
    context: ReadContext,
    source: int,
    part: int,
    _described: SparkSource,
    _uris: Sequence[str],
    _first: int,
) -> StructType:
    """Return the schema of the files to which a batch DataFrame was written."""
    return _schema(context.session, directory_of(mounted(context.directory), source, part))


def rows_written(
    context: ReadContext, described: SparkSource, schema: StructType, uris: Sequence[str]
) -> DataFrame:
    """Return the rows of some of these files."""
    frame = context.session.read.schema(schema).parquet(*map(load_path, uris))
    return frame.toDF(*described.dataframe.columns)


def has_no_values(_part: SparkSource) -> bool:
    """Return False: a record is a row of columns."""
    return False


def position_of_written(reading: PartReading) -> Position:
    """Return whether rows are left, and whether some were read; only the checkpoint directory has the positions."""
    written = directory_of(mounted(reading.run_directory), reading.source, reading.part)
    position = reading.position()
    is_left = not is_written(written) or position < len(_files(written))
    return {"rows_left": is_left, "rows_read": position > 0}, {}


def streamed_reading(context: LoopContext, part: SparkSource) -> FileReading:
    """Return the reading of the files to which a query writes a streaming DataFrame, beside the epochs."""
    directory = stream_directory(mounted(context.directory), context.source, context.part)
    return StreamedReading(
        context.source,
        context.caps,
        StreamWriter(part.dataframe, directory, context.streams, context.fence),
        partial(_files_of_batch, directory),
        part=context.part,
    )


def _files_of_batch(directory: Path, number: int) -> dict[str, tuple[int, int]] | None:
    target = batch_directory(directory, number)
    return _files(target) if target.is_dir() else None


def streamed_schema(
    _context: ReadContext,
    _source: int,
    _part: int,
    described: SparkSource,
    _uris: Sequence[str],
    _first: int,
) -> StructType:
    """Return the schema of the files to which a streaming DataFrame is written."""
    schema: StructType = by_position(described.dataframe).schema
    return schema


def position_of_streams(reading: PartReading) -> Position:
    """Return the offsets of the user's streams, in Spark's form."""
    directory = stream_directory(mounted(reading.run_directory), reading.source, reading.part)
    return {"offsets": offsets_before(directory, reading.position())}, {}


def resume_written(position: Mapping[str, Any]) -> ResumedPart | None:
    """Return that all rows are read, or none is; or None: it cannot be resumed."""
    if not position["rows_left"]:
        return ResumedPart(is_read=True)
    return None if position.get("rows_read", True) else ResumedPart()


def resume_streams(position: Mapping[str, Any]) -> None:
    """Return None: only the user can set the start of their own stream."""
    del position
