"""Segment files: extents that are too large for an epoch record.

A segment has a temporary name, `segments/.<hex>.tmp`, until it is complete and durable. So whatever has
a final name is whole, and whoever opens the log may remove what has a temporary one. A segment that goes to a store is
in a temporary file of this machine until then.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from typing import BinaryIO, cast
from uuid import uuid4
from zlib import crc32

from penstock.failpoint import failpoint
from penstock.filesystem.stored_path import JobPath, StoredPath
from penstock.state.log.extent import Extent
from penstock.wire.atomic_file import PRIVATE_FILE, sync_directory
from penstock.wire.job_files import new_file

_COPY_BYTES = 1 << 20

SEGMENTS = "segments"
"""Directory of the segment files, below that of the epochs."""


class SegmentWriter:
    """Writes one segment file, extent after extent.

    Call `finish` or `discard` at the end. Not thread-safe.

    Attributes:
        size: Bytes so far.
    """

    def __init__(self, directory: JobPath) -> None:
        """Begin a segment.

        Raises:
            OSError: The file cannot be made.
        """
        self.size = 0
        self._directory = directory
        self._id = uuid4().hex
        self._temporary = f"{SEGMENTS}/.{self._id}.tmp"
        self._file: BinaryIO = _begun(directory / self._temporary)
        self._extents: list[Extent] = []

    def add(self, first: int, last: int, parts: Iterable[bytes]) -> Extent:
        """Append an extent and return it; until the segment is finished, `read` reads it.

        Raises:
            OSError: It cannot be written.
        """
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
        """Make the segment durable, under the name `<label>-<hex>`, and return its extents.

        Raises:
            OSError: It is not durable.
        """
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
