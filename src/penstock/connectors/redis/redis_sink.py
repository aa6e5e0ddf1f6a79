"""The Redis sink: one script writes the records of an epoch and its mark.

The server runs a script as a whole: no client sees a part of it or writes in between. It does not undo the writes of a
script that fails, so the script checks the types of all keys first, and no later step can fail.

Writes wait for their epoch in the form that the script reads (`staged`), in pieces that the server accepts as an argument.
A write is `kind, key, count, (field, value) * count`: the kind one byte, the count and every length four bytes, big
endian. The server reads it, so it is no pickle.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from penstock.connectors.epoch_marks import EpochMark, EpochMarks, own_directory
from penstock.connectors.redis.client import (
    SURE_BYTES,
    RedisAddress,
    address_of,
    check_installed,
    client_of,
    longest_argument,
    redis_errors,
)
from penstock.connectors.staged import Staged, StagedBytesWriter, StagingDirectory
from penstock.errors import ArgumentError, PenstockError, SinkError
from penstock.failpoint import failpoint
from penstock.graph.dataset import Dataset
from penstock.graph.endpoints import Committer, Sink, SinkContext, SinkWriter
from penstock.graph.log_values import KeptOutside
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
        """Return the write of a record; None if there is none."""
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
        fields = self.fields(record) if self.fields else _own_fields(record)
        if not isinstance(fields, Mapping):
            msg = f"its fields are {short(fields)}, no dict"
            raise TypeError(msg)
        kept = {name: value for name, value in fields.items() if value is not None}
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
    msg = f"{short(value)} is not a text, number, boolean or bytes"
    raise TypeError(msg)


def staging_of(context: SinkContext) -> Path:
    """Return the directory of the staged writes of a sink."""
    return own_directory("redis", context) / "staged"


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
        """Stage records."""
        data = b"".join(self._encoded(values))
        if data:
            with self._os_errors(self.doing):
                failpoint("redis.write")
            self._append(data)

    def _encoded(self, values: list[Any]) -> list[bytes]:
        writes: list[bytes] = []
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
                writes.append(write)
        return writes

    def _check_size(self, value: Any, size: int) -> None:
        """Refuse a record that the server would refuse: then the epoch would be decided, and could not be committed."""
        if size <= SURE_BYTES:
            return
        context = self._context
        if self._longest is None:
            doing = f"read the longest argument for sink {context.name!r}"
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


def _behind(data: bytes, position: int) -> int:
    """Return the position behind the write that begins at one."""
    position += 1
    position += _LENGTH.size + _LENGTH.unpack_from(data, position)[0]
    texts = 2 * _LENGTH.unpack_from(data, position)[0]
    position += _LENGTH.size
    for _ in range(texts):
        position += _LENGTH.size + _LENGTH.unpack_from(data, position)[0]
    return position


# KEYS: the mark. ARGV: the mark that is there, the new one, the most entries of a stream, staged files.
_SCRIPT = r"""
local there = redis.call('GET', KEYS[1]) or ''
if there == ARGV[2] then
    return 0  -- the answer to an earlier call was lost
end
if there ~= ARGV[1] then
    return redis.error_reply('PENSTOCK the mark is not the expected one: another driver has written')
end
local writes, types = {}, {}
for file = 4, #ARGV do
    local data, at = ARGV[file], 1
    local function text()
        local size = struct.unpack('>I4', data, at)
        local found = string.sub(data, at + 4, at + 3 + size)
        at = at + 4 + size
        return found
    end
    while at <= #data do
        local kind = string.byte(data, at)
        at = at + 1
        local key = text()
        local count = struct.unpack('>I4', data, at)
        at = at + 4
        local fields = {}
        for number = 1, 2 * count do fields[number] = text() end
        local required = kind == 1 and 'stream' or 'hash'
        local found = types[key] or redis.call('TYPE', key)['ok']
        if found ~= 'none' and found ~= required then
            return redis.error_reply('PENSTOCK a key is a ' .. found .. ' and no ' .. required .. ': ' .. key)
        end
        types[key] = required
        writes[#writes + 1] = {kind, key, fields}
    end
end
for _, write in ipairs(writes) do
    local kind, key, fields = unpack(write)
    if kind == 1 and ARGV[3] ~= '' then
        redis.call('XADD', key, 'MAXLEN', '~', ARGV[3], '*', unpack(fields))
    elseif kind == 1 then
        redis.call('XADD', key, '*', unpack(fields))
    else
        redis.call('DEL', key)
        if kind == 2 then redis.call('HSET', key, unpack(fields)) end
    end
end
redis.call('SET', KEYS[1], ARGV[2])
return #writes
"""


class RedisCommitter(Committer):
    """Makes staged writes visible, each epoch in one script."""

    def __init__(
        self, address: RedisAddress, most_entries: int | None, context: SinkContext
    ) -> None:
        self._address = address
        self._most_entries = most_entries
        self._context = context
        self._key = f"penstock:epoch:{context.job_id}:{context.sink_id}"
        self._compared: int | None = None
        self._staging = StagingDirectory(staging_of(context), "records", context)
        self._marks = EpochMarks("redis", context, self._visible)

    def recover(self) -> None:
        """Check the mark, and drop staged writes."""
        self._staging.prepare()
        self._marks.recover()

    def commit(self, epoch: str, committables: Sequence[Any]) -> None:
        """Make the records of an epoch visible, unless they are."""
        staged: list[Staged] = list(committables)
        self._marks.commit(epoch, partial(self._write, staged) if staged else None)
        self._staging.remove(staged)

    def kept_outside(self) -> list[KeptOutside]:
        """Return the mark of the sink, if it is there."""
        with self._errors("look for the mark"):
            is_marked = client_of(self._address).exists(self._key)
        what = f"key {self._key} at {self._address.shown}"
        return [KeptOutside(what, self._drop)] if is_marked else []

    def _drop(self) -> None:
        with self._errors("drop the mark"):
            client_of(self._address).delete(self._key)

    def _write(self, staged: list[Staged], mark: EpochMark) -> None:
        files = self._arguments(list(self._staging.contents(staged)))
        failpoint("redis.read")
        before = "" if self._compared is None else str(self._compared)
        most = "" if self._most_entries is None else str(self._most_entries)
        with self._errors(f"commit epoch {mark.epoch}"):
            self._context.may_commit()
            client_of(self._address).eval(
                _SCRIPT, 1, self._key, before, str(mark.value), most, *files
            )

    def _arguments(self, files: list[bytes]) -> list[bytes]:
        """Return the contents of files in pieces that the server takes."""
        if all(len(file) <= SURE_BYTES for file in files):
            return files
        with self._errors("read the longest argument"):
            most = longest_argument(self._address)
        return [piece for file in files for piece in pieces(file, most)]

    def _visible(self) -> int | None:
        with self._errors("read the mark"):
            number = client_of(self._address).get(self._key)
        # The script compares with it: what another driver writes after this is not overwritten.
        self._compared = None if number is None else int(number)
        return self._compared

    def _errors(self, doing: str) -> AbstractContextManager[None]:
        described = f"{doing} of sink {self._context.name!r}"
        return redis_errors(SinkError, self._address, described, self._context.origin)


Fields = Callable[[Any], Mapping[Any, Any]]
"""A record to its fields."""


@dataclass(frozen=True, slots=True)
class RedisSink(Sink):
    """Writes records to Redis or Valkey, each exactly once: a script writes the records of an epoch, and its number.

    Attributes:
        address: The server.
        writes: Conversion of records to writes.
        most_entries: About how many entries a stream keeps; None is all.

    Example:
        >>> RedisSink.to_stream("redis://:secret@localhost:6379/0", "totals").describe()
        'redis stream totals'
    """

    address: RedisAddress
    writes: RecordWrites
    most_entries: int | None = None

    kind: ClassVar[str] = "redis"

    @staticmethod
    def to_stream(
        url: str, stream: str, fields: Fields | None = None, most_entries: int | None = None
    ) -> RedisSink:
        """Return a sink that adds an entry to a stream per record.

        Args:
            url: URL of the server: `redis://[[user]:password@]host:port/database`, `rediss://…` or `unix://…`.
            stream: Name of the stream.
            fields: Makes the fields of a record; None takes those of a row or dict. Those that are None are left out.
            most_entries: About how many entries the stream keeps; None is all.

        Raises:
            ArgumentError: An argument is something else.
            MissingConnectorError: The package `redis` is not installed.

        Example:
            >>> RedisSink.to_stream("redis://localhost", "totals", most_entries=1_000).most_entries
            1000
        """
        check_installed("RedisSink")
        if not isinstance(stream, str) or not stream:
            raise ArgumentError.here(f"the stream is {stream!r}", hint="Pass its name.")
        if most_entries is not None and (not isinstance(most_entries, int) or most_entries < 1):
            raise ArgumentError.here(
                f"a stream cannot keep {most_entries!r} entries", hint="Pass 1 or more, or None."
            )
        _check_function(fields)
        return RedisSink(address_of(url), RecordWrites(stream=stream, fields=fields), most_entries)

    @staticmethod
    def to_hashes(
        url: str, key: Callable[[Any], str | bytes], fields: Fields | None = None
    ) -> RedisSink:
        """Return a sink of one hash per key: the newest record of a key replaces the one before.

        A row of kind `DELETE` deletes the hash, and one of kind `UPDATE_BEFORE` is left out.

        Args:
            url: URL of the server, as for `to_stream`.
            key: Makes the name of the hash of a record.
            fields: Makes the fields of a record; None takes those of a row or dict. Those that are None are left out.

        Raises:
            ArgumentError: An argument is something else.
            MissingConnectorError: The package `redis` is not installed.

        Example:
            >>> RedisSink.to_hashes("redis://localhost", lambda row: f"total:{row.customer}").describe()
            'redis hashes'
        """
        check_installed("RedisSink")
        if not callable(key):
            raise ArgumentError.here(f"the key is {key!r}", hint="Pass a function of a record.")
        _check_function(fields)
        return RedisSink(address_of(url), RecordWrites(key=key, fields=fields))

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Return a writer of staged records, for the task of `context`."""
        return StagedWriteWriter(self.writes, self.address, context)

    def create_committer(self, context: SinkContext) -> Committer:
        """Return the committer that writes epochs."""
        return RedisCommitter(self.address, self.most_entries, context)

    def kept_outside(self, context: SinkContext) -> Sequence[KeptOutside]:
        """Return the mark of the sink, if it is there.

        Raises:
            SinkError: The server does not answer.
        """
        return RedisCommitter(self.address, self.most_entries, context).kept_outside()

    def datasets(self) -> Sequence[Dataset]:
        """Return its stream; for hashes the database."""
        return (self.address.dataset(self.writes.stream),)

    def describe(self) -> str:
        """Return e.g. `redis stream totals`."""
        return (
            "redis hashes" if self.writes.stream is None else f"redis stream {self.writes.stream}"
        )


def _check_function(fields: Any) -> None:
    if fields is not None and not callable(fields):
        raise ArgumentError.here(
            f"the fields are {fields!r}", hint="Pass a function of a record, or None."
        )
