"""Stream elements that are not records.

They travel in control frames. Watermarks name where they come from, because a receiver takes
the minimum over all origins of a channel:

    group   the source (level 0) or the subtask (other levels) that speaks
    split   the split of that source; 0 elsewhere
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
        group: Source or subtask that speaks.
        split: Split within the group.
        timestamp_ms: Epoch milliseconds.
        finished: The split delivers nothing more, so it no longer holds the group back.
    """

    group: int
    split: int
    timestamp_ms: int
    finished: bool


@dataclass(frozen=True, slots=True)
class WatermarkStatus:
    """Whether a split, or a subtask, is waited for.

    Attributes:
        group: Source or subtask that speaks.
        split: Split within the group.
        idle: Nothing is expected, so it does not hold others back until it is active again.
    """

    group: int
    split: int
    idle: bool


@dataclass(frozen=True, slots=True)
class EndOfInput:
    """A group delivers nothing more; its watermark is `MAX_WATERMARK` from now on."""

    group: int


ControlElement = Watermark | WatermarkStatus | EndOfInput
"""Elements about the time of one channel."""


@dataclass(frozen=True, slots=True)
class BacklogStatus:
    """Whether the records of a subtask that follow are stale.

    Attributes:
        group: Subtask that speaks.
        backlog: They are.
        before_records: It is the first that is said in a task or micro-batch, and so about all
            its records.
    """

    group: int
    backlog: bool
    before_records: bool
