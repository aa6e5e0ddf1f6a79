"""The change log of a subtask, kept inside Spark's state store.

A log is a head and numbered entries:

    head    Head(first, last, token, recent, bytes since the snapshot, ...)
    entry n the blobs written by one micro-batch, joined

    first                        last
    | snapshot | changes | changes |

Entry `first` is a snapshot, everything behind it is changes. Reading all entries in order
rebuilds the state. When the changes outgrow the snapshot, a new snapshot is appended, `first`
moves to it and older entries are removed.

A worker keeps the state between micro-batches as a `LocalCopy`: state plus the (number, token)
up to which it is current. Tokens are random and written with the head, so a copy that lived
through a failed attempt, or belongs to another timeline, is recognised: its token is not in
`recent`. A copy that is a few entries behind (Spark hands workers out first-in-first-out, so a
subtask changes worker at every micro-batch) only applies the entries it missed.

What stores the log is behind `LogStorage`: Spark's state store in a job, a dictionary in tests.
"""

from __future__ import annotations

import pickle
import secrets
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from penstock.errors import StateError

_RECENT = 8
_LENGTH = struct.Struct("<I")

MIN_COMPACT_BYTES = 1 << 20
"""Changes below this size never cause a compaction."""


@dataclass(frozen=True, slots=True)
class Head:
    """Where the log begins and ends.

    Attributes:
        first: Number of the oldest entry, a snapshot (or the first changes of a new job).
        last: Number of the newest entry.
        recent: (number, token) of the newest entries, newest last.
        snapshot_bytes: Size of entry `first`.
        change_bytes: Size of the entries behind it.
        meta: What the level itself remembers: watermarks.
    """

    first: int = 0
    last: int = -1
    recent: tuple[tuple[int, str], ...] = ()
    snapshot_bytes: int = 0
    change_bytes: int = 0
    meta: bytes = b""

    def encode(self) -> bytes:
        """Return the bytes stored as the head."""
        return pickle.dumps(
            (self.first, self.last, self.recent, self.snapshot_bytes, self.change_bytes, self.meta),
            5,
        )

    @classmethod
    def decode(cls, data: bytes) -> Head:
        """Return the head stored as `data`."""
        return cls(*pickle.loads(data))


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


class ChangeLog:
    """Reads and appends the log of one subtask within one micro-batch."""

    def __init__(self, storage: LogStorage, *, min_compact_bytes: int = MIN_COMPACT_BYTES) -> None:
        self._storage = storage
        self._min_compact_bytes = min_compact_bytes
        data = storage.read_head()
        self.head = Head.decode(data) if data is not None else Head()

    @property
    def is_new(self) -> bool:
        """Whether nothing was ever written."""
        return self.head.last < 0

    def position(self) -> tuple[int, str] | None:
        """Return (number, token) of the newest entry, None for a new log."""
        return self.head.recent[-1] if self.head.recent else None

    def missing_after(self, position: tuple[int, str] | None) -> range | None:
        """Return the entries a copy at `position` lacks; None if the copy is of no use."""
        if position is None or position not in self.head.recent:
            return None
        number, _ = position
        if number < self.head.first:
            return None  # the copy is older than the snapshot, which carries no removals
        return range(number + 1, self.head.last + 1)

    def entries(self) -> range:
        """Return the numbers of all entries, from the snapshot to the newest."""
        return range(self.head.first, self.head.last + 1)

    def blobs(self, entries: Iterable[int]) -> Iterator[bytes]:
        """Yield the blobs of `entries`, in order.

        Raises:
            StateError: An entry is missing or cut.
        """
        for number in entries:
            data = self._storage.read_entry(number)
            if data is None:
                raise StateError(
                    f"entry {number} of a change log is missing",
                    hint="Restore the checkpoint directory from a copy.",
                )
            yield from split_blobs(data)

    def append(self, blobs: list[bytes], meta: bytes) -> None:
        """Append one micro-batch of changes and the level's memory."""
        data = join_blobs(blobs)
        self._push(data, self.head.first, self.head.snapshot_bytes, meta)

    @property
    def wants_compaction(self) -> bool:
        """Whether the changes outgrew the snapshot they follow."""
        head = self.head
        return head.change_bytes > max(self._min_compact_bytes, 2 * head.snapshot_bytes)

    def compact(self, snapshot: Iterable[bytes], meta: bytes) -> None:
        """Append a snapshot and remove everything before it."""
        data = join_blobs(snapshot)
        old = self.entries()
        self._push(data, self.head.last + 1, len(data), meta)
        for number in old:
            self._storage.remove_entry(number)

    def _push(self, data: bytes, first: int, snapshot_bytes: int, meta: bytes) -> None:
        head = self.head
        number = head.last + 1
        is_snapshot = first == number
        recent = (*head.recent, (number, secrets.token_hex(8)))[-_RECENT:]
        self.head = replace(
            head,
            first=first,
            last=number,
            recent=recent,
            snapshot_bytes=snapshot_bytes,
            change_bytes=0 if is_snapshot else head.change_bytes + len(data),
            meta=meta,
        )
        self._storage.write_entry(number, data)
        self._storage.write_head(self.head.encode())


def join_blobs(blobs: Iterable[bytes]) -> bytes:
    """Join blobs into one entry, each behind its length."""
    parts: list[bytes] = []
    for blob in blobs:
        parts += (_LENGTH.pack(len(blob)), blob)
    return b"".join(parts)


def split_blobs(data: bytes) -> Iterator[bytes]:
    """Yield the blobs `join_blobs` joined.

    Raises:
        StateError: The entry is cut short.
    """
    at = 0
    while at < len(data):
        end = at + _LENGTH.size
        size = _LENGTH.unpack_from(data, at)[0] if end <= len(data) else len(data)
        if end + size > len(data):
            raise StateError(
                f"an entry of a change log ends after {len(data)} bytes, within a blob",
                hint="Restore the checkpoint directory from a copy.",
            )
        yield data[end : end + size]
        at = end + size
