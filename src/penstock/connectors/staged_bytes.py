"""Staged data of a task for its epoch, as bytes: a little stays with the handle, more is a file of the job.

Handles are in the record of the epoch. So what stays with one is as durable as the record, and neither makes nor syncs a file. A
file is synced before its handle is given: an epoch that is recorded is not computed again, not even after a loss of power.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from io import SEEK_END, BytesIO
from typing import Any, BinaryIO, ClassVar, Protocol

from penstock.connectors.os_errors import sink_errors
from penstock.errors import SinkError
from penstock.filesystem.stored_path import JobPath
from penstock.graph.endpoints import SinkContext, SinkWriter
from penstock.wire.atomic_file import sync_directory
from penstock.wire.job_files import NewFile, new_file

_MOST_KEPT_BYTES = 16 << 10
"""A batch run may have ten thousand tasks, whose handles are in the driver's memory at once."""


@dataclass(frozen=True, slots=True)
class KeptBytes:
    """Handle of bytes that it has itself.

    Attributes:
        subtask: Index of the task that staged them.
        content: The bytes.
    """

    subtask: int
    content: bytes


class BytesInFile(Protocol):
    """Handle of bytes that are a file."""

    @property
    def name(self) -> str:
        """Name in the directory of staged files."""

    @property
    def subtask(self) -> int:
        """Index of the task that wrote it."""

    @property
    def size_bytes(self) -> int | None:
        """Its size; None if its content says whether it is whole."""


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
        """Remove the file, if there is one.

        Raises:
            SinkError: The file system refused.
        """
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

    def _handles(self, handle: Callable[[], Any]) -> list[Any]:
        """Return the handle of what was staged; none if that is nothing.

        Args:
            handle: Makes the handle of a file that is complete.

        Raises:
            SinkError: The file system refused.
        """
        if self._file is None:
            return [KeptBytes(self._context.subtask, bytes(self._kept))] if self._kept else []
        with self._os_errors(self.doing):
            self._file.finish(is_durable=self.is_durable)
            if self.is_durable:
                sync_directory(self._path.parent)
        return [handle()]

    def _os_errors(self, doing: str) -> AbstractContextManager[None]:
        return sink_errors(self._path.parent, doing, self._context.origin)


def open_staged(directory: JobPath, staged: Staged, context: SinkContext) -> BinaryIO:
    """Return what was staged, to be read and closed.

    Args:
        directory: Directory of staged files.
        staged: The handle.
        context: Of the committer.

    Raises:
        OSError: The file cannot be opened.
        SinkError: It has another size.
    """
    if isinstance(staged, KeptBytes):
        return BytesIO(staged.content)
    path, wrote = directory / staged.name, staged.size_bytes
    file = path.open("rb")
    if wrote is None or (found := file.seek(0, SEEK_END)) == wrote:
        file.seek(0)
        return file
    file.close()
    raise SinkError(
        f"staged file {path} has {found} bytes; its task wrote {wrote}",
        hint="Keep the checkpoint directory on a file system that the driver and all workers share.",
        origin=context.origin,
    )


def remove_staged(directory: JobPath, staged: list[Staged]) -> None:
    """Remove the files of handles, as far as they are there.

    Raises:
        OSError: One cannot be removed.
    """
    for each in staged:
        if not isinstance(each, KeptBytes):
            (directory / each.name).unlink(missing_ok=True)
