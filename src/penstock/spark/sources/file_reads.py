"""Reads files with Spark: how they are pinned, their rows in a batch run, and their positions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from penstock.config.options import MISSING_COLUMNS
from penstock.connectors.files.file_source import FileSource
from penstock.errors import SourceError
from penstock.spark.failures.translation import translate
from penstock.spark.sources.file_columns import FileColumns
from penstock.spark.sources.file_options import reader_options
from penstock.spark.sources.file_paths import (
    base_path,
    load_path,
    may_contain,
    plain,
    stream_path,
)
from penstock.spark.sources.inference import strict_schema
from penstock.spark.sources.line_reads import (
    LINES_DDL,
    is_read_by_lines,
    lines_of_files,
)
from penstock.spark.sources.listing.file_listing import rows_by_partitions
from penstock.spark.sources.listing.file_log import logged_files
from penstock.spark.sources.listing.file_readings import reading_order
from penstock.spark.sources.missing_columns import note_missing_columns
from penstock.spark.sources.narrow_columns import narrowed, widened
from penstock.spark.sources.pinned_files import PinnedFiles, declared_schema, pin_files, reader
from penstock.spark.sources.read_context import ReadContext
from penstock.spark.sources.source_row import (
    PartReading,
    PinnedPart,
    Pinning,
    Position,
    ResumedPart,
    file_log_directory,
)
from penstock.spark.sources.unreadable_files import check_before_inference


def pin_bounded(pinning: Pinning, part: FileSource) -> PinnedPart:
    """List the files of a part, and check their columns.

    Raises:
        SourceError: They cannot be read without losing columns.
    """
    pinned = pin_files(pinning.session, part, pinning.origin)
    schema = StructType.fromJson(json.loads(pinned.schema))
    sizes = {uri: size for uri, (size, _) in pinned.files.items()}
    columns = FileColumns(pinning.session, part, schema, pinning.origin)
    columns.check(sizes)
    note_missing_columns(columns, sizes, pinning.configuration.get(MISSING_COLUMNS))
    return PinnedPart(files=pinned)


def pin_nothing(pinning: Pinning, part: Any) -> PinnedPart:
    """Return nothing: the files of the part are listed while it is read."""
    del pinning, part
    return PinnedPart()


def pinned_rows(context: ReadContext, source: int, part: int, described: FileSource) -> DataFrame:
    """Return the rows of the pinned files."""
    return rows_of_pinned(context.session, described, context.pinned.files[source, part])


def rows_of_pinned(session: SparkSession, described: FileSource, pinned: PinnedFiles) -> DataFrame:
    """Return the rows of pinned files of a source."""
    schema = declared_schema(described) or StructType.fromJson(json.loads(pinned.schema))
    if not pinned.files:
        return session.createDataFrame([], LINES_DDL if is_read_by_lines(described) else schema)
    options = base_path(described.path) | reader_options(described)
    if is_read_by_lines(described):
        return lines_of_files(session, described, sorted(pinned.files))
    wide = widened(described.format, schema)
    made = session.read.format(described.format).options(**options).schema(wide)

    def load(uris: Sequence[str]) -> DataFrame:
        return narrowed(made.load([load_path(uri) for uri in uris]), schema)

    return rows_by_partitions(load, described, schema, sorted(pinned.files))


def read_by(context: ReadContext, source: int, part: int, described: FileSource, uri: str) -> bool:
    """Return whether a part of a source reads a file."""
    if described.is_bounded:
        return uri in context.pinned.files[source, part].files
    return may_contain(described.path, uri)


def row_schema(context: ReadContext, source: int, part: int, described: FileSource) -> StructType:
    """Return the declared schema, that of the pinned files, or that of an earlier part.

    Raises:
        SourceError: The schema is unknown.
    """
    declared = declared_schema(described)
    if declared is not None:
        return declared
    known = context.pinned.files | context.earlier
    for number in range(part, -1, -1):
        if (source, number) in known and known[source, number].schema:
            return StructType.fromJson(json.loads(known[source, number].schema))
    try:
        check_before_inference(context.session, described, context.plan.source(source).origin)
        path = stream_path(described.path)
        inferred = strict_schema(
            context.session,
            described,
            path,
            reader(context.session, described).load(path).schema,
        )
    except SourceError:
        raise
    except Exception as cause:
        raise SourceError(
            f"the columns of {described.describe()} are unknown: "
            f"{translate(cause, 'inferring them').problem}",
            hint="Declare type_info, because there is no file yet to infer it from.",
            origin=context.plan.source(source).origin,
        ) from cause
    return inferred


def has_lines(part: FileSource) -> bool:
    """Return whether a record is a line, rather than a row of columns."""
    return part.format == "text"


def position_of_pinned(reading: PartReading) -> Position:
    """Return the pinned files that are left, and those that were read."""
    pinned = reading.pinned.files[reading.source, reading.part]
    seen = {plain(uri) for uri in reading_order(pinned.files)[: reading.position()]}
    left = {uri: facts for uri, facts in pinned.files.items() if plain(uri) not in seen}
    read = {uri: facts for uri, facts in pinned.files.items() if uri not in left}
    return {"left": PinnedFiles(left, pinned.schema).to_json()}, read


def position_of_files(reading: PartReading) -> Position:
    """Return the files that were read; the files to come are unknown."""
    log = file_log_directory(reading.run_directory, reading.source)
    return {}, logged_files(log, reading.position())


def resume_pinned(position: Mapping[str, Any]) -> ResumedPart:
    """Return the files that are left."""
    return ResumedPart(left=PinnedFiles.from_json(position["left"]))


def resume_files(position: Mapping[str, Any]) -> ResumedPart:
    """Return nothing: the run omits files that were read, and reads all others."""
    del position
    return ResumedPart()
