"""The operator of `map_groups`: its function takes records of one key as columns, and may have keyed state.

A call gets those records of a key that a task or micro-batch has at once, at most `batch_size`: how they are cut is not
defined. In a batch run they are in order of time, in a live run in order of arrival.
"""

from __future__ import annotations

from typing import Any

from penstock.program.level import OperatorSpec
from penstock.runtime.flow.output import Output
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.runtime.operators.batches.batch_calls import BatchCalls
from penstock.runtime.operators.keyed import KeyedOperator
from penstock.user_failure import short


class MapGroupsOperator(KeyedOperator):
    """Calls a function on batches of records of one key."""

    takes_keys_in_parts = True

    def __init__(
        self, spec: OperatorSpec, output: Output, context: OperatorContext, scope: KeyedScope
    ) -> None:
        super().__init__(spec, output, context, scope)
        assert spec.batches is not None, "the API sets it"
        self._batches = spec.batches
        self._calls = BatchCalls(spec)

    def process_key(self, key: Any, values: list[Any], timestamps: list[int] | None) -> None:
        """Call the function on the records of one key."""
        size = self._batches.size
        for at in range(0, len(values), size):
            some = values[at : at + size]
            argument = self._calls.argument(some)
            try:
                made = self.call(argument)
            except BaseException as cause:
                raise self._calls.failure(cause, some, f" of key {short(key)}") from cause
            keeps_times = self._batches.is_row_for_row and timestamps is not None
            stamps = timestamps[at : at + size] if keeps_times and timestamps else None
            self.emit(self._calls.rows(made, len(some)), stamps)
