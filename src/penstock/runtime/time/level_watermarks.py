"""The watermarks and the backlog status of all input channels of a level, per receiving operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from penstock.program.channel import ChannelSpec
from penstock.program.level import LevelProgram
from penstock.program.record_attributes import combined_backlog
from penstock.program.run_settings import RunKind
from penstock.runtime.time.watermarks import ChannelWatermarks, combined_watermark
from penstock.wire.elements import MAX_WATERMARK, MIN_TIMESTAMP, BacklogStatus, ControlElement


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
        found = (marks.next_idle_time() for marks in self._channels.values())
        return min((time for time in found if time is not None), default=None)

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
