"""Extents: consecutive entries of a change log that are one piece of a file.

Layout: per entry u32 length, little-endian, and the entry. The checksum of the piece is in the `Extent`,
which the epoch record names. So the extents of adjacent entries, one after the other, are an extent too:
merging copies bytes and decodes nothing.

Entries 7 ("ab") and 8 (empty): `02000000 6162 00000000`.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from penstock.errors import StateError
from penstock.filesystem.stored_path import JobPath, StoredPath

_LENGTH = struct.Struct("<I")
_NOWHERE = Path()


@dataclass(frozen=True, slots=True)
class Extent:
    """Consecutive entries of one log in one file: each entry behind its u32 length.

    Attributes:
        first: Number of the first entry.
        last: Number of the last entry.
        file: Relative to the directory of the epochs: "records/000000000012" or "segments/…".
        offset: Where the entries begin in the file.
        size: Their bytes, lengths included.
        crc32: Of these bytes.
    """

    first: int
    last: int
    file: str
    offset: int
    size: int
    crc32: int

    # Every task gets the extents of its log, in every epoch: this is pickled four times as fast as
    # the state of a frozen dataclass.
    def __reduce__(self) -> tuple[object, ...]:
        return Extent, (self.first, self.last, self.file, self.offset, self.size, self.crc32)


def join_entries(entries: Iterable[bytes]) -> bytes:
    """Return the bytes of an extent.

    Examples:
        >>> join_entries([b"ab", b""]).hex()
        '02000000616200000000'
    """
    return b"".join(piece for entry in entries for piece in (_LENGTH.pack(len(entry)), entry))


def split_entries(extent: Extent, data: bytes, directory: JobPath = _NOWHERE) -> list[bytes]:
    """Return the entries of an extent.

    Raises:
        StateError: The bytes are not those that were written.
    """
    verify(extent, data, directory)
    file = directory / extent.file
    entries = []
    at = 0
    for _ in range(extent.first, extent.last + 1):
        end = at + _LENGTH.size
        size = _LENGTH.unpack_from(data, at)[0] if end <= len(data) else len(data)
        if end + size > len(data):
            raise damaged(file, f"{_name(extent)} end within an entry")
        at = end + size
        entries.append(data[end:at])
    if at != len(data):
        raise damaged(file, f"{_name(extent)} have {len(data) - at} bytes too many")
    return entries


def verify(extent: Extent, data: bytes, directory: JobPath = _NOWHERE) -> None:
    """Check the bytes of an extent.

    Raises:
        StateError: They are not those that were written.
    """
    if len(data) != extent.size:
        raise damaged(
            directory / extent.file, f"{_name(extent)} have {len(data)} bytes of {extent.size}"
        )
    if crc32(data) != extent.crc32:
        raise damaged(directory / extent.file, f"{_name(extent)} do not match their checksum")


def read_extent(directory: JobPath, extent: Extent) -> bytes:
    """Return the bytes of an extent; whoever uses them verifies them.

    Raises:
        StateError: The file cannot be read.
    """
    try:
        if isinstance(directory, StoredPath):
            place = directory / extent.file
            return place.store.read_range(place.at, extent.offset, extent.size)
        descriptor = os.open(directory / extent.file, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.pread(descriptor, extent.size, extent.offset)
        finally:
            os.close(descriptor)
    except OSError as cause:
        raise damaged(
            directory / extent.file, f"{_name(extent)} cannot be read: {cause}"
        ) from cause


def damaged(file: JobPath, what: str) -> StateError:
    """Return the error of a file of the epochs that is not as it was written."""
    return StateError(
        f"{file} is damaged: {what}",
        hint="Restore the checkpoint directory from a copy, or start the job in a new one.",
    )


def _name(extent: Extent) -> str:
    return f"entries {extent.first} to {extent.last} of a change log"
