"""State blobs: entries of one operator and one key group, as bytes, in the format in which a job writes its state.

Layout, little-endian:

    offset  size  field
    0       4     magic "PSS3"
    4       4     CRC-32 of the magic and of everything behind this field
    8       4     key group; 0xFFFFFFFF for broadcast state
    12      2     length of the operator's uid
    14      n     the uid, UTF-8
    14+n    4     length of the directory
    18+n    …     directory of the sections
            1     number of the compression, 0 for none
            4     size of the pickle; only of a compressed one
            …     pickle (protocol 5) of a list with the columns of each section

The columns of a section are the fields of `Section` behind its schema. Values are plain
(`penstock.state.schema.stored_form`): what they mean is in the schema text, so a blob can be read without
the job that wrote it. There is one pickle, because states of an operator share their keys: pickle writes
those of the second state as references.

A blob is applied section by section: keys that were cleared, then entries, then entries that
were removed. A snapshot is blobs that only have entries; a change log is blobs in the order they
were written. Several blobs of one key group may follow each other, so none needs to be large.

Subkeys and values that are byte strings are packed into few objects, because what pickle writes around each
is more than its length: of the state of a join, digests of 12 bytes take 12 instead of 15.

    all of one size       (size, all bytes)
    sizes differ          ("B" or "H", sizes as little-endian numbers of 1 or 2 bytes, all bytes)
    anything else         the list as it is: other objects, None among them, large or few elements

The directory names the states, and their schemas:

    varint number of schema texts; per text varint length and UTF-8
    varint number of sections; per section varint length and UTF-8 of the state's name, varint number
    of its schema text

An operator with the states "count" and "sum", both of longs:

    01 39 {"kind":"value","subkey":null,"ttl":false,"value":"Long"}
    02 05 count 00 03 sum 00

The blobs of an operator have few different directories, so one is written and read once per process and
looked up from then on: in a small blob it would cost as much as the entries.

Blobs of a snapshot whose key groups are divided, because the job has a multiple of the key groups.

The key group of a key is the uppermost part of a product (`penstock.wire.canonical.key_groups`), so the keys of group g are
in the groups 2g and 2g + 1 of twice as many. A blob is divided alone: no entry leaves it for another subtask's blob.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from typing import Any, TypeAlias
from zlib import crc32

import pyarrow as pa

from penstock.errors import RESTORE_CHECKPOINTS, DecodeError, StateError
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.state.schema.own_states import is_by_window
from penstock.types.value_serializer import StoredForm, stored_form
from penstock.user_failure import raise_interrupt, words_of
from penstock.wire.canonical.key_groups import KeyGroups
from penstock.wire.coded_rows import has_coded_form
from penstock.wire.coded_rows.wire_types import read_varint, varint

Directory: TypeAlias = tuple[tuple[str, str], ...]
"""Name of a state and schema text of its entries, per section and in order."""

_REMEMBERED = 1024
_HALVES = "surrogatepass"
"""Half a character is written like a whole one, as pickle does."""


@lru_cache(_REMEMBERED)
def encode_directory(directory: Directory) -> bytes:
    """Return the bytes of a directory; independent of earlier blobs."""
    numbers: dict[str, int] = {}
    for _, schema in directory:
        numbers.setdefault(schema, len(numbers))
    parts = [varint(len(numbers)), *map(_text, numbers), varint(len(directory))]
    for state, schema in directory:
        parts += (_text(state), varint(numbers[schema]))
    return b"".join(parts)


@lru_cache(_REMEMBERED)
def decode_directory(data: bytes) -> Directory:
    """Return the directory that `encode_directory` wrote."""
    n_schemas, offset = read_varint(data, 0)
    schemas = []
    for _ in range(n_schemas):
        schema, offset = _read_text(data, offset)
        schemas.append(schema)
    n_states, offset = read_varint(data, offset)
    states = []
    for _ in range(n_states):
        state, offset = _read_text(data, offset)
        number, offset = read_varint(data, offset, n_schemas)
        states.append((state, schemas[number]))
    if offset != len(data):
        raise _damaged_directory(f"it has {len(data) - offset} bytes too many")
    return tuple(states)


def _text(text: str) -> bytes:
    data = text.encode(errors=_HALVES)
    return varint(len(data)) + data


def _read_text(data: bytes, offset: int) -> tuple[str, int]:
    length, start = read_varint(data, offset)
    end = start + length
    try:
        return data[start:end].decode(errors=_HALVES), end
    except UnicodeDecodeError as cause:
        raise _damaged_directory(f"a name is no UTF-8: {cause}") from cause


def _damaged_directory(what: str) -> DecodeError:
    return DecodeError(
        f"the directory of a state blob cannot be read: {what}", hint=RESTORE_CHECKPOINTS
    )


_FEW = 32
_LIMITS = (("B", 1 << 8), ("H", 1 << 16))  # pickle has 3 bytes around a short one
_PAIR = 2


def pack(column: list[Any] | None) -> Any:
    """Return what is stored for a column, `column` itself if there is nothing to gain."""
    if not column or len(column) < _FEW or set(map(type, column)) != {bytes}:
        return column
    sizes = list(map(len, column))
    largest = max(sizes)
    joined = b"".join(column)
    if min(sizes) == largest > 0:
        return largest, joined
    for code, limit in _LIMITS:
        if largest < limit:
            return code, struct.pack(f"<{len(sizes)}{code}", *sizes), joined
    return column


def unpack(stored: Any) -> Any:
    """Return the column that was packed."""
    if not isinstance(stored, tuple):
        return stored
    try:
        if len(stored) == _PAIR:
            size, joined = stored
            return [joined[offset : offset + size] for offset in range(0, len(joined), size)]
        code, packed, joined = stored
        sizes = struct.unpack(f"<{len(packed) // struct.calcsize(code)}{code}", packed)
    except (struct.error, TypeError, ValueError) as cause:
        raise _damaged_column(str(cause)) from cause
    if sum(sizes) != len(joined):
        raise _damaged_column(
            f"its parts have {sum(sizes)} bytes together, and there are {len(joined)}"
        )
    return [joined[start:stop] for start, stop in pairwise(accumulate(sizes, initial=0))]


def _damaged_column(what: str) -> StateError:
    return StateError(
        f"a column of stored entries cannot be read: {what}", hint=RESTORE_CHECKPOINTS
    )


class Compression(Enum):
    """Compression of the body of a blob. The values are those of `state.compression`."""

    NONE = "none"
    LZ4 = "lz4"
    """LZ4 frames."""
    ZSTD = "zstd"
    """Zstandard, at level 1."""


_NUMBERS: dict[Compression, int] = {Compression.LZ4: 1, Compression.ZSTD: 2}
"""Stored in blobs: only ever added to."""

_BY_NUMBER = {number: compression for compression, number in _NUMBERS.items()}


def compress(body: bytes, compression: Compression) -> tuple[int, bytes]:
    """Return the number of the compression, which is not NONE, and the compressed bytes."""
    return _NUMBERS[compression], _codec(compression).compress(body, asbytes=True)


def decompress(number: int, size: int, body: memoryview) -> memoryview:
    """Return what was compressed."""
    compression = _BY_NUMBER.get(number)
    if compression is None:
        raise StateError(
            f"a state blob is compressed in a way ({number}) that is unknown here",
            hint="Read the state with the version of Penstock that wrote it, or a later one.",
        )
    try:
        return memoryview(_codec(compression).decompress(pa.py_buffer(body), size))
    except (OSError, ValueError) as cause:
        raise StateError(
            f"a state blob cannot be decompressed: {cause}", hint=RESTORE_CHECKPOINTS
        ) from cause


@cache
def _codec(compression: Compression) -> pa.Codec:
    return pa.Codec(compression.value)


@dataclass(frozen=True, slots=True)
class StateFormat:
    """Format of new entries.

    Attributes:
        coded_rows: Values of types that have a form of variable length are coded rows.
    """

    coded_rows: bool = False
    compression: Compression = Compression.NONE

    def of(self, schema: StateSchema) -> StateSchema:
        """Return the schema that a state of a declared schema is stored with."""
        if not self.coded_rows or schema.kind is StateKind.TIMERS:
            return schema
        form = stored_form(schema.value_type.create_var_len_serializer())
        if form is StoredForm.CODED and not has_coded_form(schema.value_type):
            form = StoredForm.PLAIN
        return schema if form is schema.form else replace(schema, form=form)


MAGIC = b"PSS3"
_CHECKSUM_OF_MAGIC = crc32(MAGIC)
BLOB_BYTES = 4 << 20
"""Size that blobs stay below, unless a single entry is larger."""

_HEAD = struct.Struct("<4sI")
_OWNER = struct.Struct("<IH")
_LENGTH = struct.Struct("<I")
_COMPRESSED = struct.Struct("<BI")
_NOT_COMPRESSED = b"\0"
_ENTRIES_PER_BLOB = 20_000


@dataclass(frozen=True, slots=True)
class Section:
    """Entries of one state.

    Attributes:
        schema: `StateSchema.text` the values were written with: the fingerprint of the
            entries' serializer.
        subkeys: Second part of the address of each entry; None unless the kind is nested.
        removed: Keys whose entries are gone.
        removed_subkeys: Subkeys of these; None unless the kind is nested.
        cleared: Keys that lost all their entries before `keys` were written; nested kinds only.
    """

    state: str
    schema: str
    keys: list[Any]
    subkeys: list[Any] | None
    values: list[Any]
    removed: list[Any] = field(default_factory=list)
    removed_subkeys: list[Any] | None = None
    cleared: list[Any] = field(default_factory=list)

    @classmethod
    def of_entries(
        cls,
        state: str,
        schema: str,
        keys: list[Any],
        subkeys: list[Any] | None,
        values: list[Any],
    ) -> Section:
        """Return entries without removals."""
        removed: list[Any] | None = None if subkeys is None else []
        return cls(state, schema, keys, subkeys, values, removed_subkeys=removed)

    def __len__(self) -> int:
        return len(self.keys) + len(self.removed) + len(self.cleared)

    def columns(self) -> tuple[Any, ...]:
        """Return the fields behind the schema, as they are pickled."""
        return (
            self.keys,
            pack(self.subkeys),
            pack(self.values),
            self.removed,
            pack(self.removed_subkeys),
            self.cleared,
        )

    def parts(self, size: int) -> Iterator[Section]:
        """Yield sections of at most `size` entries that amount to this one when applied in order."""
        if len(self) <= size:
            yield self
            return
        for start in range(0, len(self.cleared), size):
            yield self._with(cleared=self.cleared[start : start + size])
        for start in range(0, len(self.keys), size):
            some = slice(start, start + size)
            subkeys = None if self.subkeys is None else self.subkeys[some]
            yield self._with(keys=self.keys[some], subkeys=subkeys, values=self.values[some])
        for start in range(0, len(self.removed), size):
            some = slice(start, start + size)
            subkeys = None if self.removed_subkeys is None else self.removed_subkeys[some]
            yield self._with(removed=self.removed[some], removed_subkeys=subkeys)

    def _with(self, **columns: Any) -> Section:
        empty: list[Any] | None = None if self.subkeys is None else []
        given = {"keys": [], "subkeys": empty, "values": [], "removed_subkeys": empty} | columns
        return Section(self.state, self.schema, **given)


def encode_blob(
    operator: str,
    key_group: int,
    sections: list[Section],
    compression: Compression = Compression.NONE,
) -> bytes:
    """Return one blob of `sections`, however large; compressed only if that makes it smaller."""
    uid = operator.encode()
    try:
        body = pickle.dumps([section.columns() for section in sections], 5)
    except BaseException as cause:  # whatever a user's __reduce__ raises
        raise_interrupt(cause)
        names = ", ".join(sorted({f"{operator}/{section.state}" for section in sections}))
        raise StateError(
            f"a value of state {names} cannot be stored: {words_of(cause)}",
            hint="Keep plain data in state; make connections and locks in open().",
        ) from cause
    kind = _NOT_COMPRESSED
    if compression is not Compression.NONE:
        number, small = compress(body, compression)
        if _COMPRESSED.size + len(small) < len(body):
            kind, body = _COMPRESSED.pack(number, len(body)), small
    directory = encode_directory(tuple([(section.state, section.schema) for section in sections]))
    owner = _OWNER.pack(key_group, len(uid))
    head = b"".join((owner, uid, _LENGTH.pack(len(directory)), directory, kind))
    checksum = crc32(body, crc32(head, _CHECKSUM_OF_MAGIC))
    return b"".join((_HEAD.pack(MAGIC, checksum), head, body))


def encode_blobs(
    operator: str,
    key_group: int,
    sections: Iterable[Section],
    compression: Compression = Compression.NONE,
) -> Iterator[bytes]:
    """Yield `sections` as blobs below `BLOB_BYTES`, each applied after the one before."""
    small: list[Section] = []
    for section in sections:
        if len(section) <= _ENTRIES_PER_BLOB:
            small.append(section)
            continue
        yield from _together(operator, key_group, small, compression)
        small = []
        for part in section.parts(_ENTRIES_PER_BLOB):
            yield from _bounded(operator, key_group, part, compression)
    yield from _together(operator, key_group, small, compression)


def _together(
    operator: str, key_group: int, sections: list[Section], compression: Compression
) -> Iterator[bytes]:
    if not sections:
        return
    blob = encode_blob(operator, key_group, sections, compression)
    if len(blob) <= BLOB_BYTES:
        yield blob
        return
    for section in sections:
        yield from _bounded(operator, key_group, section, compression)


def _bounded(
    operator: str, key_group: int, section: Section, compression: Compression
) -> Iterator[bytes]:
    blob = encode_blob(operator, key_group, [section], compression)
    if len(blob) <= BLOB_BYTES or len(section) == 1:
        yield blob
        return
    entries = max(1, len(section) * BLOB_BYTES // (2 * len(blob)))
    for part in section.parts(entries):
        yield from _bounded(operator, key_group, part, compression)


def key_group_of(blob: bytes) -> int:
    """Return the key group a blob belongs to, without decoding its entries."""
    return int(_OWNER.unpack_from(blob, _HEAD.size)[0])


def operator_of(blob: bytes) -> str:
    """Return the uid of the operator a blob belongs to, without decoding its entries."""
    _, length = _OWNER.unpack_from(blob, _HEAD.size)
    start = _HEAD.size + _OWNER.size
    return blob[start : start + length].decode()


def is_blob(data: bytes) -> bool:
    """Return whether bytes start like a blob."""
    return len(data) >= _HEAD.size + _OWNER.size and data[:4] == MAGIC


def is_intact(blob: bytes) -> bool:
    """Return whether a blob is what was written."""
    checksum = crc32(memoryview(blob)[_HEAD.size :], _CHECKSUM_OF_MAGIC)
    return bool(checksum == _HEAD.unpack_from(blob)[1])


def checked(blob: bytes) -> bytes:
    """Return `blob` itself, which has the bytes that were written."""
    if not is_blob(blob):
        raise _damaged("does not start like one")
    if not is_intact(blob):
        raise _damaged("does not match its checksum")
    return blob


def decode_blob(blob: bytes) -> list[Section]:
    """Return the sections of a blob."""
    directory, body = _opened(checked(blob))
    try:
        pickled = pickle.loads(body)
    except BaseException as cause:  # a class of the user's program is gone or renamed
        raise_interrupt(cause)
        raise StateError(
            f"state of operator {operator_of(blob)!r}, key group {key_group_of(blob)}, cannot be "
            f"read: {words_of(cause)}",
            hint="Keep the classes of stored values importable under their old names.",
        ) from cause
    if len(pickled) != len(directory):
        raise _damaged("has other sections than its directory lists")
    return [
        Section(state, schema, *map(unpack, columns))
        for (state, schema), columns in zip(directory, pickled, strict=True)
    ]


def directory_of(blob: bytes) -> Directory:
    """Return the states of a blob and their schemas, without decoding its entries."""
    return _directory(blob, _end_of_uid(blob))[0]


def body_of(blob: bytes) -> memoryview:
    """Return the pickle of a blob."""
    return _opened(blob)[1]


def _opened(blob: bytes) -> tuple[Directory, memoryview]:
    """Return directory and pickle of a blob."""
    directory, offset = _directory(blob, _end_of_uid(blob))
    body = memoryview(blob)[offset:]
    return directory, body[1:] if body[:1] == _NOT_COMPRESSED else _decompressed(body)


def _end_of_uid(blob: bytes) -> int:
    return _HEAD.size + _OWNER.size + int(_OWNER.unpack_from(blob, _HEAD.size)[1])


def _directory(blob: bytes, offset: int) -> tuple[Directory, int]:
    """Return the directory behind the uid, and where what follows begins."""
    try:
        start = offset + _LENGTH.size
        end = start + _LENGTH.unpack_from(blob, offset)[0]
        return decode_directory(blob[start:end]), end
    except (DecodeError, struct.error) as cause:
        raise _damaged(f"has no directory that can be read: {cause}") from cause


def _decompressed(body: memoryview) -> memoryview:
    if len(body) < _COMPRESSED.size:
        raise _damaged("ends before its body")
    number, size = _COMPRESSED.unpack_from(body)
    return decompress(number, size, body[_COMPRESSED.size :])


def _damaged(what: str) -> StateError:
    return StateError(f"a state blob {what}", hint=RESTORE_CHECKPOINTS)


def divided_blob(
    blob: bytes, times: int, key_groups: KeyGroups, *, of_windows: bool
) -> Iterator[bytes]:
    """Yield the blobs of the key groups that one of a snapshot is divided into.

    Keys of a window operator are pairs of a key and a window.
    """
    operator, before = operator_of(blob), key_group_of(blob)
    groups: dict[int, list[Section]] = {}
    for section in decode_blob(blob):
        places: dict[int, list[int]] = {}
        keys = section.keys
        if of_windows and is_by_window(section.state):
            keys = [key for key, _ in keys]
        for position, group in enumerate(key_groups.of(keys)):
            places.setdefault(group, []).append(position)
        for group, entries in places.items():
            groups.setdefault(group, []).append(_some(section, entries))
    for group, sections in sorted(groups.items()):
        if group // times != before:
            raise StateError(
                f"key group {before} of operator {operator!r} has a key of key group {group // times}",
                hint=RESTORE_CHECKPOINTS,
            )
        yield from encode_blobs(operator, group, sections)


def _some(section: Section, entries: Sequence[int]) -> Section:
    """Return some entries of a section, which has nothing else."""

    def chosen(column: list[Any]) -> list[Any]:
        return [column[entry] for entry in entries]

    subkeys = None if section.subkeys is None else chosen(section.subkeys)
    return replace(
        section, keys=chosen(section.keys), subkeys=subkeys, values=chosen(section.values)
    )
