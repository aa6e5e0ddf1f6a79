"""The table of sources: one row per way in which Spark reads a kind of source.

| row | batch run | query | loop of epochs |
|---|---|---|---|
| SPLITS | rows (split, range), records made in the worker | the same rows from the positions stream | the same rows |
| BOUNDED_FILES | the pinned files | a file stream of the pinned files only | some of the pinned files |
| FILES | refused by the planner | a file stream of all but the pinned ones | files of the file log |
| WRITTEN_FRAME | the DataFrame | files it was written to first | the same files |
| FOREIGN | refused by the planner | the DataFrame | refused by the planner |
| LOGS | as SPLITS, with ids of splits; a split may be cut into several ranges | refused by the planner | the same rows |

A subclass of one of these sources needs no row. A source that Spark reads in another way needs a class
in `connectors` and a row. Facts that do not concern Spark are attributes of its class: see `Source`.
"""

from __future__ import annotations

from typing import cast

from penstock.connectors.files.file_source import FileSource
from penstock.connectors.spark_source import SparkSource
from penstock.errors import SourceError
from penstock.graph.endpoints import LogSource, Source, SplitSource
from penstock.spark.sources import file_reads, frame_reads, loop_reads, split_reads
from penstock.spark.sources.source_row import FilesInLoop, FileStream, SourceRow, StreamKind

SPLITS = SourceRow(
    kind=StreamKind.SPLITS,
    source=SplitSource,
    is_bounded=None,
    pin=split_reads.pin_splits,
    batch=None,
    live=None,
    is_value=split_reads.has_values,
    streams=split_reads.no_streams,
    position=split_reads.position_of_splits,
    resume=split_reads.resume_splits,
    is_complete=split_reads.are_at_their_ends,
)
BOUNDED_FILES = SourceRow(
    kind=StreamKind.BOUNDED_FILES,
    source=FileSource,
    is_bounded=True,
    pin=file_reads.pin_bounded,
    batch=file_reads.pinned_rows,
    live=file_reads.streamed_rows,
    is_value=file_reads.has_lines,
    streams=file_reads.one_stream,
    position=file_reads.position_of_pinned,
    resume=file_reads.resume_pinned,
    is_complete=file_reads.has_nothing_new,
    files=FileStream(is_of_path=True, only_pinned=True, waiting=file_reads.waiting_pinned),
    in_loop=FilesInLoop(
        loop_reads.pinned_reading, loop_reads.pinned_schema, loop_reads.rows_of_files
    ),
)
FILES = SourceRow(
    kind=StreamKind.FILES,
    source=FileSource,
    is_bounded=False,
    pin=file_reads.pin_nothing,
    batch=file_reads.pinned_rows,
    live=file_reads.streamed_rows,
    is_value=file_reads.has_lines,
    streams=file_reads.one_stream,
    position=file_reads.position_of_files,
    resume=file_reads.resume_files,
    is_complete=file_reads.never_complete,
    files=FileStream(is_of_path=True, waiting=file_reads.waiting_files),
    in_loop=FilesInLoop(
        loop_reads.listed_reading, loop_reads.fixed_schema, loop_reads.rows_of_files
    ),
)
WRITTEN_FRAME = SourceRow(
    kind=StreamKind.WRITTEN_FRAME,
    source=SparkSource,
    is_bounded=True,
    pin=file_reads.pin_nothing,
    batch=frame_reads.own_rows,
    live=frame_reads.written_rows,
    is_value=frame_reads.has_no_values,
    streams=file_reads.one_stream,
    position=frame_reads.position_of_written,
    resume=frame_reads.resume_written,
    is_complete=file_reads.has_nothing_new,
    files=FileStream(),
    in_loop=FilesInLoop(
        frame_reads.written_reading, frame_reads.written_schema, frame_reads.rows_written
    ),
)
FOREIGN = SourceRow(
    kind=StreamKind.FOREIGN,
    source=SparkSource,
    is_bounded=False,
    pin=file_reads.pin_nothing,
    batch=frame_reads.own_rows,
    live=frame_reads.own_rows,
    is_value=frame_reads.has_no_values,
    streams=frame_reads.streams_of,
    position=frame_reads.position_of_streams,
    resume=frame_reads.resume_streams,
    is_complete=file_reads.never_complete,
    in_loop=FilesInLoop(
        frame_reads.streamed_reading, frame_reads.streamed_schema, frame_reads.rows_written
    ),
)

LOGS = SourceRow(
    kind=StreamKind.LOGS,
    source=LogSource,
    is_bounded=None,
    pin=split_reads.pin_log,
    batch=None,
    live=None,
    is_value=split_reads.has_values,
    streams=split_reads.no_streams,
    position=split_reads.position_of_log,
    resume=split_reads.resume_log,
    is_complete=split_reads.never_in_a_query,
)

SOURCES = (SPLITS, BOUNDED_FILES, FILES, WRITTEN_FRAME, FOREIGN, LOGS)
"""All rows."""

_NAMED = {row.kind.name: row for row in SOURCES}


def row_named(kind: str) -> SourceRow:
    """Return a row by its recorded name."""
    return _NAMED[kind]


def row_of(part: Source) -> SourceRow:
    """Return the row of a part of a source.

    Raises:
        SourceError: There is no row for it.
    """
    row = _row_for(part)
    if row is None:
        raise SourceError(
            f"{type(part).__name__} is neither a SplitSource, a FileSource nor a SparkSource",
            hint="Derive your source from SplitSource or LogSource, or wrap a DataFrame in SparkSource.",
        )
    return row


def files_of(part: Source) -> FileSource | None:
    """Return the part if it is a file source, else None."""
    row = _row_for(part)
    is_of_path = row is not None and row.files is not None and row.files.is_of_path
    return cast("FileSource", part) if is_of_path else None


def _row_for(part: Source) -> SourceRow | None:
    for base in type(part).__mro__:
        for row in SOURCES:
            if row.source is base and row.is_bounded in (None, part.is_bounded):
                return row
    return None
