"""Rows as lines of JSON, of columns without a record in between.

    n    [1, None]     ──texts──▶  1      null       ──template {"n":%s,"name":%s}──▶  {"n":1,"name":"a"}
    name ["a", "b"]    ──texts──▶  "a"    "b"                                         {"n":null,"name":"b"}

The text of a value is that of `json_codec`, which a test compares.
"""

from __future__ import annotations

from collections.abc import Callable
from json.encoder import encode_basestring
from typing import Any, BinaryIO

import pyarrow as pa

from penstock.connectors.files.file_writers import LineRecordFile, is_finite
from penstock.graph.endpoints import SinkContext
from penstock.types.arrow_lists import columns_to_lists
from penstock.types.base import TypeInformation
from penstock.types.records import RowTypeInfo
from penstock.types.types import Types
from penstock.wire.row_columns import rows_of
from penstock.wire.text import json_codec


def _truth(value: bool) -> str:  # noqa: FBT001 - a value of a column
    return "true" if value else "false"


_TEXTS: dict[str, Callable[[Any], str]] = {
    "String": encode_basestring,
    "Boolean": _truth,
    "Byte": repr,
    "Short": repr,
    "Integer": repr,
    "Long": repr,
    "Float": float.__repr__,
    "Double": float.__repr__,
    "SqlDate": json_codec(Types.SQL_DATE()).write,
    "SqlTimestamp": json_codec(Types.SQL_TIMESTAMP()).write,
    "TimestampLtz": json_codec(Types.TIMESTAMP_LTZ()).write,
}
"""Name of a basic type to the JSON text of a value. Other types need their records."""


def has_json_texts(type_info: TypeInformation) -> bool:
    """Return whether the values of a column become text without their record."""
    return getattr(type_info, "name", None) in _TEXTS


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
        self._texts = [_TEXTS.get(getattr(kind, "name", "")) for kind in type_info.field_types]

    def write_columns(self, batch: pa.RecordBatch) -> None:
        """Append rows; raises SinkError naming the first that has no text."""
        if None in self._texts or not all(map(is_finite, batch.columns)):
            self.write(rows_of(batch))
            return
        lists = columns_to_lists(batch)
        texts = [
            ["null" if value is None else text(value) for value in values]
            if column.null_count
            else map(text, values)
            for text, values, column in zip(self._texts, lists, batch.columns, strict=True)
            if text is not None
        ]
        self._append("".join(map(self._line, zip(*texts, strict=True))).encode(), batch.num_rows)
