"""Calls of sources that may block."""

from __future__ import annotations

import threading
import time
import weakref
from functools import partial

import pytest

from penstock.spark.driver.run_context import until_cancelled


class CancelledError(Exception):
    """The job was cancelled."""


def nothing() -> None:
    """Nobody has cancelled."""


def test_results_and_failures_come_from_the_call() -> None:
    assert until_cancelled(lambda: 7, nothing) == 7
    assert until_cancelled(lambda: None, nothing) is None
    for failure in (ValueError("no"), StopIteration(), SystemExit(3), KeyboardInterrupt()):

        def call(failure: BaseException = failure) -> None:
            raise failure

        with pytest.raises(type(failure)) as caught:
            until_cancelled(call, nothing)
        assert caught.value is failure


def test_calls_one_after_the_other_share_a_thread_which_is_not_the_callers() -> None:
    threads = {until_cancelled(threading.get_ident, nothing) for _ in range(20)}
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_calls_at_the_same_time_do_not_wait_for_each_other() -> None:
    both = threading.Barrier(2, timeout=10)
    outer = lambda: until_cancelled(both.wait, nothing)  # noqa: E731
    threads = [threading.Thread(target=outer) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert not any(thread.is_alive() for thread in threads)
    assert not both.broken


def test_a_job_that_is_cancelled_does_not_wait_and_the_next_call_gets_its_own_answer() -> None:
    goes_on = threading.Event()

    def hanging() -> str:
        goes_on.wait(10)
        return "late"

    def cancelled() -> None:
        raise CancelledError

    started = time.monotonic()
    with pytest.raises(CancelledError):
        until_cancelled(hanging, cancelled)
    assert time.monotonic() - started < 1
    assert until_cancelled(lambda: "own", nothing) == "own"
    goes_on.set()
    assert [until_cancelled(partial(int, n), nothing) for n in range(5)] == [0, 1, 2, 3, 4]


def test_a_thread_that_waits_keeps_no_call_and_no_result_alive() -> None:
    class Big:
        """Can be referred to weakly."""

    result = until_cancelled(Big, nothing)
    seen = weakref.ref(result)
    del result
    deadline = time.monotonic() + 5
    while seen() is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert seen() is None
