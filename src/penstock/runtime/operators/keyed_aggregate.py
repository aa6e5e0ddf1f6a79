"""Aggregates of columns per key: the newest result of each key, once per micro-batch.

Records are what a selection made of them, the parts that aggregates keep (`expressions.keyed_aggregate`). A batch run
merges them at the places that the plan chooses. A live run merges those of a micro-batch in memory, and reads and
writes the state of a key once, when the micro-batch ends; so it emits one result per key, not one per record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from penstock.expressions.arrow.records import ChainEvaluation
from penstock.expressions.keyed_aggregate import KeyedAggregate
from penstock.program.folding.fold import Fold
from penstock.program.folding.operator_fold import fold_of
from penstock.program.operator_spec import OperatorSpec
from penstock.program.own_states import REDUCE_AGGREGATE
from penstock.runtime.flow.output import Output
from penstock.runtime.fold.fold_table import Entries
from penstock.runtime.fold.loops import fold_one
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.runtime.operators.keyed import FLUSH_RECORDS
from penstock.runtime.operators.keyed_fold import KeyedFoldOperator
from penstock.state.backends.base import ABSENT
from penstock.state.handles.parts import Parts
from penstock.state.schema.entry_schema import StateKind, StateSchema


class KeyedAggregateOperator(KeyedFoldOperator):
    """Merges parts per key, and emits rows of results without timestamps."""

    def __init__(
        self, spec: OperatorSpec, output: Output, context: OperatorContext, scope: KeyedScope
    ) -> None:
        super().__init__(spec, output, context, scope)
        function, fold = spec.function, fold_of(spec)
        assert isinstance(function, KeyedAggregate), "the API makes no other"
        assert fold is not None, "it folds"
        schema = StateSchema(StateKind.REDUCING, function.parts)
        self._parts = Parts(scope.store.table(spec.uid, REDUCE_AGGREGATE, schema))
        self._fold = fold
        self._results = ChainEvaluation(function.results, spec.name, spec.origin)
        self._merged: dict[Any, Any] = {}

    def fold(self) -> Fold:
        """Return the fold."""
        return self._fold

    def give(self, entries: Entries) -> None:
        """Emit one result per key."""
        (of_key,) = entries.values()
        self._finish(of_key)

    def process_key(self, key: Any, values: list[Any], timestamps: list[int] | None) -> None:
        """Merge the records of a key with what is known of it."""
        before = self._merged.get(key, ABSENT)
        if before is ABSENT:
            before = self._parts[self.keys.group].get(key, ABSENT)
        position = iter(values)
        try:
            self._merged[key] = fold_one(self._fold, before, position)
        except BaseException as cause:
            raise self.failed(cause, values, position, key=key) from cause

    def end_key(self, watermark: int) -> None:
        """Finish a few thousand keys of a batch run together: a kernel costs as much for one as for a hundred."""
        if len(self._merged) >= FLUSH_RECORDS:
            self._finish_merged()

    def end_group(self) -> None:
        """Emit the results of a key group of a batch run."""
        super().end_group()
        self._finish_merged()

    def end_epoch(self) -> None:
        """Write the state of the keys of a micro-batch, and emit their results."""
        self._finish_merged()

    def _finish_merged(self) -> None:
        if self._merged:
            merged, self._merged = self._merged, {}
            self._finish(merged)
            self.flush()

    def _finish(self, merged: dict[Any, Any]) -> None:
        if not (self._by_time and self._is_last_run):
            group_of = self._group_of
            for key, parts in merged.items():
                self._parts[group_of(key)].put(key, parts)
        for records in _in_lists(merged.values()):
            results, _ = self._results.of_records(records, None)
            self.emit(results, None)


def _in_lists(values: Iterable[Any]) -> Iterator[list[Any]]:
    records = list(values)
    for at in range(0, len(records), FLUSH_RECORDS):
        yield records[at : at + FLUSH_RECORDS]
