"""The operator of `map_batches`: its function takes a batch of records as columns, and returns one.

Records wait for each other until the batch is full. They go no further than the end of a task or micro-batch,
or the next watermark, so a batch is never part of a checkpoint.
"""

from __future__ import annotations

from typing import Any

from penstock.program.operator_spec import OperatorSpec
from penstock.runtime.flow.output import Output
from penstock.runtime.functions.context import OperatorContext
from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.batches.batch_calls import BatchCalls
from penstock.runtime.operators.batches.waiting_records import Stamps, WaitingRecords


class MapBatchesOperator(Operator):
    """Calls a function on batches of records."""

    def __init__(self, spec: OperatorSpec, output: Output, context: OperatorContext) -> None:
        super().__init__(spec, output, context)
        assert spec.batches is not None, "the API sets it"
        self.batches = spec.batches
        self.calls = BatchCalls(spec)
        self.waiting = WaitingRecords()

    @property
    def enough(self) -> int:
        """How many records are processed as soon as they wait."""
        return self.batches.size

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Process a batch: add it to the records that wait, and call the function on full batches."""
        waiting, enough = self.waiting, self.enough
        if not waiting.fits(timestamps):
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
        """Call the function on what waits."""
        if self.waiting.values:
            self.call_on(*self.waiting.take(len(self.waiting.values)))

    def call_on(self, values: list[Any], stamps: Stamps) -> None:
        """Call the function on records, and emit the results."""
        argument = self.calls.argument(values)
        try:
            made = self.call(argument)
        except BaseException as cause:
            raise self.calls.failure(cause, values) from cause
        self.output.collect(self.calls.rows(made, values), stamps)
