"""Objects of a store as paths and as files: written as a file or by an upload, read as a file.

A `StoredPath` has the methods of `pathlib.Path` that mean the same for objects: names, reading, removing. Operations with
another meaning, above all writing, are functions that take either (`penstock.wire.atomic_file`, `job_files`). A
directory is there while it has objects, so making one has no effect.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, TypeAlias

from penstock.filesystem.azure_store import AzureStore
from penstock.filesystem.google_store import GoogleStore
from penstock.filesystem.object_path import AZURE, GOOGLE, S3, ObjectPath
from penstock.filesystem.object_store import ObjectStore, Upload, UploadPart
from penstock.filesystem.s3_store import S3Store
from penstock.filesystem.store_settings import StoreSettings


@dataclass(frozen=True, slots=True)
class StoredPath:
    """A name in a store; picklable if the store is.

    Attributes:
        address: The name of an object, or a prefix of names of objects.
    """

    store: ObjectStore
    address: ObjectPath

    def __truediv__(self, name: str) -> StoredPath:
        """Return the path of a name below this one."""
        return StoredPath(self.store, self.address / name)

    def __str__(self) -> str:
        return str(self.address)

    def __lt__(self, other: StoredPath) -> bool:
        return str(self) < str(other)

    @property
    def name(self) -> str:
        """The part behind the last slash."""
        return self.address.name

    @property
    def stem(self) -> str:
        """The name without what is behind its last dot."""
        return self.name.rpartition(".")[0] or self.name

    @property
    def parent(self) -> StoredPath:
        """The path without its last name."""
        return StoredPath(self.store, self.address.parent)

    def absolute(self) -> StoredPath:
        """Return the path: it is absolute."""
        return self

    def exists(self) -> bool:
        """Return whether there is such an object, or one below it."""
        return self.is_file() or self.is_dir()

    def is_file(self) -> bool:
        """Return whether there is such an object."""
        return self.store.size_of(self.address) is not None

    def is_dir(self) -> bool:
        """Return whether an object is below it."""
        return any(True for _ in self.store.names_in(self.address))

    def iterdir(self) -> Iterator[StoredPath]:
        """Yield what is directly below it, sorted; nothing if there is nothing."""
        return (self / name for name in self.store.names_in(self.address))

    def glob(self, pattern: str) -> Iterator[StoredPath]:
        """Yield what is directly below it and matches a pattern, sorted."""
        if "/" in pattern:
            raise NotImplementedError(f"{pattern} is a pattern with a slash")
        return (path for path in self.iterdir() if fnmatchcase(path.name, pattern))

    def read_bytes(self) -> bytes:
        """Return the object."""
        return self.store.read(self.address)

    def open(self, mode: Literal["rb"] = "rb") -> io.BufferedReader:
        """Open the object for reading."""
        del mode
        return open_object(self.store, self.address)

    def unlink(self, missing_ok: bool = False) -> None:  # noqa: FBT001, FBT002 - as of `Path`
        """Delete the object; a missing one is no error, because a store does not report it."""
        del missing_ok
        self.store.delete([self.address])

    def mkdir(self, mode: int = 0, parents: bool = False, exist_ok: bool = False) -> None:  # noqa: FBT001, FBT002
        """Do nothing: there are no directories."""

    def rmdir(self) -> None:
        """Do nothing: there are no directories."""


JobPath: TypeAlias = Path | StoredPath
"""A path below the directory of a job: on a mounted file system, or in a store."""


def mounted(path: JobPath) -> Path:
    """Return a path that is on a mounted file system, because what uses it is refused for jobs in a store."""
    assert isinstance(path, Path), f"{path} is in a store"
    return path


PART_BYTES = 8 << 20
"""Size of a part; parts of large objects are larger, since an object has at most 10,000 of them."""

_PARTS_OF_ONE_SIZE = 1_000


class UploadFile(io.RawIOBase):
    """Sends what is written to it. At most one part is in memory.

    Attributes:
        parts: The parts that the store has.
    """

    def __init__(self, store: ObjectStore, upload: Upload) -> None:
        super().__init__()
        self.upload = upload
        self.parts: list[UploadPart] = []
        self._store = store
        self._buffer = bytearray()
        self._sent = 0

    def writable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the number of bytes that were written."""
        return self._sent + len(self._buffer)

    def write(self, data: Any) -> int:
        """Append bytes."""
        before = len(self._buffer)
        self._buffer += data
        written = len(self._buffer) - before
        size = max(PART_BYTES, self._sent // _PARTS_OF_ONE_SIZE)
        if len(self._buffer) >= size:
            self._send()
        return written

    def finish(self) -> tuple[UploadPart, ...]:
        """Send the last part, and return all."""
        if self._buffer or not self.parts:
            self._send()
        return tuple(self.parts)

    def abort(self) -> None:
        """Drop the upload."""
        self._buffer.clear()
        self._store.abort_upload(self.upload)

    def _send(self) -> None:
        data = bytes(self._buffer)
        self.parts.append(self._store.upload_part(self.upload, len(self.parts) + 1, data))
        self._sent += len(data)
        self._buffer.clear()


READ_BYTES = 1 << 20
"""Size of one read request."""


class ObjectFile(io.RawIOBase):
    """Writes an object of a name of its own. It is there, whole, after `finish`.

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
        """Append bytes."""
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
        """Make the object."""
        self._is_over = True
        if self._upload is None:
            self._store.write(self._path, bytes(self._buffer))
            return
        parts = self._upload.finish()
        self._complete(self._upload, parts)

    def abort(self) -> None:
        """Drop what was written."""
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
        self._position = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position."""
        begin = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(begin + offset, 0)
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer; return the number of bytes."""
        size = min(len(buffer), self._size - self._position)
        if size <= 0:
            return 0
        data = self._store.read_range(self._path, self._position, size)
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)


def open_object(store: ObjectStore, path: ObjectPath) -> io.BufferedReader:
    """Return a reader of an object, which may seek."""
    size = store.size_of(path)
    if size is None:
        raise FileNotFoundError(2, "there is no such object", str(path))
    return io.BufferedReader(ObjectReader(store, path, size), READ_BYTES)


_STORES: dict[str, Callable[[StoreSettings], ObjectStore]] = {
    S3: lambda settings: S3Store(settings.s3),
    GOOGLE: lambda settings: GoogleStore(settings.google),
    AZURE: lambda settings: AzureStore(settings.azure),
}


def store_of(path: ObjectPath, settings: StoreSettings | None = None) -> ObjectStore:
    """Return the store that has a path."""
    return _STORES[path.scheme](settings or StoreSettings())
