"""Entries of a change log: blobs, one after the other."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from zlib import crc32

from penstock.errors import StateError

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
    """Yield the blobs `join_blobs` joined.

    Raises:
        StateError: It is another entry, or its head is damaged, or it was cut.
    """
    if len(data) < _ENTRY.size or crc32(data[:16]) != _ENTRY.unpack_from(data)[3]:
        raise _damaged(f"entry {number} of a change log does not start like one")
    magic, found, count, _ = _ENTRY.unpack_from(data)
    if magic != _ENTRY_MAGIC or found != number:
        raise _damaged(f"entry {number} of a change log is entry {found}")
    at = _ENTRY.size
    for _ in range(count):
        end = at + _LENGTH.size
        size = _LENGTH.unpack_from(data, at)[0] if end <= len(data) else len(data)
        if end + size > len(data):
            raise _damaged(f"entry {number} of a change log ends within a blob")
        yield data[end : end + size]
        at = end + size
    if at != len(data):
        raise _damaged(f"entry {number} of a change log has {len(data) - at} bytes too many")


def _damaged(problem: str) -> StateError:
    return StateError(problem, hint="Restore the checkpoint directory from a copy.")
