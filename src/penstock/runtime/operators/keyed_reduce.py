"""reduce and the aggregations derived from it.

Rolling: every record gives the aggregate so far. A batch run that is asked for final results
only (BATCH mode) gives one result per key instead.
"""

from __future__ import annotations

from functools import reduce
from itertools import accumulate, chain
from typing import Any

from penstock.runtime.coercion import coercing_function
from penstock.runtime.context import KeyedScope, OperatorContext
from penstock.runtime.operators.keyed import KeyedOperator
from penstock.runtime.output import Output
from penstock.runtime.program import OperatorSpec
from penstock.runtime.state_handles import REDUCE_STATE
from penstock.state.backend import ABSENT
from penstock.state.schema import StateKind, StateSchema
from penstock.types import Types


class KeyedReduceOperator(KeyedOperator):
    """Folds the records of each key with a function of two values."""

    def __init__(
        self,
        spec: OperatorSpec,
        output: Output,
        context: OperatorContext,
        scope: KeyedScope,
        *,
        final_results_only: bool,
    ) -> None:
        super().__init__(spec, output, context, scope)
        value_type = spec.result_type or Types.PICKLED_BYTE_ARRAY()
        schema = StateSchema(StateKind.REDUCING, value_type)
        self._table = scope.store.table(spec.uid, REDUCE_STATE, schema)
        self._final_only = final_results_only
        if spec.result_type is not None:
            subject = f"operator {spec.name!r}"
            self.call = coercing_function(self.call, spec.result_type, subject, spec.origin)

    def process_key(self, key: Any, values: list[Any], timestamps: list[int] | None) -> None:
        """Fold the records of one key into its aggregate: one read and one write."""
        part = self._table[self.keys.group]
        before = part.get(key, ABSENT)
        position = iter(values)
        records = position if before is ABSENT else chain((before,), position)
        try:
            if self._final_only:
                result = reduce(self.call, records)
                results, stamps = [result], None if timestamps is None else timestamps[-1:]
            else:
                results = list(accumulate(records, self.call))
                if before is not ABSENT:
                    del results[0]
                result, stamps = results[-1], timestamps
        except Exception as cause:
            raise self.failed(cause, values, position, key=key) from cause
        part.put(key, result)
        self.emit(results, stamps)
