"""Requirements on a store of objects to which jobs write, and the client library of each kind of store.

An object is whole or not there, and a reader sees it at once: `list_below`, `size_of` and `read` return the state at the
time of the call, or a later one. There is no rename. Two operations replace it:

    create          writes an object only if the name is free: one of several drivers succeeds
    uploads         a task sends the parts of an object, and the owner of the upload and its parts
                    completes it later: then, and not before, the object is there

An upload that was aborted can never be completed. All failures are `OSError`, as those of files.
"""

from __future__ import annotations

import base64
import errno
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from uuid import uuid4

from penstock.extras import EXTRAS
from penstock.filesystem.object_path import AZURE, GOOGLE, S3, ObjectPath


def check_installed(scheme: str, user: str) -> None:
    """Check that the library of a store can be imported, without importing it."""
    EXTRAS[_EXTRA_OF[scheme]].check_installed(user)


_EXTRA_OF = {S3: "s3", GOOGLE: "google", AZURE: "azure"}

WRITER = "penstock_writer"
"""In the metadata of an object: who created it."""

_UNCLEAR = frozenset({errno.EEXIST, errno.EIO})
"""Errors after which the object may be there, and be ours."""

AT_ONCE = 8
"""Requests at a time."""


def checksum(data: bytes) -> str:
    """Return the CRC32 of bytes as stores have it."""
    return base64.b64encode(zlib.crc32(data).to_bytes(4, "big")).decode()


def delete_each(paths: Iterable[ObjectPath], delete: Callable[[ObjectPath], None]) -> None:
    """Delete objects, several at a time, in no order."""
    every = list(paths)
    if len(every) == 1:
        delete(every[0])
    elif every:
        with ThreadPoolExecutor(min(len(every), AT_ONCE)) as threads:
            for done in [threads.submit(delete, path) for path in every]:
                done.result()


@dataclass(frozen=True, slots=True)
class Upload:
    """An object that is being sent; picklable, and not bound to a process.

    Attributes:
        upload_id: The store's name of the upload.
    """

    path: ObjectPath
    upload_id: str


@dataclass(frozen=True, slots=True)
class UploadPart:
    """A part that the store has.

    Attributes:
        etag: The store's tag of its bytes.
        crc32: Its checksum, as the store has it: big-endian, in base64.
    """

    number: int
    etag: str
    crc32: str


@dataclass(frozen=True, slots=True)
class ObjectFacts:
    """An object without its bytes.

    Attributes:
        size: Its bytes.
        age_seconds: Time since it was written; both times are the store's.
        writer: The writer in its metadata; None if there is none.
    """

    size: int
    age_seconds: float
    writer: str | None


class ObjectStore(ABC):
    """A store. Every operation may be repeated; calls come from several threads at once."""

    @abstractmethod
    def facts(self, path: ObjectPath) -> ObjectFacts | None:
        """Return the facts of an object, None if there is none."""

    def age_seconds(self, path: ObjectPath) -> float | None:
        """Return the time since an object was written by the clock of the store, None if there is none."""
        facts = self.facts(path)
        return None if facts is None else facts.age_seconds

    def size_of(self, path: ObjectPath) -> int | None:
        """Return the size of an object in bytes, None if there is none."""
        facts = self.facts(path)
        return None if facts is None else facts.size

    def create(self, path: ObjectPath, data: bytes) -> None:
        """Write an object unless there is one of that name.

        A request that is sent again, because its answer was lost, may meet its own object, whose metadata names its writer.
        `FileExistsError` if another call made such an object, which is unchanged.
        """
        writer = uuid4().hex
        try:
            self.create_by(writer, path, data)
        except OSError as error:
            if error.errno not in _UNCLEAR:
                raise
            facts = self.facts(path)
            if facts is None or facts.writer != writer:
                raise

    @abstractmethod
    def create_by(self, writer: str, path: ObjectPath, data: bytes) -> None:
        """Write an object with the name of its writer; `FileExistsError` if there is one of that name."""

    @abstractmethod
    def read(self, path: ObjectPath) -> bytes:
        """Return an object; raises FileNotFoundError if there is none."""

    @abstractmethod
    def chunks(self, path: ObjectPath) -> Iterator[bytes]:
        """Yield the bytes of a large object; raises FileNotFoundError if there is none."""

    @abstractmethod
    def read_range(self, path: ObjectPath, offset: int, size: int) -> bytes:
        """Return some bytes of an object, fewer at its end; raises FileNotFoundError if there is none."""

    @abstractmethod
    def list_below(self, directory: ObjectPath) -> list[ObjectPath]:
        """Return all objects below a path, in order of their keys."""

    @abstractmethod
    def names_in(self, directory: ObjectPath) -> Iterator[str]:
        """Yield the names directly below a path, of objects and of what other objects are below; sorted."""

    @abstractmethod
    def write(self, path: ObjectPath, data: bytes) -> None:
        """Write an object; one of that name is replaced."""

    @abstractmethod
    def delete(self, paths: Iterable[ObjectPath]) -> None:
        """Delete objects, in no order; those that are not there are fine."""

    @abstractmethod
    def begin_upload(self, path: ObjectPath) -> Upload:
        """Begin to send an object, which stays invisible."""

    @abstractmethod
    def upload_part(self, upload: Upload, number: int, data: bytes) -> UploadPart:
        """Send a part; it raises FileNotFoundError if the upload was aborted or completed."""

    @abstractmethod
    def complete_upload(self, upload: Upload, parts: Sequence[UploadPart]) -> None:
        """Make an object of its parts; `FileNotFoundError` if the upload was aborted or completed before."""

    @abstractmethod
    def abort_upload(self, upload: Upload) -> None:
        """Drop an upload; one that is not there is fine."""

    @abstractmethod
    def uploads(self, directory: ObjectPath) -> list[Upload]:
        """Return the uploads below a path that are neither completed nor aborted.

        Some stores that speak S3's protocol do not list them; what is left then takes room until a rule of
        the store removes it.
        """
