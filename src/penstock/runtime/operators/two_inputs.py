"""Operators with two inputs and no key: one function object, a method per input.

The inputs are not ordered against each other: of what arrives in one micro-batch or task, the
first input is read first, and a broadcast input before the other.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

from penstock.program.operator_spec import OperatorSpec
from penstock.runtime.flow.output import Output
from penstock.runtime.flow.side_outputs import send_sides, sides_of, split_tagged
from penstock.runtime.functions.context import OperatorContext
from penstock.runtime.functions.process_context import ProcessContext, UnkeyedTimerService
from penstock.runtime.operators.base import Collect, Operator
from penstock.runtime.operators.emission import Results, many_or_none, one_or_none


def second_method(first: str) -> str:
    """Return the name of the method for the second input: `map2` for `map1`."""
    return f"{first[:-1]}2"


def input_calls(function: Any, method: str | None) -> tuple[Callable[..., Any], ...]:
    """Return what is called with a record of each input: one method, or two for `…1`."""
    assert method is not None
    names = (method, second_method(method)) if method.endswith("1") else (method,)
    return tuple(getattr(function, name) for name in names)


class TwoInputOperator(Operator):
    """Base: calls a method per record of either input."""

    results: Results = staticmethod(many_or_none)
    takes_context = False

    def __init__(self, spec: OperatorSpec, output: Output, context: OperatorContext) -> None:
        super().__init__(spec, output, context)
        calls = input_calls(spec.function, spec.method)
        self._calls = tuple(self.emission.of_call(spec.kind, call) for call in calls)
        self._timers = UnkeyedTimerService(spec)
        self._context = ProcessContext(self._timers, spec=spec)
        self._sides = sides_of(output)

    def collector(self, number: int) -> Collect:
        """Return what takes the records of input `number`."""
        return self.collect if number == 0 else self._collect_second

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Process a batch of the first input."""
        self._process(0, values, timestamps)

    def _collect_second(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.records_in += len(values)
        self._process(1, values, timestamps)

    def _process(self, number: int, values: list[Any], timestamps: list[int] | None) -> None:
        call, context = self._calls[number], self._context
        arguments = (context,) if self.takes_context else ()
        self._timers.watermark = self.watermark
        position = iter(values)
        results: list[Any] = []
        stamps: list[int] | None = None if timestamps is None else []
        stamp: int | None
        try:
            for value, stamp in zip(position, timestamps or repeat(None), strict=False):
                context.current_timestamp = stamp
                before = len(results)
                results.extend(self.results(call(value, *arguments)))
                if stamps is not None:
                    stamps.extend([stamp] * (len(results) - before))  # type: ignore[list-item]
        except BaseException as cause:
            raise self.failed(cause, values, position) from cause
        (main, main_stamps), sides = split_tagged(results, stamps)
        send_sides(self._sides, sides)
        if main:
            self.output.collect(main, main_stamps)


class CoMapOperator(TwoInputOperator):
    """`map1` and `map2`."""

    results = staticmethod(one_or_none)


class CoFlatMapOperator(TwoInputOperator):
    """`flat_map1` and `flat_map2`."""


class CoProcessOperator(TwoInputOperator):
    """`process_element1` and `process_element2`, with access to time."""

    takes_context = True
