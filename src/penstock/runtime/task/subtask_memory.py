"""The memory of the subtasks of a live run at the end of an epoch, moved to another number of subtasks.

It is what `LiveLevel.remember` returns: watermarks per channel, the memory of operators, and backlog. Every subtask of a
level receives the same control elements, so one of them has the watermarks of all.

    channel from a source       the progress of its splits goes on: a split that has finished sends nothing any more
    channel between operators   each of the new senders begins with the watermark of all
    channel that is new         it begins as the channels of its receiver, or of its sources, have ended
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.program.channel import ChannelSpec
from penstock.program.level import LevelProgram
from penstock.program.record_attributes import combined_backlog
from penstock.runtime.task.report import Report
from penstock.runtime.time.watermarks import ChannelWatermarks
from penstock.wire.elements import MIN_TIMESTAMP


class ChannelEnds(Protocol):
    """Ends of a channel."""

    @property
    def sender(self) -> str:
        """Return the uid of the operator or source."""

    @property
    def receiver(self) -> str:
        """Return the uid of the operator."""

    @property
    def sources(self) -> tuple[int, ...] | None:
        """Return the ids of the sources whose watermarks it sends; None if it sends those of subtasks."""


Channels = Mapping[int, ChannelEnds]
Backlog = dict[int, dict[int, bool | None]]


@dataclass(frozen=True, slots=True)
class SubtaskMemory:
    """The memory of all subtasks.

    Attributes:
        channels: Channel id to what `ChannelWatermarks.remember` returned.
        backlog: Channel id to group to status; None if the job sends no backlog.
    """

    ends: Channels
    channels: dict[int, Any]
    operators: dict[str, int]
    backlog: Backlog | None

    @classmethod
    def of(cls, memories: Iterable[bytes], ends: Channels) -> SubtaskMemory:
        """Return the memory of subtasks, given that of each and the channels of their program."""
        channels: dict[int, Any] = {}
        report = Report()
        backlog: Backlog | None = None
        for memory in filter(None, memories):
            watermarks, operators, *rest = pickle.loads(memory)
            for channel, remembered in watermarks.items():
                known = channels.setdefault(channel, remembered)
                channels[channel] = max(known, remembered, key=_current)
            report.merge(Report(memory=operators))
            if rest:
                statuses, _ = rest[0]
                backlog = {**(backlog or {}), **statuses}
        return cls(ends, channels, report.memory, backlog)

    def moved(self, program: LevelProgram, now: Channels) -> bytes:
        """Return the memory with which each subtask of a level begins, given the channels of its program."""
        channels, backlog = {}, {}
        for spec in program.inputs:
            same, to_receiver = self._channels_like(now[spec.id])
            channels[spec.id] = self._watermarks(program, spec, now[spec.id], same or to_receiver)
            backlog[spec.id] = self._backlog(program, spec, now[spec.id], same)
        moved = channels, self.operators
        # Writers send their status again: the new receivers may not have it.
        return pickle.dumps(moved if self.backlog is None else (*moved, (backlog, {})), 5)

    def _channels_like(self, ends: ChannelEnds) -> tuple[list[int], list[int]]:
        """Return the channels with the same ends, and those to the same receiver."""
        to_receiver = [
            channel for channel in self.channels if self.ends[channel].receiver == ends.receiver
        ]
        return [
            channel for channel in to_receiver if self.ends[channel].sender == ends.sender
        ], to_receiver

    def _watermarks(
        self, program: LevelProgram, spec: ChannelSpec, ends: ChannelEnds, like: Sequence[int]
    ) -> Any:
        current = min((_current(self.channels[channel]) for channel in like), default=MIN_TIMESTAMP)
        if ends.sources is None:
            senders = program.watermark_groups[spec.id]
            begin = dict.fromkeys((sender.group for sender in senders), current)
            return ChannelWatermarks(senders, begin).remember()
        groups, ended = {}, set()
        for source in ends.sources:
            channel = self._channel_of(source, like)
            if channel is not None:
                known, over, _ = self.channels[channel]
                groups[source] = known[source]
                ended |= over & {source}
        return groups, ended, current

    def _channel_of(self, source: int, like: Sequence[int]) -> int | None:
        """Return the channel with the progress of a source, one of some if they have it; None if no channel has."""
        having = [
            channel for channel in self.channels if source in (self.ends[channel].sources or ())
        ]
        among = [channel for channel in having if channel in like] or having
        return min(among, key=lambda channel: _current(self.channels[channel]), default=None)

    def _backlog(
        self, program: LevelProgram, spec: ChannelSpec, ends: ChannelEnds, same: Sequence[int]
    ) -> dict[int, bool | None]:
        known = self.backlog or {}
        if ends.sources is None:
            statuses = [status for channel in same for status in known.get(channel, {}).values()]
            status = combined_backlog(statuses) if statuses else None
            return {group.group: status for group in program.watermark_groups[spec.id]}
        by_source = {}
        for source in ends.sources:
            channel = self._channel_of(source, same)
            if channel is not None and source in known.get(channel, {}):
                by_source[source] = known[channel][source]
        return by_source


def _current(remembered: Any) -> int:
    mark: int = remembered[2]
    return mark
