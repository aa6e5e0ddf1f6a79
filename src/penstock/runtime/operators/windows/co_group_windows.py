"""coGroup: two inputs with one key and the same windows. One function gets the records of both.

As in Flink it is a window operation over the union of both inputs, whose records are tagged with
their input. State does not contain the tags: see `windows.two_lists`.
"""

from __future__ import annotations

from itertools import repeat
from typing import Any

from penstock.program.join import TaggedUnion
from penstock.program.level import OperatorSpec
from penstock.runtime.flow.output import Output
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.runtime.operators.two_inputs import BuffersInputs
from penstock.runtime.operators.windows.keyed_window import KeyedWindowOperator
from penstock.wire.elements import MIN_TIMESTAMP


class CoGroupWindowOperator(BuffersInputs, KeyedWindowOperator):
    """coGroup over windows of any kind. It reads the first input first."""

    def __init__(
        self, spec: OperatorSpec, output: Output, context: OperatorContext, scope: KeyedScope
    ) -> None:
        super().__init__(spec, output, context, scope)
        self.may_tag = False
        selectors: Any = spec.key_selectors
        self._selector = lambda tagged: selectors[tagged[0]](tagged[1])

    def inputs_complete(self) -> None:
        """Add the buffered records to their windows."""
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
        """True if parts of a key must be in order of time; its lists at the end of input are not."""
        return not self._fires_at_end

    def continue_key(self, number: int, values: list[Any], timestamps: list[int] | None) -> None:
        """Add some records of one input; of equal time, those of the first input precede."""
        self.records_in += len(values)
        stamps = [MIN_TIMESTAMP] * len(values) if timestamps is None else timestamps
        self.process_key(self.keys.key, list(map(TaggedUnion, repeat(number), values)), stamps)
