"""A new object that is written as a file, and read as one."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.object_store import ObjectStore, UploadPart
from penstock.filesystem.upload_file import PART_BYTES, UploadFile

READ_BYTES = 1 << 20
"""Size of what a reader asks for at once."""


class ObjectFile(io.RawIOBase):
    """Writes an object of a name that nobody else uses. It is there, whole, after `finish`.

    A small one is put, a large one is an upload; at most one part of it is in memory.
    """

    def __init__(self, store: ObjectStore, path: ObjectPath) -> None:
        super().__init__()
        self._store = store
        self._path = path
        self._buffer = bytearray()
        self._upload: UploadFile | None = None
        self._is_over = False

    def writable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the number of bytes that were written."""
        return len(self._buffer) if self._upload is None else self._upload.tell()

    def write(self, data: Any) -> int:
        """Append bytes.

        Raises:
            OSError: A part could not be sent.
        """
        if self._upload is not None:
            return self._upload.write(data)
        before = len(self._buffer)
        self._buffer += data
        written = len(self._buffer) - before
        if len(self._buffer) >= PART_BYTES:
            self._upload = UploadFile(self._store, self._store.begin_upload(self._path))
            self._upload.write(self._buffer)
            self._buffer.clear()
        return written

    def finish(self) -> None:
        """Make the object.

        Raises:
            OSError: The store refused, or cannot be reached.
        """
        self._is_over = True
        if self._upload is None:
            self._store.write(self._path, bytes(self._buffer))
            return
        parts = self._upload.finish()
        self._complete(self._upload, parts)

    def abort(self) -> None:
        """Drop what was written.

        Raises:
            OSError: The store did not.
        """
        if not self._is_over and self._upload is not None:
            self._upload.abort()
        self._is_over = True

    def _complete(self, sent: UploadFile, parts: Sequence[UploadPart]) -> None:
        try:
            self._store.complete_upload(sent.upload, parts)
        except FileNotFoundError:
            # The answer to the first attempt to complete it was lost, or somebody has dropped the upload.
            if self._store.size_of(self._path) != sent.tell():
                raise


class ObjectReader(io.RawIOBase):
    """Reads an object in ranges; wrapped in a buffer by `open_object`."""

    def __init__(self, store: ObjectStore, path: ObjectPath, size: int) -> None:
        super().__init__()
        self._store = store
        self._path = path
        self._size = size
        self._at = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position."""
        begin = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(begin + offset, 0)
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer; return the number of bytes."""
        size = min(len(buffer), self._size - self._at)
        if size <= 0:
            return 0
        data = self._store.read_range(self._path, self._at, size)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


def open_object(store: ObjectStore, path: ObjectPath) -> io.BufferedReader:
    """Return a reader of an object, which may seek.

    Raises:
        FileNotFoundError: There is none.
    """
    size = store.size_of(path)
    if size is None:
        raise FileNotFoundError(2, "there is no such object", str(path))
    return io.BufferedReader(ObjectReader(store, path, size), READ_BYTES)
