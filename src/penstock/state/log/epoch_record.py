r"""Epoch records: what one epoch of a live run changed, in one file. The record is the commit.

    offset   size  field
    0        6     magic "PSER1\n"
    6        4     version, little-endian, now 1
    10       4     CRC-32 of the header
    14       4     size of the header
    18       n     header, JSON
    18+n     m     outcome, opaque
    18+n+m   …     extents of the changed logs that are in no segment file

The header has epoch, positions, size and CRC-32 of the outcome, the size of the extents, and per changed log
level, subtask, head (base64) and its new extents; in a base it has all logs, with all their extents. The file
of an extent in the record itself is written as "", and its offset counts from the end of the header. The
extents have their CRC-32 as anywhere.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, TypeAlias
from zlib import crc32

from penstock.errors import StateError
from penstock.filesystem.stored_path import JobPath
from penstock.state.log.extent import Extent, damaged
from penstock.state.log.subtask_log import LogName

EPOCHS = "epochs"
"""Directory of the epochs, below that of the run."""

RECORDS = "records"
"""Directory of the records, below that of the epochs."""

HERE = ""
"""File of an extent that is within the record, while the record is encoded."""

LogState: TypeAlias = tuple[bytes, tuple[Extent, ...]]
"""Head and extents."""

_MAGIC = b"PSER1\n"
_VERSION = 1
_START = struct.Struct("<6sIII")


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """Changes of one epoch.

    Attributes:
        positions: JSON of the engine: where the next epoch begins.
        logs: Logs that were changed: new head, new extents.
        base: All logs with all extents as of this record, or None; a log is read from the newest
            base on.
        outcome: Bytes of the engine: committables, report, state files.
    """

    epoch: int
    positions: dict[str, Any]
    logs: dict[LogName, LogState]
    base: dict[LogName, LogState] | None
    outcome: bytes


def file_of(epoch: int) -> str:
    """Return the file of a record, relative to the directory of the epochs."""
    return f"{RECORDS}/{epoch:012}"


def encode_record(record: EpochRecord, inline: Sequence[bytes]) -> tuple[EpochRecord, bytes]:
    """Return the record as `read_record` returns it, and its bytes."""
    header = {
        "epoch": record.epoch,
        "positions": record.positions,
        "outcome": [len(record.outcome), crc32(record.outcome)],
        "inline": sum(map(len, inline)),
        "logs": _to_json(record.logs),
        "base": None if record.base is None else _to_json(record.base),
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    start = _START.pack(_MAGIC, _VERSION, crc32(text), len(text))
    offset = len(start) + len(text)
    placed = replace(
        record,
        logs=_placed(record.logs, file_of(record.epoch), offset),
        base=None if record.base is None else _placed(record.base, file_of(record.epoch), offset),
    )
    return placed, b"".join((start, text, record.outcome, *inline))


def read_record(directory: JobPath, epoch: int) -> EpochRecord:
    """Return a record. Its extents are not read, only whether the file is long enough."""
    file = file_of(epoch)
    path = directory / file
    with path.open("rb") as stream:
        text, offset = _read_header(stream, path)
        try:
            header = json.loads(text)
            if header["epoch"] != epoch:
                raise damaged(path, f"it is the record of epoch {header['epoch']}")
            size, checksum = header["outcome"]
            outcome = stream.read(size)
            end = offset + size + header["inline"]
            length = stream.seek(0, 2)
            if length != end:
                raise damaged(path, f"it has {length} bytes of {end}")
            if crc32(outcome) != checksum:
                raise damaged(path, "its outcome does not match its checksum")
            base = header["base"]
            return EpochRecord(
                epoch,
                header["positions"],
                _placed(_of_json(header["logs"]), file, offset),
                None if base is None else _placed(_of_json(base), file, offset),
                outcome,
            )
        except (KeyError, TypeError, ValueError) as cause:
            raise damaged(path, f"its header is of another form: {cause!r}") from cause


def _read_header(stream: BinaryIO, path: JobPath) -> tuple[bytes, int]:
    """Return the header and where it ends."""
    start = stream.read(_START.size)
    if len(start) < _START.size or not start.startswith(_MAGIC):
        raise damaged(path, "it does not start like an epoch record")
    _, version, checksum, size = _START.unpack(start)
    text = stream.read(size)
    if version != _VERSION:
        raise StateError(
            f"{path} has version {version}, and this version of Penstock reads {_VERSION}",
            hint="Use the version of Penstock that wrote it, or a later one.",
        )
    if len(text) != size or crc32(text) != checksum:
        raise damaged(path, "its header does not match its checksum")
    return text, _START.size + size


def _to_json(logs: dict[LogName, LogState]) -> list[list[Any]]:
    return [
        [level, subtask, base64.b64encode(head).decode(), [_fields(one) for one in extents]]
        for (level, subtask), (head, extents) in logs.items()
    ]


def _fields(extent: Extent) -> tuple[Any, ...]:
    return (extent.first, extent.last, extent.file, extent.offset, extent.size, extent.crc32)


def _of_json(logs: list[list[Any]]) -> dict[LogName, LogState]:
    return {
        (level, subtask): (base64.b64decode(head), tuple(Extent(*fields) for fields in extents))
        for level, subtask, head, extents in logs
    }


def _placed(logs: dict[LogName, LogState], file: str, start: int) -> dict[LogName, LogState]:
    """Return logs whose extents within the record have its file, and offsets from its beginning."""
    return {
        name: (
            head,
            tuple(
                replace(one, file=file, offset=start + one.offset) if one.file == HERE else one
                for one in extents
            ),
        )
        for name, (head, extents) in logs.items()
    }
