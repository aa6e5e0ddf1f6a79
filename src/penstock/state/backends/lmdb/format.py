"""Format of an LMDB copy of keyed state, byte by byte.

Four databases:

    meta      b"header"   JSON: format, owner, position and target (see `lmdb_file`)
              b"catalog"  JSON: operator, state and schema texts of every table; a table's id is its
                          place in the list, a schema's number its place among the table's
              b"sleepers" list of deferred blobs (see `deferred.py`)
    entries   u32 key group | u16 table id | key                                 single kinds
              u32 key group | u16 table id | u8 length of key | key | subkey     nested kinds
    timers    u16 table id | timestamp | u32 key group | key | u8 length of key: the order of timers
    sleeping  u16 operator | u32 key group | u32 number: a deferred state blob

The names of deferred blobs on disk stay as they are: new ones would require a new build of every copy.

Integers in keys are big-endian, so the entries of a key group are one range, those of a table in
it a range within, those of a key with subkeys a range within that, and timers of a table sort by
time. Keys, subkeys and timestamps are as `penstock.state.schema.key_coder` encodes them.

The value of an entry, little-endian:

    u32 CRC-32 of the other fields and the entry's key
    u16 number of the schema; + 0x8000 if key and subkey cannot be had from the bytes
                              + 0x4000 if the stored value is bytes, such as a coded row
    pickle (protocol 5) of the stored value; with 0x8000 of (value, key, subkey); with 0x4000 the
    bytes themselves

The value of a timer is u32 CRC-32 of the other field and the timer's key, and the pickle of a key
that cannot be had from its bytes, or nothing.
"""

from __future__ import annotations

import json
import pickle
import struct
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from penstock.errors import StateError
from penstock.state.schema.entry_schema import StateSchema
from penstock.state.schema.key_coder import Coders, KeyCoder
from penstock.user_failure import raise_interrupt, words_of
from penstock.wire.canonical.key_bytes import decode_key

GROUP_BYTES = 4
PREFIX_BYTES = 6
ADDRESSED = 0x8000
"""Flag of entries that carry their key and subkey."""

RAW = 0x4000
"""Flag of entries that are bytes, and as they are."""

_ADDRESSES = 0x1_0000
_HEAD = struct.Struct("<IH")
_PREFIX = struct.Struct(">IH")
_TABLE = struct.Struct(">H")
_GROUP = struct.Struct(">I")
_CHECK = struct.Struct("<I")

read_head = _HEAD.unpack_from
"""Returns (checksum, schema number with flag) of a stored value."""

HEAD_BYTES = _HEAD.size


def entry_prefix(key_group: int, table: int) -> bytes:
    """Return what the entries of a table in a key group begin with."""
    return _PREFIX.pack(key_group, table)


def group_prefix(key_group: int) -> bytes:
    """Return what the entries of a key group begin with."""
    return _GROUP.pack(key_group)


def group_of(raw: bytes) -> int:
    """Return the key group of an entry, or of a prefix of one."""
    return int(_GROUP.unpack_from(raw)[0])


def place_of(raw: bytes) -> tuple[int, int]:
    """Return (key group, table id) of an entry."""
    group, table = _PREFIX.unpack_from(raw)
    return group, table


def nested_prefix(prefix: bytes, encoded: bytes) -> bytes:
    """Return what the entries of a key with subkeys begin with."""
    return prefix + bytes((len(encoded),)) + encoded


def behind(prefix: bytes) -> bytes | None:
    """Return the least bytes above all that begin with `prefix`; None if there are none."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes((stripped[-1] + 1,)) if stripped else None


def pack_entry(raw: bytes, number: int, value: Any, address: tuple[Any, Any] | None) -> bytes:
    """Return the stored value of the entry `raw`."""
    code = number if address is None else number | ADDRESSED
    if type(value) is bytes and address is None:
        code |= RAW
        return _HEAD.pack(crc32(value, crc32(raw) ^ code), code) + value
    try:
        body = pickle.dumps(value if address is None else (value, *address), 5)
    except BaseException as cause:  # whatever a user's __reduce__ raises
        raise_interrupt(cause)
        raise StateError(
            f"a value of state cannot be stored: {words_of(cause)}",
            hint="Keep plain data in state; make connections and locks in open().",
        ) from cause
    return _HEAD.pack(crc32(body, crc32(raw) ^ code), code) + body


def is_intact(raw: bytes, stored: bytes) -> bool:
    """Return whether a stored value is what was written for the entry `raw`."""
    if len(stored) < HEAD_BYTES:
        return False
    checksum, code = read_head(stored)
    return bool(crc32(stored[HEAD_BYTES:], crc32(raw) ^ code) == checksum)


def unpack_entry(
    raw: bytes, stored: bytes, coders: Coders, *, is_nested: bool
) -> tuple[int, Any, Any, Any]:
    """Return (schema number, key, subkey, stored value) of an intact entry."""
    _, code = read_head(stored)
    if code & RAW:
        code ^= RAW
        value: Any = stored[HEAD_BYTES:]
    else:
        value = pickle.loads(memoryview(stored)[HEAD_BYTES:])
    if code & ADDRESSED:
        value, key, subkey = value
        return code ^ ADDRESSED, key, subkey, value
    if not is_nested:
        return code, coders.keys.decode(raw[PREFIX_BYTES:]), None, value
    start = PREFIX_BYTES + 1
    end = start + raw[PREFIX_BYTES]
    return code, coders.keys.decode(raw[start:end]), coders.subkeys.decode(raw[end:]), value


def timers_prefix(table: int) -> bytes:
    """Return what the timers of a table begin with."""
    return _TABLE.pack(table)


def timer_order(table: int, encoded_time: bytes, key_group: int, encoded: bytes) -> bytes:
    """Return the key of a timer in the order of timers."""
    return b"".join(
        (_TABLE.pack(table), encoded_time, _GROUP.pack(key_group), encoded, bytes((len(encoded),)))
    )


def pack_timer(raw: bytes, key: Any, encoded: bytes, keys: KeyCoder) -> bytes:
    """Return the stored value of a timer in the order of timers."""
    body = b"" if keys.is_decodable(key, encoded) else pickle.dumps(key, 5)
    return _CHECK.pack(crc32(body, crc32(raw))) + body


def is_timer_intact(raw: bytes, stored: bytes) -> bool:
    """Return whether a timer in order is what was written."""
    body = stored[_CHECK.size :]
    return stored[: _CHECK.size] == _CHECK.pack(crc32(body, crc32(raw)))


def unpack_timer(raw: bytes, stored: bytes, keys: KeyCoder) -> tuple[int, int, bytes, Any]:
    """Return (timestamp, key group, bytes of the key, key) of an intact timer in order."""
    end = len(raw) - 1
    start = end - raw[end]
    (group,) = _GROUP.unpack_from(raw, start - GROUP_BYTES)
    encoded = raw[start:end]
    body = stored[_CHECK.size :]
    key = pickle.loads(body) if body else keys.decode(encoded)
    return decode_key(raw[_TABLE.size : start - GROUP_BYTES]), group, encoded, key


def address_of(
    prefix: bytes, key: Any, subkey: Any, coders: Coders, *, is_nested: bool
) -> tuple[bytes, tuple[Any, Any] | None]:
    """Return the database key of an entry, and (key, subkey) if it does not contain them."""
    keys, subkeys = coders.keys, coders.subkeys
    encoded = keys.encode(key)
    if not is_nested:
        return prefix + encoded, None if keys.is_decodable(key, encoded) else (key, None)
    inner = subkeys.encode(subkey)
    known = keys.is_decodable(key, encoded) and subkeys.is_decodable(subkey, inner)
    return nested_prefix(prefix, encoded) + inner, None if known else (key, subkey)


@dataclass(slots=True)
class StoredTable:
    """One state of one operator, as described in a file.

    Attributes:
        schemas: Texts its entries were written with; an entry has the place in this list.
    """

    operator: str
    state: str
    schemas: list[str] = field(default_factory=list)

    @property
    def is_nested(self) -> bool:
        """True if its entries have subkeys."""
        return StateSchema.parse(self.schemas[0]).kind.is_nested


class Catalog:
    """The tables of a file.

    Attributes:
        tables: In the order of their ids.
        is_changed: Whether `claim` added something.
    """

    def __init__(self, data: bytes | None = None) -> None:
        self.tables = [StoredTable(*known) for known in json.loads(data or b"[]")]
        self.ids = {
            (table.operator, table.state): number for number, table in enumerate(self.tables)
        }
        self.is_changed = False

    def encode(self) -> bytes:
        """Return the stored form."""
        known = [(table.operator, table.state, table.schemas) for table in self.tables]
        return json.dumps(known).encode()

    def claim(self, operator: str, state: str, schema: str) -> tuple[int, int]:
        """Return (table id, schema number), made if they are new."""
        table = self.ids.get((operator, state))
        if table is None:
            table = self.ids[operator, state] = len(self.tables)
            self.tables.append(StoredTable(operator, state))
            self.is_changed = True
        schemas = self.tables[table].schemas
        if schema not in schemas:
            schemas.append(schema)
            self.is_changed = True
        if table >= _ADDRESSES or len(schemas) > RAW:
            raise StateError(
                f"state {state!r} of operator {operator!r} has number {table} with "
                f"{len(schemas)} schemas, which is too many to store",
                hint="Use fewer states in one level.",
            )
        return table, schemas.index(schema)
