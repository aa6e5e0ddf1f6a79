"""An asyncio event loop in a separate thread.

The thread of the task only waits for it, so a program may also run in a thread that has an event loop
already, such as a notebook's. The loop keeps running between calls, so connections that coroutines have
opened stay alive.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class EventLoop:
    """An event loop; its thread starts with the first call of `run`.

    It ends with `close`, or when this object is garbage.
    """

    def __init__(self, name: str) -> None:
        """Prepare.

        Args:
            name: Name of the thread.
        """
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
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=_run, args=(self._loop,), name=self._name, daemon=True
            )
            self._thread.start()
            weakref.finalize(self, _stop, self._loop).atexit = False
        return self._loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop until it is stopped, then cancel its remaining tasks."""
    asyncio.set_event_loop(loop)
    try:
        while not _was_stopped(loop):
            pass
        loop.run_until_complete(_wind_down(loop))
    finally:
        loop.close()


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


async def _wind_down(loop: asyncio.AbstractEventLoop) -> None:
    left = asyncio.all_tasks(loop) - {asyncio.current_task(loop)}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()


def _stop(loop: asyncio.AbstractEventLoop) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(loop.stop)
