"""process on a stream without a key."""

from __future__ import annotations

from itertools import repeat
from typing import Any

from penstock.program.operator_spec import OperatorSpec
from penstock.runtime.flow.output import Output
from penstock.runtime.flow.side_outputs import send_sides, sides_of, split_tagged
from penstock.runtime.functions.context import OperatorContext
from penstock.runtime.functions.process_context import ProcessContext, UnkeyedTimerService
from penstock.runtime.operators.base import Operator


class ProcessOperator(Operator):
    """Calls `process_element` with a context on every record."""

    def __init__(self, spec: OperatorSpec, output: Output, context: OperatorContext) -> None:
        super().__init__(spec, output, context)
        self._timers = UnkeyedTimerService(spec)
        self._context = ProcessContext(self._timers, spec=spec)
        self._sides = sides_of(output)

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Process a batch; results take the timestamp of their record."""
        self._timers.watermark = self.watermark
        context = self._context
        position = iter(values)
        results: list[Any] = []
        stamps: list[int] | None = None if timestamps is None else []
        stamp: int | None
        try:
            for value, stamp in zip(position, timestamps or repeat(None), strict=False):
                context.current_timestamp = stamp
                produced = self.call(value, context)
                if produced is not None:
                    before = len(results)
                    results.extend(produced)
                    if stamps is not None:
                        stamps.extend([stamp] * (len(results) - before))  # type: ignore[list-item]
        except BaseException as cause:
            raise self.failed(cause, values, position) from cause
        (main, main_stamps), sides = split_tagged(results, stamps)
        send_sides(self._sides, sides)
        if main:
            self.output.collect(main, main_stamps)
