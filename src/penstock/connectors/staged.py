"""Staged data of a task for its epoch: the bytes, their handles, and the mark that makes their epoch visible once.

A few bytes stay with the handle, more are a file of the job. Handles are in the record of the epoch. So what stays with one is
as durable as the record, and neither makes nor syncs a file. A file is synced before its handle is given: an epoch that is
recorded is not computed again, not even after a loss of power.

Some systems keep one number with what they write. The driver writes the records of an epoch and its mark in one step, so
the system itself gives the visible epoch. `epoch.json` in the job's directory has the one that was decided last:

    the mark is that of the decided epoch      it is visible
    the mark is the number before              it was decided, and nothing of it is visible
    anything else                              the mark was lost, or is of somebody else

A mark has the checksum of the epoch's name in its lower 32 bits, so that the number of another epoch, which a
driver wrote that was replaced in the meantime, is not taken for this one.

A spool moves values from tasks to the driver. Delivery is exactly once while the driver runs. If a driver ends between
delivering an epoch and recording it, the resumed job delivers that epoch again.
"""

from __future__ import annotations

import pickle
import struct
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from enum import Enum
from io import SEEK_END, BytesIO
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from penstock.connectors.local_path import sink_errors
from penstock.errors import CallSite, DecodeError, PenstockError, SinkError
from penstock.failpoint import failpoint
from penstock.filesystem.stored_path import JobPath
from penstock.graph.endpoints import Committer, SinkContext, SinkWriter
from penstock.types.record_form import RecordForm, record_form
from penstock.user_failure import raise_interrupt, words_of
from penstock.wire.atomic_file import (
    create_directory,
    read_verified,
    sync_directory,
    write_verified,
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
        content: The bytes.
    """

    subtask: int
    content: bytes


@dataclass(frozen=True, slots=True)
class BytesInFile:
    """Handle of bytes that are a file.

    Attributes:
        name: Name in the directory of staged files.
        subtask: Index of the task that wrote it.
        size_bytes: Its size.
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

    def prepare_commit(self) -> list[Any]:
        """Return the handle of what was staged; none if that is nothing.

        Raises:
            SinkError: The file system refused.
        """
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
        """Return what is written before a pickle."""
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
    path: JobPath, found: int, wrote: int, hint: str, origin: CallSite | None
) -> SinkError:
    """Return the error of a staged file that is not as its task has left it."""
    problem = f"staged file {path} has {found} bytes; its task wrote {wrote}"
    return SinkError(problem, hint=hint, origin=origin)


@contextmanager
def damaged_record(
    record: str, unknown: str, origin: CallSite | None, kind: str = "file"
) -> Iterator[None]:
    """Turn a `DecodeError` in the block into the error of a record without which something is not known.

    Raises:
        SinkError: The block raised a `DecodeError`, which becomes the cause.
    """
    try:
        yield
    except DecodeError as cause:
        raise SinkError(
            f"the record of {record} cannot be read: {cause.problem}",
            hint=f"Restore the {kind} from a copy. Without it nobody knows {unknown}.",
            origin=origin,
        ) from cause


def own_directory(system: str, context: SinkContext) -> Path:
    """Return the directory of what a sink of a system keeps with the job."""
    return context.mounted_scratch / system / context.sink_id


def make_empty(directory: JobPath) -> None:
    """Make a staging directory, and remove what an earlier driver left in it."""
    create_directory(directory)
    found: list[JobPath] = list(directory.iterdir())
    for left_over in found:
        left_over.unlink()


def remove_files(directory: JobPath, handles: Iterable[Any]) -> None:
    """Remove the files of handles, as far as they are there."""
    for each in handles:
        (directory / each.name).unlink(missing_ok=True)


class StagingDirectory:
    """The directory in which the tasks of a sink stage, as its committer uses it."""

    def __init__(self, path: JobPath, content: str, context: SinkContext) -> None:
        """Name a directory, and what is staged there for messages."""
        self.path = path
        self._content = content
        self._context = context

    def prepare(self) -> None:
        """Make the directory, and drop what an earlier driver left in it.

        Raises:
            SinkError: The directory cannot be written.
        """
        with self._errors(f"prepare for staging {self._content}"):
            make_empty(self.path)

    def contents(self, staged: Sequence[Staged]) -> Iterator[bytes]:
        """Yield what was staged, by subtask.

        Raises:
            SinkError: A file is missing, or has another size.
        """
        with self._errors(f"read staged {self._content}"):
            for each in _by_subtask(staged):
                with self._open(each) as file:
                    yield file.read()

    def chunks(self, staged: Sequence[Staged]) -> Iterator[list[Any]]:
        """Yield the chunks that were staged, by subtask and then in order of writing.

        Raises:
            SinkError: A file is missing, or has another size.
        """
        with self._errors(f"read staged {self._content}"):
            for each in _by_subtask(staged):
                with self._open(each) as file:
                    while head := file.read(_LENGTH.size):
                        yield pickle.loads(file.read(_LENGTH.unpack(head)[0]))

    def remove(self, staged: Sequence[Staged]) -> None:
        """Remove the files of handles, as far as they are there.

        Raises:
            SinkError: One cannot be removed.
        """
        with self._errors(f"remove staged {self._content}"):
            remove_files(self.path, [each for each in staged if isinstance(each, BytesInFile)])

    def _open(self, staged: Staged) -> BinaryIO:
        if isinstance(staged, KeptBytes):
            return BytesIO(staged.content)
        file = (self.path / staged.name).open("rb")
        found = file.seek(0, SEEK_END)
        if found == staged.size_bytes:
            file.seek(0)
            return file
        file.close()
        path, origin = self.path / staged.name, self._context.origin
        raise wrong_size(
            path, found, staged.size_bytes, SHARED.format("checkpoint directory"), origin
        )

    def _errors(self, doing: str) -> AbstractContextManager[None]:
        return sink_errors(self.path, doing, self._context.origin)


def _by_subtask(staged: Sequence[Staged]) -> list[Staged]:
    return sorted(staged, key=lambda handle: handle.subtask)


class DeliveryGuarantee(Enum):
    """The guarantee of a sink whose tasks fail and are repeated."""

    EXACTLY_ONCE = "exactly-once"
    """Each record is visible once: a `Sink` with a committer, such as `FileSink`."""

    AT_LEAST_ONCE = "at-least-once"
    """Each record is written once or more: a function passed to `add_sink`."""

    NONE = "none"
    """No guarantee."""


class EpochFile:
    """`epoch.json` of one sink.

    Attributes:
        path: Where it is.
    """

    def __init__(
        self, directory: Path, context: SinkContext, unknown: str = "which epochs are visible"
    ) -> None:
        """Name the file, and what is not known without it."""
        self.path = directory / "epoch.json"
        self._unknown = unknown
        self._context = context

    def read(self) -> dict[str, Any] | None:
        """Return what was recorded last, None if nothing was.

        Raises:
            SinkError: The file is damaged, or cannot be read.
        """
        origin = self._context.origin
        with (
            sink_errors(self.path.parent, "read the last epoch", origin),
            damaged_record("the last epoch", self._unknown, origin),
        ):
            try:
                return read_verified(self.path)
            except FileNotFoundError:
                return None

    def record(self, *, number: int, epoch: str, **further: Any) -> None:
        """Record an epoch that is decided now.

        Raises:
            SinkError: The directory cannot be written.
            JobFencedError: Another driver has taken over.
        """
        payload = {"number": number, "epoch": epoch, **further}
        with sink_errors(self.path.parent, f"record epoch {epoch}", self._context.origin):
            write_verified(self.path, payload, may_replace=self._context.may_commit)


_NAME_BITS = 32


@dataclass(frozen=True, slots=True)
class EpochMark:
    """An epoch that had records.

    Attributes:
        number: Its number among those of the sink, from 1.
        epoch: Its name.
    """

    number: int
    epoch: str

    @property
    def value(self) -> int:
        """The value stored in the system: it rises with the number."""
        return self.number << _NAME_BITS | zlib.crc32(self.epoch.encode())


class EpochMarks:
    """The marks of one sink; failpoints, and the directory of the sink, begin with the name of its system."""

    def __init__(
        self,
        system: str,
        context: SinkContext,
        visible: Callable[[], int | None],
    ) -> None:
        self._system = system
        self._file = EpochFile(own_directory(system, context), context)
        self._context = context
        self._ask = visible

    def recover(self) -> None:
        """Check that the marks can be.

        Raises:
            SinkError: The mark is gone, or the directory cannot be written.
        """
        directory = self._file.path.parent
        with sink_errors(directory, "prepare for marks", self._context.origin):
            create_directory(directory)
        self._compared()

    def commit(self, epoch: str, write: Callable[[EpochMark], None] | None) -> None:
        """Write an epoch, unless it is visible.

        Raises:
            SinkError: The mark is gone, or the directory cannot be written.
        """
        decided, visible = self._compared()
        if decided is not None and decided.epoch == epoch and decided.value == visible:
            return
        if write is None:
            return
        number = (visible or 0) >> _NAME_BITS
        mark = EpochMark(number + 1, epoch)
        if mark != decided:
            self._file.record(number=mark.number, epoch=epoch)
        failpoint(f"{self._system}.decided")
        self._context.may_commit()
        write(mark)
        failpoint(f"{self._system}.committed")

    def _compared(self) -> tuple[EpochMark | None, int | None]:
        """Return what was decided last, and the mark.

        Raises:
            SinkError: They do not belong together.
        """
        decided, visible = self._decided(), self._ask()
        number = 0 if decided is None else decided.number
        is_last = visible == (None if decided is None else decided.value)
        is_before = number > 0 and (visible or 0) >> _NAME_BITS == number - 1
        if not is_last and not is_before:
            raise self._lost(number, visible)
        return decided, visible

    def _decided(self) -> EpochMark | None:
        recorded = self._file.read()
        return None if recorded is None else EpochMark(recorded["number"], recorded["epoch"])

    def _lost(self, number: int, visible: int | None) -> SinkError:
        found = "has none" if visible is None else f"says {visible >> _NAME_BITS}"
        return SinkError(
            f"{self._file.path} says that the sink {self._context.name!r} is at its epoch number {number}, and "
            f"{self._system} {found}, or has one of another driver",
            hint="What the sink writes to was replaced or restored, or the job's directory is an older copy. "
            "Find out which epochs are there, then start from a savepoint in a new checkpoint directory.",
            origin=self._context.origin,
        )


CHUNK_VALUES = 2048
"""Greatest number of values in a chunk."""


def spool_directory(context: SinkContext) -> JobPath:
    """Return the directory of the spool files of a sink."""
    return context.scratch / "spool" / context.sink_id


class SpoolWriter(ChunkWriter):
    """Pickles values into one spool file, made on the first value."""

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


class SpoolCommitter(Committer):
    """Delivers spooled values in the driver, by subtask and then in order of writing.

    An exception of what gets them fails the commit; the epoch then counts as delivered for this committer.
    """

    def __init__(self, context: SinkContext, deliver: Callable[[list[Any]], None]) -> None:
        self._staging = StagingDirectory(spool_directory(context), "values", context)
        self._deliver = deliver
        self._delivered_epoch: str | None = None

    def recover(self) -> None:
        """Delete spool files that were not delivered.

        Raises:
            SinkError: The scratch directory cannot be created or written.
        """
        self._staging.prepare()

    def commit(self, epoch: str, committables: Sequence[Any]) -> None:
        """Deliver the values of `epoch` unless this committer did before.

        Raises:
            SinkError: A spool file is missing or damaged.
        """
        repeated = epoch == self._delivered_epoch
        self._delivered_epoch = epoch
        try:
            if not repeated:
                for chunk in self._staging.chunks(committables):
                    self._deliver(chunk)
        finally:
            self._staging.remove(committables)
