"""Spools move values from tasks to the driver, one per task and epoch; a small one needs no file (`staged_bytes`).

A spool is a sequence of chunks, each an 8-byte little-endian length and a pickle
(protocol 5) of a list of values. Writer and reader have at most `CHUNK_VALUES` values in memory.
Files are below `<scratch>/spool/<sink_id>`. When the job starts again, it deletes the files that
were not delivered.

Delivery is exactly once while the driver runs. If a driver ends between delivering an epoch and
recording it, the resumed job delivers that epoch again.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from penstock.connectors.os_errors import sink_errors
from penstock.connectors.pickled_file import PickledFileWriter
from penstock.connectors.staged_bytes import KeptBytes, Staged, open_staged, remove_staged
from penstock.errors import SinkError
from penstock.filesystem.stored_path import JobPath
from penstock.graph.endpoints import Committer, SinkContext
from penstock.types.record_form import record_form

CHUNK_VALUES = 2048
"""Greatest number of values in a chunk."""

_LENGTH = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class SpooledValues:
    """Handle of one spool file.

    Attributes:
        name: Name in the sink's spool directory.
        subtask: Index of the task that wrote it.
        record_count: Values in the file.
    """

    name: str
    subtask: int
    record_count: int

    @property
    def size_bytes(self) -> None:
        """No size, because every chunk shows that it is whole."""


def spool_directory(context: SinkContext) -> JobPath:
    """Return the directory of the spool files of a sink."""
    return context.scratch / "spool" / context.sink_id


class SpoolWriter(PickledFileWriter):
    """Pickles values into one spool file, made on the first value.

    Args:
        context: Context of the writer.
        convert: Converts each list of values before it is pickled; None does not convert.
    """

    doing = "spool values"
    file_kind = "spool"
    refusal = "values of sink {} cannot be brought to the driver"

    def __init__(
        self, context: SinkContext, convert: Callable[[list[Any]], list[Any]] | None = None
    ) -> None:
        super().__init__(spool_directory(context), context)
        self._convert = convert
        self._form = record_form(context.type_info) if convert is None else None

    def write(self, values: list[Any]) -> None:
        """Append `values`; they may be changed afterwards.

        Raises:
            SinkError: A value cannot be pickled, or the file system refused.
        """
        for start in range(0, len(values), CHUNK_VALUES):
            chunk = values[start : start + CHUNK_VALUES]
            self._append_values(self._convert(chunk) if self._convert else chunk)

    def prepare_commit(self) -> list[Any]:
        """Return the handle of the values; none if there were no values.

        Raises:
            SinkError: The file system refused.
        """
        return self._handles(
            lambda: SpooledValues(self._path.name, self._context.subtask, self._record_count)
        )

    def _head_of(self, data: bytes) -> bytes:
        return _LENGTH.pack(len(data))


class SpoolCommitter(Committer):
    """Delivers spooled values in the driver, by subtask and then in order of writing.

    Args:
        context: Where the committer runs.
        deliver: Called with one chunk after the other. Its exceptions fail the commit; the
            epoch then counts as delivered for this committer.
    """

    def __init__(self, context: SinkContext, deliver: Callable[[list[Any]], None]) -> None:
        self._context = context
        self._directory = spool_directory(context)
        self._deliver = deliver
        self._delivered_epoch: str | None = None

    def recover(self) -> None:
        """Delete spool files that were not delivered.

        Raises:
            SinkError: The scratch directory cannot be created or written.
        """
        with sink_errors(self._directory, "prepare for spooling", self._context.origin):
            self._directory.mkdir(parents=True, exist_ok=True)
            for left_over in self._directory.iterdir():
                left_over.unlink()

    def commit(self, epoch: str, committables: Sequence[Any]) -> None:
        """Deliver the values of `epoch` unless this committer did before.

        Raises:
            SinkError: A spool file is missing or damaged.
        """
        repeated = epoch == self._delivered_epoch
        self._delivered_epoch = epoch
        spooled: list[Staged] = sorted(committables, key=lambda handle: handle.subtask)
        try:
            if not repeated:
                for handle in spooled:
                    for chunk in self._chunks(handle):
                        self._deliver(chunk)
        finally:
            with sink_errors(self._directory, "remove spool files", self._context.origin):
                remove_staged(self._directory, spooled)

    def _chunks(self, handle: Staged) -> Iterator[list[Any]]:
        with (
            sink_errors(self._directory, "read spooled values", self._context.origin),
            open_staged(self._directory, handle, self._context) as file,
        ):
            while head := file.read(_LENGTH.size):
                yield self._chunk(file, head, handle)

    def _chunk(self, file: BinaryIO, head: bytes, handle: Staged) -> list[Any]:
        length = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else None
        data = file.read(length) if length is not None else b""
        if length is None or len(data) != length:
            assert not isinstance(handle, KeptBytes), "a record of an epoch is whole"
            raise SinkError(
                f"spool file {self._directory / handle.name} ends within a chunk at byte {file.tell()}",
                hint="Check the file system the checkpoint directory is on.",
                origin=self._context.origin,
            )
        chunk: list[Any] = pickle.loads(data)
        return chunk
