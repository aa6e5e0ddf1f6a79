"""The formats of the file sink: a table from format to its writer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import BinaryIO

import pyarrow as pa

from penstock.connectors.files.file_writers import (
    CsvRecordFile,
    JsonRowFile,
    LineRecordFile,
    ParquetRecordFile,
    RecordFile,
    is_whole_column,
    is_written_of_column,
)
from penstock.connectors.python.print_sink import text_form
from penstock.errors import ArgumentError, CallSite, GraphError
from penstock.graph.endpoints import SinkContext
from penstock.types import TypeInformation
from penstock.types.arrow import arrow_schema
from penstock.types.infer import described
from penstock.types.records import RowTypeInfo, TupleTypeInfo
from penstock.wire.text.json_tree import json_text


class FileFormat(Enum):
    """The formats of the file sink."""

    PARQUET = "parquet"
    """Columns of the declared type."""

    CSV = "csv"
    """Columns of the declared type, with a header line."""

    JSON = "json"
    """One JSON text per line."""

    TEXT = "text"
    """`str(record)` per line."""

    PRINTED = "printed"
    """One line per record with the text of `print`, as Flink's `simple_string_encoder`."""


def _open_json(file: BinaryIO, context: SinkContext) -> RecordFile:
    if not isinstance(context.type_info, RowTypeInfo):
        return LineRecordFile(file, context, json_text)
    return JsonRowFile(file, context)


def _open_text(file: BinaryIO, context: SinkContext) -> RecordFile:
    return LineRecordFile(file, context, str)


def _open_printed(file: BinaryIO, context: SinkContext) -> RecordFile:
    return LineRecordFile(file, context, text_form(context.type_info))


@dataclass(frozen=True, slots=True)
class FormatSpec:
    """The writer of one format.

    Attributes:
        extension: End of the file names, without the dot.
        open: Makes the writer of an open, empty file.
        check: Raises GraphError if records of a type cannot be written.
        writes_column: Test whether a field of a type is written as it is in a column. If one is not, all are made of records.
    """

    extension: str
    open: Callable[[BinaryIO, SinkContext], RecordFile]
    check: Callable[[TypeInformation, CallSite | None], None]
    writes_column: Callable[[TypeInformation], bool]


def _never(_type_info: TypeInformation) -> bool:
    return False


def _check_anything(type_info: TypeInformation, origin: CallSite | None) -> None:
    del type_info, origin


def _check_columns(type_info: TypeInformation, origin: CallSite | None) -> None:
    if not isinstance(described(type_info), (RowTypeInfo, TupleTypeInfo)):
        raise GraphError(
            f"Parquet and CSV files need columns, but the stream has the type {type_info!r}",
            hint="Declare the output type of the operator before the sink, or annotate what its "
            "function returns, e.g. "
            "output_type=Types.ROW_NAMED(['name', 'n'], [Types.STRING(), Types.LONG()]).",
            origin=origin,
        )
    try:
        arrow_schema(type_info)
    except ArgumentError as cause:
        raise GraphError(
            f"the type {type_info!r} cannot be written as columns: {cause.problem}",
            hint="Give each field a type, or write JSON lines or text.",
            origin=origin,
        ) from cause


def _check_flat_columns(type_info: TypeInformation, origin: CallSite | None) -> None:
    _check_columns(type_info, origin)
    nested = [field for field in arrow_schema(type_info) if pa.types.is_nested(field.type)]
    if nested:
        raise GraphError(
            f"CSV cannot hold the field {nested[0].name!r} of type {nested[0].type}",
            hint="Write Parquet or JSON, or map the field to a string.",
            origin=origin,
        )


SPECS: dict[FileFormat, FormatSpec] = {
    FileFormat.PARQUET: FormatSpec("parquet", ParquetRecordFile, _check_columns, is_whole_column),
    FileFormat.CSV: FormatSpec("csv", CsvRecordFile, _check_flat_columns, is_written_of_column),
    FileFormat.JSON: FormatSpec("json", _open_json, _check_anything, is_written_of_column),
    FileFormat.TEXT: FormatSpec("txt", _open_text, _check_anything, _never),
    FileFormat.PRINTED: FormatSpec("txt", _open_printed, _check_anything, _never),
}
