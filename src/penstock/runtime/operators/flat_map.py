"""flat_map: any number of results per record."""

from __future__ import annotations

from itertools import chain
from typing import Any

from penstock.runtime.operators.base import Operator


class FlatMapOperator(Operator):
    """Calls the function on every record and flattens what it returns.

    A result that cannot be iterated, None included, is an error (as in PyFlink).
    """

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Flat-map a batch; results take the timestamp of their record."""
        position = iter(values)
        stamps: list[int] | None = None
        try:
            if timestamps is None:
                results = list(chain.from_iterable(map(self.call, position)))
            else:
                results, stamps = [], []
                for stamp, produced in zip(timestamps, map(self.call, position), strict=False):
                    before = len(results)
                    results.extend(produced)
                    stamps.extend([stamp] * (len(results) - before))
        except Exception as cause:
            raise self.failed(cause, values, position) from cause
        if results:
            self.output.collect(results, stamps)
