"""State blobs: entries of one operator and one key group, as bytes, in the format in which a job writes its state.

Layout, little-endian:

    offset  size  field
    0       4     magic "PSS3"
    4       4     CRC-32 of the magic and of everything behind this field
    8       4     key group; 0xFFFFFFFF for broadcast state
    12      2     length of the operator's uid
    14      n     the uid, UTF-8
    14+n    4     length of the directory
    18+n    …     directory of the sections (`penstock.state.log.directory`)
            1     number of the compression (`penstock.state.log.compression`), 0 for none
            4     size of the pickle; only of a compressed one
            …     pickle (protocol 5) of a list with the columns of each section

The columns of a section are the fields of `Section` behind its schema, with subkeys and values
packed if they are byte strings (`penstock.state.log.packed`). Values are plain
(`penstock.state.schema.plain`): what they mean is in the schema text, so a blob can be read without
the job that wrote it. There is one pickle, because states of an operator share their keys: pickle writes
those of the second state as references.

A blob is applied section by section: keys that were cleared, then entries, then entries that
were removed. A snapshot is blobs that only have entries; a change log is blobs in the order they
were written. Several blobs of one key group may follow each other, so none needs to be large.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from zlib import crc32

from penstock.errors import DecodeError, StateError
from penstock.state.log.compression import Compression, compress, decompress
from penstock.state.log.directory import Directory, decode_directory, encode_directory
from penstock.state.log.packed import pack, unpack
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.types.value_serializer import StoredForm, stored_form
from penstock.user_failure import raise_interrupt, words_of
from penstock.wire.coded_rows import has_coded_form


@dataclass(frozen=True, slots=True)
class StateFormat:
    """Format of new entries.

    Attributes:
        coded_rows: Values of types that have a form of variable length are coded rows.
        compression: Of blobs.
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
        state: Name of the state.
        schema: `StateSchema.text` the values were written with: the fingerprint of the
            entries' serializer.
        keys: Key of each entry.
        subkeys: Second part of the address of each entry; None unless the kind is nested.
        values: Plain value of each entry.
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
        for at in range(0, len(self.cleared), size):
            yield self._with(cleared=self.cleared[at : at + size])
        for at in range(0, len(self.keys), size):
            some = slice(at, at + size)
            subkeys = None if self.subkeys is None else self.subkeys[some]
            yield self._with(keys=self.keys[some], subkeys=subkeys, values=self.values[some])
        for at in range(0, len(self.removed), size):
            some = slice(at, at + size)
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
    """Return one blob of `sections`, however large; compressed only if that makes it smaller.

    Raises:
        StateError: A key or value cannot be pickled.
    """
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
    """Yield `sections` as blobs below `BLOB_BYTES`, each applied after the one before.

    Raises:
        StateError: A key or value cannot be pickled.
    """
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
    found = crc32(memoryview(blob)[_HEAD.size :], _CHECKSUM_OF_MAGIC)
    return bool(found == _HEAD.unpack_from(blob)[1])


def checked(blob: bytes) -> bytes:
    """Return `blob` itself.

    Raises:
        StateError: The bytes are not a blob, or not the bytes that were written.
    """
    if not is_blob(blob):
        raise _damaged("does not start like one")
    if not is_intact(blob):
        raise _damaged("does not match its checksum")
    return blob


def decode_blob(blob: bytes) -> list[Section]:
    """Return the sections of a blob.

    Raises:
        StateError: The bytes are not a blob, or not the bytes that were written.
    """
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
        raise _damaged("has other sections than its directory says")
    return [
        Section(state, schema, *map(unpack, columns))
        for (state, schema), columns in zip(directory, pickled, strict=True)
    ]


def directory_of(blob: bytes) -> Directory:
    """Return the states of a blob and their schemas, without decoding its entries.

    Raises:
        StateError: The directory is not one.
    """
    return _directory(blob, _end_of_uid(blob))[0]


def body_of(blob: bytes) -> memoryview:
    """Return the pickle of a blob.

    Raises:
        StateError: It cannot be decompressed.
    """
    return _opened(blob)[1]


def _opened(blob: bytes) -> tuple[Directory, memoryview]:
    """Return directory and pickle of a blob."""
    directory, at = _directory(blob, _end_of_uid(blob))
    body = memoryview(blob)[at:]
    return directory, body[1:] if body[:1] == _NOT_COMPRESSED else _decompressed(body)


def _end_of_uid(blob: bytes) -> int:
    return _HEAD.size + _OWNER.size + int(_OWNER.unpack_from(blob, _HEAD.size)[1])


def _directory(blob: bytes, at: int) -> tuple[Directory, int]:
    """Return the directory behind the uid, and where what follows begins."""
    try:
        start = at + _LENGTH.size
        end = start + _LENGTH.unpack_from(blob, at)[0]
        return decode_directory(blob[start:end]), end
    except (DecodeError, struct.error) as cause:
        raise _damaged(f"has no directory that can be read: {cause}") from cause


def _decompressed(body: memoryview) -> memoryview:
    if len(body) < _COMPRESSED.size:
        raise _damaged("ends before its body")
    number, size = _COMPRESSED.unpack_from(body)
    return decompress(number, size, body[_COMPRESSED.size :])


def _damaged(what: str) -> StateError:
    return StateError(
        f"a state blob {what}",
        hint="Restore the checkpoint directory from a copy, or start the job in a new one.",
    )
