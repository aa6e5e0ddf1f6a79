"""The watermarks of all input channels of a level, per receiving operator."""

from __future__ import annotations

from typing import Any

from penstock.program.level import LevelProgram
from penstock.runtime.time.watermarks import ChannelWatermarks, combined_watermark
from penstock.wire.elements import MAX_WATERMARK, ControlElement


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
