"""The table of sources: one row per way in which Spark reads a kind of source.

| row | batch run | live run |
|---|---|---|
| SPLITS | rows (split, range), records made in the worker | the same rows |
| BOUNDED_FILES | the pinned files | some of the pinned files |
| FILES | refused by the planner | files of the file log |
| WRITTEN_FRAME | the DataFrame | files that it is written to first |
| FOREIGN | refused by the planner | files that a query of its own writes, micro-batch by micro-batch |
| LOGS | as SPLITS, with ids of splits; a split may be cut into several ranges | the same rows |

A subclass of one of these sources needs no row. A source that Spark reads in another way needs a class
in `connectors` and a row. Facts that do not concern Spark are attributes of its class: see `Source`.
"""

from __future__ import annotations

from typing import cast

from penstock.connectors.files.file_source import FileSource
from penstock.connectors.spark_source import SparkSource
from penstock.errors import SourceError
from penstock.graph.endpoints import LogSource, Source, SplitSource
from penstock.spark.sources import file_reads, frame_reads, split_reads
from penstock.spark.sources.source_row import FilesInLoop, SourceKind, SourceRow

SPLITS = SourceRow(
    kind=SourceKind.SPLITS,
    source=SplitSource,
    is_bounded=None,
    pin=split_reads.pin_splits,
    batch=None,
    is_value=split_reads.has_values,
    position=split_reads.position_of_splits,
    resume=split_reads.resume_splits,
)
BOUNDED_FILES = SourceRow(
    kind=SourceKind.BOUNDED_FILES,
    source=FileSource,
    is_bounded=True,
    pin=file_reads.pin_bounded,
    batch=file_reads.pinned_rows,
    is_value=file_reads.has_lines,
    position=file_reads.position_of_pinned,
    resume=file_reads.resume_pinned,
    is_of_path=True,
    in_loop=FilesInLoop(
        file_reads.pinned_reading, file_reads.pinned_schema, file_reads.rows_of_files
    ),
)
FILES = SourceRow(
    kind=SourceKind.FILES,
    source=FileSource,
    is_bounded=False,
    pin=file_reads.pin_nothing,
    batch=file_reads.pinned_rows,
    is_value=file_reads.has_lines,
    position=file_reads.position_of_files,
    resume=file_reads.resume_files,
    is_of_path=True,
    in_loop=FilesInLoop(
        file_reads.listed_reading, file_reads.fixed_schema, file_reads.rows_of_files
    ),
)
WRITTEN_FRAME = SourceRow(
    kind=SourceKind.WRITTEN_FRAME,
    source=SparkSource,
    is_bounded=True,
    pin=file_reads.pin_nothing,
    batch=frame_reads.own_rows,
    is_value=frame_reads.has_no_values,
    position=frame_reads.position_of_written,
    resume=frame_reads.resume_written,
    in_loop=FilesInLoop(
        frame_reads.written_reading, frame_reads.written_schema, frame_reads.rows_written
    ),
)
FOREIGN = SourceRow(
    kind=SourceKind.FOREIGN,
    source=SparkSource,
    is_bounded=False,
    pin=file_reads.pin_nothing,
    batch=frame_reads.own_rows,
    is_value=frame_reads.has_no_values,
    position=frame_reads.position_of_streams,
    resume=frame_reads.resume_streams,
    in_loop=FilesInLoop(
        frame_reads.streamed_reading, frame_reads.streamed_schema, frame_reads.rows_written
    ),
)

LOGS = SourceRow(
    kind=SourceKind.LOGS,
    source=LogSource,
    is_bounded=None,
    pin=split_reads.pin_log,
    batch=None,
    is_value=split_reads.has_values,
    position=split_reads.position_of_log,
    resume=split_reads.resume_log,
)

SOURCES = (SPLITS, BOUNDED_FILES, FILES, WRITTEN_FRAME, FOREIGN, LOGS)
"""All rows."""

_NAMED = {row.kind.name: row for row in SOURCES}


def row_named(kind: str) -> SourceRow:
    """Return a row by its recorded name."""
    return _NAMED[kind]


def row_of(part: Source) -> SourceRow:
    """Return the row of a part of a source."""
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
    return cast("FileSource", part) if row is not None and row.is_of_path else None


def _row_for(part: Source) -> SourceRow | None:
    for base in type(part).__mro__:
        for row in SOURCES:
            if row.source is base and row.is_bounded in (None, part.is_bounded):
                return row
    return None
