"""The change log of a subtask: what makes its state durable.

A log is a head and numbered entries of bounded size; an entry is blobs, one after the other.
A micro-batch appends its changes as one or a few entries. Applying all entries in order to
nothing gives the state.

Compaction goes round the key groups like the hand of a clock, so that no micro-batch has to
rewrite more than one key group at a time, and never much more than it changed itself:

    entries   | … old … | g0 snapshot, changes | g1 g2 snapshots, changes | changes of today |
                        ^ cycle_first                                       hand = g3

When the changes since the last cycle exceed the live state, a cycle begins: every micro-batch
first appends snapshots of the next key groups and then its changes. When the hand has passed the
last group, all entries before `cycle_first` are removed.

Entries are applied in order and are never cleared for a snapshot. That is right, because
an entry of a key that was removed is followed by its removal: both are behind the oldest entry,
or the removal is before the snapshot that no longer has the key, in which case an older entry of
the key is before it too. It also means that a copy that is behind needs only what it lacks.

A worker keeps the state between micro-batches as a local copy, which is current up to a
`Position`: number and token of an entry. Tokens are random and written with the head, so a copy
that lived through a failed attempt, or belongs to another timeline, is recognised: its token is
not in `recent`. Spark hands workers out first-in-first-out, so a subtask changes worker at every
micro-batch; a copy that is a few micro-batches behind applies what it missed.

The storage of the log is behind `LogStorage`: files that an epoch record names (`penstock.state.log.subtask_log`)
in a job, a dictionary in tests.
"""

from __future__ import annotations

import pickle
import secrets
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias
from zlib import crc32

from penstock.errors import RESTORE_CHECKPOINTS, StateError
from penstock.state.log.blob import BLOB_BYTES, checked, key_group_of

_ENTRY = struct.Struct("<4sQII")
_ENTRY_MAGIC = b"PSE1"
_LENGTH = struct.Struct("<I")


def join_blobs(number: int, blobs: list[bytes]) -> bytes:
    """Join blobs into entry `number`, each behind its length.

    Layout, little-endian: "PSE1", u64 number, u32 count of blobs, CRC-32 of the sixteen bytes
    before it, then per blob u32 length and the blob. A blob has a checksum of its own.
    """
    start = _ENTRY_MAGIC + _ENTRY.pack(_ENTRY_MAGIC, number, len(blobs), 0)[4:16]
    parts = [start, _LENGTH.pack(crc32(start))]
    for blob in blobs:
        parts += (_LENGTH.pack(len(blob)), blob)
    return b"".join(parts)


def split_blobs(number: int, data: bytes) -> Iterator[bytes]:
    """Yield the blobs `join_blobs` joined."""
    if len(data) < _ENTRY.size or crc32(data[:16]) != _ENTRY.unpack_from(data)[3]:
        raise _damaged(f"entry {number} of a change log does not start like one")
    magic, stored_number, count, _ = _ENTRY.unpack_from(data)
    if magic != _ENTRY_MAGIC or stored_number != number:
        raise _damaged(f"entry {number} of a change log is entry {stored_number}")
    offset = _ENTRY.size
    for _ in range(count):
        end = offset + _LENGTH.size
        size = _LENGTH.unpack_from(data, offset)[0] if end <= len(data) else len(data)
        if end + size > len(data):
            raise _damaged(f"entry {number} of a change log ends within a blob")
        yield data[end : end + size]
        offset = end + size
    if offset != len(data):
        raise _damaged(f"entry {number} of a change log has {len(data) - offset} bytes too many")


Position: TypeAlias = tuple[int, str]
"""Number and token of the last entry a micro-batch wrote."""

MIN_COMPACT_BYTES = 1 << 20
"""A log smaller than this is never compacted for its size."""

_RECENT = 8
_MIN_REWRITE_BYTES = 256 << 10
_HEAD = struct.Struct("<4sI")
_HEAD_MAGIC = b"PSH1"


@dataclass(frozen=True, slots=True)
class Head:
    """Begin and end of the log, and the progress of its compaction.

    Attributes:
        recent: Positions of the newest micro-batches, newest last.
        live_bytes: Size of the state when a cycle last ended.
        hand: Key groups below it are rewritten in this cycle; None outside a cycle.
        cycle_first: First entry of the cycle.
        cycle_log_bytes: Size of the entries from `cycle_first` on.
        cycle_bytes: Size of the snapshots among them.
        meta: Memory of the level itself: watermarks.
    """

    first: int = 0
    last: int = -1
    recent: tuple[Position, ...] = ()
    log_bytes: int = 0
    live_bytes: int = 0
    hand: int | None = None
    cycle_first: int = 0
    cycle_log_bytes: int = 0
    cycle_bytes: int = 0
    meta: bytes = b""

    def encode(self) -> bytes:
        """Return the bytes stored as the head: "PSH1", CRC-32, pickle of the fields."""
        body = pickle.dumps(tuple(getattr(self, name) for name in self.__slots__), 5)
        return _HEAD.pack(_HEAD_MAGIC, crc32(body)) + body

    @classmethod
    def decode(cls, data: bytes) -> Head:
        """Return the head stored as `data`."""
        if len(data) < _HEAD.size or data[:4] != _HEAD_MAGIC:
            raise _damaged("the head of a change log does not start like one")
        body = data[_HEAD.size :]
        if crc32(body) != _HEAD.unpack_from(data)[1]:
            raise _damaged("the head of a change log does not match its checksum")
        return cls(*pickle.loads(body))


class LogStorage(Protocol):
    """Transactional storage of one subtask's log."""

    def read_head(self) -> bytes | None:
        """Return the stored head, None for a new log."""

    def write_head(self, data: bytes) -> None:
        """Replace the head."""

    def read_entry(self, number: int) -> bytes | None:
        """Return one entry, None if it does not exist."""

    def write_entry(self, number: int, data: bytes) -> None:
        """Add one entry."""

    def remove_entry(self, number: int) -> None:
        """Drop one entry."""


class Snapshots(Protocol):
    """Source of key groups for compaction; every state backend is one."""

    def groups(self) -> list[int]:
        """Return the key groups that have entries, ascending."""

    def snapshot_group(self, key_group: int) -> Iterator[bytes]:
        """Yield the blobs of one key group."""


@dataclass(frozen=True, slots=True)
class Appended:
    """Addition of one micro-batch to the log.

    Attributes:
        rewritten_bytes: Size of the snapshots compaction added.
        rewritten_groups: The key groups they are of.
    """

    position: Position
    change_bytes: int
    rewritten_bytes: int
    rewritten_groups: tuple[int, ...]


class ChangeLog:
    """Reads and appends the log of one subtask within one micro-batch."""

    def __init__(self, storage: LogStorage, *, min_compact_bytes: int = MIN_COMPACT_BYTES) -> None:
        """Read the head."""
        self._storage = storage
        self._min_compact_bytes = min_compact_bytes
        data = storage.read_head()
        self.head = Head.decode(data) if data is not None else Head()

    @property
    def is_new(self) -> bool:
        """True if the log is empty."""
        return not self.head.recent

    def position(self) -> Position | None:
        """Return the position of the newest micro-batch, None for a new log."""
        return self.head.recent[-1] if self.head.recent else None

    def missing_after(self, position: Position | None) -> range | None:
        """Return the entries a copy at `position` lacks; None if the copy is of no use."""
        if position is None or position not in self.head.recent:
            return None
        number, _ = position
        if number + 1 < self.head.first:
            return None  # entries it lacks are gone, and snapshots carry no removals
        return range(number + 1, self.head.last + 1)

    def is_close(self, position: Position | None) -> bool:
        """Return whether a copy at `position` lacks at most the newest micro-batch."""
        return position is not None and position in self.head.recent[-2:]

    def entries(self) -> range:
        """Return the numbers of all entries."""
        return range(self.head.first, self.head.last + 1)

    def blobs(self, entries: Iterable[int]) -> Iterator[bytes]:
        """Yield the blobs of `entries`, in order."""
        for number in entries:
            yield from self._blobs_of(number)

    def all_blobs(self) -> Iterator[bytes]:
        """Yield what rebuilds the state from nothing: all blobs, without those rewritten since."""
        head = self.head
        for number in self.entries():
            blobs = self._blobs_of(number)
            if head.hand is not None and number < head.cycle_first:
                hand = head.hand
                blobs = (blob for blob in map(checked, blobs) if key_group_of(blob) >= hand)
            yield from blobs

    def seed(self, blobs: Iterable[bytes]) -> None:
        """Add entries from outside, as the beginning of the log. May be called repeatedly."""
        writer = _EntryWriter(self._storage, self.head.last + 1)
        writer.add_all(blobs)
        last, size = writer.finish()
        if size:
            self._push(
                last, log_bytes=self.head.log_bytes + size, live_bytes=self.head.log_bytes + size
            )

    def seed_memory(self, meta: bytes) -> None:
        """Begin with the level's memory; behind the seeded entries."""
        self._push(self.head.last, meta=meta)

    def append(
        self, changes: list[bytes], meta: bytes, snapshots: Snapshots | None = None
    ) -> Appended:
        """Append one micro-batch of changes and the level's memory, and compact a little."""
        size = sum(map(len, changes))
        head = self.head
        writer = _EntryWriter(self._storage, head.last + 1)
        done = _Rewritten()
        if snapshots is not None:
            if head.hand is None and self._is_outgrown(size):
                head = replace(
                    head, hand=0, cycle_first=head.last + 1, cycle_log_bytes=0, cycle_bytes=0
                )
            if head.hand is not None:
                done = _rewrite(writer, snapshots, head.hand, size)
                head = replace(head, hand=max(done.groups, default=head.hand - 1) + 1)
        writer.add_all(changes)
        last, written = writer.finish()
        first = head.first
        self.head = replace(
            head,
            cycle_log_bytes=head.cycle_log_bytes + written,
            cycle_bytes=head.cycle_bytes + done.size,
        )
        new = {"log_bytes": head.log_bytes + written}
        if done.is_last:
            self.head = replace(self.head, first=head.cycle_first, hand=None)
            new = {
                "log_bytes": self.head.cycle_log_bytes,
                "live_bytes": self.head.cycle_bytes,
            }
        self._push(last, meta=meta, **new)
        for number in range(first, self.head.first):
            self._storage.remove_entry(number)
        return Appended(self.head.recent[-1], size, done.size, done.groups)

    def _is_outgrown(self, size: int) -> bool:
        head = self.head
        return head.log_bytes + size > max(self._min_compact_bytes, 2 * head.live_bytes)

    def _blobs_of(self, number: int) -> Iterator[bytes]:
        data = self._storage.read_entry(number)
        if data is None:
            raise _damaged(f"entry {number} of a change log is missing")
        return split_blobs(number, data)

    def _push(self, last: int, **changed: int | bytes) -> None:
        """Move the end of the log, under a new token."""
        recent = (*self.head.recent, (last, secrets.token_hex(8)))[-_RECENT:]
        self.head = replace(self.head, last=last, recent=recent, **changed)  # type: ignore[arg-type]
        self._storage.write_head(self.head.encode())


@dataclass(frozen=True, slots=True)
class _Rewritten:
    """Output of a step of compaction.

    Attributes:
        groups: Key groups, ascending.
        size: Bytes of their snapshots.
        is_last: No key group is left.
    """

    groups: tuple[int, ...] = ()
    size: int = 0
    is_last: bool = False


def _rewrite(writer: _EntryWriter, snapshots: Snapshots, hand: int, budget: int) -> _Rewritten:
    """Write snapshots of the next key groups: one at least, then as long as the budget lasts."""
    left = max(budget, _MIN_REWRITE_BYTES)
    groups: list[int] = []
    total = 0
    for group in snapshots.groups():
        if group < hand:
            continue
        if left <= 0:
            return _Rewritten(tuple(groups), total)
        size = writer.add_all(snapshots.snapshot_group(group))
        left -= size
        total += size
        groups.append(group)
    return _Rewritten(tuple(groups), total, is_last=True)


class _EntryWriter:
    """Joins blobs into entries of bounded size and numbers them."""

    def __init__(self, storage: LogStorage, number: int) -> None:
        self._storage = storage
        self._number = number
        self._blobs: list[bytes] = []
        self._bytes = 0
        self._written = 0

    def add_all(self, blobs: Iterable[bytes]) -> int:
        """Write blobs and return their size."""
        total = 0
        for blob in blobs:
            if self._blobs and self._bytes + len(blob) > BLOB_BYTES:
                self._flush()
            self._blobs.append(blob)
            self._bytes += len(blob)
            total += len(blob)
        return total

    def finish(self) -> tuple[int, int]:
        """Return the number of the last entry and the size of all."""
        if self._blobs:
            self._flush()
        return self._number - 1, self._written

    def _flush(self) -> None:
        self._storage.write_entry(self._number, join_blobs(self._number, self._blobs))
        self._number += 1
        self._written += self._bytes
        self._blobs, self._bytes = [], 0


def _damaged(problem: str) -> StateError:
    return StateError(problem, hint=RESTORE_CHECKPOINTS)
