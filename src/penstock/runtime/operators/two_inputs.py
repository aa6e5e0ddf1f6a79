"""Operators that process both inputs together."""

from __future__ import annotations

from typing import Any

from penstock.program.level import OperatorSpec
from penstock.runtime.exchange.channel_writer import results_among
from penstock.runtime.flow.output import Output
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.runtime.operators.base import Collect
from penstock.runtime.operators.keyed import KeyedOperator

Batch = tuple[list[Any], list[int] | None]
"""(values, timestamps)."""


def results_apart(waiting: list[list[Batch]]) -> tuple[list[list[Batch]], list[list[Batch]]]:
    """Return the results of a bounded region, which come first, and the other records, by input."""
    if not any(results_among(values) for batches in waiting for values, _ in batches):
        return [[] for _ in waiting], waiting
    results: list[list[Batch]] = [[] for _ in waiting]
    others: list[list[Batch]] = [[] for _ in waiting]
    for number, batches in enumerate(waiting):
        for values, stamps in batches:
            end = results_among(values)
            results[number].append((values[:end], None if stamps is None else stamps[:end]))
            others[number].append((values[end:], None if stamps is None else stamps[end:]))
    return results, others


class BuffersInputs(KeyedOperator):
    """Buffers the batches of each input until all inputs are complete."""

    def __init__(
        self, spec: OperatorSpec, output: Output, context: OperatorContext, scope: KeyedScope
    ) -> None:
        super().__init__(spec, output, context, scope)
        self._waiting: list[list[Batch]] = [[] for _ in spec.key_selectors]

    def collector(self, number: int) -> Collect:
        """Return the receiver of the records of input `number`, which buffers them."""

        def hold(values: list[Any], timestamps: list[int] | None) -> None:
            self.records_in += len(values)
            self._waiting[number].append((values, timestamps))

        return hold

    def take_waiting(self) -> list[list[Batch]]:
        """Remove and return the buffered batches by input."""
        waiting, self._waiting = self._waiting, [[] for _ in self._waiting]
        return waiting
