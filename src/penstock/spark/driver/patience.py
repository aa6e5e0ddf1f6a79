"""Calls of a user's source that may block: the job can be cancelled meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

_POLL_SECONDS = 0.05

T = TypeVar("T")


def until_cancelled(call: Callable[[], T], check: Callable[[], None]) -> T:
    """Return the result of a call that is made in a thread of its own.

    If the job is cancelled, the thread is left alone: nobody waits for it, also not at the end of the
    process.

    Args:
        call: The call.
        check: Called some times per second while it lasts; raises if the job was cancelled.
    """
    results: list[T] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as cause:  # noqa: BLE001 - it is raised again below
            failures.append(cause)

    thread = threading.Thread(target=run, name="penstock-source", daemon=True)
    thread.start()
    while True:
        thread.join(_POLL_SECONDS)
        if not thread.is_alive():
            break
        check()
    if failures:
        raise failures[0]
    return results[0]
