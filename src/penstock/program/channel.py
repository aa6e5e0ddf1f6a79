"""Channels: edges whose records travel in frames, as frozen values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from penstock.errors import CallSite
from penstock.program.folding.fold import ChannelFold
from penstock.program.partitioning import StreamPartitioner

SINK_LEVEL = 255
"""Target level of what goes to the sink stage behind the last level: the records of sinks,
state and reports."""


class ChannelTime(Enum):
    """What of time travels on a channel."""

    FULL = auto()
    """Timestamps of the records that have one, and watermarks."""

    WATERMARKS = auto()
    """Watermarks only: nothing behind looks at timestamps."""

    NONE = auto()
    """Values only: the job runs without time (FLIP-330). Only the end of input is told."""


@dataclass(frozen=True, slots=True)
class WatermarkGroup:
    """One speaker whose watermark a channel waits for.

    Attributes:
        group: Source id (channels of level 0) or subtask.
        splits: Number of splits that must each have spoken before the group has a
            watermark; 0 if splits come and go, as files do.
        idle_ms: Time without records after which a split is no longer waited for; None is
            never.
    """

    group: int
    splits: int
    idle_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ChannelSpec:
    """One numbered edge whose records travel in frames: across levels, to a sink, or in place.

    Attributes:
        id: Unique in the job.
        source_level: Level that writes it.
        target_level: Level that reads it; `SINK_LEVEL` for sinks.
        target_operator: Id of the reading operator; for sinks, the index of the sink.
        partitioner: How records find their subtask.
        key_selector: For HASH and CUSTOM.
        origin: The user's line that created the edge.
        sources: Ids of the sources whose records can arrive here.
        target_input: Which input of the operator it feeds.
        subtasks: Number of subtasks that receive: the first ones; None is all.
        senders: Number of subtasks that write it, behind level 0; None is all.
        partition_function: For CUSTOM: (key, number of subtasks) to subtask.
        time: What of time travels on it.
        target_name: Of the operator or sink it leads to, for messages.
        fold: What is done, in a run, with records that its reader folds; None sends records.
    """

    id: int
    source_level: int
    target_level: int
    target_operator: int
    partitioner: StreamPartitioner
    key_selector: Callable[[Any], Any] | None
    origin: CallSite | None
    sources: tuple[int, ...]
    target_input: int = 0
    subtasks: int | None = None
    partition_function: Callable[[Any, int], int] | None = None
    time: ChannelTime = ChannelTime.FULL
    target_name: str = ""
    fold: ChannelFold | None = None
    senders: int | None = None

    @property
    def is_local(self) -> bool:
        """Whether it stays within the subtask that writes it: no exchange, but frames."""
        return self.source_level == self.target_level
