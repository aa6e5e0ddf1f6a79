"""Latency markers that are sent between subtasks (FLIP-330 §1.2)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OperatorId:
    """The id of an operator: 128 bits, as in Flink.

    Attributes:
        upper: The high 64 bits.
        lower: The low 64 bits.

    Examples:
        >>> OperatorId(0, 255)
        000000000000000000000000000000ff
    """

    upper: int
    lower: int

    @classmethod
    def of_uid(cls, uid: str) -> OperatorId:
        """Return the id of the operator with a uid; it is the same in every process."""
        digest = hashlib.blake2b(uid.encode(), digest_size=16).digest()
        return cls(int.from_bytes(digest[:8], "big"), int.from_bytes(digest[8:], "big"))

    def __repr__(self) -> str:
        return f"{self.upper:016x}{self.lower:016x}"


@dataclass(frozen=True, slots=True)
class LatencyMarker:
    """A latency marker.

    Attributes:
        marked_time: Time at which its source emitted it, in epoch milliseconds.
        operator_id: Id of the source.
        subtask_index: Subtask of the source, from 0.
    """

    marked_time: int
    operator_id: OperatorId
    subtask_index: int


@dataclass(frozen=True, slots=True)
class LatencyMarkerEvent:
    """The event that sends a latency marker through an exchange (FLIP-330 §1.2).

    It is no record. A channel sends it to one random subtask; the receiving operator turns it into a
    marker again.

    Attributes:
        marked_time: Time at which its source emitted it, in epoch milliseconds.
        operator_id: Id of the source.
        subtask_index: Subtask of the source, from 0.

    Example:
        >>> event = LatencyMarkerEvent(1_700_000_000_000, OperatorId(0, 255), 2)
        >>> event.get_marked_time(), event.get_operator_id(), event.get_subtask_index()
        (1700000000000, 000000000000000000000000000000ff, 2)
    """

    marked_time: int
    operator_id: OperatorId
    subtask_index: int

    def get_marked_time(self) -> int:
        """Return the time at which its source emitted it, in epoch milliseconds."""
        return self.marked_time

    def get_operator_id(self) -> OperatorId:
        """Return the id of the source."""
        return self.operator_id

    def get_subtask_index(self) -> int:
        """Return the subtask of the source, from 0."""
        return self.subtask_index
