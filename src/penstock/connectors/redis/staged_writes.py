"""Writes that wait for their epoch: one file per task in the job's directory, or none if they are few (`staged`).

They have the form that the server's script reads, in pieces that the server takes as an argument. A write is `kind, key, count, (field, value) * count`: the kind one byte, the count and every length four bytes, big
endian. No pickle: the server reads it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from penstock.connectors.redis.client import (
    SURE_BYTES,
    RedisAddress,
    longest_argument,
    redis_errors,
)
from penstock.connectors.staged import StagedBytesWriter
from penstock.errors import PenstockError, SinkError
from penstock.failpoint import failpoint
from penstock.graph.endpoints import SinkContext
from penstock.types.row import Row, RowKind
from penstock.user_failure import refusal_of, short

_LENGTH = struct.Struct(">I")
_MOST_FIELDS = 1_000


class WriteKind(Enum):
    """Kind of write; the values are those of the script."""

    ADD = b"\x01"
    """Adds an entry to a stream."""

    PUT = b"\x02"
    """Replaces a hash."""

    DELETE = b"\x03"
    """Deletes a hash."""


@dataclass(frozen=True, slots=True)
class RecordWrites:
    """Conversion of records into writes.

    Attributes:
        stream: Name of the stream to which entries are added; None writes hashes.
        key: Makes the name of a hash of a record.
        fields: Makes the fields of a record; None takes those of the row or dict.
    """

    stream: str | None = None
    key: Callable[[Any], str | bytes] | None = None
    fields: Callable[[Any], Mapping[Any, Any]] | None = None

    def write_of(self, record: Any) -> bytes | None:
        """Return the write of a record; None if there is none.

        Raises:
            ValueError: It has no form.
        """
        kind = record.get_row_kind() if isinstance(record, Row) else RowKind.INSERT
        if self.stream is not None:
            if kind in {RowKind.DELETE, RowKind.UPDATE_BEFORE}:
                msg = "a stream has no form for a row that retracts"
                raise ValueError(msg)
            return _encoded(WriteKind.ADD, self.stream, self._fields(record))
        if kind is RowKind.UPDATE_BEFORE:
            return None
        assert self.key is not None, "hashes have names"
        key = self.key(record)
        if kind is RowKind.DELETE:
            return _encoded(WriteKind.DELETE, key, {})
        return _encoded(WriteKind.PUT, key, self._fields(record))

    def _fields(self, record: Any) -> Mapping[Any, Any]:
        found = self.fields(record) if self.fields else _own_fields(record)
        if not isinstance(found, Mapping):
            msg = f"its fields are {short(found)}, no dict"
            raise TypeError(msg)
        kept = {name: value for name, value in found.items() if value is not None}
        if not kept or len(kept) > _MOST_FIELDS:
            msg = f"it has {len(kept)} fields with values, and may have 1 to {_MOST_FIELDS}"
            raise ValueError(msg)
        return kept


def _own_fields(record: Any) -> Any:
    return record.as_dict() if isinstance(record, Row) else record


def _encoded(kind: WriteKind, key: Any, fields: Mapping[Any, Any]) -> bytes:
    parts = [kind.value, *_sized(key), _LENGTH.pack(len(fields))]
    for name, value in fields.items():
        parts += _sized(name)
        parts += _sized(value)
    return b"".join(parts)


def _sized(value: Any) -> tuple[bytes, bytes]:
    data = _bytes_of(value)
    return _LENGTH.pack(len(data)), data


def _bytes_of(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, str | int | float):
        return str(value).encode()
    msg = f"{short(value)} is no text, number, boolean or bytes"
    raise TypeError(msg)


def directory_of(context: SinkContext) -> Path:
    """Return the directory of what a sink keeps with the job."""
    return context.mounted_scratch / "redis" / context.sink_id


def staging_of(context: SinkContext) -> Path:
    """Return the directory of the staged writes of a sink."""
    return directory_of(context) / "staged"


class StagedWriteWriter(StagedBytesWriter):
    """Stages what records become."""

    doing = "stage records"
    file_kind = "staged"

    def __init__(self, writes: RecordWrites, address: RedisAddress, context: SinkContext) -> None:
        """Stage what records become, in the task of `context`, for the server at `address`."""
        super().__init__(staging_of(context), context)
        self._writes, self._address = writes, address
        self._longest: int | None = None

    def write(self, values: list[Any]) -> None:
        """Stage records.

        Raises:
            SinkError: A record has no form, or the file system refused.
        """
        data = b"".join(self._encoded(values))
        if data:
            with self._os_errors(self.doing):
                failpoint("redis.write")
            self._append(data)

    def _encoded(self, values: list[Any]) -> list[bytes]:
        made: list[bytes] = []
        for value in values:
            try:
                write = self._writes.write_of(value)
            except PenstockError:
                raise
            except BaseException as cause:
                failed = f"sink {self._context.name!r} cannot write {short(value)}"
                hint = "Map the record to a row or a dict of text and numbers, or correct the function."
                raise refusal_of(
                    SinkError, failed, cause, self._context.origin, hint=hint
                ) from cause
            if write is not None:
                self._check_size(value, len(write))
                made.append(write)
        return made

    def _check_size(self, value: Any, size: int) -> None:
        """Refuse a record that the server would refuse: then the epoch would be decided, and could not be committed."""
        if size <= SURE_BYTES:
            return
        context = self._context
        if self._longest is None:
            doing = f"ask for the longest argument for sink {context.name!r}"
            with redis_errors(SinkError, self._address, doing, context.origin):
                self._longest = longest_argument(self._address)
        if size > self._longest:
            raise SinkError(
                f"sink {context.name!r} cannot write {short(value)}: it has {size:,} bytes, and the server "
                f"at {self._address.shown} takes {self._longest:,}",
                hint="Write a smaller record, or raise proto-max-bulk-len of the server.",
                origin=context.origin,
            )


def pieces(data: bytes, most: int) -> Iterator[bytes]:
    """Cut staged writes between two of them, so that a piece has at most so many bytes, or is one write."""
    begin = end = 0
    while end < len(data):
        following = _behind(data, end)
        if following - begin > most and end > begin:
            yield data[begin:end]
            begin = end
        end = following
    if end > begin:
        yield data[begin:end]


def _behind(data: bytes, at: int) -> int:
    """Return the position behind the write that begins at one."""
    at += 1
    at += _LENGTH.size + _LENGTH.unpack_from(data, at)[0]
    texts = 2 * _LENGTH.unpack_from(data, at)[0]
    at += _LENGTH.size
    for _ in range(texts):
        at += _LENGTH.size + _LENGTH.unpack_from(data, at)[0]
    return at
