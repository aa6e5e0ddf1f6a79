"""The receiving end of watermarks and backlog: the minimum over the inputs of a subtask, per operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, field
from typing import Any

from penstock.program.channel import ChannelSpec, WatermarkGroup
from penstock.program.level import LevelProgram
from penstock.program.record_attributes import combined_backlog
from penstock.program.run_settings import RunKind
from penstock.wire.elements import (
    MAX_WATERMARK,
    MIN_TIMESTAMP,
    BacklogStatus,
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
        """Restore the tuple of a `_Progress`."""
        handed, floor, active, finished, idle, spoke_at, part = remembered
        self._go_on(
            _Progress(handed, floor, dict(active), set(finished), set(idle), dict(spoke_at), part)
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
            progress.floor = max(progress.floor, element.timestamp_ms)
            if (
                not self._spec.goes_on
            ):  # else it is of an earlier part, whose numbers of splits are the same
                progress.active.pop(split, None)
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
        begun = progress.handed
        if self._spec.goes_on:
            begun = max(begun, progress.floor)  # of the parts before
        silent = self._silent()
        if silent and _REST not in progress.idle:
            return begun, False
        if not self._expected and _REST in progress.idle:
            waited = []
        else:
            waited = [mark for split, mark in progress.active.items() if split not in progress.idle]
        if waited:
            return max(begun, min(waited)), False
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
        times = [known[split] for split in self._waited_for() if split in known]
        return min(times) + self._idle_ms if times else None

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
        started = len(self.progress.active) + len(self.progress.finished)
        if self._may_grow:
            started -= sum(split >= self._expected for split in self.progress.active)
        return started < self._expected

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
        times = (
            group.next_idle_time() for key, group in self._groups.items() if key not in self._ended
        )
        return min((time for time in times if time is not None), default=None)

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


class LevelWatermarks:
    """Tracks every input channel and combines them per operator.

    Attributes:
        from_sources: Channels of level 0.
    """

    def __init__(self, program: LevelProgram) -> None:
        initial = program.settings.initial_watermarks
        self._channels = {
            spec.id: ChannelWatermarks(program.watermark_groups[spec.id], initial.get(spec.id, {}))
            for spec in program.inputs
        }
        self.from_sources = {spec.id for spec in program.inputs if spec.source_level == 0}
        self._of_operator: dict[int, list[ChannelWatermarks]] = {}
        self._of_input: dict[tuple[int, int], list[ChannelWatermarks]] = {}
        for spec in program.inputs:
            channels = self._of_operator.setdefault(spec.target_operator, [])
            channels.append(self._channels[spec.id])
            key = spec.target_operator, spec.target_input
            self._of_input.setdefault(key, []).append(self._channels[spec.id])

    def accept(self, channel: int, element: ControlElement) -> None:
        """Receive one control element of `channel`."""
        self._channels[channel].accept(element)

    def start(self, now_ms: int) -> None:
        """Begin a micro-batch; its elements have arrived at this time (epoch ms)."""
        for marks in self._channels.values():
            marks.now_ms = now_ms

    def detect_idleness(self) -> None:
        """Mark splits and subtasks idle whose idle time is over."""
        for marks in self._channels.values():
            marks.detect_idleness()

    def next_idle_time(self) -> int | None:
        """Return the time at which the next sender becomes idle, None if none will."""
        times = (marks.next_idle_time() for marks in self._channels.values())
        return min((time for time in times if time is not None), default=None)

    def of_operators(self) -> dict[int, int]:
        """Return the watermark of each receiving operator, upstream first."""
        return {
            operator: combined_watermark(
                (channel.current, channel.idle) for channel in self._of_operator[operator]
            )
            for operator in sorted(self._of_operator)
        }

    def of_groups(self, channel: int) -> dict[int, tuple[int, bool]]:
        """Return the watermark of each group of a channel, and whether it is idle."""
        return self._channels[channel].of_groups()

    def behind_history(self, channel: int) -> set[int]:
        """Return the sources of a channel that had parts in this run, and are in the last of them."""
        return self._channels[channel].behind_history()

    def ended_inputs(self) -> list[tuple[int, int]]:
        """Return the (operator, input) pairs that have ended."""
        return sorted(
            key
            for key, channels in self._of_input.items()
            if all(channel.current == MAX_WATERMARK for channel in channels)
        )

    def idle_operators(self) -> set[int]:
        """Return the operators whose inputs are all idle."""
        return {
            operator
            for operator, channels in self._of_operator.items()
            if all(channel.idle for channel in channels)
        }

    def for_hand_over(self) -> dict[int, dict[int, int]]:
        """Return the watermarks of every channel by group, for a next run.

        Groups are sources. A next run may have another number of subtasks, so for channels whose
        groups are subtasks, group -1 has their combined watermark.
        """
        return {
            channel: marks.by_group() if channel in self.from_sources else {-1: marks.current}
            for channel, marks in self._channels.items()
        }

    def remember(self) -> Any:
        """Return the value that `restore` needs."""
        return {channel: marks.remember() for channel, marks in self._channels.items()}

    def restore(self, memory: Any) -> None:
        """Restore the result of `remember`."""
        for channel, remembered in memory.items():
            # otherwise an earlier version wrote it, in which every subtask had every operator
            if channel in self._channels:
                self._channels[channel].restore(remembered)


InputBacklog = tuple[int, int, bool]
"""(operator, input, whether its records are backlog)."""


class LevelBacklog:
    """Combines the backlog statuses per input of the operators of a level."""

    def __init__(self, program: LevelProgram) -> None:
        self._settings = program.settings
        self._inputs: dict[tuple[int, int], list[ChannelSpec]] = {}
        for spec in program.inputs:
            key = spec.target_operator, spec.target_input
            self._inputs.setdefault(key, []).append(spec)
        self._statuses: dict[int, dict[int, bool | None]] = {
            spec.id: {group: self._at_first(group, spec) for group in self._groups(spec)}
            for spec in program.inputs
        }

    def of_inputs(self) -> Iterator[InputBacklog]:
        """Yield the status of each input, without inputs whose status is still unknown."""
        for (operator, number), channels in self._inputs.items():
            statuses = (value for spec in channels for value in self._statuses[spec.id].values())
            backlog = combined_backlog(statuses)
            if backlog is not None:
                yield operator, number, backlog

    def accept(self, statuses: Iterable[tuple[int, BacklogStatus]]) -> None:
        """Receive statuses of subtasks, in order."""
        for channel, status in statuses:
            self._statuses[channel][status.group] = status.backlog

    def remember(self) -> dict[int, dict[int, bool | None]]:
        """Return the value that `restore` needs in another worker."""
        return {channel: dict(groups) for channel, groups in self._statuses.items()}

    def restore(self, memory: dict[int, dict[int, bool | None]]) -> None:
        """Restore the result of `remember`."""
        for channel, groups in memory.items():
            self._statuses[channel].update(groups)

    def notice(self, watermarks: LevelWatermarks, now_ms: int) -> None:
        """Update the status of sources from their watermarks at the end of a micro-batch (live run)."""
        threshold = self._settings.backlog_lag_ms
        for channel, groups in self._statuses.items():
            if channel not in watermarks.from_sources:
                continue
            behind = watermarks.behind_history(channel)
            for source, (mark, idle) in watermarks.of_groups(channel).items():
                in_parts = source in self._settings.backlog_sources and source not in behind
                if mark == MAX_WATERMARK or groups[source] is False:
                    groups[source] = False
                elif not in_parts and threshold is not None:
                    known = mark != MIN_TIMESTAMP
                    lags = known and now_ms - mark > threshold and not idle
                    groups[source] = lags if known or idle else groups[source]

    def begin_part(self, channel: int, source: int, watermarks: LevelWatermarks) -> None:
        """Note that a source goes on with its next part; behind its history it may lag, or is live."""
        if source in watermarks.behind_history(channel):
            self._statuses[channel][source] = self._without_parts(source)

    def end(self) -> None:
        """End the backlog of sources of which no later run reads history, at the end of a run."""
        for channels in self._inputs.values():
            for spec in channels:
                if spec.source_level == 0:
                    ended = set(spec.sources) - self._settings.backlog_behind
                    self._statuses[spec.id] |= dict.fromkeys(ended, False)

    def _groups(self, spec: ChannelSpec) -> Iterable[int]:
        if spec.source_level == 0:
            return spec.sources
        subtasks = self._settings.parallelism
        return range(min(spec.senders or subtasks, subtasks))

    def _at_first(self, group: int, spec: ChannelSpec) -> bool | None:
        if spec.source_level > 0:
            return None
        return True if group in self._settings.backlog_sources else self._without_parts(group)

    def _without_parts(self, source: int) -> bool | None:
        """Return the first status of a source that reads its last part; None depends on its watermark."""
        lag_counts = self._settings.kind is RunKind.LIVE and self._settings.backlog_lag_ms
        return None if lag_counts and source in self._settings.timed_sources else False
