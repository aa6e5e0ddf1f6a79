"""The operator of functions that are given the list of many records, and return a result per record.

SQL calls functions of columns with it. Results are records as the function made them, of any row kind.
"""

from __future__ import annotations

from typing import Any

from penstock.runtime.operators.batches.map_batches import MapBatchesOperator
from penstock.runtime.operators.batches.waiting_records import Stamps


class MapRowsOperator(MapBatchesOperator):
    """Calls a function on lists of records."""

    def call_on(self, values: list[Any], stamps: Stamps) -> None:
        """Call the function on records, and emit the results."""
        try:
            made = self.call(values)
        except BaseException as cause:
            raise self.calls.failure(cause, values) from cause
        self.output.collect(made, stamps)
