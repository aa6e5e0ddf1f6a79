"""The future of a savepoint: completed once, from another thread, or given up."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError

import pytest

from penstock.api.environment.job import CompletableFuture
from penstock.errors import SavepointError


def test_the_result_comes_from_another_thread():
    future: CompletableFuture[str] = CompletableFuture()
    assert not future.done()
    threading.Timer(0.05, future.set_result, ["/sp"]).start()
    assert future.result() == "/sp"
    assert (future.done(), future.exception(), future.cancelled()) == (True, None, False)


def test_an_error_is_raised_where_the_result_is_wanted():
    future: CompletableFuture[str] = CompletableFuture()
    error = SavepointError("no room", hint="Make some.")
    future.set_exception(error)
    assert future.exception() is error
    with pytest.raises(SavepointError, match="no room"):
        future.result()


def test_what_was_cancelled_stays_so():
    future: CompletableFuture[str] = CompletableFuture()
    assert future.cancel()
    future.set_result("/sp")
    assert future.cancelled()
    with pytest.raises(CancelledError):
        future.result()


@pytest.mark.parametrize("second", ["/other", SavepointError("late", hint="None.")])
def test_only_the_first_completion_counts(second):
    future: CompletableFuture[str] = CompletableFuture()
    future.set_result("/sp")
    if isinstance(second, str):
        future.set_result(second)
    else:
        future.set_exception(second)
    assert future.result() == "/sp"
    assert not future.cancel()
