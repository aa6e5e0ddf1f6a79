"""`map_batches`, `map_groups` and functions of lists of records: their operators, and the arguments of their calls."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.errors import PenstockError, TypeMismatchError
from penstock.program.level import OperatorSpec
from penstock.runtime.flow.output import Output
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.expressions import WriteColumns
from penstock.runtime.operators.keyed import KeyedOperator
from penstock.types.arrow import arrow_columns, arrow_schema, one_batch
from penstock.types.batch_forms import record_batch
from penstock.user_failure import failure_at, short
from penstock.wire.row_columns import ColumnRecords, is_plain, rows_of

_ONE_EACH = "Return one row per row of the batch, in its order, with the columns of output_type."
_ANY = "Return the columns of output_type."


class BatchCalls:
    """Makes arguments for a function of batches, and rows of its results."""

    def __init__(self, spec: OperatorSpec) -> None:
        """Bind."""
        assert spec.batches is not None, "the API sets it"
        self._spec = spec
        self._batches = spec.batches
        self._schema = arrow_schema(spec.batches.records)
        self._results = arrow_schema(spec.batches.results)

    def reads(self, schema: Any) -> bool:
        """Return whether columns of an Arrow schema are the declared ones as they are, with values that records could hold."""
        return is_plain(schema) and schema.equals(self._schema)

    def argument(self, values: list[Any]) -> Any:
        """Return the columns of records in the form that the function takes, of the fixed size if it has one."""
        columns = arrow_columns(self._batches.records, values)
        return self.argument_of(pa.RecordBatch.from_arrays(columns, schema=self._schema))

    def argument_of(self, batch: pa.RecordBatch) -> Any:
        """Return columns in the form that the function takes, of the fixed size if it has one."""
        rows = batch.num_rows
        missing = self._batches.size - rows
        if self._batches.is_fixed and missing:
            batch = batch.take(pa.array([*range(rows), *[rows - 1] * missing], pa.int64()))
        return self._batches.form(batch)

    def rows(self, result: Any, count: int) -> list[Any]:
        """Return the rows of a result of the function; see `columns`."""
        return rows_of(self.columns(result, count))

    def columns(self, result: Any, count: int) -> pa.RecordBatch:
        """Return the columns of a result of the function."""
        try:
            batch = record_batch(result, self._results)
        except (ValueError, TypeError) as refused:  # pyarrow's errors are of these classes
            problem = str(refused)
        else:
            if not self._batches.is_row_for_row:
                return batch
            records = self._batches.size if self._batches.is_fixed else count
            if batch.num_rows == records:
                return batch.slice(0, count)
            problem = f"it returned {batch.num_rows} rows for {records} records"
        raise TypeMismatchError(
            f"{self._subject}: {problem}",
            hint=_ONE_EACH if self._batches.is_row_for_row else _ANY,
            origin=self._spec.origin,
        )

    def failure(
        self, cause: BaseException, values: Sequence[Any], of_key: str = ""
    ) -> PenstockError:
        """Return the error about a call that raised."""
        where = (
            f"a batch of {len(values)} records{of_key}, the first of which is {short(values[0])}"
        )
        return failure_at(self._subject, where, cause, self._spec.origin)

    @property
    def _subject(self) -> str:
        return f"operator {self._spec.name!r}"


Stamps = list[int] | None


class WaitingRecords:
    """Records in order of arrival, of which either all have a timestamp or none has."""

    __slots__ = ("_since", "stamps", "values")

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.stamps: Stamps = None
        self._since = 0.0

    def fits(self, timestamps: Stamps) -> bool:
        """Return whether records with these timestamps may wait with the others."""
        return not self.values or (timestamps is None) == (self.stamps is None)

    def add(self, values: list[Any], timestamps: Stamps) -> None:
        """Append records that fit."""
        if not self.values:
            self._since = time.monotonic()
            self.stamps = None if timestamps is None else []
        self.values += values
        if self.stamps is not None and timestamps is not None:
            self.stamps += timestamps

    def take(self, count: int) -> tuple[list[Any], Stamps]:
        """Remove and return the first records; the others wait from now on."""
        values, self.values = self.values[:count], self.values[count:]
        stamps = None
        if self.stamps is not None:
            stamps, self.stamps = self.stamps[:count], self.stamps[count:]
        self._since = time.monotonic()
        return values, stamps

    def have_waited(self, limit_ms: int | None) -> bool:
        """Return whether there are records that have waited for a time."""
        if not self.values or limit_ms is None:
            return False
        return (time.monotonic() - self._since) * 1000 >= limit_ms


class WaitingColumns:
    """Columns of records in order of arrival, none of which has a timestamp."""

    __slots__ = ("_batches", "_since", "rows")

    def __init__(self) -> None:
        self.rows = 0
        self._batches: deque[pa.RecordBatch] = deque()
        self._since = 0.0

    def add(self, batch: pa.RecordBatch) -> None:
        """Append records; all batches have one schema."""
        if not self.rows:
            self._since = time.monotonic()
        self._batches.append(batch)
        self.rows += batch.num_rows

    def take(self, count: int) -> pa.RecordBatch:
        """Remove and return the first records; they are copied only if they came in several batches."""
        batches: list[pa.RecordBatch] = []
        missing = count
        while missing:
            batch = self._batches.popleft()
            if batch.num_rows > missing:
                self._batches.appendleft(batch.slice(missing))
                batch = batch.slice(0, missing)
            batches.append(batch)
            missing -= batch.num_rows
        self.rows -= count
        self._since = time.monotonic()
        return one_batch(batches)

    def have_waited(self, limit_ms: int | None) -> bool:
        """Return whether there are records that have waited for a time."""
        if not self.rows or limit_ms is None:
            return False
        return (time.monotonic() - self._since) * 1000 >= limit_ms


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
            result = self.call(argument)
        except BaseException as cause:
            raise self.calls.failure(cause, values) from cause
        if self._write is None:
            self.output.collect(self.calls.rows(result, len(values)), stamps)
            return
        columns = self.calls.columns(result, len(values))
        if columns.num_rows:
            self._write(columns, stamps)


class MapRowsOperator(MapBatchesOperator):
    """Calls a function on lists of records."""

    def call_on(self, values: list[Any], stamps: Stamps) -> None:
        """Call the function on records, and emit the results."""
        try:
            results = self.call(values)
        except BaseException as cause:
            raise self.calls.failure(cause, values) from cause
        self.output.collect(results, stamps)


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
        for start in range(0, len(values), size):
            some = values[start : start + size]
            argument = self._calls.argument(some)
            try:
                result = self.call(argument)
            except BaseException as cause:
                raise self._calls.failure(cause, some, f" of key {short(key)}") from cause
            keeps_times = self._batches.is_row_for_row and timestamps is not None
            stamps = timestamps[start : start + size] if keeps_times and timestamps else None
            self.emit(self._calls.rows(result, len(some)), stamps)
