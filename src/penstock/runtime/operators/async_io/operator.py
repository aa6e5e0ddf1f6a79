"""Asynchronous input and output: one coroutine per record, many at a time.

The operator buffers records until there are enough for `capacity` concurrent calls, or until a watermark
or the end of the micro-batch. Then it makes all calls and waits for them. So no call is running when a
micro-batch is committed, and a watermark never overtakes a result.
"""

from __future__ import annotations

from typing import Any

from penstock.program.function_calls import AsyncSpec
from penstock.program.level import OperatorSpec
from penstock.runtime.flow.output import Output
from penstock.runtime.functions.context import OperatorContext
from penstock.runtime.operators.async_io.async_calls import AsyncCalls, Completed, EventLoop, Failed
from penstock.runtime.operators.base import NO_KEY, Operator

_WAITING_PER_CALL = 4
_WAITING = 1024


class AsyncOperator(Operator):
    """Calls `async_invoke` on every record. It has no keyed state, also after a key_by."""

    def __init__(self, spec: OperatorSpec, output: Output, context: OperatorContext) -> None:
        super().__init__(spec, output, context)
        assert isinstance(spec.async_io, AsyncSpec)
        self._ordered = spec.async_io.ordered
        self._enough = max(_WAITING, _WAITING_PER_CALL * spec.async_io.capacity)
        self._calls = AsyncCalls(spec.function, spec.async_io, self.emission.copy)
        self._loop = EventLoop(f"penstock-async-{spec.uid}")
        self._values: list[Any] = []
        self._stamps: list[int] | None = []

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Buffer a batch; make the calls if enough records are buffered."""
        if self._values and (timestamps is None) != (self._stamps is None):
            self._complete()
        if not self._values:
            self._stamps = None if timestamps is None else []
        self._values.extend(values)
        if self._stamps is not None:
            self._stamps.extend(timestamps or ())
        if len(self._values) >= self._enough:
            self._complete()

    def on_watermark(self, watermark: int) -> None:
        """Emit all results before the watermark is forwarded."""
        self._complete()

    def set_idle(self, idle: bool) -> None:  # noqa: FBT001 - a status, not a switch
        """Emit all results first: watermarks do not wait for an idle stream."""
        self._complete()
        super().set_idle(idle)

    def finish_batch(self) -> None:
        """Emit all results of the task or micro-batch."""
        self._complete()

    def close(self) -> None:
        """Close the user's function, then the event loop, which its connections need."""
        try:
            super().close()
        finally:
            self._loop.close()

    def _complete(self) -> None:
        """Make the calls for all buffered records, and emit their results."""
        values, self._values = self._values, []
        if not values:
            return
        completed = self._loop.run(self._calls.run(values))
        if isinstance(completed, Failed):
            raise self._failure(completed, values) from completed.cause
        if self._ordered:
            completed.sort(key=_position)
        results = [result for _, produced in completed for result in produced]
        marks = self._stamps
        stamps = None if marks is None else [marks[at] for at, made in completed for _ in made]
        if results:
            self.output.collect(results, stamps)

    def _failure(self, failed: Failed, values: list[Any]) -> Exception:
        value = values[failed.at]
        selectors = self.spec.key_selectors
        key = selectors[0](value) if selectors and selectors[0] is not None else NO_KEY
        return self.failed(failed.cause, values, iter(values[failed.at + 1 :]), key=key)


def _position(result: Completed) -> int:
    return result[0]
