"""A column with numbers by which the rows of a sink can be ordered.

    bits    63   62 … 57   56 … 25                            24 … 0
            0    run       micro-batch                        row of the task
            0    run       row of the task, in a batch run

A row of a later epoch has a greater number. Rows that one task writes in an epoch, such as all rows of a key behind a keyed
operator, are numbered in order; tasks number theirs alike. An epoch that is written again has the same numbers, because
they are made of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.errors import ArgumentError, CallSite, GraphError, SinkError
from penstock.graph.endpoints import EpochNumber, SinkContext
from penstock.types import TypeInformation
from penstock.types.arrow import field_lists
from penstock.types.infer import described
from penstock.types.records import RowTypeInfo, TupleTypeInfo
from penstock.types.types import Types

_ROW_BITS = 25
_NUMBER_BITS = 32
_RUN_BITS = 6


def first_sequence(epoch: EpochNumber) -> int:
    """Return the number of the first row that a task writes in an epoch.

    Example:
        >>> first_sequence(EpochNumber(0, 1)), first_sequence(EpochNumber(1, 0)) == 1 << 57
        (33554432, True)
    """
    return (epoch.run << _NUMBER_BITS | epoch.number) << _ROW_BITS


def most_rows(epoch: EpochNumber) -> int:
    """Return the most rows that a task can write in an epoch before its numbers are those of the next one."""
    return 1 << (_ROW_BITS + _NUMBER_BITS if epoch.is_whole_run else _ROW_BITS)


class SequenceColumn:
    """Numbers the rows of one task of one epoch."""

    def __init__(self, name: str, context: SinkContext) -> None:
        """Begin."""
        self._name = name
        self._whole, self.type_info = sequenced_type(name, context.type_info, context.origin)
        self._context = context
        epoch = context.epoch
        if epoch.run >> _RUN_BITS or epoch.number >> _NUMBER_BITS:
            raise self._full(f"epoch {epoch} has no number in 63 bits", "Write without the column.")
        self._left = most_rows(epoch)
        self._next = first_sequence(epoch)

    def numbered(self, values: Sequence[Any]) -> list[list[Any]]:
        """Return the fields of rows, each with its number behind them."""
        numbers = self._taken(len(values))
        lists = field_lists(self._whole, values)
        return [[*fields, number] for fields, number in zip(lists, numbers, strict=True)]

    def numbered_columns(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return columns with the numbers of their rows behind them."""
        numbers = self._taken(batch.num_rows)
        column = pa.array(np.arange(numbers.start, numbers.stop, dtype=np.int64))
        return batch.append_column(self._name, column)

    def _taken(self, rows: int) -> range:
        self._left -= rows
        if self._left < 0:
            most = most_rows(self._context.epoch)
            raise self._full(
                f"a task writes more than {most:,} rows in epoch {self._context.epoch}",
                "Set a smaller execution.live.max-records-per-batch.",
            )
        self._next += rows
        return range(self._next - rows, self._next)

    def _full(self, problem: str, hint: str) -> SinkError:
        return SinkError(
            f"sink {self._context.name!r} cannot number its rows: {problem}",
            hint=hint,
            origin=self._context.origin,
        )


def sequenced_type(
    name: str, type_info: TypeInformation, origin: CallSite | None
) -> tuple[RowTypeInfo | TupleTypeInfo, RowTypeInfo]:
    """Return the type of rows, and that of the same rows with a number behind the other fields."""
    whole = described(type_info)
    if not isinstance(whole, (RowTypeInfo, TupleTypeInfo)):
        raise _refused(name, type_info, "it is no row or tuple", origin)
    names = list(whole.field_names)
    if name in names:
        raise _refused(name, type_info, "it has a field of that name", origin)
    return whole, RowTypeInfo([*whole.field_types, Types.LONG()], [*names, name])


def _refused(
    name: str, type_info: TypeInformation, reason: str, origin: CallSite | None
) -> GraphError:
    return GraphError(
        f"records of type {type_info!r} cannot have the sequence column {name!r}: {reason}",
        hint="Declare a row type with named fields, and choose a name that is none of them.",
        origin=origin,
    )


def sequence_column_name(name: str) -> str:
    """Return the name of a sequence column."""
    if isinstance(name, str) and name:
        return name
    raise ArgumentError.here(
        f"the name of the sequence column is {name!r}", hint="Pass a string, such as 'seq'."
    )
