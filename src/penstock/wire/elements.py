"""Stream elements that are not records. They are sent in control frames.

Watermarks name their sender, because a receiver takes the minimum over all senders of a channel:

    group   the source (level 0) or the subtask (other levels) that sends them
    split   the split of that source; 0 at other levels

Frames contain the pickles of these classes, so their names stay. `program.watermark_generator` has
the other `Watermark`: that of Flink's API.
"""

from __future__ import annotations

from dataclasses import dataclass

MIN_TIMESTAMP = -(2**63)
"""Timestamp of a record without one, and the watermark before the first (Flink's Long.MIN)."""

MAX_WATERMARK = 2**63 - 1
"""The watermark after the last record of a bounded input (Flink's Long.MAX)."""


@dataclass(frozen=True, slots=True)
class Watermark:
    """No later record of this split has a timestamp at or below `timestamp_ms`.

    Attributes:
        group: Source or subtask that sends it.
        finished: Whether the split has ended; the watermark of the group no longer waits for it.
    """

    group: int
    split: int
    timestamp_ms: int
    finished: bool


@dataclass(frozen=True, slots=True)
class WatermarkStatus:
    """A split or subtask has become idle or active.

    Attributes:
        group: Source or subtask that sends it.
        idle: Whether it is idle; the watermark of the channel does not wait for an idle one.
    """

    group: int
    split: int
    idle: bool


@dataclass(frozen=True, slots=True)
class EndOfInput:
    """A group has ended; its watermark is `MAX_WATERMARK` from now on."""

    group: int


@dataclass(frozen=True, slots=True)
class NextPart:
    """A source has been read to the end of one of its parts, and goes on with the next.

    It takes effect behind all other elements of its micro-batch: split numbers begin anew.
    """

    group: int


ControlElement = Watermark | WatermarkStatus | EndOfInput | NextPart
"""Elements that change the watermark of a channel."""


@dataclass(frozen=True, slots=True)
class BacklogStatus:
    """Change of the backlog status of a subtask's following records.

    Attributes:
        backlog: Whether they are backlog.
        before_records: Whether it is the first status of a task or micro-batch, and so precedes all
            its records.
    """

    group: int
    backlog: bool
    before_records: bool
