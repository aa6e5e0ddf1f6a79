"""The output of a task of a batch run, until Spark takes it.

A call of a user's function may emit any number of records, and Spark takes frames only between calls: an
operator that sorts its whole input emits it in one call, at the end. So frames beyond a share of the memory
are written to disk, and read in the order in which they were emitted.

    address     u64 number
    row         i32 route | frame
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from penstock.runtime.spill.spill_space import SpillSpace, SpillStore

Row = tuple[int, bytes]
"""(route, frame)."""

_SHARE = 2  # of the memory for records; frames of a call are seldom as large as its records
_YIELD_FRAMES = 64
_ADDRESS = struct.Struct(">Q")
_ROUTE = struct.Struct(">i")


class OutputFrames:
    """Frames in order, most of them on disk if they are many."""

    def __init__(self, space: SpillSpace) -> None:
        """Start empty."""
        self._space = space
        self._most_bytes = space.memory_bytes // _SHARE
        self._held: list[Row] = []
        self._held_bytes = 0
        self._store: SpillStore | None = None
        self._in_store = 0

    def add(self, route: int, frame: bytes) -> None:
        """Add a frame."""
        self._held.append((route, frame))
        self._held_bytes += len(frame)
        if self._held_bytes > self._most_bytes:
            self._spill()

    def extend(self, rows: Iterable[Row]) -> None:
        """Add frames."""
        for row in rows:
            self.add(*row)

    @property
    def is_many(self) -> bool:
        """True if it is time to take them, if that is possible."""
        return self._store is not None or len(self._held) >= _YIELD_FRAMES

    def take(self) -> Iterator[list[Row]]:
        """Yield and remove all frames; none is added meanwhile."""
        if self._store is not None:
            for _, row in self._store.read():
                yield [(_ROUTE.unpack_from(row)[0], row[_ROUTE.size :])]
            self._store.remove()
            self._store, self._in_store = None, 0
        held, self._held, self._held_bytes = self._held, [], 0
        yield held

    def _spill(self) -> None:
        if self._store is None:
            self._store = self._space.new_store()
        self._store.put(
            (_ADDRESS.pack(number), _ROUTE.pack(route) + frame)
            for number, (route, frame) in enumerate(self._held, self._in_store)
        )
        self._in_store += len(self._held)
        self._held, self._held_bytes = [], 0
