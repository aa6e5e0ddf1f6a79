"""Operators that call a function once per record, and emit its results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import compress
from typing import Any

from penstock.program.level import OperatorSpec
from penstock.program.operator_kind import Returns
from penstock.runtime.flow.output import Output, send_sides, sides_of, split_tagged
from penstock.runtime.flow.record_copies import Emission
from penstock.runtime.functions.context import OperatorContext
from penstock.runtime.functions.process_context import (
    InternalBroadcastContext,
    ProcessContext,
    UnkeyedTimerService,
)
from penstock.runtime.operators.base import Collect, Operator
from penstock.types.value_kinds import Copier

_Batch = tuple[Iterator[Any], list[Any], list[int] | None, list[Any], list[int]]
"""Argument of `Application.run`."""


class Application:
    """One function of an operator, and how to call it.

    Attributes:
        call: The function; with MANY and MANY_OR_NONE it returns copies if the plan requires copies.
        context: Its second argument, None if it takes none.
        copy: Copies every result of ONE and TRUTH before the next call, which may change a stored
            result; None does not copy.
        of_input: Name of the input for messages; empty if there is one input.
    """

    __slots__ = ("_loop", "call", "context", "copy", "of_input")

    def __init__(
        self,
        call: Callable[..., Any],
        returns: Returns,
        emission: Emission,
        context: ProcessContext | None = None,
        of_input: str = "",
    ) -> None:
        self.call = emission.of_call(returns, call)
        self.copy: Copier | None = emission.copy
        self.context = context
        self.of_input = of_input
        self._loop = _LOOPS[returns, context is not None]

    def run(
        self,
        position: Iterator[Any],
        values: list[Any],
        timestamps: list[int] | None,
        results: list[Any],
        stamps: list[int],
    ) -> None:
        """Call the function on every record."""
        self._loop(self, (position, values, timestamps, results, stamps))


def _one(application: Application, batch: _Batch) -> None:
    position, _, timestamps, results, stamps = batch
    call, copy = application.call, application.copy
    if copy is None:
        results += [call(value) for value in position]
    else:
        results += [copy(call(value)) for value in position]
    if timestamps is not None:
        stamps += timestamps


def _truth(application: Application, batch: _Batch) -> None:
    position, values, timestamps, results, stamps = batch
    call, copy = application.call, application.copy
    if copy is None:
        # Not `compress`: it would silently end at a `__bool__` that raises StopIteration.
        keep = [bool(call(value)) for value in position]
        results += compress(values, keep)
    else:
        keep = []
        for value in position:
            is_kept = bool(call(value))
            keep.append(is_kept)
            if is_kept:
                results.append(copy(value))
    if timestamps is not None:
        stamps += compress(timestamps, keep)


def _one_or_none(application: Application, batch: _Batch) -> None:
    position, _, timestamps, results, stamps = batch
    call, copy = application.call, application.copy
    if copy is None:
        returned = [call(value) for value in position]
    else:
        returned = [copy(call(value)) for value in position]
    keep = [result is not None for result in returned]
    results += compress(returned, keep)
    if timestamps is not None:
        stamps += compress(timestamps, keep)


def _many(application: Application, batch: _Batch) -> None:
    position, _, timestamps, results, stamps = batch
    call, extend = application.call, results.extend
    if timestamps is None:
        for value in position:
            extend(call(value))
        return
    for value, stamp in zip(position, timestamps, strict=True):
        before = len(results)
        extend(call(value))
        stamps.extend([stamp] * (len(results) - before))


def _many_or_none(application: Application, batch: _Batch) -> None:
    position, _, timestamps, results, stamps = batch
    call, extend = application.call, results.extend
    if timestamps is None:
        for value in position:
            produced = call(value)
            if produced is not None:
                extend(produced)
        return
    for value, stamp in zip(position, timestamps, strict=True):
        produced = call(value)
        if produced is not None:
            before = len(results)
            extend(produced)
            stamps.extend([stamp] * (len(results) - before))


def _many_or_none_with_context(application: Application, batch: _Batch) -> None:
    position, _, timestamps, results, stamps = batch
    call, context, extend = application.call, application.context, results.extend
    assert context is not None, "the table of loops passes one"
    if timestamps is None:
        context.current_timestamp = None
        for value in position:
            produced = call(value, context)
            if produced is not None:
                extend(produced)
        return
    for value, stamp in zip(position, timestamps, strict=True):
        context.current_timestamp = stamp
        produced = call(value, context)
        if produced is not None:
            before = len(results)
            extend(produced)
            stamps.extend([stamp] * (len(results) - before))


_LOOPS: dict[tuple[Returns, bool], Callable[[Application, _Batch], None]] = {
    (Returns.ONE, False): _one,
    (Returns.TRUTH, False): _truth,
    (Returns.ONE_OR_NONE, False): _one_or_none,
    (Returns.MANY, False): _many,
    (Returns.MANY_OR_NONE, False): _many_or_none,
    (Returns.MANY_OR_NONE, True): _many_or_none_with_context,
}
"""(return value, whether the function has a context) to the loop around the calls."""


def applications(
    spec: OperatorSpec, emission: Emission, contexts: Sequence[ProcessContext | None]
) -> tuple[Application, ...]:
    """Return an application per input; none if the operator calls the function itself."""
    if spec.kind.returns is Returns.OTHER:
        return ()
    calls = input_calls(spec.function, spec.method)
    names = ("",) if len(calls) == 1 else tuple(f" of input {n + 1}" for n in range(len(calls)))
    return tuple(
        Application(call, spec.kind.returns, emission, context, name)
        for call, context, name in zip(calls, contexts, names, strict=False)
    )


def input_calls(function: Any, method: str | None) -> tuple[Callable[..., Any], ...]:
    """Return the callable for the records of each input.

    It is one method; two methods for a name that ends with 1; the function itself without a method.
    """
    if method is None:
        return (function,)
    names = (method, f"{method[:-1]}2") if method.endswith("1") else (method,)
    return tuple(getattr(function, name) for name in names)


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

    def _collect(
        self, application: Application, values: list[Any], timestamps: list[int] | None
    ) -> None:
        self.records_in += len(values)
        self._apply(application, values, timestamps)

    def _apply(
        self, application: Application, values: list[Any], timestamps: list[int] | None
    ) -> None:
        self._timers.watermark = self.watermark
        position = iter(values)
        results: list[Any] = []
        new_stamps: list[int] = []
        try:
            application.run(position, values, timestamps, results, new_stamps)
        except BaseException as cause:
            raise self.failed(cause, values, position, of_input=application.of_input) from cause
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
        function, shared = spec.function, (spec.kind.returns, self.emission)
        return (
            Application(function.process_element, *shared, reading),
            Application(
                function.process_broadcast_element, *shared, writing, " of the broadcast input"
            ),
        )
