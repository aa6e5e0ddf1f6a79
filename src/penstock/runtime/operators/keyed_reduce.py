"""reduce and the aggregations derived from it, and the last record of each key.

They are rolling: the operator emits the current accumulator for every record. A batch run with final
results only (BATCH mode) emits one result per key instead, with the time of the key's last record.

The last record has no state. A batch run folds the records of a key as reduce does, at the places that the
plan chooses. A live run passes the records of a micro-batch on when it ends, not where a watermark takes
effect in it: a sink that merges by key must not get a key twice at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from penstock.program.fold import Fold
from penstock.program.level import OperatorSpec
from penstock.program.operator_kind import Emit
from penstock.runtime.flow.coercion import coercing_function
from penstock.runtime.flow.output import Output
from penstock.runtime.fold.fold_table import Entries
from penstock.runtime.fold.loops import fold_one
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.runtime.operators.keyed import FLUSH_RECORDS
from penstock.runtime.operators.keyed_fold import KeyedFoldOperator
from penstock.state.backends.base import ABSENT
from penstock.state.handles.key_context import Parts
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.state.schema.own_states import REDUCE_AGGREGATE
from penstock.types import Types
from penstock.types.value_kinds import is_immutable


class KeyedReduceOperator(KeyedFoldOperator):
    """Folds the records of each key with a function of two values."""

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
        self._final: list[Any] = []
        self._final_stamps: list[int] | None = None
        self._last_stamps: dict[Any, int] = {}
        if spec.result_type is not None:
            subject = f"operator {spec.name!r}"
            self.call = coercing_function(self.call, spec.result_type, subject, spec.origin)
        self._fold = Fold(None, self.call, self.call, None, spec.result_type)

    def fold(self) -> Fold:
        """Return the fold."""
        return self._fold

    def panes_of(
        self, keys: list[Any], values: Iterator[Any], timestamps: list[int] | None
    ) -> None:
        """Return None, and store the time of the last record of each key."""
        if timestamps is not None:
            self._last_stamps.update(zip(keys, timestamps, strict=True))

    def give(self, entries: Entries) -> None:
        """Emit one result per key."""
        (of_key,) = entries.values()
        results, times = list(of_key.values()), self._last_stamps
        stamps = [times[key] for key in of_key] if times else None
        self._last_stamps = {}
        if not self._is_last_run:
            group_of = self._group_of
            for key, result in of_key.items():
                self._parts[group_of(key)].put(key, result)
            results = self.emission.of_batch(results)
        for start in range(0, len(results), FLUSH_RECORDS):
            end = start + FLUSH_RECORDS
            self.emit(results[start:end], None if stamps is None else stamps[start:end])

    def process_key(self, key: Any, values: list[Any], timestamps: list[int] | None) -> None:
        """Fold the records of one key into its accumulator: one read and one write of state."""
        part = self._parts[self.keys.group]
        before = part.get(key, ABSENT)
        position = iter(values)
        results: list[Any] = []
        try:
            if self.folding.emit is Emit.FINAL:
                result = fold_one(self._fold, before, position)
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
        """Return the results to emit, and the last accumulator, which is written to state.

        A reduce function returns values of its argument type. So if a record is immutable, its results
        are too, and need no check one by one.
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
        """Emit the final result of a key, if the run emits final results only."""
        final = self._final if self._is_last_run else self.emission.of_batch(self._final)
        self.emit(final, self._final_stamps)
        self._final = []


class KeyedLatestOperator(KeyedFoldOperator):
    """Emits the last record of each key."""

    def __init__(
        self, spec: OperatorSpec, output: Output, context: OperatorContext, scope: KeyedScope
    ) -> None:
        super().__init__(spec, output, context, scope)
        self._fold = Fold(None, self.call, self.call, None, spec.result_type)
        self._latest: dict[Any, Any] = {}

    def fold(self) -> Fold:
        """Return the fold."""
        return self._fold

    def give(self, entries: Entries) -> None:
        """Emit one record per key."""
        (of_key,) = entries.values()
        self._emit_all(of_key.values())

    def process_key(self, key: Any, values: list[Any], timestamps: list[int] | None) -> None:
        """Remember the last record of a key."""
        self._latest[key] = values[-1]

    def end_key(self, watermark: int) -> None:
        """Emit the last record of a key in a batch run."""
        self._emit_all(self._latest.values())
        self._latest.clear()

    def end_epoch(self) -> None:
        """Emit the last record of each key of a micro-batch."""
        self._emit_all(self._latest.values())
        self._latest.clear()
        self.flush()

    def _emit_all(self, values: Iterable[Any]) -> None:
        results = list(values)
        for start in range(0, len(results), FLUSH_RECORDS):
            self.emit(results[start : start + FLUSH_RECORDS], None)
