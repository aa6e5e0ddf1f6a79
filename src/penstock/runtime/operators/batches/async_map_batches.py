"""`map_batches` of a coroutine: several batches at a time, results in the order of their records.

Records wait until there are enough for a few batches per concurrent call, or until a watermark or the end of the
micro-batch. Then all calls are made, and waited for. So no call is running when a micro-batch is committed.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

from penstock.program.function_calls import AsyncSpec
from penstock.program.level import OperatorSpec
from penstock.runtime.flow.output import Output
from penstock.runtime.functions.context import OperatorContext
from penstock.runtime.operators.async_io.async_calls import AsyncCalls, EventLoop, Failed
from penstock.runtime.operators.batches.batch_calls import BatchCalls, Stamps
from penstock.runtime.operators.batches.map_batches import MapBatchesOperator

_BATCHES_PER_CALL = 4
"""With one batch per concurrent call all of them would wait for the slowest one."""


class AsyncMapBatchesOperator(MapBatchesOperator):
    """Awaits a coroutine per batch of records."""

    has_columns = False

    def __init__(self, spec: OperatorSpec, output: Output, context: OperatorContext) -> None:
        super().__init__(spec, output, context)
        assert isinstance(spec.async_io, AsyncSpec), "the API sets it"
        self._capacity = spec.async_io.capacity
        function = _BatchFunction(self.call, self.calls, spec.async_io.timeout_ms)
        self._async_calls = AsyncCalls(function, spec.async_io)
        self._loop = EventLoop(f"penstock-async-{spec.uid}")

    @property
    def enough(self) -> int:
        """Number of waiting records that are processed at once."""
        return self.batches.size * self._capacity * _BATCHES_PER_CALL

    def set_idle(self, idle: bool) -> None:  # noqa: FBT001 - a status, not a switch
        """Emit all results first: watermarks do not wait for an idle stream."""
        self.finish_batch()
        super().set_idle(idle)

    def close(self) -> None:
        """Close the user's function, then the event loop, which its connections need."""
        try:
            super().close()
        finally:
            self._loop.close()

    def call_on(self, values: list[Any], stamps: Stamps) -> None:
        """Make all calls for records, and emit their results in order."""
        size = self.batches.size
        batches = [values[at : at + size] for at in range(0, len(values), size)]
        completed = self._loop.run(self._async_calls.run(batches))
        if isinstance(completed, Failed):
            raise self.calls.failure(completed.cause, batches[completed.at]) from completed.cause
        made = {at: result for at, (result,) in completed}
        rows = (self.calls.rows(made[at], len(batch)) for at, batch in enumerate(batches))
        self.output.collect(list(chain.from_iterable(rows)), stamps)


class _BatchFunction:
    """The function as `AsyncCalls` calls one: its record is a batch, and it has one result."""

    def __init__(self, call: Any, calls: BatchCalls, timeout_ms: int) -> None:
        self._call = call
        self._calls = calls
        self._timeout_ms = timeout_ms

    async def async_invoke(self, values: list[Any]) -> list[Any]:
        """Return what the function returned, in a list."""
        return [await self._call(self._calls.argument(values))]

    def timeout(self, values: list[Any]) -> list[Any]:
        """Refuse: there is no result for the batch.

        Raises:
            TimeoutError: Always.
        """
        raise TimeoutError(f"its results did not come within {self._timeout_ms} ms")
