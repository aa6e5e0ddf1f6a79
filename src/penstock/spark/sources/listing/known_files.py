"""A set of names of files in little memory: 24 to 48 bytes a file, where a set of Python's takes 150.

A name is known by a digest of 16 bytes: the chance that two of 10^9 names have the same is 10^-21. The digests are
in one table with open addressing; what follows the place that a digest gives is looked at until a slot is empty.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from penstock.spark.sources.file_paths import plain

_SLOT = 16
_EMPTY = bytes(_SLOT)
_FIRST_SLOTS = 1 << 10


class KnownFiles:
    """A set of names of files."""

    def __init__(self) -> None:
        self._slots = _FIRST_SLOTS
        self._table = bytearray(_SLOT * _FIRST_SLOTS)
        self._count = 0

    def add(self, uris: Iterable[str]) -> None:
        """Add files by their URIs."""
        for uri in uris:
            self._put(_digest(plain(uri)))
            if 3 * self._count > 2 * self._slots:
                self._grow()

    def has(self, name: str) -> bool:
        """Return whether a file is in the set, given its name as `file_paths.plain` gives it."""
        digest = _digest(name)
        at = self._place(digest)
        return self._table[at : at + _SLOT] == digest

    def __len__(self) -> int:
        """Return the number of names."""
        return self._count

    def _put(self, digest: bytes) -> None:
        at = self._place(digest)
        if self._table[at : at + _SLOT] == _EMPTY:
            self._table[at : at + _SLOT] = digest
            self._count += 1

    def _place(self, digest: bytes) -> int:
        """Return where a digest is in the table, or would be."""
        table, end = self._table, _SLOT * self._slots
        at = _SLOT * (int.from_bytes(digest[:8]) % self._slots)
        while (found := table[at : at + _SLOT]) != digest and found != _EMPTY:
            at = (at + _SLOT) % end
        return at

    def _grow(self) -> None:
        before = self._table
        self._slots *= 2
        self._table = bytearray(_SLOT * self._slots)
        self._count = 0
        for at in range(0, len(before), _SLOT):
            if (digest := bytes(before[at : at + _SLOT])) != _EMPTY:
                self._put(digest)


def _digest(name: str) -> bytes:
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=_SLOT).digest()
