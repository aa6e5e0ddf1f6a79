"""Writers of records into an open file, one class per layout, and the columns that they take."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from pyarrow import types as kinds

from penstock.errors import SinkError, TypeMismatchError
from penstock.graph.endpoints import SinkContext
from penstock.types import RowTypeInfo, TupleTypeInfo, TypeInformation
from penstock.types.arrow import arrow_columns, arrow_schema, arrow_type
from penstock.types.arrow_lists import check_times, columns_to_lists
from penstock.types.infer import described
from penstock.user_failure import raise_interrupt, words_of
from penstock.wire.row_columns import rows_of
from penstock.wire.text import csv_lines, json_codec

ROW_GROUP_ROWS = 65_536
ROW_GROUP_BYTES = 32 * 1024 * 1024
"""A Parquet row group ends with the batch that reaches either limit."""


class RecordFile(ABC):
    """Writes records into an open file, which the caller owns; `finish` or `discard` is the last call."""

    @abstractmethod
    def write(self, values: list[Any]) -> None:
        """Append `values`; some may stay in memory."""

    def write_columns(self, batch: pa.RecordBatch) -> None:
        """Append rows that are columns of the declared type; the default makes records of them."""
        self.write(rows_of(batch))

    @property
    def buffered_bytes(self) -> int:
        """Size of what is in memory, about."""
        return 0

    @abstractmethod
    def finish(self) -> None:
        """Write buffered records, and the end of the format."""

    @abstractmethod
    def discard(self) -> None:
        """Release the file, which the caller deletes."""


class ParquetBatchFile:
    """Combines batches into row groups; one at most is in memory."""

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        self._schema = schema
        self._writer = pyarrow.parquet.ParquetWriter(file, self._schema)
        self._batches: list[pa.RecordBatch] = []
        self._row_count = 0
        self._byte_count = 0

    @property
    def buffered_bytes(self) -> int:
        """Size of the row group that is in memory."""
        return self._byte_count

    def append(self, batch: pa.RecordBatch) -> None:
        """Append a batch."""
        self._batches.append(batch)
        self._row_count += batch.num_rows
        self._byte_count += batch.nbytes
        if self._row_count >= ROW_GROUP_ROWS or self._byte_count >= ROW_GROUP_BYTES:
            self._write_row_group()

    def finish(self) -> None:
        """Write the last row group and the footer."""
        if self._batches:
            self._write_row_group()
        self._writer.close()

    def discard(self) -> None:
        """Close the writer; otherwise its destructor would try to write."""
        # The file is deleted; the failure that caused the call is already reported.
        with contextlib.suppress(OSError, pa.ArrowException):
            self._writer.close()

    def _write_row_group(self) -> None:
        group = pa.Table.from_batches(self._batches, self._schema)
        self._writer.write_table(group, row_group_size=max(1, group.num_rows))
        self._batches.clear()
        self._row_count = self._byte_count = 0


class ParquetRecordFile(ParquetBatchFile, RecordFile):
    """Writes records as columns of their declared type."""

    def __init__(
        self, file: BinaryIO, context: SinkContext, schema: pa.Schema | None = None
    ) -> None:
        super().__init__(file, arrow_schema(context.type_info) if schema is None else schema)
        self._context = context

    def write(self, values: list[Any]) -> None:
        """Append `values`; raises TypeMismatchError if one does not have the type."""
        self.append(record_batch(self._context, values))

    def write_columns(self, batch: pa.RecordBatch) -> None:
        """Append rows as they are."""
        self.append(batch)


class LineRecordFile(RecordFile):
    """Writes one line per record, in UTF-8."""

    def __init__(self, file: BinaryIO, context: SinkContext, encode: Callable[[Any], str]) -> None:
        self._file = file
        self._context = context
        self._encode = encode
        self._written = 0

    def write(self, values: list[Any]) -> None:
        """Append `values`; raises SinkError naming the first that has no text."""
        encode = self._encode
        lines: list[bytes] = []
        try:
            for value in values:
                lines.append(encode(value).encode())  # noqa: PERF401 - its length is used
        except BaseException as cause:  # a user's __str__ may raise anything
            raise_interrupt(cause)
            index = len(lines)
            raise SinkError(
                f"record {self._written + index} of subtask {self._context.subtask} has no "
                f"text form in {self._context.name}: {words_of(cause)} (type "
                f"{type(values[index]).__name__})",
                hint="Map the record to numbers, strings, lists, dicts, or rows of these.",
                origin=self._context.origin,
            ) from cause
        lines.append(b"")
        self._append(b"\n".join(lines), len(values))

    def _append(self, lines: bytes, count: int) -> None:
        self._file.write(lines)
        self._written += count

    def finish(self) -> None:
        """Do nothing: no record is buffered."""

    def discard(self) -> None:
        """Do nothing: no record is buffered."""


class CsvRecordFile(LineRecordFile):
    """Writes a header line and one line per record: as columns what Arrow writes as the table of texts has it."""

    def __init__(self, file: BinaryIO, context: SinkContext) -> None:
        type_info = described(context.type_info)
        assert isinstance(type_info, (RowTypeInfo, TupleTypeInfo)), "the format was checked"
        names, types = type_info.field_names, type_info.field_types
        lines = csv_lines(RowTypeInfo(list(types), list(names)))
        coerce = type_info.coerce
        super().__init__(file, context, lambda record: lines.write(list(coerce(record))))
        self._as_columns = all(map(_is_plain, types))
        self._options = pyarrow.csv.WriteOptions(include_header=False)
        self._schema = arrow_schema(type_info)
        header = ",".join(f'"{name.replace(_QUOTE, 2 * _QUOTE)}"' for name in names)
        file.write(header.encode() + b"\n")

    def write(self, values: list[Any]) -> None:
        """Append `values`; raises TypeMismatchError if one does not have the type."""
        batch = record_batch(self._context, values) if self._as_columns else None
        if batch is None or not all(map(is_finite, batch.columns)):
            super().write(values)
            return
        self.write_columns(batch)

    def write_columns(self, batch: pa.RecordBatch) -> None:
        """Append rows as they are."""
        if not self._as_columns or not all(map(is_finite, batch.columns)):
            super().write(rows_of(batch))
            return
        pyarrow.csv.write_csv(batch, self._file, self._options)
        self._written += batch.num_rows


_QUOTE = '"'
_PLAIN = frozenset({"String", "Boolean", "Byte", "Short", "Integer", "Long", "Double", "SqlDate"})
"""Basic types whose values Arrow writes as the table of texts has them, but for numbers that are not finite."""


_FROM_COLUMNS = _PLAIN | {"Float", "SqlTimestamp", "TimestampLtz"}
"""Basic types whose values in a column are those of the records."""


def is_written_of_column(type_info: TypeInformation) -> bool:
    """Return whether the values of a column become text without their record."""
    return getattr(type_info, "name", None) in _FROM_COLUMNS


def _is_plain(type_info: TypeInformation) -> bool:
    return getattr(type_info, "name", None) in _PLAIN


def is_finite(column: Any) -> bool:
    """Return whether a column has no NaN and no infinity, which Arrow writes in another way."""
    if not pa.types.is_floating(column.type):
        return True
    return bool(pc.all(pc.is_finite(column), min_count=0).as_py() is not False)


def record_batch(context: SinkContext, values: list[Any]) -> pa.RecordBatch:
    """Return records as columns of the type that is declared for a sink."""
    try:
        columns = arrow_columns(context.type_info, values)
    except TypeMismatchError as cause:
        raise TypeMismatchError(
            f"sink {context.name}: {cause.problem}", hint=cause.hint, origin=context.origin
        ) from cause
    return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(context.type_info))


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
            return None  # writing record by record reports the field and the sink
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

    `WritableColumns.declared` shows it of times, except inside of other values; a map may have a key twice.
    """
    return _is_whole(arrow_type(type_info), is_inside=False)


def _is_whole(kind: Any, *, is_inside: bool) -> bool:
    if kinds.is_map(kind) or (is_inside and kinds.is_temporal(kind)):
        return False
    inside = [kind.field(index).type for index in range(kind.num_fields)]
    return all(_is_whole(inner, is_inside=True) for inner in inside)


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
