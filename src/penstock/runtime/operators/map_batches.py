"""The operator of `map_batches`: its function takes a batch of records as columns, and returns one.

Records wait for each other until the batch is full. They go no further than the end of a task or micro-batch,
or the next watermark, so a batch is never part of a checkpoint.
"""

from __future__ import annotations

import time
from typing import Any

import pyarrow as pa

from penstock.errors import TypeMismatchError
from penstock.program.operator_spec import OperatorSpec
from penstock.runtime.flow.output import Output
from penstock.runtime.functions.context import OperatorContext
from penstock.runtime.operators.base import Operator
from penstock.types.arrow import arrow_columns, arrow_schema
from penstock.types.batch_forms import record_batch
from penstock.user_failure import failure_at
from penstock.wire.row_columns import rows_of

_HINT = "Return one row per row of the batch, in its order, with the columns of output_type."


class MapBatchesOperator(Operator):
    """Calls a function on batches of records."""

    def __init__(self, spec: OperatorSpec, output: Output, context: OperatorContext) -> None:
        super().__init__(spec, output, context)
        assert spec.batches is not None, "the API sets it"
        self._batches = spec.batches
        self._schema = arrow_schema(spec.batches.records)
        self._values: list[Any] = []
        self._stamps: list[int] | None = []
        self._since = 0.0

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Process a batch: add it to the records that wait, and call the function on full batches."""
        if self._values and (timestamps is None) != (self._stamps is None):
            self.finish_batch()
        if not self._values:
            self._since = time.monotonic()
            self._stamps = None if timestamps is None else []
        self._values += values
        if self._stamps is not None and timestamps is not None:
            self._stamps += timestamps
        size = self._batches.size
        while len(self._values) >= size:
            self._call(size)
        if self._values and self._has_waited():
            self.finish_batch()

    def _has_waited(self) -> bool:
        limit = self._batches.max_wait_ms
        return limit is not None and (time.monotonic() - self._since) * 1000 >= limit

    def on_watermark(self, watermark: int) -> None:
        """Emit what waits before a watermark, which may make it late."""
        self.finish_batch()

    def finish_batch(self) -> None:
        """Call the function on what waits."""
        if self._values:
            self._call(len(self._values))

    def _call(self, count: int) -> None:
        values, self._values = self._values[:count], self._values[count:]
        stamps = None
        if self._stamps is not None:
            stamps, self._stamps = self._stamps[:count], self._stamps[count:]
        self._since = time.monotonic()
        batch = pa.RecordBatch.from_arrays(
            arrow_columns(self._batches.records, values), schema=self._schema
        )
        where = f"a batch of {count} records"
        try:
            made = self.call(self._batches.form(batch))
        except BaseException as cause:
            raise failure_at(self._subject, where, cause, self.spec.origin) from cause
        self.output.collect(self._results(made, count), stamps)

    def _results(self, made: Any, count: int) -> list[Any]:
        try:
            batch = record_batch(made, self._batches.results)
        except (ValueError, TypeError) as refused:  # pyarrow's errors are of these classes
            problem = str(refused)
        else:
            if batch.num_rows == count:
                return rows_of(batch)
            problem = f"it returned {batch.num_rows} rows for {count} records"
        raise TypeMismatchError(f"{self._subject}: {problem}", hint=_HINT, origin=self.spec.origin)

    @property
    def _subject(self) -> str:
        return f"operator {self.spec.name!r}"
