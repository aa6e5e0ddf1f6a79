"""Asynchronous calls: of a function per record, and of `map_batches` of a coroutine, with a time limit and retries.

An event loop in a thread makes the calls. Operators buffer records until there are enough for `capacity`
calls at a time, each of a record or a batch, or until a watermark or the end of the micro-batch. Then they
make all calls and wait for them. So no call is running when a micro-batch is committed, and a watermark
never overtakes a result.
"""

from __future__ import annotations

import asyncio
import math
import threading
import weakref
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, TypeVar

from penstock.errors import UserFunctionError
from penstock.program.function_calls import AsyncSpec
from penstock.program.level import OperatorSpec
from penstock.runtime.flow.output import Output
from penstock.runtime.functions.context import OperatorContext
from penstock.runtime.operators.base import NO_KEY, Operator
from penstock.runtime.operators.map_batches import BatchCalls, MapBatchesOperator, Stamps
from penstock.types.value_kinds import Copier

T = TypeVar("T")


class EventLoop:
    """An event loop; its thread starts with the first call of `run`.

    It ends with `close`, or when this object is garbage.
    """

    def __init__(self, name: str) -> None:
        """Prepare."""
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end and return its result."""
        future = asyncio.run_coroutine_threadsafe(work, self._started())
        try:
            return future.result()
        except BaseException:
            future.cancel()  # only if the caller was interrupted; otherwise it has ended
            raise

    def close(self) -> None:
        """Cancel the remaining coroutines and end the thread."""
        loop, thread = self._loop, self._thread
        self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            # With a factory it leaves the loop of this thread alone.
            runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
            self._loop = runner.get_loop()
            self._thread = threading.Thread(
                target=_run, args=(runner,), name=self._name, daemon=True
            )
            self._thread.start()
            weakref.finalize(self, _stop, self._loop).atexit = False
        return self._loop


def _run(runner: asyncio.Runner) -> None:
    """Run the loop of a runner until it is stopped; the runner cancels its remaining tasks."""
    with runner:
        asyncio.set_event_loop(runner.get_loop())
        while not _was_stopped(runner.get_loop()):
            pass


def _was_stopped(loop: asyncio.AbstractEventLoop) -> bool:
    """Run a loop, and return whether `stop` ended it.

    A task that raises one of these exceptions ends the loop too. Its own waiters have the exception,
    but those of all other tasks would wait for ever, so the caller runs the loop again.
    """
    try:
        loop.run_forever()
    except (SystemExit, KeyboardInterrupt):  # signals never reach this thread
        return False
    return True


def _stop(loop: asyncio.AbstractEventLoop) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(loop.stop)


Completed = tuple[int, list[Any]]
"""(position of the record, its results)."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A call that failed.

    Attributes:
        cause: Its exception, or the error about its result.
        may_repeat: Whether the retry strategy applies.
    """

    cause: BaseException
    may_repeat: bool = False
    position: int = -1


class _FailedCallError(Exception):
    """Cancels the other calls; the wave has the failed one."""


_LATE = Failed(TimeoutError())
"""The outcome of an attempt that exceeded the time of its record."""


@dataclass(slots=True)
class _Wave:
    """The calls for one list of records.

    Attributes:
        waiting: Records without a call so far, with their positions.
        failure: The first call that failed.
    """

    waiting: Iterator[tuple[int, Any]]
    results: list[Completed] = field(default_factory=list)
    failure: Failed | None = None


class AsyncCalls:
    """Calls a function for many records."""

    def __init__(self, function: Any, spec: AsyncSpec, copy: Copier | None = None) -> None:
        """Bind."""
        self._copy = copy
        self._function = function
        self._spec = spec
        predicate = spec.retry.get_retry_predicate()
        self._retry_result = predicate.result_predicate()
        self._retry_error = predicate.exception_predicate()

    async def run(self, values: list[Any]) -> list[Completed] | Failed:
        """Return the results of the function for every record, in order of completion, or the first call that failed.

        No call is running when this returns: it waits for a call that ignores its cancellation.
        """
        wave = _Wave(iter(enumerate(values)))
        try:
            async with asyncio.TaskGroup() as workers:
                for _ in range(min(self._spec.capacity, len(values))):
                    workers.create_task(self._work(wave))
        except* _FailedCallError:
            pass
        if wave.failure is not None:
            return wave.failure
        if len(wave.results) < len(values):  # a group does not report a cancelled worker
            lost = set(range(len(values))) - {position for position, _ in wave.results}
            return Failed(_ended(asyncio.CancelledError()), position=min(lost))
        return wave.results

    async def _work(self, wave: _Wave) -> None:
        """Make one call after the other until no record is left."""
        for position, value in wave.waiting:
            if wave.failure is not None:
                return  # its last call ignored its cancellation
            outcome = await self._results_of(value, wave)
            if isinstance(outcome, Failed):
                wave.failure = wave.failure or replace(outcome, position=position)
                raise _FailedCallError  # not its cause, because some exceptions end the event loop
            wave.results.append((position, outcome))

    async def _results_of(self, value: Any, wave: _Wave) -> list[Any] | Failed:
        """Return the results for one record, after all its attempts."""
        clock = asyncio.get_running_loop().time
        limit = self._spec.timeout_ms / 1000
        deadline = clock() + limit if limit else math.inf
        attempts = 1
        while True:
            outcome = await self._attempt(value, deadline - clock(), wave)
            if outcome is _LATE:
                return self._timed_out(value)
            try:
                pause = self._pause(outcome, attempts)
            except BaseException as cause:  # noqa: BLE001 - the operator reports it
                return Failed(cause)
            if pause is None:
                return outcome
            left = deadline - clock()
            await asyncio.sleep(min(pause, left))
            if left <= pause:
                return self._timed_out(value)
            attempts += 1

    async def _attempt(self, value: Any, left: float, wave: _Wave) -> list[Any] | Failed:
        """Call the function once; cancel it after `left` seconds."""
        try:
            if left == math.inf:  # a limit of None would cost as much as one
                return await self._call(value)
            async with asyncio.timeout(left) as limit:
                outcome = await self._call(value)
        except TimeoutError:  # of the limit: one of the function is an outcome
            return _LATE
        except asyncio.CancelledError as cause:
            if wave.failure is not None:  # the group ends its workers
                raise
            return Failed(_ended(cause))
        return _LATE if limit.expired() else outcome

    async def _call(self, value: Any) -> list[Any] | Failed:
        try:
            result = self._copied(await self._function.async_invoke(value))
        except asyncio.CancelledError:
            raise
        except Exception as cause:  # noqa: BLE001 - the operator reports it
            return Failed(cause, may_repeat=True)
        except BaseException as cause:  # noqa: BLE001 - some of them would end the event loop
            return Failed(cause)
        return _checked(result, self._function)

    def _copied(self, result: Any) -> Any:
        """Return the copies of a result for readers; a result that is no list is refused later."""
        copy = self._copy
        return (
            result
            if copy is None or not isinstance(result, list)
            else [copy(value) for value in result]
        )

    def _timed_out(self, value: Any) -> list[Any] | Failed:
        try:
            result = self._copied(self._function.timeout(value))
        except BaseException as cause:  # noqa: BLE001 - the operator reports it
            return Failed(cause)
        return _checked(result, self._function)

    def _pause(self, outcome: list[Any] | Failed, attempts: int) -> float | None:
        """Return the seconds before the next attempt, None if there is none."""
        if not isinstance(outcome, Failed):
            again = self._retry_result is not None and self._retry_result(outcome)
        elif outcome.may_repeat:
            assert isinstance(outcome.cause, Exception), "only these may repeat"
            again = self._retry_error is not None and self._retry_error(outcome.cause)
        else:
            again = False
        if not again or not self._spec.retry.can_retry(attempts):
            return None
        return max(self._spec.retry.get_backoff_time_millis(attempts), 0) / 1000


def _checked(result: Any, function: Any) -> list[Any] | Failed:
    """Return the result of a function, if it is a list."""
    if isinstance(result, list):
        return result
    problem = "cannot be none" if result is None else "should be of list type"
    return Failed(
        UserFunctionError(
            f"The result of AsyncFunction {problem}, please check the methods 'async_invoke' and "
            f"'timeout' of class '{type(function)}'.",
            hint="Return a list: [result] for one result, [] for none.",
        )
    )


def _ended(cause: BaseException) -> UserFunctionError:
    error = UserFunctionError(
        f"async_invoke was ended by {type(cause).__name__}",
        hint="Raise an exception of your own, or return [] for no result.",
    )
    return error.with_traceback(cause.__traceback__)


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
        stamps = (
            None
            if marks is None
            else [marks[position] for position, produced in completed for _ in produced]
        )
        if results:
            self.output.collect(results, stamps)

    def _failure(self, failed: Failed, values: list[Any]) -> Exception:
        value = values[failed.position]
        selectors = self.spec.key_selectors
        key = selectors[0](value) if selectors and selectors[0] is not None else NO_KEY
        return self.failed(failed.cause, values, iter(values[failed.position + 1 :]), key=key)


def _position(result: Completed) -> int:
    return result[0]


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
        batches = [values[start : start + size] for start in range(0, len(values), size)]
        completed = self._loop.run(self._async_calls.run(batches))
        if isinstance(completed, Failed):
            raise self.calls.failure(
                completed.cause, batches[completed.position]
            ) from completed.cause
        results = {index: result for index, (result,) in completed}
        rows = (self.calls.rows(results[index], len(batch)) for index, batch in enumerate(batches))
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
        """Refuse: there is no result for the batch."""
        raise TimeoutError(f"its results did not come within {self._timeout_ms} ms")
