"""Rows of a changelog for sinks that write by key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

from penstock.api.functions.function_classes import KeyedProcessFunction
from penstock.api.state.descriptors import ListStateDescriptor
from penstock.api.streams.data_stream import DataStream
from penstock.expressions.column import col
from penstock.types.information import TypeInformation
from penstock.types.row import Row, RowKind

_ADDED = frozenset({RowKind.INSERT, RowKind.UPDATE_AFTER})


def is_no_former_row(row: Row) -> bool:
    """Return whether a row is not the former content of one that follows."""
    return row.get_row_kind() is not RowKind.UPDATE_BEFORE


def without_former_rows(rows: DataStream[Row]) -> DataStream[Row]:
    """Return the changes of rows that are unique by the key of the sink: the next one of a key replaces a former one."""
    return rows.filter(is_no_former_row).name("rows of the sink")


def latest_by_key(rows: DataStream[Row], key: Sequence[str]) -> DataStream[Row]:
    """Return the changes of the newest row of each key, of rows that are unique by something else.

    While a row of a key goes and another comes, which is in no order, both are kept.
    """
    row_type = rows.get_type()
    keyed = rows.key_by(*(col[name] for name in key))
    return keyed.process(LatestRow(row_type), row_type).name(f"newest row by {', '.join(key)}")


class LatestRow(KeyedProcessFunction):
    """Keeps the rows of a key, and says which one is the newest.

    Attributes:
        row_type: Type of the rows.
    """

    def __init__(self, row_type: TypeInformation) -> None:
        self.row_type = row_type

    def open(self, runtime_context: Any) -> None:
        """Take the state."""
        self._rows = runtime_context.get_list_state(ListStateDescriptor("rows", self.row_type))

    def process_element(self, value: Row, ctx: Any) -> Iterator[Row]:
        """Yield the newest row if it is another one now, and `-D` if there is none any more."""
        rows = list(self._rows.get() or ())
        if value.get_row_kind() in _ADDED:
            self._rows.add(_of_kind(value, RowKind.INSERT))
            yield _of_kind(value, RowKind.UPDATE_AFTER)
            return
        fields = list(value)
        at = next((i for i in reversed(range(len(rows))) if list(rows[i]) == fields), None)
        if at is None:
            return
        is_newest = at == len(rows) - 1
        del rows[at]
        self._rows.update(rows)
        if not rows:
            yield _of_kind(value, RowKind.DELETE)
        elif is_newest:
            yield _of_kind(rows[-1], RowKind.UPDATE_AFTER)


def _of_kind(row: Row, kind: RowKind) -> Row:
    made = copy(row)
    made.set_row_kind(kind)
    return made
