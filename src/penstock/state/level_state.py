"""The keyed state of one level in one task, and the key groups of its keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.state.backends.base import KeyedStateBackend
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.schema.evolution import wall_clock_ms


@dataclass(frozen=True, slots=True)
class LevelState:
    """The state that the keyed operators of a level share.

    Attributes:
        now_ms: Processing time, in milliseconds since 1970.
    """

    backend: KeyedStateBackend
    group_of: Callable[[Any], int]
    now_ms: Callable[[], int] = wall_clock_ms


class CurrentGroup:
    """The current key group of a batch run, as a function of the key: all current keys are in it."""

    __slots__ = ("group",)

    def __init__(self) -> None:
        self.group = 0

    def __call__(self, key: Any) -> int:
        """Return the current key group."""
        return self.group


NO_STATE = LevelState(HashBackend(), CurrentGroup())
"""The state of level 0, which has no keys."""
