"""The receiving end of watermarks: minimum over the groups of a channel.

A group is a source (channels of level 0) or a subtask. Within a group, splits that are still
being read hold it back; a finished split only leaves its watermark behind as the floor:

    group watermark   = min over active splits, or the floor when none is active
                        (not before every expected split has spoken)
    channel watermark = min over groups
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.runtime.program import WatermarkGroup
from penstock.serde.elements import (
    MAX_WATERMARK,
    MIN_TIMESTAMP,
    ControlElement,
    EndOfInput,
    Watermark,
)


class _Group:
    """What one group said so far.

    `handed` is its watermark at the hand-over from an earlier run, `floor` the greatest
    watermark of a finished split.
    """

    __slots__ = ("active", "expected", "finished", "floor", "handed")

    def __init__(self, expected: int, handed: int) -> None:
        self.expected = expected
        self.handed = handed
        self.floor = MIN_TIMESTAMP
        self.active: dict[int, int] = {}
        self.finished: set[int] = set()

    def accept(self, element: Watermark) -> None:
        if element.finished:
            self.active.pop(element.split, None)
            self.floor = max(self.floor, element.timestamp_ms)
            if self.expected:
                self.finished.add(element.split)
        else:
            known = self.active.get(element.split, MIN_TIMESTAMP)
            self.active[element.split] = max(known, element.timestamp_ms)

    def watermark(self) -> int:
        if len(self.active) + len(self.finished) < self.expected:
            return self.handed
        return max(self.handed, min(self.active.values()) if self.active else self.floor)


class ChannelWatermarks:
    """Watermark of one channel at one receiver."""

    def __init__(self, groups: Iterable[WatermarkGroup], initial: dict[int, int]) -> None:
        self._groups = {
            g.group: _Group(g.splits, initial.get(g.group, MIN_TIMESTAMP)) for g in groups
        }
        self._ended: set[int] = set()
        self.current = MIN_TIMESTAMP
        self._update()

    def accept(self, element: ControlElement) -> None:
        """Take one control element; `current` may advance, never goes back."""
        if isinstance(element, EndOfInput):
            self._ended.add(element.group)
        else:
            self._groups[element.group].accept(element)
        self._update()

    def by_group(self) -> dict[int, int]:
        """Return the watermark of each group, for a hand-over."""
        return {group: self._of(group) for group in self._groups}

    def remember(self) -> Any:
        """Return everything needed by `restore`, in plain picklable form."""
        return (
            {
                g: (s.handed, s.floor, dict(s.active), set(s.finished))
                for g, s in self._groups.items()
            },
            set(self._ended),
            self.current,
        )

    def restore(self, memory: Any) -> None:
        """Continue where `remember` left off."""
        groups, self._ended, self.current = memory
        for group, (handed, floor, active, finished) in groups.items():
            state = self._groups[group]
            state.handed, state.floor = handed, floor
            state.active, state.finished = dict(active), set(finished)

    def _of(self, group: int) -> int:
        return MAX_WATERMARK if group in self._ended else self._groups[group].watermark()

    def _update(self) -> None:
        if self._groups:
            self.current = max(self.current, min(map(self._of, self._groups)))
