"""Keyed operators that call a function once per record. The function may have keyed state."""

from __future__ import annotations

from typing import Any

from penstock.program.operator_spec import OperatorSpec
from penstock.runtime.flow.output import Output
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.runtime.functions.process_context import ProcessContext
from penstock.runtime.operators.application import Application, applications
from penstock.runtime.operators.base import NO_KEY
from penstock.runtime.operators.keyed import KeyedOperator


class KeyedApplyOperator(KeyedOperator):
    """Calls a function on every record, key by key."""

    takes_keys_in_parts = True

    def __init__(
        self, spec: OperatorSpec, output: Output, context: OperatorContext, scope: KeyedScope
    ) -> None:
        super().__init__(spec, output, context, scope)
        self.may_tag = spec.kind.has_side_outputs
        self.apply_with(None)

    def apply_with(self, context: ProcessContext | None) -> None:
        """Make the application of each input.

        Args:
            context: Second argument of functions; None if they have none.
        """
        self.inputs = applications(self.spec, self.emission, (context, context))

    def process_key(self, key: Any, values: list[Any], timestamps: list[int] | None) -> None:
        """Process the records of one key."""
        self.apply(self.inputs[0], values, timestamps, key=key)

    def apply(
        self,
        made: Application,
        values: list[Any],
        timestamps: list[int] | None,
        key: Any = NO_KEY,
    ) -> None:
        """Call a function on records, and buffer the results.

        Args:
            made: The function.
            values: The records.
            timestamps: Timestamps of the records.
            key: Key of all records, if they have one; for messages.
        """
        results, stamps = self.waiting_results(with_timestamps=timestamps is not None)
        position = iter(values)
        try:
            made.run(position, values, timestamps, results, stamps)
        except BaseException as cause:
            raise self.failed(cause, values, position, key=key, of_input=made.of_input) from cause
        self.flush_if_many()
