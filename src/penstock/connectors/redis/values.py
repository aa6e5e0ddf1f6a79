"""Entries of streams, and their positions in the engine.

An id is `milliseconds-sequence`, a position `milliseconds << 20 | sequence`: room for a million entries in a
millisecond, until the year 2248. Ids that a program chose itself may be larger, and are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.errors import SourceError

_SEQUENCE_BITS = 20
_MOST_SEQUENCES = 1 << _SEQUENCE_BITS
_MOST_MILLISECONDS = 1 << 43


@dataclass(frozen=True, slots=True)
class RedisEntry:
    """An entry of a stream.

    Attributes:
        stream: Name of the stream.
        id: Its id, e.g. `1700000000000-0`.
        fields: Field to value, as text; bytes if the source reads bytes.

    Example:
        >>> RedisEntry("orders", "1700000000000-0", {"customer": "ann"}).fields["customer"]
        'ann'
    """

    stream: str
    id: str
    fields: dict[Any, Any]


def position_of(entry_id: bytes | str, stream: str) -> int:
    """Return the position of an entry."""
    text = entry_id.decode() if isinstance(entry_id, bytes) else entry_id
    milliseconds, _, sequence = text.partition("-")
    first, second = int(milliseconds), int(sequence or 0)
    if first >= _MOST_MILLISECONDS or second >= _MOST_SEQUENCES:
        raise SourceError(
            f"entry {text} of stream {stream!r} has no position: milliseconds are below 2**43, and the sequence "
            f"below {_MOST_SEQUENCES}",
            hint="Let the server choose ids (XADD … *), or copy the stream with ids in these bounds.",
        )
    return first << _SEQUENCE_BITS | second


def id_of(position: int) -> str:
    """Return the id of a position."""
    return f"{position >> _SEQUENCE_BITS}-{position & _MOST_SEQUENCES - 1}"


def milliseconds_of(position: int) -> int:
    """Return the time in the id of a position, in epoch milliseconds."""
    return position >> _SEQUENCE_BITS


def first_of(timestamp_ms: int) -> int:
    """Return the first position of a time."""
    return min(max(timestamp_ms, 0), _MOST_MILLISECONDS - 1) << _SEQUENCE_BITS
