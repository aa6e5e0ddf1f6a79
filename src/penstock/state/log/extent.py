"""Extents: consecutive entries of a change log that are one piece of a file; and segments, the files of large ones.

Layout: per entry u32 length, little-endian, and the entry. The checksum of the piece is in the `Extent`,
which the epoch record names. So the extents of adjacent entries, one after the other, are an extent too:
merging copies bytes and decodes nothing.

Entries 7 ("ab") and 8 (empty): `02000000 6162 00000000`.

Extents that are too large for an epoch record are in a segment. It has a temporary name,
`segments/.<hex>.tmp`, until it is complete and durable. So a file with a final name is whole, and a driver
that opens the log may remove files with temporary names. A segment that goes to a store is in a temporary file
of this machine until then.
"""

from __future__ import annotations

import os
import shutil
import struct
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, cast
from uuid import uuid4
from zlib import crc32

from penstock.errors import RESTORE_CHECKPOINTS, StateError
from penstock.failpoint import failpoint
from penstock.filesystem.stored_path import JobPath, StoredPath
from penstock.wire.atomic_file import PRIVATE_FILE, sync_directory
from penstock.wire.job_files import new_file

_LENGTH = struct.Struct("<I")
_NOWHERE = Path()


@dataclass(frozen=True, slots=True)
class Extent:
    """Consecutive entries of one log in one file: each entry behind its u32 length.

    Attributes:
        file: Relative to the directory of the epochs: "records/000000000012" or "segments/…".
        offset: Where the entries begin in the file.
        size: Their bytes, lengths included.
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
    """Return the entries of an extent."""
    verify(extent, data, directory)
    file = directory / extent.file
    entries = []
    offset = 0
    for _ in range(extent.first, extent.last + 1):
        end = offset + _LENGTH.size
        size = _LENGTH.unpack_from(data, offset)[0] if end <= len(data) else len(data)
        if end + size > len(data):
            raise damaged(file, f"{_name(extent)} end within an entry")
        offset = end + size
        entries.append(data[end:offset])
    if offset != len(data):
        raise damaged(file, f"{_name(extent)} have {len(data) - offset} bytes too many")
    return entries


def verify(extent: Extent, data: bytes, directory: JobPath = _NOWHERE) -> None:
    """Check the bytes of an extent."""
    if len(data) != extent.size:
        raise damaged(
            directory / extent.file, f"{_name(extent)} have {len(data)} bytes of {extent.size}"
        )
    if crc32(data) != extent.crc32:
        raise damaged(directory / extent.file, f"{_name(extent)} do not match their checksum")


def read_extent(directory: JobPath, extent: Extent) -> bytes:
    """Return the bytes of an extent; the caller verifies them."""
    try:
        if isinstance(directory, StoredPath):
            place = directory / extent.file
            return place.store.read_range(place.address, extent.offset, extent.size)
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
    return StateError(f"{file} is damaged: {what}", hint=RESTORE_CHECKPOINTS)


def _name(extent: Extent) -> str:
    return f"entries {extent.first} to {extent.last} of a change log"


_COPY_BYTES = 1 << 20

SEGMENTS = "segments"
"""Directory of the segment files, below that of the epochs."""


class SegmentWriter:
    """Writes one segment file, extent after extent.

    Call `finish` or `discard` at the end. Not thread-safe.
    """

    def __init__(self, directory: JobPath) -> None:
        """Begin a segment."""
        self.size = 0
        self._directory = directory
        self._id = uuid4().hex
        self._temporary = f"{SEGMENTS}/.{self._id}.tmp"
        self._file: BinaryIO = _begun(directory / self._temporary)
        self._extents: list[Extent] = []

    def add(self, first: int, last: int, parts: Iterable[bytes]) -> Extent:
        """Append an extent and return it; until the segment is finished, `read` reads it."""
        offset, checksum = self.size, 0
        for part in parts:
            self._file.write(part)
            checksum = crc32(part, checksum)
            self.size += len(part)
        self._file.flush()
        failpoint("epoch.segment-written")
        extent = Extent(first, last, self._temporary, offset, self.size - offset, checksum)
        self._extents.append(extent)
        return extent

    def has(self, extent: Extent) -> bool:
        """Return whether an extent is in this segment, which is not finished."""
        return extent.file == self._temporary

    def read(self, extent: Extent) -> bytes:
        """Return the bytes of an extent of this segment, which is not finished."""
        return os.pread(self._file.fileno(), extent.size, extent.offset)

    def finish(self, label: str) -> tuple[Extent, ...]:
        """Make the segment durable, under the name `<label>-<hex>`, and return its extents."""
        file = f"{SEGMENTS}/{label}-{self._id}"
        named = self._directory / file
        if isinstance(named, StoredPath):
            with self._file:
                failpoint("epoch.segment-synced")
                self._file.seek(0)
                sent = new_file(named)
                shutil.copyfileobj(self._file, sent, _COPY_BYTES)
                sent.finish()
        else:
            os.fdatasync(self._file.fileno())
            self._file.close()
            failpoint("epoch.segment-synced")
            temporary = named.with_name(self._temporary.rpartition("/")[2])
            temporary.rename(named)
            sync_directory(named.parent)
        failpoint("epoch.segment-named")
        return tuple(replace(extent, file=file) for extent in self._extents)

    def discard(self) -> None:
        """Remove the segment, unless it is finished."""
        self._file.close()
        if not isinstance(self._directory, StoredPath):
            (self._directory / self._temporary).unlink(missing_ok=True)


def _begun(temporary: JobPath) -> BinaryIO:
    """Open the file of a segment, for writing and reading."""
    if isinstance(temporary, StoredPath):
        return cast("BinaryIO", tempfile.TemporaryFile())
    return cast("BinaryIO", open(temporary, "w+b", opener=_private))


def _private(name: str, flags: int) -> int:
    return os.open(name, flags, PRIVATE_FILE)
