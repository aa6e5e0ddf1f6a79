"""One file of pickled values per task: what the writers of spools and of caches have in common."""

from __future__ import annotations

import pickle
import uuid
from contextlib import AbstractContextManager
from typing import Any, ClassVar

from penstock.connectors.os_errors import sink_errors
from penstock.errors import SinkError
from penstock.filesystem.stored_path import JobPath
from penstock.graph.endpoints import SinkContext, SinkWriter
from penstock.user_failure import raise_interrupt, words_of
from penstock.wire.job_files import NewFile, new_file


class PickledFileWriter(SinkWriter):
    """Pickles lists of values into one file, made on the first list."""

    doing: ClassVar[str]
    """What fails if the file cannot be written, for messages; so are the following."""

    file_kind: ClassVar[str]
    refusal: ClassVar[str]

    def __init__(self, directory: JobPath, context: SinkContext) -> None:
        """Write into `directory`, in the task of `context`."""
        self._context = context
        self._path = directory / uuid.uuid4().hex
        self._file: NewFile | None = None
        self._record_count = 0
        self._byte_count = 0

    def abort(self) -> None:
        """Remove the file.

        Raises:
            SinkError: The file system refused.
        """
        if self._file is None:
            return
        with self._os_errors(f"remove a {self.file_kind} file"):
            self._file.discard()

    def _append(self, values: list[Any]) -> int:
        """Write a list of values; return where it begins."""
        data = self._pickled(values)
        with self._os_errors(self.doing):
            if self._file is None:
                self._file = new_file(self._path)
            begin = self._file.tell()
            self._file.write(self._head_of(data))
            self._file.write(data)
        self._record_count += len(values)
        return begin

    def _head_of(self, data: bytes) -> bytes:
        """Return what is written before a pickle."""
        return b""

    def _close(self) -> bool:
        """Close the file; return whether there is one.

        It is not synced to disk: after a loss of power the epoch is computed again anyway.
        """
        if self._file is None:
            return False
        with self._os_errors(self.doing):
            self._file.finish(is_durable=False)
        self._byte_count = self._file.tell()
        return True

    def _pickled(self, values: list[Any]) -> bytes:
        try:
            return pickle.dumps(values, 5)
        except BaseException as cause:  # whatever a user's __reduce__ raises
            raise_interrupt(cause)
            raise SinkError(
                f"{self.refusal.format(self._context.name)}: {words_of(cause)}",
                hint="Map them to values that can be pickled first.",
                origin=self._context.origin,
            ) from cause

    def _os_errors(self, doing: str) -> AbstractContextManager[None]:
        return sink_errors(self._path.parent, doing, self._context.origin)
