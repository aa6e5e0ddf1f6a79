"""The operators of `map_batches`, `map_groups` and functions of lists of records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.program.level import OperatorSpec
from penstock.runtime.exchange.column_records import ColumnRecords
from penstock.runtime.flow.output import Output
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.batches.batch_calls import (
    BatchCalls,
    Stamps,
    WaitingColumns,
    WaitingRecords,
)
from penstock.runtime.operators.expressions import WriteColumns
from penstock.runtime.operators.keyed import KeyedOperator
from penstock.user_failure import short


class MapBatchesOperator(Operator):
    """Calls a function on batches of records.

    Attributes:
        has_columns: Whether it reads and makes columns.
    """

    has_columns = True

    def __init__(self, spec: OperatorSpec, output: Output, context: OperatorContext) -> None:
        super().__init__(spec, output, context)
        assert spec.batches is not None, "the API sets it"
        self.batches = spec.batches
        self.calls = BatchCalls(spec)
        self.waiting = WaitingRecords()
        self._columns = WaitingColumns()
        self._write: WriteColumns | None = None

    @property
    def enough(self) -> int:
        """Number of waiting records that are processed at once."""
        return self.batches.size

    @property
    def makes_columns(self) -> bool:
        """True if its results have a form as columns."""
        return self.has_columns

    def send_columns(self, write: WriteColumns, *, only: bool) -> None:
        """Send results as columns from now on."""
        assert not only, "parts are made by a selection"
        self._write = write

    def reads(self, schema: Any) -> bool:
        """Return whether Arrow columns of a source are those that its function gets."""
        return self.has_columns and self.calls.reads(schema)

    def collect_columns(self, batch: Any, timestamps: list[int] | None = None) -> None:
        """Process a non-empty Arrow batch of a source, whose records have no timestamps."""
        assert timestamps is None, "records of columns of a source have none"
        self.records_in += batch.num_rows
        waiting, enough = self._columns, self.enough
        if self.waiting.values:
            self.finish_batch()
        waiting.add(batch)
        while waiting.rows >= enough:
            self._call_on_columns(waiting.take(enough))
        if waiting.have_waited(self.batches.max_wait_ms):
            self.finish_batch()

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Process a batch: add it to the records that wait, and call the function on full batches."""
        waiting, enough = self.waiting, self.enough
        if self._columns.rows or not waiting.fits(timestamps):
            self.finish_batch()
        waiting.add(values, timestamps)
        while len(waiting.values) >= enough:
            self.call_on(*waiting.take(enough))
        if waiting.have_waited(self.batches.max_wait_ms):
            self.finish_batch()

    def on_watermark(self, watermark: int) -> None:
        """Emit what waits before a watermark, which may make it late."""
        self.finish_batch()

    def finish_batch(self) -> None:
        """Call the function on what waits: records, or columns, never both."""
        if self.waiting.values:
            self.call_on(*self.waiting.take(len(self.waiting.values)))
        elif self._columns.rows:
            self._call_on_columns(self._columns.take(self._columns.rows))

    def call_on(self, values: list[Any], stamps: Stamps) -> None:
        """Call the function on records, and emit the results."""
        self._call(self.calls.argument(values), values, stamps)

    def _call_on_columns(self, batch: Any) -> None:
        self._call(self.calls.argument_of(batch), ColumnRecords([batch]), None)

    def _call(self, argument: Any, values: Sequence[Any], stamps: Stamps) -> None:
        try:
            made = self.call(argument)
        except BaseException as cause:
            raise self.calls.failure(cause, values) from cause
        if self._write is None:
            self.output.collect(self.calls.rows(made, len(values)), stamps)
            return
        columns = self.calls.columns(made, len(values))
        if columns.num_rows:
            self._write(columns, stamps)


class MapRowsOperator(MapBatchesOperator):
    """Calls a function on lists of records."""

    def call_on(self, values: list[Any], stamps: Stamps) -> None:
        """Call the function on records, and emit the results."""
        try:
            made = self.call(values)
        except BaseException as cause:
            raise self.calls.failure(cause, values) from cause
        self.output.collect(made, stamps)


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
