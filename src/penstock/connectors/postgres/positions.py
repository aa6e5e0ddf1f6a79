"""Positions in the log of a database (LSN) and its times, as integers."""

from __future__ import annotations

_EPOCH_MS = 946_684_800_000
"""2000-01-01, from which PostgreSQL counts microseconds."""


def lsn_of(text: str) -> int:
    """Return the position that `16/B374D848` says.

    Example:
        >>> lsn_of("1/10")
        4294967312
    """
    high, _, low = text.partition("/")
    return int(high, 16) << 32 | int(low, 16)


def text_of(lsn: int) -> str:
    """Return a position as PostgreSQL writes it.

    Example:
        >>> text_of(4294967312)
        '1/10'
    """
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def milliseconds_of(microseconds: int) -> int:
    """Return a time of PostgreSQL in epoch milliseconds."""
    return microseconds // 1000 + _EPOCH_MS
