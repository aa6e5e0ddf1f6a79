"""The steps of an attempt, at one of which it may fail: records that it reads, state that it writes, rows that it returns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


class AttemptFailed(BaseException):
    """Ends an attempt on purpose; it is no `Exception`, so that no handler of errors catches it."""


class Steps:
    """Counts the steps of an attempt, and ends it behind the last one that it is given."""

    def __init__(self, left: int | None = None) -> None:
        """Begin, with the number of steps before the failure; None is no failure at a step."""
        self._left = left

    def step(self) -> None:
        """Count a step, and raise `AttemptFailed` if none is left."""
        if self._left is None:
            return
        if self._left == 0:
            raise AttemptFailed
        self._left -= 1

    def through(self, items: Iterable[T]) -> Iterator[T]:
        """Yield items, each behind a step."""
        for item in items:
            self.step()
            yield item
