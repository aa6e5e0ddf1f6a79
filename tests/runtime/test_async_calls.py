"""One asynchronous call: its time limit, its attempts, its result and its failure."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.api.functions.async_functions import (
    empty_result_predicate,
    has_exception_predicate,
)
from penstock.datastream import (
    AsyncFunction,
    AsyncRetryStrategy,
)
from penstock.errors import PenstockError
from tests.runtime.async_calls import (
    Calls,
    nothing,
    results_of,
    twice,
)


class Slow(AsyncFunction):
    """Never answers odd values."""

    def __init__(self) -> None:
        self.cancelled: list[int] = []

    async def async_invoke(self, value: int) -> list[str]:
        if value % 2:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.cancelled.append(value)
                raise
        return ["in time"]


class SlowButKnown(Slow):
    def timeout(self, value: int) -> list[str]:
        return [f"late {value}"]


def test_a_call_out_of_time_is_cancelled_and_replaced():
    subject = SlowButKnown()
    found = results_of(subject, [1, 2, 3], timeout_ms=20)
    assert found == ["late 1", "in time", "late 3"]
    assert sorted(subject.cancelled) == [1, 3]


def test_a_call_that_answers_after_all_is_late():
    class Stubborn(SlowButKnown):
        async def async_invoke(self, value: int) -> list[str]:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                await asyncio.sleep(0.001)
            return ["too late"]

    assert results_of(Stubborn(), [1], timeout_ms=5) == ["late 1"]


def test_a_cancelled_call_has_ended_before_its_replacement_leaves():
    class Tidy(Calls):
        def timeout(self, value: int) -> list[int]:
            return [self.under_way]

    async def call(value: int) -> list[int]:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.005)
        return [value]

    subject = Tidy(call)
    assert results_of(subject, [1, 2, 3, 4], timeout_ms=5, capacity=1) == [0, 0, 0, 0]
    assert subject.most == 1


def test_without_a_replacement_the_job_ends():
    with pytest.raises(PenstockError) as caught:
        results_of(Slow(), [2, 1], timeout_ms=20)
    assert caught.value.code == "USER_FUNCTION"
    assert "operator 'calls' failed on record 1 (number 2 of 2" in caught.value.problem
    assert "TimeoutError: Async function call has timed out for input: 1" in caught.value.problem


def test_no_timeout_is_no_limit():
    assert results_of(Calls(twice), [1], timeout_ms=0) == [1, 1]


def failing(times: int) -> Calls:
    """Return a function whose first calls for each value fail."""

    async def call(value: int) -> list[int]:
        await asyncio.sleep(0)
        if subject.attempts[value] <= times:
            raise ConnectionError(f"attempt {subject.attempts[value]}")
        return [value]

    subject = Calls(call)
    return subject


@settings(max_examples=20, deadline=None)
@given(failures=st.integers(0, 4), retries=st.integers(1, 4), ordered=st.booleans())
def test_a_failed_call_is_tried_again_as_often_as_allowed(failures, retries, ordered):
    subject = failing(failures)
    retry = AsyncRetryStrategy.fixed_delay(retries, 1, None, has_exception_predicate)
    values = [1, 2, 3]
    if failures <= retries:
        assert sorted(results_of(subject, values, retry=retry, ordered=ordered)) == values
        assert set(subject.attempts.values()) == {failures + 1}
        return
    with pytest.raises(PenstockError, match=f"ConnectionError: attempt {retries + 1}"):
        results_of(subject, values, retry=retry, ordered=ordered)


def test_a_result_may_ask_for_another_attempt_and_the_last_one_counts():
    async def call(value: int) -> list[int]:
        return [value] if subject.attempts[value] > value else []

    subject = Calls(call)
    retry = AsyncRetryStrategy.fixed_delay(2, 1, empty_result_predicate, None)
    assert results_of(subject, [0, 1, 2, 3], retry=retry) == [0, 1, 2]
    assert subject.attempts == {0: 1, 1: 2, 2: 3, 3: 3}


def test_exceptions_without_a_predicate_are_not_tried_again():
    subject = failing(1)
    retry = AsyncRetryStrategy.fixed_delay(2, 1, empty_result_predicate, None)
    with pytest.raises(PenstockError, match="ConnectionError: attempt 1"):
        results_of(subject, [7], retry=retry)
    assert subject.attempts == {7: 1}


def test_attempts_and_pauses_share_the_time_of_a_record():
    class GivesUp(Calls):
        def timeout(self, value: int) -> list[str]:
            return ["gave up"]

    async def fail(value: int) -> list[int]:
        raise ConnectionError(value)

    subject = GivesUp(fail)
    retry = AsyncRetryStrategy.exponential_backoff(
        1000, 1, 60_000, 2, None, has_exception_predicate
    )
    assert results_of(subject, [1], retry=retry, timeout_ms=40) == ["gave up"]
    assert 2 <= subject.attempts[1] < 10


def test_a_predicate_that_fails_names_the_record():
    retry = AsyncRetryStrategy.fixed_delay(2, 1, lambda result: result[0] > 1, None)
    with pytest.raises(PenstockError) as caught:
        results_of(Calls(nothing), ["x"], retry=retry)
    assert "record 'x'" in caught.value.problem
    assert "IndexError" in caught.value.problem


def test_an_empty_list_is_no_result():
    assert results_of(Calls(nothing), [1, 2]) == []


@pytest.mark.parametrize("wrong", [None, 5, "text", (1, 2), {"a": 1}])
@pytest.mark.parametrize("late", [False, True])
def test_a_result_that_is_no_list_is_refused(wrong, late):
    class Wrong(Calls):
        def timeout(self, value: int) -> Any:
            return wrong

    async def call(value: int) -> Any:
        await asyncio.sleep(60 if late else 0)
        return wrong

    subject = Wrong(call)
    retry = AsyncRetryStrategy.fixed_delay(2, 1, empty_result_predicate, has_exception_predicate)
    with pytest.raises(PenstockError) as caught:
        results_of(subject, [4], timeout_ms=5 if late else 30_000, retry=retry)
    assert subject.attempts == {4: 1}
    what = "cannot be none" if wrong is None else "should be of list type"
    assert caught.value.code == "USER_FUNCTION"
    assert caught.value.problem == (
        "operator 'calls' failed on record 4 (number 1 of 1 in its batch): The result of "
        f"AsyncFunction {what}, please check the methods 'async_invoke' and 'timeout' of class "
        f"'{Wrong}'."
    )


def test_the_first_failure_ends_the_other_calls():
    async def call(value: int) -> list[int]:
        if value == 2:
            raise ValueError("boom")
        await asyncio.sleep(60)
        return [value]

    subject = Calls(call)
    with pytest.raises(PenstockError) as caught:
        results_of(subject, [1, 2, 3])
    assert "record 2 (number 2 of 3 in its batch): ValueError: boom" in caught.value.problem
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__
    assert subject.under_way == 0


def test_of_several_failures_the_first_is_told():
    async def call(value: int) -> list[int]:
        raise ValueError(value)

    with pytest.raises(PenstockError, match="ValueError: 5"):
        results_of(Calls(call), [5, 6, 7], timeout_ms=0)


def test_a_pause_that_somebody_else_ends_is_a_failure():
    tasks: dict[int, Any] = {}

    async def call(value: int) -> list[int]:
        tasks[value] = asyncio.current_task()
        if value == 1:
            raise ConnectionError
        await asyncio.sleep(0.001)
        tasks[1].cancel()
        return [value]

    retry = AsyncRetryStrategy.fixed_delay(1, 60_000, None, has_exception_predicate)
    with pytest.raises(PenstockError, match=r"record 1 .*was ended by CancelledError"):
        results_of(Calls(call), [1, 2], retry=retry, timeout_ms=0)


def test_no_further_call_is_made_after_a_failure():
    async def call(value: int) -> list[int]:
        if value == 1:
            raise ValueError
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        return [value]

    subject = Calls(call)
    with pytest.raises(PenstockError, match="record 1 "):
        results_of(subject, [1, 2, 3], capacity=2, timeout_ms=0)
    assert 3 not in subject.attempts


def cancels_itself() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()


def exits() -> None:
    raise SystemExit(1)


@pytest.mark.parametrize(
    ("ends", "named"),
    [
        (cancels_itself, "async_invoke was ended by CancelledError"),
        (exits, "SystemExit: 1"),
    ],
)
@pytest.mark.parametrize("timeout_ms", [0, 30_000])
def test_a_call_that_ends_itself_is_a_failure(ends, named, timeout_ms):
    async def call(value: int) -> list[int]:
        ends()
        await asyncio.sleep(60)
        return [value]

    with pytest.raises(PenstockError, match=named):
        results_of(Calls(call), [1], timeout_ms=timeout_ms)
