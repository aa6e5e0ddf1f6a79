"""process on a stream without a key that is connected with a broadcast one.

Every subtask sees every broadcast element; of what arrives in one micro-batch, and in a batch run
of everything, before the elements of the other input. Broadcast state is that of the subtask:
functions must treat every broadcast element alike in all of them.
"""

from __future__ import annotations

from itertools import repeat
from typing import Any

from penstock.program.operator_spec import OperatorSpec
from penstock.runtime.flow.output import Output
from penstock.runtime.flow.side_outputs import send_sides, sides_of, split_tagged
from penstock.runtime.functions.context import OperatorContext
from penstock.runtime.functions.process_context import BroadcastContext, UnkeyedTimerService
from penstock.runtime.operators.base import Collect, Operator
from penstock.runtime.operators.emission import many_or_none


class BroadcastProcessOperator(Operator):
    """Calls `process_element` and `process_broadcast_element`."""

    def __init__(self, spec: OperatorSpec, output: Output, context: OperatorContext) -> None:
        super().__init__(spec, output, context)
        self._timers = UnkeyedTimerService(spec)
        self._sides = sides_of(output)
        self._reading = BroadcastContext(self._timers, spec, context.get_read_only_broadcast_state)
        self._writing = BroadcastContext(self._timers, spec, context.get_broadcast_state)
        self._on_broadcast = self.emission.many(spec.function.process_broadcast_element)

    def collector(self, number: int) -> Collect:
        """Return what takes the records of input `number`; 1 is the broadcast one."""
        return self.collect if number == 0 else self._collect_broadcast

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Process a batch of the input that is not broadcast."""
        self._process(self.call, self._reading, values, timestamps)

    def _collect_broadcast(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.records_in += len(values)
        self._process(self._on_broadcast, self._writing, values, timestamps)

    def _process(
        self,
        call: Any,
        context: BroadcastContext,
        values: list[Any],
        timestamps: list[int] | None,
    ) -> None:
        self._timers.watermark = self.watermark
        position = iter(values)
        results: list[Any] = []
        stamps: list[int] | None = None if timestamps is None else []
        stamp: int | None
        try:
            for value, stamp in zip(position, timestamps or repeat(None), strict=False):
                context.current_timestamp = stamp
                before = len(results)
                results.extend(many_or_none(call(value, context)))
                if stamps is not None:
                    stamps.extend([stamp] * (len(results) - before))  # type: ignore[list-item]
        except BaseException as cause:
            raise self.failed(cause, values, position) from cause
        (main, main_stamps), sides = split_tagged(results, stamps)
        send_sides(self._sides, sides)
        if main:
            self.output.collect(main, main_stamps)
