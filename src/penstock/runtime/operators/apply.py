"""Operators without a key that call a function once per record: map, filter, process and others.

Records of two inputs have no order. In one micro-batch or task the operator reads the first input
first, and a broadcast input before the other. Every subtask reads every broadcast element. Each
subtask has its own broadcast state, so functions must treat broadcast elements alike in all subtasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from penstock.program.level import OperatorSpec
from penstock.runtime.flow.output import Output, send_sides, sides_of, split_tagged
from penstock.runtime.functions.context import OperatorContext
from penstock.runtime.functions.process_context import (
    InternalBroadcastContext,
    ProcessContext,
    UnkeyedTimerService,
)
from penstock.runtime.operators.application import Application, applications
from penstock.runtime.operators.base import Collect, Operator


class ApplyOperator(Operator):
    """Calls a function, or a method per input, on every record."""

    def __init__(self, spec: OperatorSpec, output: Output, context: OperatorContext) -> None:
        super().__init__(spec, output, context)
        self._timers = UnkeyedTimerService(spec)
        self._sides = sides_of(output)
        self._inputs = tuple(self._applications(spec))

    def collector(self, number: int) -> Collect:
        """Return the receiver of the records of input `number`."""
        return partial(self._collect, self._inputs[number])

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Process a batch of the first input."""
        self._apply(self._inputs[0], values, timestamps)

    def _applications(self, spec: OperatorSpec) -> Sequence[Application]:
        context = ProcessContext(self._timers, spec=spec) if spec.kind.takes_context else None
        return applications(spec, self.emission, (context, context))

    def _collect(self, made: Application, values: list[Any], timestamps: list[int] | None) -> None:
        self.records_in += len(values)
        self._apply(made, values, timestamps)

    def _apply(self, made: Application, values: list[Any], timestamps: list[int] | None) -> None:
        self._timers.watermark = self.watermark
        position = iter(values)
        results: list[Any] = []
        new_stamps: list[int] = []
        try:
            made.run(position, values, timestamps, results, new_stamps)
        except BaseException as cause:
            raise self.failed(cause, values, position, of_input=made.of_input) from cause
        stamps = None if timestamps is None else new_stamps
        if self.spec.kind.has_side_outputs:
            (results, stamps), sides = split_tagged(results, stamps)
            send_sides(self._sides, sides)
        if results:
            self.output.collect(results, stamps)


class BroadcastProcessOperator(ApplyOperator):
    """Calls `process_element`, which reads broadcast state, and `process_broadcast_element`."""

    def _applications(self, spec: OperatorSpec) -> Sequence[Application]:
        reading = InternalBroadcastContext(
            self._timers, spec, self.context.get_read_only_broadcast_state
        )
        writing = InternalBroadcastContext(self._timers, spec, self.context.get_broadcast_state)
        function, made = spec.function, (spec.kind.returns, self.emission)
        return (
            Application(function.process_element, *made, reading),
            Application(
                function.process_broadcast_element, *made, writing, " of the broadcast input"
            ),
        )
