"""Finds the record of a JSON or CSV file that could not be read: its line, field and value.

The error of Spark's reader names the file. Two small jobs, only after a failure, read the file again
with the same parser, which now also returns the text of a bad record. The bad field is the one that
is empty although the text has a value for it.
"""

from __future__ import annotations

import csv
import json
import logging
from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import Row as SparkRow
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import DataType, StringType, StructField, StructType

from penstock.connectors.files.file_source import FileSource
from penstock.connectors.spark_source import by_position, column_name
from penstock.errors import PenstockError, SourceError
from penstock.spark.failures.crashed_workers import with_operators
from penstock.spark.failures.known_failures import failed_file, java_causes
from penstock.spark.failures.translation import translate
from penstock.spark.sources.file_options import reader_options
from penstock.spark.sources.file_paths import load_path
from penstock.spark.sources.file_reads import read_by, row_schema
from penstock.spark.sources.open_quotes import line_number, numbered_lines, shortened
from penstock.spark.sources.read_context import ReadContext
from penstock.spark.sources.table import files_of

_TEXT = "\ue000 text"
"""The column for the text of a bad record. No file has a column of this name."""

_logger = logging.getLogger("penstock")


def read_failure(context: ReadContext, cause: BaseException, doing: str) -> PenstockError:
    """Return our error about a failed run, with the record of a file, or the operator of a crash, that caused it."""
    error = with_operators(translate(cause, doing), str(cause), context.plan)
    uri = failed_file(java_causes(cause)) if isinstance(error, SourceError) else None
    if uri is None:
        return error
    for source, part, described in context.parts():
        files = files_of(described)
        if files is not None and read_by(context, source, part, files, uri):
            origin = context.plan.source(source).origin
            schema = row_schema(context, source, part, files)
            reason = _found(context.session, files, schema, uri)
            problem = error.problem if reason is None else f"{doing} failed: {reason}"
            failure = type(error)(problem, hint=error.hint, origin=error.origin or origin)
            return failure.permanent(error.is_permanent)
    return error


def _found(session: SparkSession, source: FileSource, schema: StructType, uri: str) -> str | None:
    if source.format not in _FIELDS:
        return None
    try:
        return bad_record(session, source, schema, uri)
    except Exception as second:  # noqa: BLE001 - the original failure is reported instead
        _logger.info("the record of %s that cannot be read was not found: %s", uri, second)
        return None


def bad_record(
    session: SparkSession, source: FileSource, schema: StructType, uri: str
) -> str | None:
    """Return file, line, field and value of the first record that cannot be read; None if every record can be read."""
    of_file = [item for item in schema.fields if f"/{item.name}=" not in uri]  # no partitions
    options = reader_options(source)
    options = {k: v for k, v in options.items() if k.lower() not in _OURS}
    options |= {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _TEXT}
    with_text = StructType([*of_file, StructField(_TEXT, StringType())])
    path = load_path(uri)
    read = session.read.format(source.format).options(**options).schema(with_text).load(path)
    text = sf.col(column_name(len(of_file)))
    rows = by_position(read).where(text.isNotNull()).limit(1).collect()
    if not rows:
        return None
    *values, record = rows[0]
    lines = numbered_lines(session.read, path)
    number = line_number(lines, record.splitlines()[0] if record.strip() else record)
    place = uri if number is None else f"{uri}, line {number}"
    read_as = dict(zip((item.name for item in of_file), values, strict=True))
    problem = _FIELDS[source.format](read_as, StructType(of_file), record, options)
    return f"{place}: {problem}"


def _json_field(
    read: Mapping[str, Any], schema: StructType, record: str, _: Mapping[str, str]
) -> str:
    try:
        whole = json.loads(record)
    except ValueError as cause:
        return f"the record is not JSON ({cause}): {shortened(record)}"
    if not isinstance(whole, dict):
        return f"the record is not a JSON object: {shortened(record)}"
    lost = next(_lost(read, schema, whole), None)
    if lost is None:
        return f"the record does not fit: {shortened(record)}"
    name, value, kind = lost
    return _no_value_of(name, json.dumps(value, ensure_ascii=False), kind)


def _lost(
    read: Mapping[str, Any], schema: StructType, whole: Mapping[str, Any]
) -> Iterator[tuple[str, Any, DataType]]:
    """Yield the fields, with values and types, of the record that were not read."""
    for (name, value), item in zip(read.items(), schema.fields, strict=True):
        written, kind = whole.get(name), item.dataType
        if (
            isinstance(value, SparkRow)
            and isinstance(kind, StructType)
            and isinstance(written, dict)
        ):
            inside = dict(zip(value.__fields__, value, strict=True))
            yield from ((f"{name}.{field}", *lost) for field, *lost in _lost(inside, kind, written))
        elif value is None and written is not None:
            yield name, written, kind


def _no_value_of(name: str, value: str, kind: DataType) -> str:
    return f"field {name!r} has the value {shortened(value)}, no {shortened(kind.simpleString())}"


def _csv_field(
    read: Mapping[str, Any], schema: StructType, record: str, options: Mapping[str, str]
) -> str:
    named = {name.lower(): value for name, value in options.items()}
    separator = named.get("sep", named.get("delimiter", ","))
    quote = named.get("quote", '"')
    if len(separator) != 1 or len(quote) != 1:
        return f"the record does not fit: {shortened(record)}"
    cells = next(csv.reader([record], delimiter=separator, quotechar=quote), [])
    if len(cells) != len(read):
        fields = f"{len(cells)} field{'' if len(cells) == 1 else 's'}"
        return f"the record has {fields} and not {len(read)}: {shortened(record)}"
    empty = {"", named.get("nullvalue", "")}
    for (name, value), cell, item in zip(read.items(), cells, schema.fields, strict=True):
        if value is None and cell not in empty:
            return _no_value_of(name, repr(cell), item.dataType)
    return f"the record does not fit: {shortened(record)}"


_FIELDS = {"json": _json_field, "csv": _csv_field}
_OURS = frozenset({"mode", "columnnameofcorruptrecord"})
