"""One file of pickled values per task: what the writers of spools and of caches have in common."""

from __future__ import annotations

import contextlib
import pickle
import uuid
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from penstock.connectors.os_errors import sink_errors
from penstock.errors import SinkError
from penstock.graph.endpoints import SinkContext, SinkWriter
from penstock.user_failure import raise_interrupt, words_of


class PickledFileWriter(SinkWriter):
    """Pickles lists of values into one file, made on the first list."""

    doing: ClassVar[str]
    """What fails if the file cannot be written, for messages; so are the following."""

    file_kind: ClassVar[str]
    refusal: ClassVar[str]

    def __init__(self, directory: Path, context: SinkContext) -> None:
        """Write into `directory`, in the task of `context`."""
        self._context = context
        self._path = directory / uuid.uuid4().hex
        self._file: BinaryIO | None = None
        self._record_count = 0

    def abort(self) -> None:
        """Remove the file.

        Raises:
            SinkError: The file system refused.
        """
        if self._file is None:
            return
        with self._os_errors(f"remove a {self.file_kind} file"):
            self._path.unlink(missing_ok=True)
        # Closing flushes, which fails if the disk is full; the bytes are deleted anyway.
        with contextlib.suppress(OSError):
            self._file.close()

    def _append(self, values: list[Any]) -> int:
        """Write a list of values; return where it begins."""
        data = self._pickled(values)
        with self._os_errors(self.doing):
            if self._file is None:
                self._file = self._path.open("xb")
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
            self._file.close()
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
