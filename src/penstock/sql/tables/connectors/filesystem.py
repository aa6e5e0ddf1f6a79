"""The connector `filesystem`: a directory of files, as history or as it grows."""

from __future__ import annotations

from penstock.config.parse import DURATION, MEMORY, STRING
from penstock.connectors.files.file_formats import FileFormat
from penstock.connectors.files.file_naming import BucketAssigner, FileNaming
from penstock.connectors.files.file_sink import FileSink
from penstock.connectors.files.file_source import FileSource
from penstock.relation.tree import Changelog
from penstock.sql.tables.definition import (
    Connector,
    TableDefinition,
    TableSink,
    TableSource,
    Takes,
)
from penstock.sql.tables.formats.table import FORMATS
from penstock.sql.tables.options import TableOption
from penstock.sql.tables.rows import RowsOfMessage, TextOfRow, scaled_decimals
from penstock.types.time import Duration
from penstock.types.types import Types

COLUMN_FORMATS = ("parquet", "orc")
"""Formats of files that Spark reads as columns."""

_PATH = TableOption("path", STRING, "File, directory, or pattern.", is_required=True)
_FORMAT = TableOption(
    "format",
    STRING,
    "Format of the files.",
    is_required=True,
    choices=(*COLUMN_FORMATS, *FORMATS),
)
_MONITOR = TableOption(
    "source.monitor-interval",
    DURATION,
    "Time between searches for new files; by default the table ends.",
)
_FILE_SIZE = TableOption(
    "sink.rolling-policy.file-size", MEMORY, "Size at which a task begins another file."
)


def files_of(table: TableDefinition, path: str, file_format: str) -> TableSource:
    """Return the source of the files at a path."""
    if file_format in COLUMN_FORMATS:
        source = FileSource(path, file_format, table.row_type)
        return TableSource(source, scaled_decimals(table.columns))
    text_format = FORMATS[file_format]
    if any(stored.metadata_key is not None for stored in table.stored):
        raise table.options.wrong("has metadata columns and files of text", "Use Parquet.")
    names = tuple(name for name, _ in table.physical)
    return TableSource(
        FileSource.text(path),
        RowsOfMessage(
            names, text_format.decoder(table.physical, table.options), text_format.is_changelog
        ),
    )


def changes_of_format(table: TableDefinition) -> Changelog:
    """Return the changelog of a table, which its format defines."""
    given = table.options.given
    named_format = FORMATS.get(given.get("value.format") or given.get("format") or "")
    is_changelog = named_format is not None and named_format.is_changelog
    return Changelog.RETRACT if is_changelog else Changelog.INSERT_ONLY


def _source(table: TableDefinition) -> TableSource:
    options = table.options
    files = files_of(table, options.value(_PATH), options.value(_FORMAT))
    interval = options.get(_MONITOR)
    if interval is None:
        return files
    assert isinstance(files.source, FileSource), "it is of files"
    millis = Duration.of_millis(int(interval.total_seconds() * 1000))
    return TableSource(files.source.monitor_continuously(millis), files.rows)


def _sink(table: TableDefinition) -> TableSink:
    options = table.options
    path, file_format, size = options.value(_PATH), options.value(_FORMAT), options.get(_FILE_SIZE)
    buckets = BucketAssigner()
    if table.partitioned_by:
        buckets = BucketAssigner.by_columns(*table.partitioned_by)
    if file_format == "parquet":
        sink = FileSink(path, FileFormat.PARQUET, FileNaming(buckets=buckets), size)
        return TableSink(sink, Takes.INSERTS)
    if file_format in COLUMN_FORMATS:
        raise options.wrong(f"has the format {file_format!r}, which is only read", "Write Parquet.")
    if table.partitioned_by:
        raise options.wrong("is partitioned, and its files are text", "Write Parquet.")
    text_format = FORMATS[file_format]
    encode = text_format.encoder(table.physical, options)
    return TableSink(
        FileSink(path, FileFormat.TEXT, FileNaming(suffix=f".{file_format}"), size),
        Takes.CHANGES if text_format.is_changelog else Takes.INSERTS,
        TextOfRow(encode, text_format.is_changelog),
        Types.STRING(),
    )


FILESYSTEM = Connector(
    "filesystem",
    "files of a directory",
    (_PATH, _FORMAT, _MONITOR, _FILE_SIZE),
    _source,
    _sink,
    formats=tuple(FORMATS),
    changelog=changes_of_format,
    is_partitioned=True,
)
