"""The thread of an event loop ends in every way it can."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest

from penstock.runtime.operators.async_calls import EventLoop


async def this_thread() -> threading.Thread:
    return threading.current_thread()


def test_work_is_done_in_one_thread_that_ends_with_close():
    loop = EventLoop("of-a-test")
    thread = loop.run(this_thread())
    assert thread is loop.run(this_thread())
    assert thread is not threading.current_thread()
    assert thread.name == "of-a-test"
    loop.close()
    assert not thread.is_alive()
    loop.close()


def test_a_loop_without_work_has_no_thread():
    before = threading.active_count()
    loop = EventLoop("of-a-test")
    assert threading.active_count() == before
    loop.close()


def test_the_thread_of_a_forgotten_loop_ends():
    loop = EventLoop("of-a-test")
    thread = loop.run(this_thread())
    del loop
    gc.collect()
    thread.join(timeout=10)
    assert not thread.is_alive()


def test_what_is_left_running_is_cancelled():
    ended = []

    async def forever() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    async def leave() -> asyncio.Task[None]:
        task = asyncio.create_task(forever())
        await asyncio.sleep(0)
        return task

    loop = EventLoop("of-a-test")
    task = loop.run(leave())
    assert not task.done()
    loop.close()
    assert task.cancelled()
    assert ended == [True]


def test_what_work_raises_is_raised():
    async def fail() -> None:
        raise ValueError("boom")

    loop = EventLoop("of-a-test")
    with pytest.raises(ValueError, match="boom"):
        loop.run(fail())
    loop.close()
