"""State blobs: entries of one key group, as bytes.

Layout, little-endian:

    offset  size  field
    0       4     magic "PSS1"
    4       4     CRC-32 of everything behind it
    8       4     key group
    12      …     pickle (protocol 5) of a list of sections

A section is `(operator uid, state name, {key: value}, [removed keys])`. A snapshot is blobs
without removals; a change log is blobs in the order they were written. Several blobs of one
key group may follow each other, so no blob needs to be large.

Worked example: `count` of operator `agg` is 3 for key "a", key group 7:
`"PSS1" | crc | 07000000 | pickle([("agg", "count", {"a": 3}, [])])`.
"""

from __future__ import annotations

import pickle
import struct
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from penstock.errors import StateError

MAGIC = b"PSS1"
_HEAD = struct.Struct("<4sI")
_GROUP = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class Section:
    """Changed entries of one state.

    Attributes:
        operator: uid of the operator the state belongs to.
        state: Name of the state.
        entries: Key to new value.
        removed: Keys that no longer have a value.
    """

    operator: str
    state: str
    entries: dict[Any, Any]
    removed: list[Any]


def encode_blob(key_group: int, sections: list[Section]) -> bytes:
    """Return the blob of `sections`.

    Raises:
        StateError: A value cannot be pickled.
    """
    plain = [(s.operator, s.state, s.entries, s.removed) for s in sections]
    try:
        body = _GROUP.pack(key_group) + pickle.dumps(plain, 5)
    except Exception as cause:  # whatever a user's __reduce__ raises
        names = ", ".join(sorted({f"{s.operator}/{s.state}" for s in sections}))
        raise StateError(
            f"a value of state {names} cannot be stored: {cause}",
            hint="Keep plain data in state; make connections and locks in open().",
        ) from cause
    return _HEAD.pack(MAGIC, crc32(body)) + body


def key_group_of(blob: bytes) -> int:
    """Return the key group a blob belongs to, without decoding its entries."""
    return int(_GROUP.unpack_from(blob, _HEAD.size)[0])


def decode_blob(blob: bytes) -> tuple[int, list[Section]]:
    """Return key group and sections.

    Raises:
        StateError: The bytes are not a blob, or not the bytes that were written.
    """
    if len(blob) < _HEAD.size + _GROUP.size or blob[:4] != MAGIC:
        raise _damaged("does not start like one")
    _, expected = _HEAD.unpack_from(blob)
    body = memoryview(blob)[_HEAD.size :]
    if crc32(body) != expected:
        raise _damaged("does not match its checksum")
    (key_group,) = _GROUP.unpack_from(body)
    try:
        plain = pickle.loads(body[_GROUP.size :])
    except Exception as cause:  # a class of the user's program is gone or renamed
        raise StateError(
            f"state of key group {key_group} cannot be read: {cause}",
            hint="Keep the classes of stored values importable under their old names.",
        ) from cause
    return key_group, [Section(*section) for section in plain]


def _damaged(what: str) -> StateError:
    return StateError(
        f"a state blob {what}",
        hint="Restore the checkpoint directory from a copy, or start the job in a new one.",
    )
