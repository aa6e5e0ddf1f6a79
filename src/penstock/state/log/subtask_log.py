"""The change log of one subtask, as a task of an epoch sees it.

    driver   LogView ──▶ task: SubtaskLog ──▶ LogChange   driver: the epoch record

The view is the log as of the newest epoch record. New entries are visible only to the task, until the
driver puts the record that has its change. So an attempt may fail at any point, or run twice.

Small changes return to the driver within the change, and get into the record. As soon as the entries that a
task wrote exceed a limit they go to a segment file, and so do all later ones: a task never holds more of
them than that.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeAlias

from penstock.errors import StateError
from penstock.filesystem.stored_path import JobPath
from penstock.state.log.extent import (
    Extent,
    SegmentWriter,
    join_entries,
    read_extent,
    split_entries,
)

LogName: TypeAlias = tuple[int, int]
"""Level and subtask."""

INLINE_BYTES = 256 << 10
"""Size of the entries a task returns within its change."""

_REMEMBERED = 2
"""Extents whose entries are kept: entries are read in order, and an extent may have 8 MiB."""


@dataclass(frozen=True, slots=True)
class LogView:
    """The log of one subtask as of the newest record: what its task gets.

    Attributes:
        head: None for a new log.
        extents: All entries, ascending and contiguous; the first one may begin before the head's
            first entry.
        recent: The newest entries, (number, data), so that a task whose copy lacks only these
            reads no file.
    """

    head: bytes | None = None
    extents: tuple[Extent, ...] = ()
    recent: tuple[tuple[int, bytes], ...] = ()

    def __reduce__(self) -> tuple[object, ...]:
        return LogView, (self.head, self.extents, self.recent)


@dataclass(frozen=True, slots=True)
class LogChange:
    """Change of one task to the log of its subtask.

    Attributes:
        first: Number of the first new entry; without meaning if there is none.
        entries: The new entries; none if they are in `extents`.
        extents: The new entries, in a segment file of this task; none if they are in `entries`.
    """

    level: int
    subtask: int
    head: bytes
    first: int
    entries: tuple[bytes, ...] = ()
    extents: tuple[Extent, ...] = ()

    @property
    def name(self) -> LogName:
        """Level and subtask."""
        return self.level, self.subtask

    def __reduce__(self) -> tuple[object, ...]:
        fields = self.level, self.subtask, self.head, self.first, self.entries, self.extents
        return LogChange, fields


class SubtaskLog:
    """Implements `LogStorage` for one task of one epoch.

    Its user calls `change` once, after the last write, and `close` in any case. Not thread-safe.
    """

    def __init__(
        self, directory: JobPath, view: LogView, *, inline_bytes: int = INLINE_BYTES
    ) -> None:
        """Begin with the log as of the newest record."""
        self._directory = directory
        self._inline_bytes = inline_bytes
        self._head = view.head
        self._new_head: bytes | None = None
        self._extents = list(view.extents)
        self._recent = dict(view.recent)
        self._remembered: dict[Extent, list[bytes]] = {}
        self._oldest = 0  # entries below it are removed
        self._first = 0  # of the entries written here
        self._next: int | None = None
        self._pending: list[bytes] = []  # the newest of them, in no file
        self._pending_bytes = 0
        self._segment: SegmentWriter | None = None

    def read_head(self) -> bytes | None:
        """Return the head, None for a new log."""
        return self._head

    def write_head(self, data: bytes) -> None:
        """Replace the head."""
        self._head = self._new_head = data

    def read_entry(self, number: int) -> bytes | None:
        """Return one entry, None if it does not exist."""
        if number < self._oldest:
            return None
        if self._next is not None and number >= self._next - len(self._pending):
            return self._pending[number - self._next] if number < self._next else None
        recent = self._recent.get(number)
        if recent is not None:
            return recent
        position = bisect_right(self._extents, number, key=attrgetter("first")) - 1
        if position < 0 or number > self._extents[position].last:
            return None
        return self._entries_of(self._extents[position])[number - self._extents[position].first]

    def write_entry(self, number: int, data: bytes) -> None:
        """Add an entry; each has the number after the one before."""
        if self._next is None:
            self._first = self._next = number
        elif number != self._next:
            raise StateError(
                f"entry {number} of a change log was written where {self._next} is next",
                hint="Start the job again; if it happens again, report it as a bug of Penstock.",
            )
        self._next += 1
        self._pending.append(data)
        self._pending_bytes += len(data)
        if self._pending_bytes > self._inline_bytes:
            self._flush()

    def remove_entry(self, number: int) -> None:
        """Drop an entry and all before it: a log is only cut at its beginning."""
        self._oldest = max(self._oldest, number + 1)

    def change(self, level: int, subtask: int) -> LogChange | None:
        """Return the written extent, None if there is none; a segment file is durable then."""
        head = self._new_head
        if head is None:
            return None
        if self._segment is None:
            return LogChange(level, subtask, head, self._first, tuple(self._pending))
        if self._pending:
            self._flush()
        extents = self._segment.finish(f"{level}-{subtask}")
        self._extents[-len(extents) :] = extents
        self._segment = None
        return LogChange(level, subtask, head, self._first, extents=extents)

    def close(self) -> None:
        """Remove a segment file that is in no change."""
        if self._segment is not None:
            self._segment.discard()
            self._segment = None

    def _flush(self) -> None:
        """Move the pending entries to the segment file."""
        assert self._next is not None
        if self._segment is None:
            self._segment = SegmentWriter(self._directory)
        first = self._next - len(self._pending)
        extent = self._segment.add(first, self._next - 1, (join_entries(self._pending),))
        self._extents.append(extent)
        self._pending, self._pending_bytes = [], 0

    def _entries_of(self, extent: Extent) -> list[bytes]:
        entries = self._remembered.get(extent)
        if entries is None:
            segment = self._segment
            if segment is not None and segment.has(extent):
                data = segment.read(extent)
            else:
                data = read_extent(self._directory, extent)
            entries = split_entries(extent, data, self._directory)
            while len(self._remembered) >= _REMEMBERED:
                del self._remembered[next(iter(self._remembered))]
            self._remembered[extent] = entries
        return entries
