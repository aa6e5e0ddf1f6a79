"""reduce and the aggregations derived from it.

Rolling: every record gives the aggregate so far. A batch run that is asked for final results
only (BATCH mode) gives one result per key instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import accumulate, chain
from operator import length_hint
from typing import Any

from penstock.runtime.coercion import coercing_function
from penstock.runtime.context import KeyedScope, OperatorContext
from penstock.runtime.fold_by_key import reduce_by_key
from penstock.runtime.folded_keys import FoldedKeys
from penstock.runtime.life_cycle import has_life_cycle
from penstock.runtime.operators.keyed import FLUSH_RECORDS, KeyedOperator
from penstock.runtime.output import Output
from penstock.runtime.program import OperatorSpec
from penstock.runtime.state_handles import REDUCE_STATE
from penstock.state.backend import ABSENT
from penstock.state.parts import Parts
from penstock.state.schema import StateKind, StateSchema
from penstock.types import Types
from penstock.types.copying import is_immutable


class KeyedReduceOperator(KeyedOperator):
    """Folds the records of each key with a function of two values."""

    takes_keys_in_parts = True

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
        self._parts = Parts(scope.store.table(spec.uid, REDUCE_STATE, schema))
        self._final_only = final_results_only
        # A function with an `open` of its own may look at the state of the current key.
        self._folds_at_once = final_results_only and not has_life_cycle(spec.function)
        self._final: list[Any] = []
        self._final_stamps: list[int] | None = None
        if spec.result_type is not None:
            subject = f"operator {spec.name!r}"
            self.call = coercing_function(self.call, spec.result_type, subject, spec.origin)

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Fold a batch; if only last results are wanted, without order in time, in one loop."""
        if timestamps is None and self._folds_at_once and self.folded is not None:
            keys, values = self._keyed(values)
            self._fold(self.folded, keys, values)
        else:
            super().process(values, timestamps)

    @property
    def folds_frames(self) -> bool:
        """Records that come with their keys have no order in time."""
        return self.spec.takes_pairs and self._folds_at_once

    def _fold(self, folded: FoldedKeys, keys: list[Any], values: list[Any]) -> None:
        position = iter(values)
        try:
            reduce_by_key(folded.table, keys, position, self.call)
        except Exception as cause:
            key = keys[len(values) - length_hint(position) - 1]
            raise self.failed(cause, values, position, key=key) from cause
        folded.records += len(values)

    def end_group(self) -> None:
        """Give one result per key."""
        if self.folded is None or not self.folded.records:
            return
        folded = self.folded.take()
        results = list(folded.values())
        if not self._is_last_run:
            group_of = self._group_of
            for key, result in folded.items():
                self._parts[group_of(key)].put(key, result)
            results = list(self.emission.of(results))
        for at in range(0, len(results), FLUSH_RECORDS):
            self.emit(results[at : at + FLUSH_RECORDS], None)
        self.flush()

    def process_key(self, key: Any, values: list[Any], timestamps: list[int] | None) -> None:
        """Fold the records of one key into its aggregate: one read and one write."""
        part = self._parts[self.keys.group]
        before = part.get(key, ABSENT)
        position = iter(values)
        results: list[Any] = []
        records = position if before is ABSENT else chain((before,), position)
        try:
            if self._final_only:
                result = reduce(self.call, records)
                self._final = [result]
                self._final_stamps = None if timestamps is None else timestamps[-1:]
                stamps = None
            else:
                rolling = accumulate(records, self.call)
                results, result = self._rolled(rolling, values[0], is_first=before is ABSENT)
                stamps = timestamps
        except Exception as cause:
            raise self.failed(cause, values, position, key=key) from cause
        part.put(key, result)
        self.emit(results, stamps)

    def _rolled(
        self, rolling: Iterator[Any], record: Any, *, is_first: bool
    ) -> tuple[list[Any], Any]:
        """Return what leaves of rolling aggregates, and the last one, which stays in the state.

        A function of two values gives one of the same type, so a record that cannot be changed
        tells that aggregates cannot be either; and then nothing is looked at one by one.
        """
        copy = self.emission.copy
        if copy is None or is_immutable(record):
            results = list(rolling)
            result = results[-1]
            if copy is not None and not is_immutable(result):
                results = list(map(copy, results))
        else:
            results = []
            for result in rolling:
                results.append(copy(result))
        if not is_first:
            del results[0]
        return results, result

    def end_key(self, watermark: int) -> None:
        """Give the aggregate of a key whose records are complete, if only that is wanted."""
        final = self._final if self._is_last_run else list(self.emission.of(self._final))
        self.emit(final, self._final_stamps)
        self._final = []
