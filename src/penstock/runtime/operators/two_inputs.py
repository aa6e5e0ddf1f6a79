"""Operators that process both inputs together."""

from __future__ import annotations

from typing import Any

from penstock.program.operator_spec import OperatorSpec
from penstock.runtime.flow.output import Output
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.runtime.operators.base import Collect
from penstock.runtime.operators.keyed import KeyedOperator

Batch = tuple[list[Any], list[int] | None]
"""(values, timestamps)."""


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
