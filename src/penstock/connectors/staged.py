"""Staged data of a task for its epoch: the bytes, and their handles.

A few bytes stay with the handle, more are a file of the job. Handles are in the record of the epoch. So what stays with one is
as durable as the record, and neither makes nor syncs a file. A file is synced before its handle is given: an epoch that is
recorded is not computed again, not even after a loss of power.
"""

from __future__ import annotations

import pickle
import struct
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from io import SEEK_END, BytesIO
from typing import Any, BinaryIO, ClassVar

from penstock.connectors.local_path import sink_errors
from penstock.errors import CallSite, PenstockError, SinkError
from penstock.filesystem.stored_path import JobPath
from penstock.graph.endpoints import SinkContext, SinkWriter
from penstock.types.record_form import RecordForm
from penstock.user_failure import raise_interrupt, words_of
from penstock.wire.atomic_file import (
    create_directory,
    sync_directory,
)
from penstock.wire.job_files import NewFile, new_file

_LENGTH = struct.Struct("<Q")
_MOST_KEPT_BYTES = 16 << 10
"""A batch run may have ten thousand tasks, whose handles are in the driver's memory at once."""


@dataclass(frozen=True, slots=True)
class KeptBytes:
    """Handle of bytes that it has itself.

    Attributes:
        subtask: Index of the task that staged them.
    """

    subtask: int
    content: bytes


@dataclass(frozen=True, slots=True)
class BytesInFile:
    """Handle of bytes that are a file.

    Attributes:
        name: Name in the directory of staged files.
        subtask: Index of the task that wrote it.
    """

    name: str
    subtask: int
    size_bytes: int


Staged = KeptBytes | BytesInFile


class StagedBytesWriter(SinkWriter):
    """Stages bytes of one task."""

    doing: ClassVar[str]
    """Action that fails if the file cannot be written, for messages; so is the following."""

    file_kind: ClassVar[str]

    most_kept_bytes: ClassVar[int] = _MOST_KEPT_BYTES
    """Up to so many bytes there is no file."""

    is_durable: ClassVar[bool] = True
    """True if a file must survive a loss of power."""

    def __init__(self, directory: JobPath, context: SinkContext) -> None:
        """Write into `directory`, in the task of `context`."""
        self._context = context
        self._path = directory / uuid.uuid4().hex
        self._file: NewFile | None = None
        self._kept = bytearray()

    @property
    def _size_bytes(self) -> int:
        return len(self._kept) if self._file is None else self._file.tell()

    def abort(self) -> None:
        """Remove the file, if there is one."""
        if self._file is None:
            return
        with self._os_errors(f"remove a {self.file_kind} file"):
            self._file.discard()

    def _append(self, *parts: bytes) -> int:
        """Stage bytes; return where they begin."""
        begin = self._size_bytes
        if self._file is None:
            if begin + sum(map(len, parts)) <= self.most_kept_bytes:
                for part in parts:
                    self._kept += part
                return begin
            with self._os_errors(self.doing):
                self._file = new_file(self._path)
                self._file.write(bytes(self._kept))
        with self._os_errors(self.doing):
            for part in parts:
                self._file.write(part)
        return begin

    def prepare_commit(self) -> list[Any]:
        """Return the handle of what was staged; none if that is nothing."""
        if self._file is None:
            return [KeptBytes(self._context.subtask, bytes(self._kept))] if self._kept else []
        with self._os_errors(self.doing):
            self._file.finish(is_durable=self.is_durable)
            if self.is_durable:
                sync_directory(self._path.parent)
        return [self._handle()]

    def _handle(self) -> Any:
        """Return the handle of the file, which is complete."""
        return BytesInFile(self._path.name, self._context.subtask, self._size_bytes)

    def _os_errors(self, doing: str) -> AbstractContextManager[None]:
        return sink_errors(self._path.parent, doing, self._context.origin)


class PickledFileWriter(StagedBytesWriter):
    """Pickles lists of values, one after the other."""

    refusal: ClassVar[str]
    """The refused thing, with the name of the sink."""

    _record_count = 0
    _form: RecordForm | None = None
    """The form of the values; None pickles them as they are."""

    def _append_values(self, values: list[Any]) -> int:
        """Stage a list of values; return where it begins."""
        data = self._pickled(values)
        begin = self._append(self._head_of(data), data)
        self._record_count += len(values)
        return begin

    def _head_of(self, data: bytes) -> bytes:
        """Return the bytes before a pickle."""
        return b""

    def _pickled(self, values: list[Any]) -> bytes:
        try:
            return pickle.dumps(self._form.pack(values) if self._form else values, 5)
        except BaseException as cause:  # whatever a user's __reduce__ raises
            raise_interrupt(cause)
            if isinstance(cause, PenstockError):  # a serializer of the program
                raise
            raise SinkError(
                f"{self.refusal.format(self._context.name)}: {words_of(cause)}",
                hint="Map them to values that can be pickled first.",
                origin=self._context.origin,
            ) from cause


class ChunkWriter(PickledFileWriter):
    """Writes chunks, which `StagingDirectory.chunks` reads: an 8-byte little-endian length and a pickle (protocol 5) of a list of values."""

    def _head_of(self, data: bytes) -> bytes:
        return _LENGTH.pack(len(data))


SHARED = "Keep the {} on a file system that the driver and all workers share."


def wrong_size(
    path: JobPath, size: int, wrote: int, hint: str, origin: CallSite | None
) -> SinkError:
    """Return the error of a staged file that is not as its task has left it."""
    problem = f"staged file {path} has {size} bytes; its task wrote {wrote}"
    return SinkError(problem, hint=hint, origin=origin)


def make_empty(directory: JobPath) -> None:
    """Make a staging directory, and remove what an earlier driver left in it."""
    create_directory(directory)
    paths: list[JobPath] = list(directory.iterdir())
    for left_over in paths:
        left_over.unlink()


def remove_files(directory: JobPath, handles: Iterable[Any]) -> None:
    """Remove the files of handles, as far as they are there."""
    for handle in handles:
        (directory / handle.name).unlink(missing_ok=True)


class StagingDirectory:
    """The directory in which the tasks of a sink stage, as its committer uses it."""

    def __init__(self, path: JobPath, content: str, context: SinkContext) -> None:
        """Name a directory, and what is staged there for messages."""
        self.path = path
        self._content = content
        self._context = context

    def prepare(self) -> None:
        """Make the directory, and drop what an earlier driver left in it."""
        with self._errors(f"prepare for staging {self._content}"):
            make_empty(self.path)

    def contents(self, staged: Sequence[Staged]) -> Iterator[bytes]:
        """Yield the staged data, by subtask."""
        with self._errors(f"read staged {self._content}"):
            for handle in _by_subtask(staged):
                with self._open(handle) as file:
                    yield file.read()

    def chunks(self, staged: Sequence[Staged]) -> Iterator[list[Any]]:
        """Yield the chunks that were staged, by subtask and then in order of writing."""
        with self._errors(f"read staged {self._content}"):
            for handle in _by_subtask(staged):
                with self._open(handle) as file:
                    while head := file.read(_LENGTH.size):
                        yield pickle.loads(file.read(_LENGTH.unpack(head)[0]))

    def remove(self, staged: Sequence[Staged]) -> None:
        """Remove the files of handles, as far as they are there."""
        with self._errors(f"remove staged {self._content}"):
            remove_files(
                self.path, [handle for handle in staged if isinstance(handle, BytesInFile)]
            )

    def _open(self, staged: Staged) -> BinaryIO:
        if isinstance(staged, KeptBytes):
            return BytesIO(staged.content)
        file = (self.path / staged.name).open("rb")
        size_bytes = file.seek(0, SEEK_END)
        if size_bytes == staged.size_bytes:
            file.seek(0)
            return file
        file.close()
        path, origin = self.path / staged.name, self._context.origin
        raise wrong_size(
            path, size_bytes, staged.size_bytes, SHARED.format("checkpoint directory"), origin
        )

    def _errors(self, doing: str) -> AbstractContextManager[None]:
        return sink_errors(self.path, doing, self._context.origin)


def _by_subtask(staged: Sequence[Staged]) -> list[Staged]:
    return sorted(staged, key=lambda handle: handle.subtask)
