"""flat_map: any number of results per record."""

from __future__ import annotations

from typing import Any

from penstock.runtime.operators.base import Operator


class FlatMapOperator(Operator):
    """Calls the function on every record and flattens what it returns.

    A result that cannot be iterated, None included, is an error (as in PyFlink).
    """

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Flat-map a batch; results take the timestamp of their record."""
        call, position = self.call, iter(values)
        results: list[Any] = []
        stamps: list[int] | None = None
        extend = results.extend
        try:
            if timestamps is None:
                for value in position:
                    extend(call(value))
            else:
                stamps = []
                for value, stamp in zip(position, timestamps, strict=True):
                    before = len(results)
                    extend(call(value))
                    stamps.extend([stamp] * (len(results) - before))
        except BaseException as cause:
            raise self.failed(cause, values, position) from cause
        if results:
            self.output.collect(results, stamps)
