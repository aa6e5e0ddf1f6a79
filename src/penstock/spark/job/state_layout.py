"""The layout of stored state: the facts of the plan that stored it, for a plan with another parallelism.

State is stored under uids and key groups, and watermarks under the numbers of channels. A change of the parallelism adds
and removes exchanges, so the numbers are those of one plan. The layout goes with what is stored: it is in the outline of a
live run, in the record of a run that has ended, and in that of a savepoint.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from penstock.plan.compat.function_digest import channel_ends, source_uids
from penstock.plan.physical import HandOver, PhysicalPlan
from penstock.state.savepoint import EVERY_SUBTASK, WatermarkRecord

_EVERY_SUBTASK = -1


LAYOUT = "layout"
"""Key of the fingerprint of the plan in the record of an epoch: its logs are of the subtasks of this plan."""


@dataclass(frozen=True, slots=True)
class ChannelOutline:
    """One channel between operators, or from a source to one.

    Attributes:
        sender: uid of the operator or source.
        receiver: uid of the operator.
        sources: Ids of the sources whose watermarks it sends; None if it sends those of the
            sender's subtasks.
    """

    sender: str
    receiver: str
    sources: tuple[int, ...] | None

    @classmethod
    def from_json(cls, recorded: Mapping[str, Any]) -> ChannelOutline:
        """Return the object whose fields were recorded."""
        sources = recorded["sources"]
        ends = recorded["sender"], recorded["receiver"]
        return cls(*ends, None if sources is None else tuple(sources))


def channel_outlines(plan: PhysicalPlan) -> dict[int, ChannelOutline]:
    """Return channel id to the outline of a channel between levels."""
    return {
        channel: ChannelOutline(sender, receiver, None if spec.source_level > 0 else spec.sources)
        for channel, (sender, receiver) in channel_ends(plan).items()
        for spec in [plan.channels[channel]]
    }


@dataclass(frozen=True, slots=True)
class StateLayout:
    """The layout of the state that one plan stores."""

    fingerprint: str
    max_parallelism: int
    channels: Mapping[int, ChannelOutline]

    @classmethod
    def of(cls, plan: PhysicalPlan, fingerprint: str) -> StateLayout:
        """Return the layout of a plan, whose fingerprint was made when the directory was opened."""
        return cls(fingerprint, plan.options.max_parallelism, channel_outlines(plan))

    def to_json(self) -> dict[str, Any]:
        """Return the form to record."""
        return asdict(self)

    @classmethod
    def from_json(cls, recorded: Mapping[str, Any]) -> StateLayout:
        """Return the object that `to_json` encoded."""
        channels = recorded["channels"].items()
        return cls(
            recorded["fingerprint"],
            recorded["max_parallelism"],
            {int(channel): ChannelOutline.from_json(outline) for channel, outline in channels},
        )

    def moved(self, handed: HandOver, plan: PhysicalPlan, fingerprint: str) -> HandOver:
        """Return a hand-over of this layout with the channels of a plan."""
        if self.fingerprint == fingerprint:
            return handed
        marks = self.records(handed.watermarks, source_uids(plan))
        return HandOver(matched_watermarks(plan, marks), handed.memory)

    def records(
        self, watermarks: Mapping[int, Mapping[int, int]], uids: Mapping[int, str]
    ) -> tuple[WatermarkRecord, ...]:
        """Return watermarks under uids, given those of the sources."""
        named = {**uids, _EVERY_SUBTASK: EVERY_SUBTASK}
        return tuple(
            WatermarkRecord(
                self.channels[channel].sender,
                self.channels[channel].receiver,
                {named[group]: mark for group, mark in groups.items()},
            )
            for channel, groups in sorted(watermarks.items())
        )


def matched_watermarks(
    plan: PhysicalPlan, records: Iterable[WatermarkRecord]
) -> dict[int, dict[int, int]]:
    """Return channel to group to watermark.

    A new channel of an operator starts with the least watermark of the operator's channels, so
    that its watermark does not decrease.
    """
    uids = source_uids(plan)
    known = {(record.sender, record.receiver): record.groups for record in records}
    result: dict[int, dict[int, int]] = {}
    for channel, ends in channel_ends(plan).items():
        groups = known.get(ends)
        if groups is None:
            same_receiver = [g for (_, receiver), g in known.items() if receiver == ends[1]]
            marks = [mark for group in same_receiver for mark in group.values()]
            groups = {EVERY_SUBTASK: min(marks)} if marks else {}
        if not groups:
            continue
        least = min(groups.values())
        spec = plan.channels[channel]
        if spec.source_level > 0:
            result[channel] = {_EVERY_SUBTASK: least}
        else:
            result[channel] = {source: groups.get(uids[source], least) for source in spec.sources}
    return result
