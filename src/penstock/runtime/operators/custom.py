"""The user's own operators without a key: their methods, inputs, watermarks and attributes.

The planner never puts one at level 0, which has no watermarks, no ends and no memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Any

from penstock.errors import UserFunctionError
from penstock.program.level import OperatorSpec
from penstock.program.operator_kind import Inputs
from penstock.program.operators import CREATE, INPUTS_HINT, RECORD_METHODS, problem_of_inputs
from penstock.program.record_attributes import RecordAttributes
from penstock.runtime.flow.output import Output
from penstock.runtime.functions.context import OperatorContext
from penstock.runtime.functions.process_context import (
    OperatorOutput,
    ProcessContext,
    UnkeyedTimerService,
)
from penstock.runtime.operators.base import Collect, Operator
from penstock.user_failure import short
from penstock.wire.elements import MAX_WATERMARK, MIN_TIMESTAMP


@dataclass(frozen=True, slots=True)
class InputMethods:
    """The methods that one input calls.

    Attributes:
        element: Takes a record and the context.
        attributes: Takes record attributes.
        end: Takes the end of the input.
    """

    element: Callable[[Any, Any], Any]
    attributes: Callable[[RecordAttributes], None]
    end: Callable[[], None]


class OwnInputs:
    """Calls the methods of one operator object, and signals the end of each input once.

    Attributes:
        elements: Per input, the function of a record and the context.
    """

    def __init__(self, target: Any, spec: OperatorSpec) -> None:
        """Look up the methods of the operator."""
        self._methods = _METHODS[spec.kind.inputs](target, spec)
        self._ended: set[int] = set()
        self.elements = tuple(methods.element for methods in self._methods)

    def attributes(self, number: int, backlog: bool) -> None:  # noqa: FBT001
        """Pass the attributes of an input."""
        self._methods[number].attributes(RecordAttributes(backlog))

    def end(self, number: int) -> None:
        """Pass the end of an input, once."""
        if number not in self._ended:
            self._ended.add(number)
            self._methods[number].end()

    def restore_ended(self, number: int) -> None:
        """Record that the operator received the end of an input before a restart."""
        self._ended.add(number)


def _of_one(target: Any, _: OperatorSpec) -> list[InputMethods]:
    record = target.process_element
    return [InputMethods(record, target.process_record_attributes, target.end_input)]


def _of_two(target: Any, _: OperatorSpec) -> list[InputMethods]:
    end = target.end_input
    return [
        InputMethods(target.process_element1, target.process_record_attributes1, partial(end, 1)),
        InputMethods(target.process_element2, target.process_record_attributes2, partial(end, 2)),
    ]


def _of_many(target: Any, spec: OperatorSpec) -> list[InputMethods]:
    target.number_of_inputs = spec.input_count
    inputs = target.get_inputs()
    problem = problem_of_inputs(inputs, spec.input_count)
    if problem is not None:
        # The API has checked an operator; only that of a factory can come here.
        raise UserFunctionError(
            f"operator {spec.name!r}: {problem}", hint=INPUTS_HINT, origin=spec.origin
        )
    return [
        InputMethods(
            own_input.process_element,
            own_input.process_record_attributes,
            partial(target.end_input, n),
        )
        for n, own_input in enumerate(inputs, 1)
    ]


_METHODS: dict[Inputs, Callable[[Any, OperatorSpec], list[InputMethods]]] = {
    Inputs.ONE: _of_one,
    Inputs.TWO: _of_two,
    Inputs.MANY: _of_many,
}
"""Inputs of an operator to the methods of each."""


NEVER_EMITTED = MIN_TIMESTAMP + 1
"""The value of `memory` for no watermark; Long.MIN would mean that there is no memory."""


class OperatorParameters:
    """Implements `StreamOperatorParameters` of the API: what a factory is given."""

    def __init__(self, output: OperatorOutput, context: OperatorContext) -> None:
        self._output = output
        self._context = context

    def get_output(self) -> OperatorOutput:
        """Return the output of the operator."""
        return self._output

    def get_runtime_context(self) -> OperatorContext:
        """Return the runtime context of the operator."""
        return self._context


def refuse_result(produced: Any, spec: OperatorSpec) -> None:
    """Refuse the return value of an operator for a record."""
    if produced is None:
        return
    raise UserFunctionError(
        f"operator {spec.name!r} returned {type(produced).__name__} for a record, which is lost",
        hint="Emit results with self.output.collect(…); neither return nor yield them.",
        origin=spec.origin,
    )


class OwnOperator(Operator):
    """Shared parts of the user's own operators, with and without a key."""

    sets_own_backlog = True

    _target: Any = None
    _inputs: OwnInputs

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

    def close(self) -> None:
        """Close the operator, if it was opened, and its sorters."""
        try:
            if self._target is not None:
                self.guarded("close", self._target.close)
        finally:
            self.context.close_sorters()

    def finish_batch(self) -> None:
        """Let the operator emit its buffers, or write them to state: an attempt may end here."""
        if self.context.is_live:
            self._call("before a checkpoint", self._target.prepare_snapshot_pre_barrier)
            self._check_sorters("at a checkpoint, which does not contain them")
        self._out.flush()

    def end_task(self) -> None:
        """Check that all records of sorters were read."""
        self._check_sorters("at the end of a batch run")

    def _check_sorters(self, when: str) -> None:
        waiting = self.context.waiting_records()
        if waiting:
            raise UserFunctionError(
                f"operator {self.spec.name!r} has {waiting} unread records in sorters {when}",
                hint="Emit them, or write them to keyed state, in prepare_snapshot_pre_barrier; in a "
                "batch run in end_input, and when record attributes report the end of backlog.",
                origin=self.spec.origin,
            )

    def _adopt(self, function: Any) -> None:
        """Make the operator: the user's object itself, or the one that it creates if it is a factory."""
        target = function
        if self.spec.method == CREATE:
            target = self._created(function)
        target.output = self._out
        self._target = target
        try:
            self._inputs = OwnInputs(target, self.spec)
        except BaseException as cause:
            raise self.failed_in(RECORD_METHODS[self.spec.kind.inputs], cause) from cause

    def _created(self, factory: Any) -> Any:
        self._context.current_timestamp = None
        try:
            operator = factory.create_stream_operator(OperatorParameters(self._out, self.context))
        except BaseException as cause:
            raise self.failed_in(CREATE, cause) from cause
        method = RECORD_METHODS[self.spec.kind.inputs]
        if isinstance(operator, type) or not callable(getattr(operator, method, None)):
            raise UserFunctionError(
                f"operator {self.spec.name!r}: {CREATE} of {type(factory).__name__} returned "
                f"{short(operator)}, which is not an operator with {method}",
                hint="Return an operator object of the class that the streams need.",
                origin=self.spec.origin,
            )
        return operator

    def _call(self, where: str, call: Callable[..., Any], *arguments: Any) -> None:
        """Call something that belongs to no record."""
        self._context.current_timestamp = None
        self.guarded(where, call, *arguments)

    def _forward_backlog(self, number: int, backlog: bool) -> None:  # noqa: FBT001
        self._call("record attributes", self._inputs.attributes, number, backlog)
        self._out.flush()

    def restore_ended(self, number: int) -> None:
        """Record that an input ended before a restart; its end was passed then."""
        self._ending.add(number)
        self._inputs.restore_ended(number)

    def _end(self, number: int) -> None:
        self._call(f"end of input {number + 1}", self._inputs.end, number)
        self._out.flush()

    def _pass_watermark(self, watermark: int) -> None:
        """Pass a watermark; Long.MAX is forwarded after all results, whatever was emitted."""
        if watermark == MAX_WATERMARK:
            for number in range(self.spec.input_count):
                self._end(number)
        self._call("watermark", self._target.process_watermark, watermark)
        if watermark == MAX_WATERMARK:
            self._out.emit_watermark(MAX_WATERMARK)
        self._out.flush()


class CustomOperator(OwnOperator):
    """Calls a `OneInputStreamOperator`, `TwoInputStreamOperator` or `MultipleInputStreamOperator`."""

    def __init__(self, spec: OperatorSpec, output: Output, context: OperatorContext) -> None:
        super().__init__(spec, output, context)
        self._timers = UnkeyedTimerService(spec)
        self._prepare(ProcessContext(self._timers, spec=spec))

    def open(self) -> None:
        """Make the operator, then open it."""
        self._adopt(self.spec.function)
        self._call("open", self._target.open, self.context)
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
        if len(self._ending) < self.spec.input_count:
            self._end(number)

    def advance_watermark(self, watermark: int) -> None:
        """Pass the watermark; see `_pass_watermark`."""
        if watermark > self.watermark:
            self.watermark = self._timers.watermark = watermark
            self._pass_watermark(watermark)

    def restore_watermark(self, watermark: int) -> None:
        """Set the watermark to that before a restart."""
        self._timers.watermark = watermark
        self._out.watermark = watermark
        super().restore_watermark(watermark)

    def memory(self) -> int | None:
        """Return the watermark it has emitted."""
        return max(self._out.watermark, NEVER_EMITTED)

    def _process(self, number: int, values: list[Any], timestamps: list[int] | None) -> None:
        call, context = self._inputs.elements[number], self._context
        position = iter(values)
        stamp: int | None
        try:
            for value, stamp in zip(position, timestamps or repeat(None), strict=False):
                context.current_timestamp = stamp
                refuse_result(call(value, context), self.spec)
        except BaseException as cause:
            raise self.failed(cause, values, position) from cause
        self._out.flush()
