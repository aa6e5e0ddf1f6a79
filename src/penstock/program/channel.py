"""Channels: edges whose records travel in frames, and their partitioners, as frozen values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from penstock.errors import CallSite
from penstock.program.fold import ChannelFold
from penstock.types import TypeInformation


class StreamPartitioner(Enum):
    """Chooses the subtask of the next level that receives a record."""

    HASH = auto()
    """The owner of the key's key group."""

    FORWARD = auto()
    """The subtask with the sender's index, so records stay in order."""

    REBALANCE = auto()
    """One subtask after the other."""

    RESCALE = auto()
    """One after the other of a few subtasks: the sender's share of them."""

    SHUFFLE = auto()
    """A random one; the same whenever the task is repeated."""

    BROADCAST = auto()
    """All of them."""

    GLOBAL = auto()
    """The first one."""

    CUSTOM = auto()
    """The one that a function of the user's returns."""

    NONE = auto()
    """Any: the record is one of a sink, which any task may write."""


SINK_LEVEL = 255
"""Target level of the sink stage after the last level. It receives records of sinks, state and
reports."""


class ChannelTime(Enum):
    """The elements of time that a channel sends."""

    FULL = auto()
    """Timestamps of records that have one, and watermarks."""

    WATERMARKS = auto()
    """Watermarks only: no operator downstream reads timestamps."""

    NONE = auto()
    """Neither: the job runs without time (FLIP-330). The end of input is sent."""


@dataclass(frozen=True, slots=True)
class WatermarkGroup:
    """A group of senders whose watermark a channel waits for.

    Attributes:
        group: Source id (channels of level 0) or subtask.
        splits: Number of splits that must each send a watermark before the group has one; 0 if
            the number is not fixed, as for files.
        idle_ms: Time without records after which a split is idle; None is never.
        may_grow: Whether splits are added. Those are numbered from `splits` on, and the group waits for
            none of them before its first watermark.
        later: `splits` and `may_grow` of each further part that the source has in the same run.
        goes_on: Whether a later run goes on with the `splits` of a batch run. Those that end are of earlier parts.
    """

    group: int
    splits: int
    idle_ms: int | None = None
    may_grow: bool = False
    later: tuple[tuple[int, bool], ...] = ()
    goes_on: bool = False

    def of_part(self, part: int) -> tuple[int, bool]:
        """Return `splits` and `may_grow` of a part, counted from the first one of the run."""
        return ((self.splits, self.may_grow), *self.later)[part]


@dataclass(frozen=True, slots=True)
class ChannelSpec:
    """One edge whose records are sent in frames: to another level, to a sink, or within a subtask.

    Attributes:
        id: Unique in the job.
        source_level: Level that writes it.
        target_level: Level that reads it; `SINK_LEVEL` for sinks.
        target_operator: Id of the reading operator; for sinks, the index of the sink.
        partitioner: Chooses the subtask that receives a record.
        key_selector: For HASH and CUSTOM.
        sources: Ids of the sources whose records can arrive here.
        target_input: Index of the operator's input that it feeds.
        subtasks: Number of subtasks that receive: the first ones; None is all.
        senders: Number of subtasks that write it, at levels above 0; None is all.
        partition_function: For CUSTOM: (key, number of subtasks) to subtask.
        time: The elements of time that it sends.
        target_name: Name of the target operator or sink, for messages.
        fold: The sender's part in the fold of the reader, in a run; None sends plain records.
        has_results: Whether its records are results of a bounded region, which a batch run gives its reader
            before records of other channels.
        record_type: Type of its records if serializers of the program write them; None if they are pickled.
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
    has_results: bool = False
    record_type: TypeInformation | None = None

    @property
    def is_local(self) -> bool:
        """True if the writing subtask also reads it: it uses frames, but no exchange."""
        return self.source_level == self.target_level
