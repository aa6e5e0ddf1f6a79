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
