"""Files of frames that a task of a batch run spills when memory is short.

    offset  size  field
    0       4     length n of the frame, big-endian
    4       4     crc32 of the frame
    8       n     the frame
    …             the next one

Only the process that wrote a file reads it. It knows the number of frames, so the file does not
contain it, and a truncated file is an error. Files have mode 0600. They are never synced, because
they are useless after a crash.
"""

from __future__ import annotations

import errno
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from penstock.errors import SpillError
from penstock.failpoint import failpoint

_PREFIX = struct.Struct(">II")
_BUFFER_BYTES = 1 << 16

_FULL = (
    "Free space there, or point Spark's local directories (spark.local.dir) to a larger disk; "
    "raising execution.sorted-inputs.memory makes spilling rarer."
)
_HINTS: dict[int | None, str] = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,
    errno.EACCES: "Give the user that runs the workers write permission there.",
    errno.EROFS: "Point Spark's local directories (spark.local.dir) to a disk that is writable.",
    errno.EMFILE: "Raise the limit of open files (ulimit -n) of the workers.",
    errno.ENOENT: "Keep Spark's local directories in place while a job runs.",
}
_OTHER_HINT = "Check the disk, then start the job again."


class FrameFile:
    """A file of frames in the order of adding. It can be read several times.

    Attributes:
        path: The file; it exists from the first frame on.
        frames: Number of frames.
        size_bytes: Their size on disk.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.frames = 0
        self.size_bytes = 0
        self._file: BinaryIO | None = None

    def add(self, frame: bytes) -> None:
        """Append a frame.

        Raises:
            SpillError: The file cannot be written.
        """
        try:
            if self._file is None:
                self._file = self._open_to_write()
            failpoint("spill.write")
            self._file.write(_PREFIX.pack(len(frame), zlib.crc32(frame)))
            self._file.write(frame)
        except OSError as cause:
            self._drop()
            raise self._failed("written", cause) from cause
        self.frames += 1
        self.size_bytes += _PREFIX.size + len(frame)

    def finish(self) -> None:
        """Flush and close the file; `add` opens it again.

        Raises:
            SpillError: The file cannot be written.
        """
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
            except OSError as cause:
                raise self._failed("written", cause) from cause

    def __iter__(self) -> Iterator[bytes]:
        """Read all current frames.

        Raises:
            SpillError: The file cannot be read or is damaged; the error names it.
        """
        if self._file is not None:
            self.finish()
        wanted = self.frames
        if not wanted:
            return
        try:
            with self.path.open("rb", _BUFFER_BYTES) as file:
                for number in range(wanted):
                    yield self._read(file, number)
        except OSError as cause:
            raise self._failed("read", cause) from cause

    def remove(self) -> None:
        """Delete the file. It never raises."""
        self._drop()
        self.frames = self.size_bytes = 0
        with suppress(OSError):  # it is deleted with its directory
            self.path.unlink(missing_ok=True)

    def _drop(self) -> None:
        """Close the file; buffered frames may be lost."""
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):  # the disk is full, and the file is useless now
                file.close()

    def _open_to_write(self) -> BinaryIO:
        flags = os.O_WRONLY | os.O_APPEND | (0 if self.frames else os.O_CREAT | os.O_EXCL)
        return os.fdopen(os.open(self.path, flags, 0o600), "ab", _BUFFER_BYTES)

    def _read(self, file: BinaryIO, number: int) -> bytes:
        prefix = file.read(_PREFIX.size)
        if len(prefix) < _PREFIX.size:
            raise self._damaged(f"it ends before frame {number + 1} of {self.frames}")
        length, checksum = _PREFIX.unpack(prefix)
        frame = file.read(length)
        if len(frame) < length:
            raise self._damaged(f"it ends within frame {number + 1} of {self.frames}")
        if zlib.crc32(frame) != checksum:
            raise self._damaged(f"the checksum of frame {number + 1} of {self.frames} differs")
        return frame

    def _damaged(self, what: str) -> SpillError:
        return SpillError(
            f"the spill file {self.path} is damaged: {what}",
            hint="Start the job again; if it happens again, check the disk of the worker, and that "
            "nobody cleans up Spark's local directories while jobs run.",
        )

    def _failed(self, what: str, cause: OSError) -> SpillError:
        return SpillError(
            f"the spill file {self.path} cannot be {what}: {cause.strerror or cause}",
            hint=_HINTS.get(cause.errno, _OTHER_HINT),
        )
