"""Rows as lines of JSON, of columns without a record in between.

    n    [1, None]     ──texts──▶  1      null       ──template {"n":%s,"name":%s}──▶  {"n":1,"name":"a"}
    name ["a", "b"]    ──texts──▶  "a"    "b"                                         {"n":null,"name":"b"}

Values that a column has in another form than their records are written by records.
"""

from __future__ import annotations

from json.encoder import encode_basestring
from typing import BinaryIO

import pyarrow as pa

from penstock.connectors.files.file_writers import LineRecordFile, is_written_of_column
from penstock.graph.endpoints import SinkContext
from penstock.types.arrow_lists import columns_to_lists
from penstock.types.records import RowTypeInfo
from penstock.wire.row_columns import rows_of
from penstock.wire.text import json_codec


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
