"""The receiving end of watermarks: the minimum over the groups of a channel.

A group is a source (channels of level 0) or a subtask. The watermark of a group is the minimum over
its unfinished splits; finished splits only determine a floor:

    group watermark   = min over active splits, or the floor if none is active
                        (not before every expected split has sent a watermark)
    channel watermark = min over groups

The watermark does not wait for idle splits and groups. A split is idle if its sender says so, or if it
had no records for the idle time of its group. If all are idle, the greatest of their watermarks counts,
as in Flink, and the next level does not wait for them either. The receiver measures idle time with its
own clock, at the end of a micro-batch.

A source may go from one part to the next. Its group then keeps its watermark, as at a hand-over, and
waits for the splits of the new part.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass, field
from typing import Any

from penstock.program.channel import WatermarkGroup
from penstock.wire.elements import (
    MAX_WATERMARK,
    MIN_TIMESTAMP,
    ControlElement,
    EndOfInput,
    NextPart,
    Watermark,
    WatermarkStatus,
)

_REST = -1
"""Key of the splits that have not sent a watermark, and of all splits if their number is not fixed."""


def combined_watermark(marks: Iterable[tuple[int, bool]]) -> int:
    """Return the combined watermark of (watermark, idle) pairs: the least of the active ones.

    Ended ones do not count; if all others are idle, it is the greatest of theirs.
    """
    idle_mark: int | None = None
    least: int | None = None
    for mark, idle in marks:
        if idle:
            idle_mark = mark if idle_mark is None else max(idle_mark, mark)
        elif mark != MAX_WATERMARK:
            least = mark if least is None else min(least, mark)
    if least is not None:
        return least
    return MAX_WATERMARK if idle_mark is None else idle_mark


@dataclass(slots=True)
class _Progress:
    """The progress of one group; `remember` returns all of it.

    Attributes:
        handed: Its watermark at the hand-over of an earlier run.
        floor: The greatest watermark of a finished split.
        active: Split to watermark, of unfinished splits.
        finished: Finished splits.
        idle: Idle splits.
        spoke_at: Split to the time of its last element, in epoch milliseconds; only if the group
            has an idle time.
        part: Part of the source, counted from the first one of the run.
    """

    handed: int
    floor: int = MIN_TIMESTAMP
    active: dict[int, int] = field(default_factory=dict)
    finished: set[int] = field(default_factory=set)
    idle: set[int] = field(default_factory=set)
    spoke_at: dict[int, int] = field(default_factory=dict)
    part: int = 0


class _Group:
    """One group of a channel."""

    def __init__(self, spec: WatermarkGroup, handed: int) -> None:
        self._spec = spec
        self._idle_ms = spec.idle_ms
        self._go_on(_Progress(handed))

    def _go_on(self, progress: _Progress) -> None:
        self.progress = progress
        self._expected, self._may_grow = self._spec.of_part(progress.part)

    def restore(self, remembered: tuple[Any, ...]) -> None:
        """Restore the tuple of a `_Progress`; earlier versions had no part."""
        handed, floor, active, finished, idle, spoke_at, *part = remembered
        self._go_on(
            _Progress(handed, floor, dict(active), set(finished), set(idle), dict(spoke_at), *part)
        )

    def begin_part(self) -> None:
        """Go on with the next part of the source, from the watermark of the one that has ended."""
        self._go_on(_Progress(self.watermark()[0], part=self.progress.part + 1))

    @property
    def is_behind_history(self) -> bool:
        """True if the source had parts in this run, and is in the last of them."""
        return 0 < len(self._spec.later) == self.progress.part

    def accept(self, element: Watermark | WatermarkStatus, now_ms: int) -> None:
        progress = self.progress
        split = element.split
        if isinstance(element, WatermarkStatus):
            progress.active.setdefault(split, MIN_TIMESTAMP)
            (progress.idle.add if element.idle else progress.idle.discard)(split)
        elif element.finished:
            progress.active.pop(split, None)
            progress.floor = max(progress.floor, element.timestamp_ms)
            if self._expected:
                progress.finished.add(split)
        else:
            known = progress.active.get(split, MIN_TIMESTAMP)
            progress.active[split] = max(known, element.timestamp_ms)
            progress.idle.discard(split)
        self._note_activity(split, now_ms)

    def watermark(self) -> tuple[int, bool]:
        """Return the watermark, and whether the group is idle."""
        progress = self.progress
        silent = self._silent()
        if silent and _REST not in progress.idle:
            return progress.handed, False
        if not self._expected and _REST in progress.idle:
            waited = []
        else:
            waited = [mark for split, mark in progress.active.items() if split not in progress.idle]
        if waited:
            return max(progress.handed, min(waited)), False
        is_idle = bool(progress.active) or _REST in progress.idle
        return max(
            progress.handed, progress.floor, *progress.active.values(), MIN_TIMESTAMP
        ), is_idle

    def detect_idleness(self, now_ms: int) -> None:
        """Mark splits idle whose idle time is over."""
        if self._idle_ms is None:
            return
        for split in self._waited_for():
            if now_ms - self.progress.spoke_at.setdefault(split, now_ms) >= self._idle_ms:
                self.progress.idle.add(split)

    def next_idle_time(self) -> int | None:
        """Return the time at which the next split becomes idle, None if none will."""
        if self._idle_ms is None:
            return None
        known = self.progress.spoke_at
        heard = [known[split] for split in self._waited_for() if split in known]
        return min(heard) + self._idle_ms if heard else None

    def _note_activity(self, split: int, now_ms: int) -> None:
        if self._idle_ms is None:
            return
        progress = self.progress
        if not self._expected:
            progress.spoke_at[_REST] = now_ms
            progress.idle.discard(_REST)
        elif split in progress.active:
            progress.spoke_at[split] = now_ms
        else:
            progress.spoke_at.pop(split, None)
            progress.idle.discard(split)

    def _silent(self) -> bool:
        """Return whether an expected split has never sent a watermark."""
        heard = len(self.progress.active) + len(self.progress.finished)
        if self._may_grow:
            heard -= sum(split >= self._expected for split in self.progress.active)
        return heard < self._expected

    def _waited_for(self) -> list[int]:
        rest = [_REST] if self._silent() or not self._expected else []
        splits = [*self.progress.active, *rest] if self._expected else rest
        return [split for split in splits if split not in self.progress.idle]


class ChannelWatermarks:
    """Watermark of one channel at one receiver.

    Attributes:
        current: The watermark; never goes back.
        idle: Whether all groups are idle or have ended.
        now_ms: Time of arrival of elements, in epoch milliseconds.
    """

    def __init__(self, groups: Iterable[WatermarkGroup], initial: dict[int, int]) -> None:
        self._groups = {g.group: _Group(g, initial.get(g.group, MIN_TIMESTAMP)) for g in groups}
        self._ended: set[int] = set()
        self.current = MIN_TIMESTAMP
        self.idle = False
        self.now_ms = 0
        self._update()

    def accept(self, element: ControlElement) -> None:
        """Receive one control element; `current` may increase, and never decreases."""
        if isinstance(element, EndOfInput):
            self._ended.add(element.group)
        elif isinstance(element, NextPart):
            self._groups[element.group].begin_part()
        else:
            self._groups[element.group].accept(element, self.now_ms)
        self._update()

    def detect_idleness(self) -> None:
        """Mark splits idle whose idle time is over."""
        for group in self._groups.values():
            group.detect_idleness(self.now_ms)
        self._update()

    def next_idle_time(self) -> int | None:
        """Return the time at which the next split becomes idle, None if none will."""
        found = (
            group.next_idle_time() for key, group in self._groups.items() if key not in self._ended
        )
        return min((time for time in found if time is not None), default=None)

    def by_group(self) -> dict[int, int]:
        """Return the watermark of each group, for a hand-over."""
        return {group: self._of(group)[0] for group in self._groups}

    def of_groups(self) -> dict[int, tuple[int, bool]]:
        """Return the watermark of each group, and whether it is idle."""
        return {group: self._of(group) for group in self._groups}

    def behind_history(self) -> set[int]:
        """Return the groups whose source had parts in this run, and is in the last of them."""
        return {group for group, known in self._groups.items() if known.is_behind_history}

    def remember(self) -> Any:
        """Return the value that `restore` needs, of plain picklable types."""
        return (
            {group: astuple(known.progress) for group, known in self._groups.items()},
            set(self._ended),
            self.current,
        )

    def restore(self, memory: Any) -> None:
        """Restore the result of `remember`."""
        groups, self._ended, self.current = memory
        for group, progress in groups.items():
            if group in self._groups:  # else the channel no longer has this subtask
                self._groups[group].restore(progress)
        self._update()

    def _of(self, group: int) -> tuple[int, bool]:
        if group in self._ended:
            return MAX_WATERMARK, False
        return self._groups[group].watermark()

    def _update(self) -> None:
        if not self._groups:
            return
        marks = [self._of(group) for group in self._groups]
        self.idle = any(idle for _, idle in marks) and all(
            idle or mark == MAX_WATERMARK for mark, idle in marks
        )
        self.current = max(self.current, combined_watermark(marks))
