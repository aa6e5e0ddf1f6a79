"""What AsyncDataStream and retry strategies refuse, and what they make of their arguments."""

from __future__ import annotations

import asyncio
import functools
from datetime import timedelta
from typing import Any

import pytest

from penstock.common import Duration, Time, Types
from penstock.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryPredicate,
    AsyncRetryStrategy,
    StreamExecutionEnvironment,
    async_retry_predicates,
)
from penstock.datastream.async_retry_strategies import (
    NO_RETRY_STRATEGY,
    ExponentialBackoffDelayRetryStrategy,
    NoRetryStrategy,
    RetryPredicate,
)
from penstock.datastream.connectors import DiscardingSink
from penstock.errors import ArgumentError
from penstock.program.operators import KEYED_ASYNC
from penstock.testing import run_in_process

WAITS = [AsyncDataStream.ordered_wait, AsyncDataStream.unordered_wait]
WAITS_WITH_RETRY = [
    AsyncDataStream.ordered_wait_with_retry,
    AsyncDataStream.unordered_wait_with_retry,
]
RETRY = AsyncRetryStrategy.fixed_delay(1, 1, None, async_retry_predicates.has_exception_predicate)


class Same(AsyncFunction[Any, Any]):
    async def async_invoke(self, value):
        await asyncio.sleep(0)
        return [value]


class Plain(AsyncFunction):
    def async_invoke(self, value):
        return [value]


class Yields(AsyncFunction):
    async def async_invoke(self, value):
        yield value


class AsyncTimeout(Same):
    async def timeout(self, value):  # type: ignore[override]
        return [value]


class Unpredictable(AsyncRetryStrategy):
    def can_retry(self, current_attempts):
        return True

    def get_backoff_time_millis(self, current_attempts):
        return 1

    def get_retry_predicate(self):
        return None


def numbers():
    return StreamExecutionEnvironment.get_execution_environment().from_collection([1, 2])


def node(stream):
    return stream.get_execution_environment().graph.node(stream.node_id)


def refused(call, *arguments, **named):
    with pytest.raises(ArgumentError) as caught:
        call(*arguments, **named)
    assert caught.value.code == "GRAPH_ARGUMENT"
    assert caught.value.origin is None or caught.value.origin.filename == __file__
    return caught.value.problem


@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("function", [Plain(), Yields()])
def test_async_invoke_must_be_a_coroutine(wait, function):
    assert refused(wait, numbers(), function, Time.seconds(1)) == (
        f"Method 'async_invoke' of class '{type(function)}' should be declared as 'async def'."
    )


@pytest.mark.parametrize("wait", WAITS)
def test_timeout_must_not_be_a_coroutine(wait):
    assert "Method 'timeout' of class" in refused(wait, numbers(), AsyncTimeout(), Time.seconds(1))


@pytest.mark.parametrize("wait", WAITS_WITH_RETRY)
def test_a_strategy_must_be_one(wait):
    problem = refused(wait, numbers(), Same(), Time.seconds(1), None)
    assert problem == "Async retry strategy should not be None."
    assert "is not a retry strategy" in refused(wait, numbers(), Same(), Time.seconds(1), 3)


@pytest.mark.parametrize("wait", WAITS_WITH_RETRY)
@pytest.mark.parametrize("timeout", [Time.seconds(0), Time.seconds(-1)])
def test_retries_need_a_timeout(wait, timeout):
    problem = refused(wait, numbers(), Same(), timeout, RETRY)
    assert problem == "Timeout should be configured when do async with retry."
    wait(numbers(), Same(), timeout, AsyncRetryStrategy.no_restart())


@pytest.mark.parametrize("wait", WAITS_WITH_RETRY)
def test_a_strategy_must_have_a_predicate(wait):
    assert refused(wait, numbers(), Same(), Time.seconds(1), Unpredictable()) == (
        f"Retry predicate of the async retry strategy '{Unpredictable}' is None."
    )


@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("capacity", [0, -1, 1.5, True, "100", None])
def test_the_capacity_must_be_positive(wait, capacity):
    problem = refused(wait, numbers(), Same(), Time.seconds(1), capacity)
    assert problem == f"the capacity is {capacity!r}"


@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("timeout", [None, 5, 2.5, "5 s"])
def test_the_timeout_must_be_a_length_of_time(wait, timeout):
    assert refused(wait, numbers(), Same(), timeout) == f"the timeout is {timeout!r}"


@pytest.mark.parametrize("wait", WAITS)
def test_the_function_and_the_stream_must_be_ones(wait):
    assert "AsyncFunction, got <function" in refused(
        wait, numbers(), lambda value: [value], Time(1)
    )
    with pytest.raises(ArgumentError, match="Did you forget the parentheses"):
        wait(numbers(), Same, Time(1))
    assert refused(wait, [1, 2], Same(), Time(1)) == "[1, 2] is not a stream"


@pytest.mark.parametrize("wait", WAITS)
def test_the_output_type_must_be_one(wait):
    assert "as a type" in refused(wait, numbers(), Same(), Time(1), 5, Types.INT)


@pytest.mark.parametrize(
    ("timeout", "milliseconds"),
    [
        (Time.seconds(2), 2000),
        (Duration.of_seconds(2), 2000),
        (Duration.of_nanos(1), 1),
        (timedelta(seconds=2), 2000),
        (timedelta(microseconds=1), 1),
        (Time(0), 0),
        (Time(-5), 0),
        (timedelta(seconds=-5), 0),
    ],
)
def test_every_length_of_time_is_a_timeout(timeout, milliseconds):
    spec = node(AsyncDataStream.ordered_wait(numbers(), Same(), timeout)).async_io
    assert spec.timeout_ms == milliseconds


def test_what_is_not_said():
    stream = AsyncDataStream.unordered_wait(numbers(), Same(), Time(1))
    described = node(stream)
    assert described.async_io.capacity == 100
    assert not described.async_io.ordered
    assert described.async_io.retry is NO_RETRY_STRATEGY
    assert str(stream.get_type()) == str(Types.PICKLED_BYTE_ARRAY())
    assert stream.get_name() == "Same"


def test_all_arguments_by_name():
    stream = AsyncDataStream.ordered_wait_with_retry(
        data_stream=numbers(),
        async_function=Same(),
        timeout=Time.seconds(3),
        async_retry_strategy=RETRY,
        capacity=7,
        output_type=Types.LONG(),
    )
    spec = node(stream).async_io
    assert (spec.ordered, spec.timeout_ms, spec.capacity, spec.retry) == (True, 3000, 7, RETRY)
    assert stream.get_type() == Types.LONG()


def test_results_of_a_keyed_stream_have_no_key():
    stream = AsyncDataStream.ordered_wait(numbers().key_by(str), Same(), Time(1))
    assert not stream.has_key
    assert node(stream).kind == KEYED_ASYNC


def test_operator_settings_hold():
    stream = AsyncDataStream.ordered_wait(numbers(), Same(), Time.seconds(9)).name("ask").uid("u")
    stream.set_parallelism(2).sink_to(DiscardingSink())
    assert sorted(run_in_process(stream.get_execution_environment()).of()) == [1, 2]


FIXED = {"max_attempts": 1, "backoff_time_millis": 1}
GROWING = {"max_attempts": 1, "initial_delay": 1, "max_retry_delay": 1, "multiplier": 1.5}
NO_PREDICATES = {"result_predicate": None, "exception_predicate": None}


@pytest.mark.parametrize(
    ("make", "numbers"),
    [
        (AsyncRetryStrategy.fixed_delay, FIXED),
        (AsyncRetryStrategy.exponential_backoff, GROWING),
    ],
)
@pytest.mark.parametrize("wrong", [0, -1, "x", None])
def test_numbers_of_a_strategy_are_greater_than_zero(make, numbers, wrong):
    for name in numbers:
        problem = refused(make, **NO_PREDICATES, **(numbers | {name: wrong}))
        assert problem == f"{name} should be greater than zero."
    strategy = make(**NO_PREDICATES, **numbers)
    assert strategy.can_retry(1)
    assert not strategy.can_retry(2)


def test_delays():
    fixed = AsyncRetryStrategy.fixed_delay(3, 250, None, None)
    assert [fixed.get_backoff_time_millis(n) for n in (1, 2, 3)] == [250, 250, 250]
    growing = AsyncRetryStrategy.exponential_backoff(9, 100, 1000, 2.5, None, None)
    delays = [growing.get_backoff_time_millis(n) for n in range(1, 6)]
    assert delays == [100, 250, 625, 1000, 1000]
    assert growing.get_backoff_time_millis(1) == 100
    assert growing.get_backoff_time_millis(10**6) == 1000


def test_a_delay_depends_on_the_attempt_only():
    growing = ExponentialBackoffDelayRetryStrategy(9, 100, 10_000, 2, None, None)
    growing.get_backoff_time_millis(1)
    growing.get_backoff_time_millis(2)
    assert growing.get_backoff_time_millis(2) == 200


def test_no_restart():
    never = AsyncRetryStrategy.no_restart()
    assert isinstance(never, NoRetryStrategy)
    assert not never.can_retry(1)
    assert never.get_backoff_time_millis(1) == -1
    assert never.get_retry_predicate().result_predicate() is None
    assert never.get_retry_predicate().exception_predicate() is None


def test_predicates():
    assert async_retry_predicates.empty_result_predicate([])
    assert async_retry_predicates.empty_result_predicate(None)  # type: ignore[arg-type]
    assert not async_retry_predicates.empty_result_predicate([None])
    assert async_retry_predicates.has_exception_predicate(ValueError())
    assert not async_retry_predicates.has_exception_predicate(None)
    of_type = functools.partial(
        async_retry_predicates.exception_type_predicate, expected_error_type=OSError
    )
    assert of_type(TimeoutError())
    assert not of_type(ValueError())


def test_a_strategy_hands_out_its_predicates():
    empty = async_retry_predicates.empty_result_predicate
    failed = async_retry_predicates.has_exception_predicate
    predicate = AsyncRetryStrategy.fixed_delay(1, 1, empty, failed).get_retry_predicate()
    assert isinstance(predicate, RetryPredicate)
    assert isinstance(predicate, AsyncRetryPredicate)
    assert predicate.result_predicate() is empty
    assert predicate.exception_predicate() is failed


def test_a_strategy_of_the_user(tmp_path):
    class Twice(Unpredictable):
        def can_retry(self, current_attempts):
            return current_attempts < 2

        def get_retry_predicate(self):
            return RetryPredicate(None, async_retry_predicates.has_exception_predicate)

    class Fails(AsyncFunction):
        async def async_invoke(self, value):
            with (tmp_path / "calls").open("a") as calls:
                calls.write("x")
            raise ValueError

    stream = AsyncDataStream.ordered_wait_with_retry(numbers(), Fails(), Time(9999), Twice(), 1)
    stream.sink_to(DiscardingSink())
    with pytest.raises(Exception, match="ValueError"):
        run_in_process(stream.get_execution_environment())
    assert (tmp_path / "calls").read_text() == "xx"
