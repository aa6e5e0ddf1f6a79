"""reduce and the aggregations derived from it.

Rolling: every record gives the aggregate so far. A batch run that is asked for final results
only (BATCH mode) gives one result per key instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import chain
from operator import length_hint
from typing import Any

from penstock.program.life_cycle import has_life_cycle
from penstock.program.operator_spec import OperatorSpec
from penstock.program.own_states import REDUCE_AGGREGATE
from penstock.runtime.flow.coercion import coercing_function
from penstock.runtime.flow.output import Output
from penstock.runtime.fold.fold_by_key import reduce_by_key
from penstock.runtime.fold.folded_keys import FoldedKeys
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.runtime.operators.keyed import FLUSH_RECORDS, KeyedOperator
from penstock.state.backends.base import ABSENT
from penstock.state.handles.parts import Parts
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.types import Types
from penstock.types.values.copying import is_immutable


class KeyedReduceOperator(KeyedOperator):
    """Folds the records of each key with a function of two values."""

    takes_keys_in_parts = True

    def __init__(
        self,
        spec: OperatorSpec,
        output: Output,
        context: OperatorContext,
        scope: KeyedScope,
    ) -> None:
        super().__init__(spec, output, context, scope)
        value_type = spec.result_type or Types.PICKLED_BYTE_ARRAY()
        schema = StateSchema(StateKind.REDUCING, value_type)
        self._parts = Parts(scope.store.table(spec.uid, REDUCE_AGGREGATE, schema))
        self._final_only = context.final_results_only
        # A function with an `open` of its own may look at the state of the current key.
        self._folds_at_once = self._final_only and not has_life_cycle(spec.function)
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
        except BaseException as cause:
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
        try:
            if self._final_only:
                records = position if before is ABSENT else chain((before,), position)
                result = reduce(self.call, records)
                self._final = [result]
                self._final_stamps = None if timestamps is None else timestamps[-1:]
                stamps = None
            else:
                results, result = self._rolled(before, position, values[0])
                stamps = timestamps
        except BaseException as cause:
            raise self.failed(cause, values, position, key=key) from cause
        part.put(key, result)
        self.emit(results, stamps)

    def _rolled(self, before: Any, position: Iterator[Any], record: Any) -> tuple[list[Any], Any]:
        """Return the rolling aggregates that leave, and the last one, which stays in the state.

        A function of two values gives one of the same type, so a record that cannot be changed
        tells that aggregates cannot be either; and then nothing is looked at one by one.
        """
        copy, call = self.emission.copy, self.call
        result, results = before, []
        copies = copy is not None and not is_immutable(record)
        if before is ABSENT:
            result = next(position)
            results.append(copy(result) if copies and copy is not None else result)
        if copies and copy is not None:
            for value in position:
                result = call(result, value)
                results.append(copy(result))
        else:
            results += [result := call(result, value) for value in position]
            if copy is not None and not is_immutable(result):
                results = list(map(copy, results))
        return results, result

    def end_key(self, watermark: int) -> None:
        """Give the aggregate of a key whose records are complete, if only that is wanted."""
        final = self._final if self._is_last_run else list(self.emission.of(self._final))
        self.emit(final, self._final_stamps)
        self._final = []
