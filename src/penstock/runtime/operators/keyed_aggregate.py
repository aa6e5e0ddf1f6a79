"""Aggregates of columns per key: the newest result of each key or its changes, once per micro-batch.

Records are the results of a selection: the parts that aggregates keep (`expressions.keyed_aggregate`). They arrive as
columns, if columns can hold the keys. A batch run merges them at the places that the plan chooses. A live run
merges those of a micro-batch together with the known parts of their keys, and reads and writes the state of a key once,
when the micro-batch ends; so it emits one result per key, not one per record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.errors import CallSite, ExpressionError, PenstockError
from penstock.expressions.arrow.records import ChainEvaluation
from penstock.expressions.keyed_aggregate import ChangelogOutput, KeyedAggregate
from penstock.program.fold import Fold
from penstock.program.level import OperatorSpec
from penstock.program.operator_fold import fold_of
from penstock.runtime.flow.output import Output
from penstock.runtime.fold.fold_table import Entries
from penstock.runtime.fold.loops import failing_place, fold_one
from penstock.runtime.fold.parts_merge import PartsMerge
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.runtime.operators.base import NO_KEY
from penstock.runtime.operators.expressions import WriteColumns
from penstock.runtime.operators.kept_values import KeptValues
from penstock.runtime.operators.keyed import FLUSH_RECORDS
from penstock.runtime.operators.keyed_fold import KeyedFoldOperator
from penstock.runtime.operators.parts_state import PartsState, StoredParts, Update
from penstock.state.backends.base import ABSENT
from penstock.types.arrow import one_batch
from penstock.types.row import Row, RowKind, row_factory, values_of_row
from penstock.user_failure import failure_at
from penstock.wire.row_columns import ColumnRecords

FEW_RECORDS = 128
"""Records of a micro-batch that Python merges sooner than kernels have begun."""


class KeyedAggregateOperator(KeyedFoldOperator):
    """Merges parts per key, and emits rows of results without timestamps."""

    def __init__(
        self, spec: OperatorSpec, output: Output, context: OperatorContext, scope: KeyedScope
    ) -> None:
        super().__init__(spec, output, context, scope)
        function, fold = spec.function, fold_of(spec)
        assert isinstance(function, KeyedAggregate), "the API makes no other"
        assert fold is not None, "it folds"
        self._row_of = row_factory(function.parts.field_names)
        self._parts = StoredParts(spec.uid, function, scope)
        self._fold = fold
        self._results = ChainEvaluation(function.results, spec.name, spec.origin)
        self._changes: ResultChanges | None = None
        if function.changes is not None:
            self._changes = ResultChanges(function, spec.name, spec.origin)
        self._known: dict[Any, Any] = {}
        self._merged: dict[Any, Any] = {}
        self._waiting: list[pa.RecordBatch] = []
        self._write: WriteColumns | None = None
        self._state: PartsState | None = None
        self._keeps_values = False
        if self.folding.as_columns:
            merge = PartsMerge(function, spec.name, spec.origin)
            values = None
            if function.changes is not None and function.changes.are_settled:
                values = KeptValues(function, merge, scope, spec.uid, spec.name, spec.origin)
            self._keeps_values = values is not None
            self._state = PartsState(
                merge, self._parts, scope.group_of, context.settings.max_parallelism, values
            )

    @property
    def makes_columns(self) -> bool:
        """True if its results have a form as columns."""
        return self._changes is None and self._results.makes_columns

    def send_columns(self, write: WriteColumns, *, only: bool) -> None:
        """Send results that it has as columns as columns from now on."""
        assert not only, "parts are made by a selection"
        self._write = write

    def fold(self) -> Fold:
        """Return the fold."""
        return self._fold

    def give(self, entries: Entries) -> None:
        """Emit one result per key."""
        (of_key,) = entries.values()
        self._finish(of_key)

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Merge a batch; columns wait until the micro-batch or the key group ends."""
        if not isinstance(values, ColumnRecords):
            super().process(values, timestamps)
        elif self._by_time and self.table is None:
            super().process(values.rows(), timestamps)
        elif self._by_time and timestamps is not None and not self.folding.ignores_order:
            order = np.argsort(np.array(timestamps, dtype=np.int64), kind="stable")
            whole = one_batch(values.batches)
            self._waiting.append(whole.take(pa.array(order)))
        else:
            self._waiting += values.batches

    def process_key(self, key: Any, values: list[Any], timestamps: list[int] | None) -> None:
        """Merge the records of a key with its known parts."""
        before = self._merged.get(key, ABSENT)
        if before is ABSENT:
            before = self._parts.of_group[self.keys.group].get(key, ABSENT)
            if before is not ABSENT:
                (before,) = self._row_of([list(before)])
                self._known[key] = before
        position = iter(values)
        try:
            self._merged[key] = fold_one(self._fold, before, position)
        except BaseException as cause:
            raise self.failed(cause, values, position, key=key) from cause

    def failed(
        self,
        cause: BaseException,
        values: list[Any],
        position: Iterator[Any],
        *,
        key: Any = NO_KEY,
        of_input: str = "",
    ) -> PenstockError:
        """Return the error about a key; its records are parts, which the program has not seen."""
        if not isinstance(cause, ExpressionError):
            return super().failed(cause, values, position, key=key, of_input=of_input)
        where = failing_place(cause, values, position, key)
        return failure_at(f"operator {self.spec.name!r}", where, cause, self.spec.origin)

    def end_key(self, watermark: int) -> None:
        """Finish a few thousand keys of a batch run together: a kernel costs as much for one as for a hundred."""
        if len(self._merged) >= FLUSH_RECORDS:
            self._finish_merged()

    def end_group(self) -> None:
        """Emit the results of a key group of a batch run."""
        super().end_group()
        self._finish_merged()
        self._finish_columns()

    def end_epoch(self) -> None:
        """Write the state of the keys of a micro-batch, and emit their results."""
        if sum(batch.num_rows for batch in self._waiting) < FEW_RECORDS:
            rows, self._waiting = ColumnRecords(self._waiting).rows(), []
            super().process(rows, None)
        self._finish_merged()
        self._finish_columns()

    def _finish_merged(self) -> None:
        if self._merged:
            merged, self._merged = self._merged, {}
            self._finish(merged)
            self.flush()

    def _finish(self, merged: dict[Any, Any]) -> None:
        if self._keeps_values:
            self._finish_values(merged)
            return
        if not self._is_last_batch:
            group_of = self._group_of
            for key, parts in merged.items():
                self._parts.put_all(group_of(key), (key,), (tuple(parts),))
        known, self._known = self._known, {}
        for keys in _in_lists(merged):
            records = list(map(merged.__getitem__, keys))
            if self._changes is not None:
                results = self._changes.of_records(map(known.get, keys), records)
            else:
                results, _ = self._results.of_records(records, None)
            self.emit(results, None)

    def _finish_values(self, merged: dict[Any, Any]) -> None:
        """Finish keys of whose values some are kept apart."""
        assert self._state is not None, "columns have values"
        assert self._changes is not None, "it emits changes"
        known, self._known = self._known, {}
        for keys in _in_lists(merged):
            before, after = map(known.get, keys), map(merged.__getitem__, keys)
            update = self._state.finish(
                keys, list(before), list(after), is_last=self._is_last_batch
            )
            self.emit(self._changes.of_columns(update), None)

    @property
    def _is_last_batch(self) -> bool:
        """True if the state is not needed after the run."""
        return self._by_time and self._is_last_run

    def _see(self, keys: list[Any]) -> None:
        """Compare the kinds of keys with those of the state, if other functions wrote it."""
        if self.kind_check is not None:
            self._check_kinds(self.kind_check, keys)

    def _finish_columns(self) -> None:
        if not self._waiting:
            return
        assert self._state is not None, "columns come to those that take them"
        waiting, self._waiting = self._waiting, []
        if self._by_time:
            update = self._state.begin(
                self._merged_in_batch(self._state, waiting), is_last=self._is_last_batch
            )
        else:
            update = self._state.update(waiting, self._see)
        if self._write is not None:
            self._write(self._results.columns_of(update.after)[0], None)
            return
        for start in range(0, update.after.num_rows, FLUSH_RECORDS):
            some = update.slice(start, FLUSH_RECORDS)
            if self._changes is not None:
                self.emit(self._changes.of_columns(some), None)
            else:
                self.emit(self._results.of_columns(some.after)[0], None)
        self.flush()

    def _merged_in_batch(self, state: PartsState, waiting: list[pa.RecordBatch]) -> pa.RecordBatch:
        if self.folding.is_merged:
            merged = one_batch(waiting)
        else:
            merged, _ = state.merge.merged(waiting)
        return merged


def _in_lists(values: Iterable[Any]) -> Iterator[list[Any]]:
    records = list(values)
    for start in range(0, len(records), FLUSH_RECORDS):
        yield records[start : start + FLUSH_RECORDS]


class ResultChanges:
    """Makes the changes of results: +I of a new key, -U and +U of one whose result is another, -D of one without rows."""

    def __init__(self, aggregate: KeyedAggregate, name: str, origin: CallSite | None) -> None:
        changes = aggregate.changes
        assert isinstance(changes, ChangelogOutput), "it emits changes"
        self._rows = changes.rows
        self._results = ChainEvaluation(aggregate.results, name, origin, keys=aggregate.keys)

    def of_columns(self, update: Update) -> list[Row]:
        """Return the changes of keys whose parts are columns."""
        had = self._having_rows(update.before, update.was_known)
        has = self._having_rows(update.after, [True] * update.after.num_rows)
        masks = [pa.array(flags, pa.bool_()) for flags in (had, has)]
        both = [update.before.filter(masks[0]), update.after.filter(masks[1])]
        rows, _ = self._results.of_columns(one_batch(both))
        return list(_changes(had, has, rows))

    def of_records(self, before: Iterable[Any], after: Iterable[Any]) -> list[Row]:
        """Return the changes of keys whose parts are records; None if a key was not known."""
        rows = self._rows
        had: list[bool] = []
        has: list[bool] = []
        both: list[list[Any]] = [[], []]
        for flags, having_rows, records in ((had, both[0], before), (has, both[1], after)):
            for record in records:
                counts = record is not None and (rows is None or record[rows] > 0)
                flags.append(counts)
                if counts:
                    having_rows.append(record)
        results, _ = self._results.of_records(list(chain(*both)), None)
        return list(_changes(had, has, results))

    def _having_rows(self, parts: pa.RecordBatch, known: Iterable[bool]) -> list[bool]:
        if self._rows is None:
            return list(known)
        counts = parts.column(self._rows).to_pylist()
        return [is_known and count > 0 for is_known, count in zip(known, counts, strict=True)]


def _changes(had: list[bool], has: list[bool], rows: list[Row]) -> Iterator[Row]:
    """Yield changes in order of keys."""
    earlier, later = iter(rows), iter(rows[sum(had) :])
    for was, now in zip(had, has, strict=True):
        before = next(earlier) if was else None
        after = next(later) if now else None
        if before is None:
            if after is not None:
                yield after
        elif after is None:
            before.set_row_kind(RowKind.DELETE)
            yield before
        elif values_of_row(before) != values_of_row(after):
            before.set_row_kind(RowKind.UPDATE_BEFORE)
            after.set_row_kind(RowKind.UPDATE_AFTER)
            yield before
            yield after
