"""Reads files with Spark: how they are pinned, their rows in a batch run and in an epoch, and their positions.

In a loop of epochs Spark's batch reader gets the files of an epoch by their names. The columns are those of the
first epoch with files: Spark derives columns from names of directories (`day=7`) for each epoch anew, so one
epoch might have them and the next not, or with another type.

Checks integers of Parquet and ORC files that are declared narrower than the files have them.

Spark's readers of columns cut them: 40000 is -25536 as `SHORT`. So narrow integers are read as `INT` and checked:

    a SMALLINT, r STRUCT<x TINYINT>  ──widened──▶  a INT, r STRUCT<x INT>  ──narrowed──▶  a SMALLINT, …, or an error
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial, reduce
from operator import and_
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    IntegerType,
    MapType,
    ShortType,
    StructField,
    StructType,
)

from penstock.config.options import MISSING_COLUMNS
from penstock.connectors.files.file_source import FileSource
from penstock.connectors.files.local_listing import has_glob, is_literal, local_path
from penstock.errors import RESTORE_CHECKPOINTS, DecodeError, SourceError, StateError
from penstock.filesystem.stored_path import JobPath
from penstock.spark.failures.translation import translate
from penstock.spark.sources.file_columns import FileColumns, note_missing_columns
from penstock.spark.sources.file_options import reader_options
from penstock.spark.sources.file_paths import base_path, load_path, may_contain, plain, stream_path
from penstock.spark.sources.inference import strict_schema
from penstock.spark.sources.line_reads import LINES_DDL, is_read_by_lines, lines_of_files
from penstock.spark.sources.listing.file_listing import list_files, listed_now, rows_by_partitions
from penstock.spark.sources.listing.file_log import FileLog, logged_files
from penstock.spark.sources.listing.file_readings import (
    FileReading,
    ListedReading,
    Lister,
    reading_order,
)
from penstock.spark.sources.pinned_files import PinnedFiles, declared_schema, pin_files, reader
from penstock.spark.sources.read_context import ReadContext
from penstock.spark.sources.source_row import (
    LoopContext,
    PartReading,
    PinnedPart,
    Pinning,
    Position,
    ResumedPart,
    file_log_directory,
)
from penstock.spark.sources.unreadable_files import check_before_inference
from penstock.wire.atomic_file import put_verified, read_verified

_COLUMNAR = frozenset({"parquet", "orc"})
_BITS: dict[type[DataType], int] = {ByteType: 8, ShortType: 16}


def widened(format_name: str, schema: StructType) -> StructType:
    """Return the schema with which files are read: narrow integers are `INT`, if the reader would cut them."""
    return _wide(schema) if format_name in _COLUMNAR else schema  # type: ignore[return-value]


def narrowed(frame: DataFrame, schema: StructType) -> DataFrame:
    """Return rows that were read with `widened`, with the types of a schema."""
    declared = {field.name: field.dataType for field in schema.fields}
    if all(
        declared.get(field.name, field.dataType) == field.dataType for field in frame.schema.fields
    ):
        return frame
    file = frame.metadataColumn("_metadata").getField("file_path")
    columns = []
    for field in frame.schema.fields:
        column, kind = sf.col(_quoted(field.name)), declared.get(field.name, field.dataType)
        if kind != field.dataType:
            message = sf.concat(
                file, sf.lit(f": field {field.name!r} is out of the range of {kind.simpleString()}: "),
                column.cast("string"),
            )  # fmt: skip
            column = sf.when(_fits(column, kind), column.cast(kind)).otherwise(
                sf.raise_error(message).cast(kind)
            )
        columns.append(column.alias(field.name))
    return frame.select(*columns)


def _wide(kind: DataType) -> DataType:
    if type(kind) in _BITS:
        return IntegerType()
    if isinstance(kind, StructType):
        fields = [StructField(f.name, _wide(f.dataType), f.nullable) for f in kind.fields]
        return StructType(fields)
    if isinstance(kind, ArrayType):
        return ArrayType(_wide(kind.elementType), kind.containsNull)
    if isinstance(kind, MapType):
        return MapType(_wide(kind.keyType), _wide(kind.valueType), kind.valueContainsNull)
    return kind


def _fits(column: Column, kind: DataType) -> Column:
    """Return whether the integers in a column are in the range of a type."""
    bits = _BITS.get(type(kind))
    if bits is not None:
        fits = column.between(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    elif isinstance(kind, StructType):
        inside = [_fits(column.getField(f.name), f.dataType) for f in kind.fields]
        fits = reduce(and_, inside, sf.lit(True))  # noqa: FBT003 - a value
    elif isinstance(kind, ArrayType):
        fits = sf.forall(column, lambda element: _fits(element, kind.elementType))
    elif isinstance(kind, MapType):
        keys = sf.forall(sf.map_keys(column), lambda key: _fits(key, kind.keyType))
        fits = keys & sf.forall(sf.map_values(column), lambda value: _fits(value, kind.valueType))
    else:
        return sf.lit(True)  # noqa: FBT003 - a value
    return column.isNull() | fits


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def pin_bounded(pinning: Pinning, part: FileSource) -> PinnedPart:
    """List the files of a part, and check their columns."""
    pinned = pin_files(pinning.session, part, pinning.origin)
    schema = StructType.fromJson(json.loads(pinned.schema))
    sizes = {uri: size for uri, (size, _) in pinned.files.items()}
    columns = FileColumns(pinning.session, part, schema, pinning.origin)
    columns.check(sizes)
    note_missing_columns(columns, sizes, pinning.configuration.get(MISSING_COLUMNS))
    return PinnedPart(files=pinned)


def pin_nothing(_pinning: Pinning, _part: Any) -> PinnedPart:
    """Return nothing: the files of the part are listed while it is read."""
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
    frame_reader = session.read.format(described.format).options(**options).schema(wide)

    def load(uris: Sequence[str]) -> DataFrame:
        return narrowed(frame_reader.load([load_path(uri) for uri in uris]), schema)

    return rows_by_partitions(load, described, schema, sorted(pinned.files))


def read_by(context: ReadContext, source: int, part: int, described: FileSource, uri: str) -> bool:
    """Return whether a part of a source reads a file."""
    if described.is_bounded:
        return uri in context.pinned.files[source, part].files
    return may_contain(described.path, uri)


def row_schema(context: ReadContext, source: int, part: int, described: FileSource) -> StructType:
    """Return the declared schema, that of the pinned files, or that of an earlier part."""
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


def resume_files(_position: Mapping[str, Any]) -> ResumedPart:
    """Return nothing: the run omits files that were read, and reads all others."""
    return ResumedPart()


_LOCAL_PAUSE_SECONDS = 0.02
_REMOTE_PAUSE_SECONDS = 1.0
"""Least time between two listings; object stores charge for each."""

_SCHEMA = "schema.json"


def pinned_reading(context: LoopContext, _part: FileSource) -> FileReading:
    """Begin to read the pinned files."""
    return context.pinned_reading(context.pinned.files[context.source, context.part].files)


def listed_reading(context: LoopContext, part: FileSource) -> FileReading:
    """Begin to read the files of a path as they appear, but those of earlier parts and runs; or those that are pinned."""
    if (context.source, context.part) in context.pinned.files:
        return pinned_reading(context, part)
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
    _described: FileSource,
    _uris: Sequence[str],
    _first: int,
) -> StructType:
    """Return the schema with which the files were pinned."""
    return StructType.fromJson(json.loads(context.pinned.files[source, part].schema))


def fixed_schema(
    context: ReadContext,
    source: int,
    part: int,
    described: FileSource,
    uris: Sequence[str],
    first: int,
) -> StructType:
    """Return the schema that the run began with, which is decided and recorded if there is none."""
    if (source, part) in context.pinned.files:
        return pinned_schema(context, source, part, described, uris, first)
    path = file_log_directory(context.directory, source) / _SCHEMA
    if path.exists():
        return _recorded_schema(path)
    if first > 0:
        raise StateError(
            f"{path} is missing, so the columns of the earlier files are unknown",
            hint=RESTORE_CHECKPOINTS,
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
    # The program may declare another type than the one with which the run began.
    schema = declared_schema(described) or schema
    return rows_by_partitions(partial(_loaded, context, described, schema), described, schema, uris)


def _loaded(
    context: ReadContext, described: FileSource, schema: StructType, uris: Sequence[str]
) -> DataFrame:
    """Return the rows that Spark reads. They may have more columns than the schema, in another order."""
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
