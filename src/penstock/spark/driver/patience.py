"""Calls of a user's source that may block: the job can be cancelled meanwhile."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

_POLL_SECONDS = 0.05

T = TypeVar("T")


def until_cancelled(call: Callable[[], T], check: Callable[[], None]) -> T:
    """Return the result of a call that is made in another thread.

    If the job is cancelled, the thread is left alone: nobody waits for it, also not at the end of the
    process.
    """
    caller = _idle_caller()
    caller.asked.put(call)
    try:
        result, failure = caller.answer(check)
    except BaseException:
        caller.is_abandoned = True
        raise
    _idle.append(caller)
    if failure is not None:
        raise failure
    answer: T = result
    return answer


class _Caller:
    """A thread that makes calls, one after the other. Starting one for each cost an idle job most of its CPU."""

    def __init__(self) -> None:
        self.asked: SimpleQueue[Callable[[], Any]] = SimpleQueue()
        self.is_abandoned = False
        self._answers: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        threading.Thread(target=self._run, name="penstock-source", daemon=True).start()

    def answer(self, check: Callable[[], None]) -> tuple[Any, BaseException | None]:
        """Return the result of the call that was asked for, or what it raised."""
        while True:
            try:
                return self._answers.get(timeout=_POLL_SECONDS)
            except Empty:
                check()

    def _run(self) -> None:
        while not self.is_abandoned:
            call = self.asked.get()
            answer: tuple[Any, BaseException | None]
            try:
                answer = call(), None
            except BaseException as cause:  # noqa: BLE001 - it is raised again by who asked
                answer = None, cause
            self._answers.put(answer)
            del call, answer  # the thread waits: it must not keep them alive


_idle: deque[_Caller] = deque()
"""Callers whose last call has returned, of all jobs of the process."""


def _idle_caller() -> _Caller:
    """Return a caller that nobody else uses."""
    try:
        return _idle.pop()
    except IndexError:
        return _Caller()
