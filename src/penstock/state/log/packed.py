"""Columns of byte strings as few objects: what pickle writes around each is more than its length.

    all of one size       (size, all bytes)
    sizes differ          ("B" or "H", sizes as little-endian numbers of 1 or 2 bytes, all bytes)
    anything else         the list as it is: other objects, None among them, large or few elements

Of the state of a join, digests of 12 bytes take 12 instead of 15, and rows one or two bytes less.
"""

from __future__ import annotations

import struct
from itertools import accumulate, pairwise
from typing import Any

from penstock.errors import StateError

_FEW = 32
_LIMITS = (("B", 1 << 8), ("H", 1 << 16))  # pickle has 3 bytes around a short one
_PAIR = 2


def pack(column: list[Any] | None) -> Any:
    """Return what is stored for a column, `column` itself if there is nothing to gain."""
    if not column or len(column) < _FEW or set(map(type, column)) != {bytes}:
        return column
    sizes = list(map(len, column))
    largest = max(sizes)
    joined = b"".join(column)
    if min(sizes) == largest > 0:
        return largest, joined
    for code, limit in _LIMITS:
        if largest < limit:
            return code, struct.pack(f"<{len(sizes)}{code}", *sizes), joined
    return column


def unpack(stored: Any) -> Any:
    """Return the column that was packed.

    Raises:
        StateError: It is damaged.
    """
    if not isinstance(stored, tuple):
        return stored
    try:
        if len(stored) == _PAIR:
            size, joined = stored
            return [joined[at : at + size] for at in range(0, len(joined), size)]
        code, packed, joined = stored
        sizes = struct.unpack(f"<{len(packed) // struct.calcsize(code)}{code}", packed)
    except (struct.error, TypeError, ValueError) as cause:
        raise _damaged(str(cause)) from cause
    if sum(sizes) != len(joined):
        raise _damaged(f"its parts have {sum(sizes)} bytes together, and there are {len(joined)}")
    return [joined[start:stop] for start, stop in pairwise(accumulate(sizes, initial=0))]


def _damaged(what: str) -> StateError:
    return StateError(
        f"a column of stored entries cannot be read: {what}",
        hint="Restore the checkpoint directory from a copy, or start the job in a new one.",
    )
