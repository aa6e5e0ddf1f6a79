"""`AsyncDataStream`: calls an `AsyncFunction` for each record of a stream."""

from __future__ import annotations

import inspect
from datetime import timedelta
from typing import Any

from penstock.api.environment.setting_values import nanoseconds_of
from penstock.api.functions.async_functions import (
    NO_RETRY_STRATEGY,
    AsyncFunction,
    AsyncRetryStrategy,
    NoRetryStrategy,
)
from penstock.api.functions.result_types import result_type
from penstock.api.streams.data_stream import DataStream
from penstock.api.user_code import method_of, name_of
from penstock.errors import ArgumentError, CallSite
from penstock.program.function_calls import AsyncSpec
from penstock.program.operators import ASYNC, KEYED_ASYNC
from penstock.types import Duration, Time, TypeInformation
from penstock.types.type_parameters import IN, OUT

_METHOD = "async_invoke"


class AsyncDataStream:
    """Operations that make an asynchronous call for each record of a stream.

    Every subtask has up to `capacity` calls in flight. Results take the timestamp of their
    record, and all of them are emitted before the watermark that follows the record. No call is
    in flight when a micro-batch is committed.

    Example:
        >>> collect(AsyncDataStream.ordered_wait(numbers, Lookup(), Time.seconds(5)))
        [10, 20, 30, 40]
    """

    @staticmethod
    def unordered_wait(
        data_stream: DataStream[IN],
        async_function: AsyncFunction[IN, OUT],
        timeout: Time | Duration | timedelta,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream[OUT]:
        """Return the results in the order in which calls complete.

        Args:
            data_stream: The stream; one call is made per record. The result of a keyed stream has
                no key, and one function object makes the calls of all records of a key.
            async_function: Makes the call.
            timeout: For one record; zero or less is no limit.
            capacity: Greatest number of calls in flight in a subtask.
            output_type: Type the results are converted to; None leaves them as they are.

        Raises:
            ArgumentError: An argument cannot be used.

        Example:
            >>> sorted(collect(AsyncDataStream.unordered_wait(numbers, Lookup(), Time.seconds(5))))
            [10, 20, 30, 40]
        """
        spec = _spec(timeout, NO_RETRY_STRATEGY, capacity, ordered=False)
        return _wait("unordered_wait", data_stream, async_function, spec, output_type)

    @staticmethod
    def unordered_wait_with_retry(
        data_stream: DataStream[IN],
        async_function: AsyncFunction[IN, OUT],
        timeout: Time | Duration | timedelta,
        async_retry_strategy: AsyncRetryStrategy[OUT],
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream[OUT]:
        """Return the results in the order in which calls complete, with retries.

        `timeout` is for all attempts and delays of a record together, and more than zero;
        `async_retry_strategy` decides which results or errors to retry, and after which delay.
        The other parameters, `data_stream`, `async_function`, `capacity` and `output_type`, are those
        of `unordered_wait`.

        Example:
            >>> always = lambda error: True
            >>> retries = AsyncRetryStrategy.fixed_delay(3, 10, None, exception_predicate=always)
            >>> results = AsyncDataStream.unordered_wait_with_retry(
            ...     numbers, Lookup(), Time.seconds(5), retries
            ... )
            >>> sorted(collect(results))
            [10, 20, 30, 40]
        """
        spec = _spec(timeout, async_retry_strategy, capacity, ordered=False)
        return _wait("unordered_wait_with_retry", data_stream, async_function, spec, output_type)

    @staticmethod
    def ordered_wait(
        data_stream: DataStream[IN],
        async_function: AsyncFunction[IN, OUT],
        timeout: Time | Duration | timedelta,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream[OUT]:
        """Return the results in the order of their records.

        Otherwise as `unordered_wait(data_stream, async_function, timeout, capacity, output_type)`.

        Example:
            >>> collect(AsyncDataStream.ordered_wait(numbers, Lookup(), Time.seconds(5)))
            [10, 20, 30, 40]
        """
        spec = _spec(timeout, NO_RETRY_STRATEGY, capacity, ordered=True)
        return _wait("ordered_wait", data_stream, async_function, spec, output_type)

    @staticmethod
    def ordered_wait_with_retry(
        data_stream: DataStream[IN],
        async_function: AsyncFunction[IN, OUT],
        timeout: Time | Duration | timedelta,
        async_retry_strategy: AsyncRetryStrategy[OUT],
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream[OUT]:
        """Return the results of `unordered_wait_with_retry` in the order of their records.

        It takes the same: `data_stream`, `async_function`, `timeout`, `async_retry_strategy` (here
        one with a result predicate), `capacity`, `output_type`.

        Example:
            >>> twice = AsyncRetryStrategy.fixed_delay(2, 10, lambda results: not results, None)
            >>> results = AsyncDataStream.ordered_wait_with_retry(
            ...     numbers, Lookup(), Time.seconds(5), twice
            ... )
            >>> collect(results)
            [10, 20, 30, 40]
        """
        spec = _spec(timeout, async_retry_strategy, capacity, ordered=True)
        return _wait("ordered_wait_with_retry", data_stream, async_function, spec, output_type)


def _wait(
    operation: str,
    stream: DataStream[IN],
    function: AsyncFunction[IN, OUT],
    spec: AsyncSpec,
    output_type: TypeInformation | None,
) -> DataStream[OUT]:
    origin = CallSite.of_caller()
    if not isinstance(stream, DataStream):
        raise ArgumentError.here(f"{stream!r} is not a stream", hint="Pass a DataStream.")
    _check_function(operation, function)
    environment = stream.get_execution_environment()
    node_id = environment.graph.add(
        KEYED_ASYNC if stream.has_key else ASYNC,
        name_of(function, operation),
        (stream.node_id,),
        type_info=result_type(function, _METHOD, operation, output_type),
        origin=origin,
        function=function,
        method=_METHOD,
        async_io=spec,
    )
    return environment.stream_of(node_id)


def _check_function(operation: str, function: Any) -> None:
    method_of(function, AsyncFunction, _METHOD, operation, allow_callable=False)
    if not inspect.iscoroutinefunction(function.async_invoke):
        raise ArgumentError.here(
            f"Method 'async_invoke' of class '{type(function)}' should be declared as 'async def'.",
            hint="Write async def async_invoke(self, value), without yield.",
        )
    if inspect.iscoroutinefunction(function.timeout):
        raise ArgumentError.here(
            f"Method 'timeout' of class '{type(function)}' should not be declared as 'async def'.",
            hint="Write def timeout(self, value): it only returns what stands for the result.",
        )


def _spec(timeout: Any, strategy: Any, capacity: Any, *, ordered: bool) -> AsyncSpec:
    if strategy is None:
        raise ArgumentError.here(
            "Async retry strategy should not be None.",
            hint="Pass AsyncRetryStrategy.no_restart(), or call the method without retry.",
        )
    if not isinstance(strategy, AsyncRetryStrategy):
        raise ArgumentError.here(
            f"{strategy!r} is not a retry strategy",
            hint="Pass AsyncRetryStrategy.fixed_delay(…) or an object of a class derived from it.",
        )
    timeout_ms = _milliseconds(timeout)
    if timeout_ms <= 0 and not isinstance(strategy, NoRetryStrategy):
        raise ArgumentError.here(
            "Timeout should be configured when do async with retry.",
            hint=f"It is {timeout!r}; pass the time that all attempts may take.",
        )
    if strategy.get_retry_predicate() is None:
        raise ArgumentError.here(
            f"Retry predicate of the async retry strategy '{type(strategy)}' is None.",
            hint="Return an AsyncRetryPredicate from get_retry_predicate.",
        )
    if type(capacity) is not int or capacity < 1:
        raise ArgumentError.here(
            f"the capacity is {capacity!r}",
            hint="Pass how many calls may be under way: an integer, 1 or more.",
        )
    return AsyncSpec(ordered, max(timeout_ms, 0), capacity, strategy)


def _milliseconds(timeout: Any) -> int:
    """Return a length of time in milliseconds, rounded up."""
    nanoseconds = None if isinstance(timeout, int) else nanoseconds_of(timeout)
    if nanoseconds is not None:
        return -(-nanoseconds // 1_000_000)
    raise ArgumentError.here(
        f"the timeout is {timeout!r}",
        hint="Pass a Time, for example Time.seconds(10), a Duration or a timedelta.",
    )
