"""Segment files: extents that are too large for an epoch record.

A segment has a temporary name, `segments/.<hex>.tmp`, until it is complete and durable. So whatever has
a final name is whole, and whoever opens the log may remove what has a temporary one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from uuid import uuid4
from zlib import crc32

from penstock.failpoint import failpoint
from penstock.state.log.extent import Extent
from penstock.wire.atomic_file import open_private, sync_directory

SEGMENTS = "segments"
"""Directory of the segment files, below that of the epochs."""


class SegmentWriter:
    """Writes one segment file, extent after extent.

    Call `finish` or `discard` at the end. Not thread-safe.

    Attributes:
        size: Bytes so far.
    """

    def __init__(self, directory: Path) -> None:
        """Begin a segment.

        Args:
            directory: Of the epochs.

        Raises:
            OSError: The file cannot be made.
        """
        self.size = 0
        self._directory = directory
        self._id = uuid4().hex
        self._temporary = f"{SEGMENTS}/.{self._id}.tmp"
        self._file = open_private(directory / self._temporary)
        self._extents: list[Extent] = []

    def add(self, first: int, last: int, parts: Iterable[bytes]) -> Extent:
        """Append an extent and return it; it can be read until the segment is finished.

        Args:
            first: Number of the first entry.
            last: Number of the last entry.
            parts: The bytes of the extent, in parts.

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

    def finish(self, label: str) -> tuple[Extent, ...]:
        """Make the segment durable, under the name `<label>-<hex>`, and return its extents.

        Raises:
            OSError: It is not durable.
        """
        os.fdatasync(self._file.fileno())
        self._file.close()
        failpoint("epoch.segment-synced")
        file = f"{SEGMENTS}/{label}-{self._id}"
        (self._directory / self._temporary).rename(self._directory / file)
        sync_directory(self._directory / SEGMENTS)
        failpoint("epoch.segment-named")
        return tuple(replace(extent, file=file) for extent in self._extents)

    def discard(self) -> None:
        """Remove the segment, unless it is finished."""
        self._file.close()
        (self._directory / self._temporary).unlink(missing_ok=True)
