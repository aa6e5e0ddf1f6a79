"""Records that arrived as Arrow columns, for operators that read columns; they make rows if somebody asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.types.row import Row
from penstock.wire.row_columns import rows_of


class ColumnRecords(Sequence[Any]):
    """A batch of records.

    Attributes:
        batches: Their columns, in order of arrival.
    """

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
