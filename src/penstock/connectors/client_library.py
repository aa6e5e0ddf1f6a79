"""Clients of servers: kept in a process and not used in one that was forked from it, what their builders need, and calls that are repeated."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from penstock.errors import ArgumentError

T = TypeVar("T")
_PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 0.5
_abandoned: list[Any] = []


class OfThisProcess(dict[Any, Any]):
    """A table of clients, which is empty in a process that was forked."""

    def __init__(self) -> None:
        super().__init__()
        os.register_at_fork(after_in_child=self._abandon)

    def _abandon(self) -> None:
        _abandoned.extend(self.values())
        self.clear()


def check_set(builder: str, needed: Mapping[str, tuple[object, str]]) -> None:
    """Check what a builder needs: its name to the value and the method that sets it."""
    for what, (value, method) in needed.items():
        if not value:
            raise ArgumentError.here(
                f"the builder of {builder} lacks {what}", hint=f"Call {method} first."
            )


def repeated(call: Callable[[], T], seconds: float, may_pass: Callable[[Exception], bool]) -> T:
    """Return the result of a call; repeat it for a time while its failures may be temporary."""
    until, pause = time.monotonic() + seconds, _PAUSE_SECONDS
    while True:
        try:
            return call()
        except Exception as error:
            if not may_pass(error) or time.monotonic() >= until:
                raise
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
