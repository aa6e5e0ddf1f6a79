"""Reads files in a loop of epochs: Spark's batch reader gets the files of an epoch by their names.

The columns are those of the first epoch with files. Spark derives columns from names of directories (`day=7`)
for each epoch anew, so one epoch might have them and the next not, or with another type: all epochs are read
with the schema of the first one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from penstock.connectors.files.file_source import FileSource
from penstock.errors import DecodeError, StateError
from penstock.filesystem.stored_path import JobPath
from penstock.spark.sources.file_options import reader_options
from penstock.spark.sources.file_paths import (
    base_path,
    has_glob,
    is_literal,
    load_path,
    local_path,
    plain,
)
from penstock.spark.sources.file_reads import row_schema
from penstock.spark.sources.line_reads import is_read_by_lines, lines_of_files
from penstock.spark.sources.listing.file_listing import list_files, listed_now, rows_by_partitions
from penstock.spark.sources.listing.file_log import FileLog
from penstock.spark.sources.listing.file_readings import FileReading, ListedReading, Lister
from penstock.spark.sources.narrow_columns import narrowed, widened
from penstock.spark.sources.pinned_files import declared_schema
from penstock.spark.sources.read_context import ReadContext
from penstock.spark.sources.source_row import LoopContext, file_log_directory
from penstock.wire.atomic_file import put_verified, read_verified

_LOCAL_PAUSE_SECONDS = 0.02
_REMOTE_PAUSE_SECONDS = 1.0
"""Least time between two listings; object stores charge for each."""

_SCHEMA = "schema.json"


def pinned_reading(context: LoopContext, part: FileSource) -> FileReading:
    """Begin to read the pinned files."""
    del part
    return context.pinned_reading(context.pinned.files[context.source, context.part].files)


def listed_reading(context: LoopContext, part: FileSource) -> FileReading:
    """Begin to read the files of a path as they appear, but those of earlier parts and runs."""
    log = FileLog(file_log_directory(context.directory, context.source), context.fence)
    for known in (context.earlier, context.pinned.files):
        for (source, _), read in known.items():
            if source == context.source:
                log.known.add(read.files)
    least = _LOCAL_PAUSE_SECONDS if local_path(part.path) is not None else _REMOTE_PAUSE_SECONDS
    return ListedReading(
        context.source,
        context.caps,
        log,
        Lister(
            partial(list_files, context.session, part),
            partial(listed_now, context.session),
            max(least, part.discovery_seconds or 0.0),
        ),
        part=context.part,
    )


def pinned_schema(
    context: ReadContext,
    source: int,
    part: int,
    described: FileSource,
    uris: Sequence[str],
    first: int,
) -> StructType:
    """Return the schema with which the files were pinned."""
    del described, uris, first
    return StructType.fromJson(json.loads(context.pinned.files[source, part].schema))


def fixed_schema(
    context: ReadContext,
    source: int,
    part: int,
    described: FileSource,
    uris: Sequence[str],
    first: int,
) -> StructType:
    """Return the schema that the run began with, which is decided and recorded if there is none.

    Raises:
        SourceError: It is unknown.
        StateError: The record is damaged, or missing although files were read.
        OSError: It cannot be recorded.
    """
    del uris
    path = file_log_directory(context.directory, source) / _SCHEMA
    if path.exists():
        return _recorded_schema(path)
    if first > 0:
        raise StateError(
            f"{path} is missing: with which columns the files before were read is not known",
            hint="Restore the checkpoint directory from a copy, or start the job in a new one.",
        )
    schema = row_schema(context, source, part, described)
    try:
        put_verified(path, schema.jsonValue(), context.fence)
    except FileExistsError:  # an earlier driver, which woke up, was faster
        return _recorded_schema(path)
    return schema


def _recorded_schema(path: JobPath) -> StructType:
    try:
        return StructType.fromJson(read_verified(path))
    except DecodeError as cause:
        raise StateError(cause.problem, hint=cause.hint) from cause


def rows_of_files(
    context: ReadContext, described: FileSource, schema: StructType, uris: Sequence[str]
) -> DataFrame:
    """Return the rows of files, with the columns of a schema."""
    if is_read_by_lines(described):
        return lines_of_files(context.session, described, uris)
    schema = declared_schema(described) or schema  # an earlier version recorded partitions, too
    return rows_by_partitions(partial(_loaded, context, described, schema), described, schema, uris)


def _loaded(
    context: ReadContext, described: FileSource, schema: StructType, uris: Sequence[str]
) -> DataFrame:
    """Return what Spark reads, which may have more columns than the schema, in another order."""
    options = _base_of(described, uris) | reader_options(described)
    wide = widened(described.format, schema)
    reader = context.session.read.format(described.format).options(**options).schema(wide)
    return narrowed(reader.load([load_path(uri) for uri in uris]), schema)


def _base_of(described: FileSource, uris: Sequence[str]) -> dict[str, str]:
    """Return the option with which names of directories give partition columns, as for history."""
    if local_path(described.path) is not None:
        return base_path(described.path) if is_literal(described.path) else {}
    is_file = len(uris) == 1 and plain(uris[0]) == described.path.rstrip("/")
    return {} if is_file or has_glob(described.path) else {"basePath": described.path}
