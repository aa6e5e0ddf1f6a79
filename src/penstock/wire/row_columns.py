"""Rows that are sent as Arrow columns, because the source has read them as columns.

Routing and sending an Arrow batch of plain columns is cheaper than routing and sending its rows: the
process that calls a function makes the rows. It makes them with the code of level 0, so a record is
the same either way.

`ColumnRecords` are such rows behind the exchange, for operators that read columns; they make rows on request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyarrow import types as kinds

from penstock.errors import TypeMismatchError
from penstock.types.arrow_lists import check_times, columns_to_lists
from penstock.types.row import Row, row_factory

_PLAIN = (
    kinds.is_integer,
    kinds.is_floating,
    kinds.is_boolean,
    kinds.is_string,
    kinds.is_large_string,
)
"""Types of which every value can be read; times and nested values may be errors."""

_CHECKED = (
    *_PLAIN,
    kinds.is_binary,
    kinds.is_large_binary,
    kinds.is_decimal,
    kinds.is_date32,
    lambda kind: kinds.is_timestamp(kind) and kind.unit == "us",
)
"""Types whose values can all be read if the least and the greatest can; finer times are checked one by one."""


def is_plain(schema: Any) -> bool:
    """Return whether every column of an Arrow schema is a number, a boolean or text."""
    return all(any(is_kind(field.type) for is_kind in _PLAIN) for field in schema)


def are_records(batch: Any) -> bool:
    """Return whether a record can hold each row of an Arrow batch, as far as that is known without making them."""
    if not all(any(is_kind(field.type) for is_kind in _CHECKED) for field in batch.schema):
        return False
    try:
        check_times(batch)
    except TypeMismatchError:
        return False  # making the records raises it again, with details
    return True


def rows_of(batch: Any) -> list[Row]:
    """Return the rows of an Arrow batch."""
    return rows_of_lists(batch.schema.names, columns_to_lists(batch))


def of_schema(batch: Any, schema: Any) -> Any:
    """Return the first columns of an Arrow batch with the names and types of a schema.

    A column that has its type is not copied.
    """
    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(batch.columns, schema, strict=False)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def rows_of_lists(names: list[str], columns: list[list[Any]]) -> list[Row]:
    """Return the rows of columns that `columns_to_lists` returned."""
    return row_factory(tuple(names))(map(list, zip(*columns, strict=True)))


_END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"


def to_pieces(batch: Any) -> tuple[Any, ...]:
    """Return an Arrow batch as a stream with one batch, schema included: bytes that the caller joins.

    A writer of streams copies a batch three times, which takes several times as long as the one copy of these messages.
    """
    if any(_has_dictionary(field.type) for field in batch.schema):
        sink = pa.BufferOutputStream()  # dictionaries are messages of their own
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        return (sink.getvalue(),)
    return batch.schema.serialize(), batch.serialize(), _END_OF_STREAM


def _has_dictionary(kind: Any) -> bool:
    inside = (kind.field(index).type for index in range(kind.num_fields))
    return kinds.is_dictionary(kind) or any(map(_has_dictionary, inside))


def from_bytes(data: memoryview) -> Any:
    """Return the Arrow batch of `to_pieces`, joined."""
    return pa.ipc.open_stream(pa.py_buffer(data)).read_next_batch()


class ColumnRecords(Sequence[Any]):
    """A batch of records."""

    __slots__ = ("_rows", "batches")

    def __init__(self, batches: Sequence[pa.RecordBatch]) -> None:
        self.batches = batches
        self._rows: list[Row] | None = None

    def rows(self) -> list[Row]:
        """Return the records as rows."""
        if self._rows is None:
            self._rows = [row for batch in self.batches for row in rows_of(batch)]
        return self._rows

    def __getitem__(self, index: Any) -> Any:
        return self.rows()[index]

    def __len__(self) -> int:
        return sum(batch.num_rows for batch in self.batches)
