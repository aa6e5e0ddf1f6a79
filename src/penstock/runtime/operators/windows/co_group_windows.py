"""coGroup: two inputs of one key, cut into the same windows, of which one function sees both.

As in Flink it is a window operation over the union of both inputs, whose records say which of the
two they are of. What is stored does not: see `windows.two_lists`.
"""

from __future__ import annotations

from itertools import repeat
from typing import Any

from penstock.program.operator_spec import OperatorSpec
from penstock.program.tagged_union import TaggedUnion
from penstock.runtime.flow.output import Output
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.runtime.operators.base import Collect
from penstock.runtime.operators.windows.keyed_window import KeyedWindowOperator
from penstock.wire.elements import MIN_TIMESTAMP

Batch = tuple[list[Any], list[int] | None]
"""(values, timestamps)."""


class CoGroupWindowOperator(KeyedWindowOperator):
    """Windows of any kind. Of what arrives together, the first input goes first."""

    def __init__(
        self, spec: OperatorSpec, output: Output, context: OperatorContext, scope: KeyedScope
    ) -> None:
        super().__init__(spec, output, context, scope)
        self.may_tag = False
        selectors: Any = spec.key_selectors
        self._selector = lambda tagged: selectors[tagged[0]](tagged[1])
        self._waiting: tuple[list[Batch], list[Batch]] = ([], [])

    def collector(self, number: int) -> Collect:
        """Return what takes the records of input `number`; they wait for the other input."""

        def hold(values: list[Any], timestamps: list[int] | None) -> None:
            self.records_in += len(values)
            self._waiting[number].append((values, timestamps))

        return hold

    def inputs_complete(self) -> None:
        """Add what has arrived to its windows."""
        values: list[Any] = []
        stamps: list[int] = []
        for number, batches in enumerate(self.take_waiting()):
            for batch, times in batches:
                values += map(TaggedUnion, repeat(number), batch)
                stamps += repeat(MIN_TIMESTAMP, len(batch)) if times is None else times
        if values:
            self.process(values, stamps)

    @property
    def wants_parts_by_time(self) -> bool:
        """Parts of a key come as they arrived, if its lists are in that order."""
        return not self._fires_at_end

    def continue_key(self, number: int, values: list[Any], timestamps: list[int] | None) -> None:
        """Add some records of one input; those of the first come first, of equal time."""
        self.records_in += len(values)
        stamps = [MIN_TIMESTAMP] * len(values) if timestamps is None else timestamps
        self.process_key(self.keys.key, list(map(TaggedUnion, repeat(number), values)), stamps)

    def take_waiting(self) -> tuple[list[Batch], list[Batch]]:
        """Return the batches of each input that arrived since the last call."""
        waiting, self._waiting = self._waiting, ([], [])
        return waiting
