"""assign_timestamps_and_watermarks: gives records their time and the stream its watermarks.

The watermark is the greatest timestamp minus the out-of-orderness minus one, and is emitted
once per task or micro-batch, after its records. Watermarks from upstream are replaced, except
the last one, which says that the input has ended.
"""

from __future__ import annotations

from itertools import repeat
from typing import Any

from penstock.errors import TypeMismatchError
from penstock.runtime.context import OperatorContext
from penstock.runtime.operators.base import Operator
from penstock.runtime.output import Output
from penstock.runtime.program import OperatorSpec
from penstock.serde.elements import MAX_WATERMARK, MIN_TIMESTAMP


class TimestampsOperator(Operator):
    """Assigns timestamps, tracks the greatest, and makes watermarks from it."""

    def __init__(self, spec: OperatorSpec, output: Output, context: OperatorContext) -> None:
        super().__init__(spec, output, context)
        assert spec.timestamps is not None
        self._assigner = spec.timestamps.assigner
        self._bound_ms = spec.timestamps.out_of_orderness_ms
        self._greatest = MIN_TIMESTAMP

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Assign timestamps to a batch."""
        if self._assigner is not None:
            timestamps = self._assign(self._assigner, values, timestamps)
        if timestamps is not None:
            self._greatest = max(self._greatest, *timestamps)
        self.output.collect(values, timestamps)

    def advance_watermark(self, watermark: int) -> None:
        """Swallow upstream watermarks but the last."""
        if watermark == MAX_WATERMARK:
            super().advance_watermark(watermark)

    def finish_batch(self) -> None:
        """Emit the watermark of the records seen so far."""
        if self._bound_ms is not None and self._greatest != MIN_TIMESTAMP:
            super().advance_watermark(self._greatest - self._bound_ms - 1)

    def start_split(self) -> None:
        """Forget the greatest timestamp: each split has its own watermark."""
        self._greatest = self.watermark = MIN_TIMESTAMP

    def memory(self) -> int | None:
        """Return the greatest timestamp seen."""
        return self._greatest

    def restore_memory(self, memory: int) -> None:
        """Continue from the greatest timestamp of an earlier run."""
        self._greatest = memory
        if self.watermark == MAX_WATERMARK:
            return  # the input has ended, which says more
        if self._bound_ms is not None and memory != MIN_TIMESTAMP:
            super().restore_watermark(memory - self._bound_ms - 1)

    def restore_watermark(self, watermark: int) -> None:
        """Ignore upstream, but for its end: the rest is restored from memory."""
        if watermark == MAX_WATERMARK:
            super().restore_watermark(watermark)

    def _assign(self, assigner: Any, values: list[Any], timestamps: list[int] | None) -> list[int]:
        position = iter(values)
        previous = repeat(MIN_TIMESTAMP) if timestamps is None else timestamps
        try:
            assigned = list(map(assigner, position, previous))
        except Exception as cause:
            raise self.failed(cause, values, position) from cause
        if set(map(type, assigned)) != {int} or not _fits(assigned):
            index = next(
                i
                for i, stamp in enumerate(assigned)
                if type(stamp) is not int or not _fits([stamp])
            )
            raise TypeMismatchError(
                f"the timestamp assigner of {self.spec.name!r} returned {assigned[index]!r} for "
                f"record {values[index]!r}",
                hint="Return epoch milliseconds as an int of at most 64 bits.",
                origin=self.spec.origin,
            )
        return assigned


def _fits(stamps: list[int]) -> bool:
    return min(stamps) >= MIN_TIMESTAMP and max(stamps) <= MAX_WATERMARK
