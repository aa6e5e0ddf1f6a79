"""Reads files with Spark: pinned files in a batch run, a stream of files in a live run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from penstock.config.file_options import MISSING_COLUMNS
from penstock.config.options import MAX_FILES_PER_BATCH
from penstock.connectors.column_positions import chosen
from penstock.connectors.files.file_source import FileSource
from penstock.errors import SourceError
from penstock.spark.failures.translation import translate
from penstock.spark.sources.file_columns import FileColumns
from penstock.spark.sources.file_options import reader_options
from penstock.spark.sources.file_paths import (
    base_path,
    depths_of,
    is_literal,
    is_not_deeper,
    load_path,
    may_contain,
    metadata_path,
    plain,
    stream_path,
)
from penstock.spark.sources.inference import strict_schema
from penstock.spark.sources.line_reads import (
    LINES_DDL,
    is_read_by_lines,
    line_options,
    lines_of,
)
from penstock.spark.sources.listing.file_readings import reading_order
from penstock.spark.sources.listing.partition_groups import rows_by_partitions
from penstock.spark.sources.missing_columns import note_missing_columns
from penstock.spark.sources.narrow_columns import narrowed, widened
from penstock.spark.sources.pinned_files import PinnedFiles, declared_schema, pin_files, reader
from penstock.spark.sources.read_context import SOURCE_OPTION, ReadContext
from penstock.spark.sources.source_row import (
    PendingFilesContext,
    PinnedPart,
    Pinning,
    Position,
    Progress,
    ResumedPart,
    StreamReading,
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
        made = session.read.format("text").options(**line_options(described))
        return lines_of(made.load([load_path(uri) for uri in sorted(pinned.files)]))
    wide = widened(described.format, schema)
    made = session.read.format(described.format).options(**options).schema(wide)

    def load(uris: Sequence[str]) -> DataFrame:
        return narrowed(made.load([load_path(uri) for uri in uris]), schema)

    return rows_by_partitions(load, described, schema, sorted(pinned.files))


def streamed_rows(context: ReadContext, source: int, part: int, described: FileSource) -> DataFrame:
    """Return the rows of a stream of files: of the pinned ones, or of all but those read before."""
    schema = row_schema(context, source, part, described)
    base = base_path(described.path) if is_literal(described.path) else {}
    of_lines = is_read_by_lines(described)
    options = line_options(described) if of_lines else reader_options(described)
    made = (
        context.session.readStream.format("text" if of_lines else described.format)
        .options(**base | options | stream_options(context, source))
        .option("maxFilesPerTrigger", str(files_per_batch(context, source)))
    )
    reader_of = made if of_lines else made.schema(widened(described.format, schema))
    stream = reader_of.load(stream_path(described.path))
    # Spark's metadata column, even if the files have a column of this name.
    path = stream.metadataColumn("_metadata").getField("file_path")
    narrow: Callable[[DataFrame], DataFrame]
    narrow = lines_of if of_lines else partial(_columns_of, schema=schema)
    if source in context.as_trees:
        deepest = max(depths_of(described.path)) + 1
        stream = stream.where(is_not_deeper(path, deepest))
    if described.is_bounded:
        only = [metadata_path(uri) for uri in sorted(context.pinned.files[source, part].files)]
        return narrow(stream.where(path.isin(only)))
    earlier = [pinned for (owner, _), pinned in context.earlier.items() if owner == source]
    inside = [uri for each in earlier for uri in each.files if may_contain(described.path, uri)]
    if not inside:
        return narrow(stream)
    read_already = [metadata_path(uri) for uri in inside]
    return narrow(stream.where(~path.isin(read_already)))


def _columns_of(frame: DataFrame, schema: StructType) -> DataFrame:
    """Return the columns of a schema, without those of directories that it has not."""
    found = narrowed(frame, schema)
    return found if found.schema.names == schema.names else chosen(found, schema.names)


def files_per_batch(context: ReadContext, source: int) -> int:
    """Return the greatest number of files of a source in a micro-batch."""
    usual: int = context.configuration.get(MAX_FILES_PER_BATCH)
    return context.files_per_batch.get(source, usual)


def stream_options(context: ReadContext, source: int) -> dict[str, str]:
    """Return the options of every file stream of ours."""
    tree = {"recursiveFileLookup": "true"} if source in context.as_trees else {}
    # Spark would silently skip a file that is a week older than the newest one.
    return {"maxFileAge": "36500d", SOURCE_OPTION: str(source)} | tree


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


def one_stream(part: Any) -> list[Any]:
    """Return the one stream of a part, which equals no other stream."""
    del part
    return [object()]


def position_of_pinned(reading: StreamReading) -> Position:
    """Return the pinned files that are left, and those that were read."""
    pinned = reading.pinned.files[reading.source, reading.part]
    position = reading.position_in_loop()
    if position is None:
        seen = {plain(uri) for uri in reading.files()}
    else:
        seen = {plain(uri) for uri in reading_order(pinned.files)[:position]}
    left = {uri: facts for uri, facts in pinned.files.items() if plain(uri) not in seen}
    read = {uri: facts for uri, facts in pinned.files.items() if uri not in left}
    return {"left": PinnedFiles(left, pinned.schema).to_json()}, read


def position_of_files(reading: StreamReading) -> Position:
    """Return the files that were read; the files to come are unknown."""
    return {}, reading.files()


def resume_pinned(position: Mapping[str, Any]) -> ResumedPart:
    """Return the files that are left."""
    return ResumedPart(left=PinnedFiles.from_json(position["left"]))


def resume_files(position: Mapping[str, Any]) -> ResumedPart:
    """Return nothing: the run omits files that were read, and reads all others."""
    del position
    return ResumedPart()


def has_nothing_new(progress: Progress) -> bool:
    """Return whether the stream had nothing new; its files existed before the query began."""
    return bool(progress.stream.startOffset == progress.stream.endOffset)


def never_complete(progress: Progress) -> bool:
    """Return False: the part never ends."""
    del progress
    return False


def waiting_pinned(context: PendingFilesContext, part: FileSource) -> set[str]:
    """Return the pinned files that were not read."""
    del part
    pinned = context.pinned.files[context.source, context.part].files
    return {uri for uri in map(metadata_path, pinned) if uri not in context.read}


def waiting_files(context: PendingFilesContext, part: FileSource) -> set[str]:
    """Return the existing files that were not read."""
    there = context.session.read.format("binaryFile").options(**dict(part.options))
    try:
        listed = list(there.load(stream_path(part.path)).inputFiles())
    except AnalysisException:
        return set()  # the directory does not exist yet
    of_source = [
        pinned for (owner, _), pinned in context.earlier.items() if owner == context.source
    ]
    read = context.read | {metadata_path(uri) for pinned in of_source for uri in pinned.files}
    return {uri for uri in map(metadata_path, listed) if uri not in read}
