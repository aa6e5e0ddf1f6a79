"""filter: keeps the records for which the predicate is true."""

from __future__ import annotations

from itertools import compress
from typing import Any

from penstock.runtime.operators.base import Operator


class FilterOperator(Operator):
    """Calls the predicate on every record."""

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Filter a batch; passes nothing on if nothing is left."""
        position = iter(values)
        try:
            keep = list(map(self.call, position))
        except Exception as cause:
            raise self.failed(cause, values, position) from cause
        kept = list(compress(values, keep))
        if kept:
            stamps = None if timestamps is None else list(compress(timestamps, keep))
            self.output.collect(kept, stamps)
