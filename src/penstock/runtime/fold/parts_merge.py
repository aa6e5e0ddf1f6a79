"""Merges columns of parts of aggregates by kernels, and by Python where a sum may leave its type.

Python is slower and has the same results. Its whole numbers have any size, so it finds the key whose sum is too large.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.errors import CallSite
from penstock.expressions.arrow.merging import CannotMergeError, ColumnMerge
from penstock.expressions.keyed_aggregate import KeyedAggregate
from penstock.runtime.fold.loops import failing_key, failing_place, reduce_by_key
from penstock.types.arrow import arrow_columns
from penstock.types.arrow_lists import columns_to_lists
from penstock.user_failure import failure_at
from penstock.wire.row_columns import rows_of

Times = npt.NDArray[np.int64]
"""The begin of the pane of each row, or the first or last time of the piece of a session."""


class PartsMerge:
    """Merges the parts of one operator."""

    def __init__(self, aggregate: KeyedAggregate, name: str, origin: CallSite | None) -> None:
        """Prepare the kernels."""
        self.columns = ColumnMerge(aggregate)
        self._aggregate = aggregate
        self.kept = aggregate.parts
        self._subject = f"operator {name!r}"
        self._origin = origin

    def merged(
        self, batches: Sequence[pa.RecordBatch], *times: Times
    ) -> tuple[pa.RecordBatch, list[Times]]:
        """Return one row per key, or per key and times, in the order in which these first come, and its times."""
        try:
            batch, columns = self.columns.merged(batches, [pa.array(column) for column in times])
            return batch, [column.to_numpy() for column in columns]
        except CannotMergeError:
            return self._by_python(batches, times)

    def of_records(self, values: list[Any]) -> pa.RecordBatch:
        """Return records of parts as columns."""
        columns = arrow_columns(self._aggregate.parts, values)
        return pa.RecordBatch.from_arrays(columns, schema=self.columns.schema)

    def keys_of(self, batch: pa.RecordBatch) -> list[Any]:
        """Return the key of every row: the value of the only column, or a tuple of those of several."""
        lists = columns_to_lists(batch.select(range(self.columns.keys)))
        return lists[0] if len(lists) == 1 else list(zip(*lists, strict=True))

    def _by_python(
        self, batches: Sequence[pa.RecordBatch], times: Sequence[Times]
    ) -> tuple[pa.RecordBatch, list[Times]]:
        values = [row for batch in batches for row in rows_of(batch)]
        keys = [key for batch in batches for key in self.keys_of(batch)]
        addresses = list(zip(keys, *(column.tolist() for column in times), strict=True))
        table: dict[Any, Any] = {}
        position = iter(values)
        try:
            reduce_by_key(table, addresses, position, self._aggregate)
        except BaseException as cause:
            key = failing_key(keys, values, position)
            where = failing_place(cause, values, position, key)
            raise failure_at(self._subject, where, cause, self._origin) from cause
        merged = self.of_records(list(table.values()))
        _, *columns = zip(*table, strict=True)
        return merged, [np.array(column, dtype=np.int64) for column in columns]
