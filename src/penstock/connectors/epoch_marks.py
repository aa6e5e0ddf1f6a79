"""Marks of epochs: each makes its epoch visible once.

Some systems keep one number with the records they store. The driver writes the records of an epoch and its mark in one
step, so the system itself reports the visible epoch. `epoch.json` in the job's directory names the last decided epoch:

    the mark is that of the decided epoch      the epoch is visible
    the mark is the number before              the epoch was decided, and none of its records is visible
    anything else                              the mark was lost, or another writer wrote it

A mark has the checksum of the epoch's name in its lower 32 bits. So the mark of a driver that was replaced meanwhile,
which wrote another epoch with the same number, is different.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from penstock.connectors.local_path import sink_errors
from penstock.errors import CallSite, DecodeError, SinkError
from penstock.failpoint import failpoint
from penstock.graph.endpoints import SinkContext
from penstock.wire.atomic_file import create_directory, read_verified, write_verified


class DeliveryGuarantee(Enum):
    """The guarantee of a sink whose tasks fail and are repeated."""

    EXACTLY_ONCE = "exactly-once"
    """Each record is visible once: a `Sink` with a committer, such as `FileSink`."""

    AT_LEAST_ONCE = "at-least-once"
    """Each record is written once or more: a function passed to `add_sink`."""

    NONE = "none"
    """No guarantee."""


@contextmanager
def damaged_record(
    record: str, unknown: str, origin: CallSite | None, kind: str = "file"
) -> Iterator[None]:
    """Turn a `DecodeError` in the block into the error about a damaged record."""
    try:
        yield
    except DecodeError as cause:
        raise SinkError(
            f"the record of {record} cannot be read: {cause.problem}",
            hint=f"Restore the {kind} from a copy. Without it there is no record of {unknown}.",
            origin=origin,
        ) from cause


def own_directory(system: str, context: SinkContext) -> Path:
    """Return the directory of what a sink of a system keeps with the job."""
    return context.mounted_scratch / system / context.sink_id


class EpochFile:
    """`epoch.json` of one sink."""

    def __init__(
        self, directory: Path, context: SinkContext, unknown: str = "which epochs are visible"
    ) -> None:
        """Name the file, and what is not known without it."""
        self.path = directory / "epoch.json"
        self._unknown = unknown
        self._context = context

    def read(self) -> dict[str, Any] | None:
        """Return the last record, None without one."""
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
        """Record an epoch that is decided now."""
        payload = {"number": number, "epoch": epoch, **further}
        with sink_errors(self.path.parent, f"record epoch {epoch}", self._context.origin):
            write_verified(self.path, payload, may_replace=self._context.may_commit)


_NAME_BITS = 32


@dataclass(frozen=True, slots=True)
class EpochMark:
    """An epoch that had records.

    Attributes:
        number: Its number among those of the sink, from 1.
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
        self._visible = visible

    def recover(self) -> None:
        """Check that the marks can be."""
        directory = self._file.path.parent
        with sink_errors(directory, "prepare for marks", self._context.origin):
            create_directory(directory)
        self._compared()

    def commit(self, epoch: str, write: Callable[[EpochMark], None] | None) -> None:
        """Write an epoch, unless it is visible."""
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
        """Return the last decided epoch, and the mark."""
        decided, visible = self._decided(), self._visible()
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
        state = "has none" if visible is None else f"has {visible >> _NAME_BITS}"
        return SinkError(
            f"according to {self._file.path} the sink {self._context.name!r} is at its epoch number {number}, and "
            f"{self._system} {state}, or has one of another driver",
            hint="The target of the sink was replaced or restored, or the job's directory is an older copy. "
            "Find out which epochs are there, then start from a savepoint in a new checkpoint directory.",
            origin=self._context.origin,
        )
