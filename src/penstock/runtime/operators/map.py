"""map: one result per record."""

from __future__ import annotations

from typing import Any

from penstock.runtime.operators.base import Operator


class MapOperator(Operator):
    """Calls the function on every record."""

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Map a batch; timestamps are kept."""
        position = iter(values)
        try:
            mapped = list(map(self.call, position))
        except Exception as cause:
            raise self.failed(cause, values, position) from cause
        self.output.collect(mapped, timestamps)
