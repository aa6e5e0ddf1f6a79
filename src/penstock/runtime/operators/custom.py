"""The user's own operators without a key: one or two inputs, watermarks and attributes.

The planner never puts one at level 0, which has no watermarks, no ends and no memory.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

from penstock.errors import UserFunctionError
from penstock.program.operator_spec import OperatorSpec
from penstock.program.record_attributes import RecordAttributes
from penstock.runtime.flow.output import Output
from penstock.runtime.functions.context import OperatorContext
from penstock.runtime.functions.operator_output import OperatorOutput
from penstock.runtime.functions.process_context import ProcessContext, UnkeyedTimerService
from penstock.runtime.operators.application import input_calls
from penstock.runtime.operators.base import Collect, Operator
from penstock.wire.elements import MAX_WATERMARK, MIN_TIMESTAMP

NEVER_EMITTED = MIN_TIMESTAMP + 1
"""The value of `memory` for no watermark; Long.MIN would mean that there is no memory."""


class CustomInputs:
    """Passes attributes and ends of inputs to one operator of the user's.

    Attributes:
        target: The user's operator.
    """

    def __init__(self, target: Any, inputs: int, ended: set[int]) -> None:
        self.target = target
        self._inputs = inputs
        self._ended = ended

    def attributes(self, number: int, backlog: bool) -> None:  # noqa: FBT001
        """Pass the attributes of an input."""
        suffix = "" if self._inputs == 1 else str(number + 1)
        method = getattr(self.target, f"process_record_attributes{suffix}")
        method(RecordAttributes(backlog))

    def end(self, number: int) -> None:
        """Pass the end of an input, once."""
        if number in self._ended:
            return
        self._ended.add(number)
        if self._inputs == 1:
            self.target.end_input()
        else:
            self.target.end_input(number + 1)


def refuse_result(produced: Any, spec: OperatorSpec) -> None:
    """Refuse the return value of an operator for a record.

    Raises:
        UserFunctionError: It is not None.
    """
    if produced is None:
        return
    raise UserFunctionError(
        f"operator {spec.name!r} returned {type(produced).__name__} for a record, which is lost",
        hint="Emit results with self.output.collect(…); neither return nor yield them.",
        origin=spec.origin,
    )


class OwnOperator(Operator):
    """What operators of the user's own have in common, with and without a key."""

    sets_own_backlog = True

    _inputs: CustomInputs

    def _prepare(self, context: ProcessContext) -> None:
        """Make the output that the operator of the user is given."""
        self._context = context
        self._out = OperatorOutput(self.output, context, self.spec.origin)
        self._out.copy = self.emission.copy
        self._out.timeless = f"operator {self.spec.name!r}" if self.spec.is_timeless else None
        self._ending: set[int] = set()

    def restore_memory(self, memory: int) -> None:
        """Restore the watermark that it has emitted, which may be less than its own."""
        self._out.watermark = MIN_TIMESTAMP if memory == NEVER_EMITTED else memory
        self.output.restore_watermark(self._out.watermark)

    def _call(self, where: str, call: Callable[..., Any], *arguments: Any) -> None:
        """Call something that belongs to no record."""
        self._context.current_timestamp = None
        self.guarded(where, call, *arguments)

    def _forward_backlog(self, number: int, backlog: bool) -> None:  # noqa: FBT001
        self._call("record attributes", self._inputs.attributes, number, backlog)
        self._out.flush()

    def _end(self, number: int) -> None:
        self._call(f"end of input {number + 1}", self._inputs.end, number)
        self._out.flush()


class CustomOperator(OwnOperator):
    """Calls a `OneInputStreamOperator` or `TwoInputStreamOperator`."""

    def __init__(self, spec: OperatorSpec, output: Output, context: OperatorContext) -> None:
        super().__init__(spec, output, context)
        self._calls = input_calls(spec.function, spec.method)
        self._timers = UnkeyedTimerService(spec)
        self._prepare(ProcessContext(self._timers, spec=spec))
        self._inputs = CustomInputs(spec.function, len(self._calls), set())

    def open(self) -> None:
        """Give the operator its output, then open it."""
        self.spec.function.output = self._out
        super().open()
        self._out.flush()

    def collector(self, number: int) -> Collect:
        """Return what takes the records of input `number`."""

        def take(values: list[Any], timestamps: list[int] | None) -> None:
            self.records_in += len(values)
            self._process(number, values, timestamps)

        return take

    def take_backlog(self, number: int, backlog: bool) -> None:  # noqa: FBT001
        """Pass the attributes of an input."""
        self._forward_backlog(number, backlog)

    def input_ended(self, number: int) -> None:
        """Pass the end of an input; that of the last one when its watermark arrives."""
        self._ending.add(number)
        if len(self._ending) < len(self._calls):
            self._end(number)

    def restore_ended(self, number: int) -> None:
        """Record that an input ended before a restart; its end was passed then."""
        self._ending.add(number)
        self._inputs = CustomInputs(self.spec.function, len(self._calls), set(self._ending))

    def advance_watermark(self, watermark: int) -> None:
        """Pass the watermark; Long.MAX is forwarded after all results, whatever was emitted."""
        if watermark <= self.watermark:
            return
        self.watermark = self._timers.watermark = watermark
        if watermark == MAX_WATERMARK:
            for number in range(len(self._calls)):
                self._end(number)
        self._call("watermark", self.spec.function.process_watermark, watermark)
        if watermark == MAX_WATERMARK:
            self._out.emit_watermark(MAX_WATERMARK)
        self._out.flush()

    def restore_watermark(self, watermark: int) -> None:
        """Set the watermark to that before a restart."""
        self._timers.watermark = watermark
        self._out.watermark = watermark
        super().restore_watermark(watermark)

    def finish_batch(self) -> None:
        """Let the operator emit its buffered results: an attempt may end here."""
        if self.context.is_live:
            self._call("before a checkpoint", self.spec.function.prepare_snapshot_pre_barrier)
        self._out.flush()

    def memory(self) -> int | None:
        """Return the watermark it has emitted."""
        return max(self._out.watermark, NEVER_EMITTED)

    def _process(self, number: int, values: list[Any], timestamps: list[int] | None) -> None:
        call, context = self._calls[number], self._context
        position = iter(values)
        stamp: int | None
        try:
            for value, stamp in zip(position, timestamps or repeat(None), strict=False):
                context.current_timestamp = stamp
                refuse_result(call(value, context), self.spec)
        except BaseException as cause:
            raise self.failed(cause, values, position) from cause
        self._out.flush()
