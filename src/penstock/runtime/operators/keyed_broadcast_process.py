"""process of a keyed stream that is connected with a broadcast stream.

It is the operator of `apply` with keyed state and timers on the keyed side. In a batch run broadcast
elements precede all keys.
"""

from __future__ import annotations

from typing import Any

from penstock.program.level import OperatorSpec
from penstock.runtime.flow.output import Output
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.runtime.functions.process_context import (
    InternalBroadcastContext,
    InternalKeyedBroadcastContext,
)
from penstock.runtime.operators.application import Application
from penstock.runtime.operators.base import Collect
from penstock.runtime.operators.keyed_process import KeyedProcessOperator


class KeyedBroadcastProcessOperator(KeyedProcessOperator):
    """Calls `process_element`, `process_broadcast_element` and `on_timer`."""

    def __init__(
        self, spec: OperatorSpec, output: Output, context: OperatorContext, scope: KeyedScope
    ) -> None:
        super().__init__(spec, output, context, scope)
        self._context = InternalKeyedBroadcastContext(
            self._timers,
            spec,
            context.get_read_only_broadcast_state,
            scope.context,
        )
        self.apply_with(self._context)
        self._broadcast = Application(
            spec.function.process_broadcast_element,
            spec.kind.returns,
            self.emission,
            InternalBroadcastContext(self._timers, spec, context.get_broadcast_state),
            " of the broadcast input",
        )

    def collector(self, number: int) -> Collect:
        """Return the receiver of the records of input `number`; 1 is the broadcast input."""
        return self.collect if number == 0 else self._collect_broadcast

    def _collect_broadcast(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.records_in += len(values)
        self.apply(self._broadcast, values, timestamps)
        self.flush()
