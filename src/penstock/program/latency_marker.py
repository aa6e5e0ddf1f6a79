"""Latency markers as they travel between subtasks (FLIP-330 §1.2)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OperatorId:
    """128 bits that stand for an operator, as in Flink.

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
        """Return the id of the operator with a uid: the same in every process."""
        digest = hashlib.blake2b(uid.encode(), digest_size=16).digest()
        return cls(int.from_bytes(digest[:8], "big"), int.from_bytes(digest[8:], "big"))

    def __repr__(self) -> str:
        return f"{self.upper:016x}{self.lower:016x}"


@dataclass(frozen=True, slots=True)
class LatencyMarkerEvent:
    """A latency marker on its way through an exchange (FLIP-330 §1.2).

    It goes to one subtask at random, is no record, and becomes a marker again at the operator
    that receives it.

    Attributes:
        marked_time: When it left its source, in epoch milliseconds.
        operator_id: The source.
        subtask_index: Of the source, from 0.
    """

    marked_time: int
    operator_id: OperatorId
    subtask_index: int

    def get_marked_time(self) -> int:
        """Return when it left its source, in epoch milliseconds."""
        return self.marked_time

    def get_operator_id(self) -> OperatorId:
        """Return the id of the source."""
        return self.operator_id

    def get_subtask_index(self) -> int:
        """Return the subtask of the source, from 0."""
        return self.subtask_index
