"""Columns that a task may write into files without making records, also as lines of JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import types as kinds

from penstock.connectors.files.file_writers import LineRecordFile, is_written_of_column
from penstock.errors import TypeMismatchError
from penstock.graph.endpoints import SinkContext
from penstock.types.arrow import arrow_schema, arrow_type
from penstock.types.arrow_lists import check_times, columns_to_lists
from penstock.types.base import TypeInformation
from penstock.types.records import RowTypeInfo
from penstock.wire.row_columns import rows_of
from penstock.wire.text import json_codec


@dataclass(frozen=True, slots=True)
class WritableColumns:
    """The columns of the files of a task.

    Attributes:
        schema: Names and types of the fields of the records.
    """

    schema: pa.Schema

    def declared(self, batch: pa.RecordBatch) -> pa.RecordBatch | None:
        """Return a batch with this schema; None if its rows have to be written as records.

        Decimals may have other digits: the column of the file has more, as it has for records.
        """
        if batch.schema.names != self.schema.names:
            return None
        try:
            columns = list(map(_as_declared, batch.columns, self.schema.types))
            check_times(batch)
        except (pa.ArrowInvalid, TypeMismatchError):
            return None  # records say which field, of which sink
        if any(column is None for column in columns):
            return None
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


def _as_declared(column: Any, kind: Any) -> Any:
    """Return a column of a type, None if its values may have another one; ArrowInvalid if digits would be lost."""
    if column.type == kind:
        return column
    return column.cast(kind) if all(map(kinds.is_decimal, (column.type, kind))) else None


def columns_of_files(
    type_info: TypeInformation, writes_column: Callable[[TypeInformation], bool]
) -> WritableColumns | None:
    """Return the columns of files; None if these are made of records only."""
    if not isinstance(type_info, RowTypeInfo):
        return None
    return (
        WritableColumns(arrow_schema(type_info))
        if all(map(writes_column, type_info.field_types))
        else None
    )


def is_whole_column(type_info: TypeInformation) -> bool:
    """Return whether every value of a column of a type is that of some record.

    Of times that is seen (`WritableColumns.declared`), except inside of other values; a map may have a key twice.
    """
    return _is_whole(arrow_type(type_info), is_inside=False)


def _is_whole(kind: Any, *, is_inside: bool) -> bool:
    if kinds.is_map(kind) or (is_inside and kinds.is_temporal(kind)):
        return False
    inside = [kind.field(at).type for at in range(kind.num_fields)]
    return all(_is_whole(each, is_inside=True) for each in inside)


class JsonRowFile(LineRecordFile):
    """Writes rows as JSON objects, one per line."""

    def __init__(self, file: BinaryIO, context: SinkContext) -> None:
        type_info = context.type_info
        assert isinstance(type_info, RowTypeInfo), "other records have no names"
        coerce = type_info.coerce  # gives the fields their names
        write = json_codec(type_info).write
        super().__init__(file, context, lambda record: write(coerce(record)))
        names = (encode_basestring(name).replace("%", "%%") for name in type_info.field_names)
        self._line = ("{" + ",".join(f"{name}:%s" for name in names) + "}\n").__mod__
        types = type_info.field_types
        self._has_texts = all(map(is_written_of_column, types))
        self._texts = [json_codec(kind).writes for kind in types] if self._has_texts else []

    def write_columns(self, batch: pa.RecordBatch) -> None:
        """Append rows; raises SinkError naming the first that has no text."""
        if not self._has_texts:
            self.write(rows_of(batch))
            return
        lists = columns_to_lists(batch)
        texts = [
            ["null" if value is None else text(value) for value in values]
            if column.null_count
            else map(text, values)
            for text, values, column in zip(self._texts, lists, batch.columns, strict=True)
        ]
        self._append("".join(map(self._line, zip(*texts, strict=True))).encode(), batch.num_rows)
