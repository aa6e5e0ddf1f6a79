"""Descriptions of tables in `pgoutput`, which come before the first change of a table in a transaction."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache

from penstock.connectors.postgres.values import Column

_COUNT = struct.Struct(">H")
_NUMBER = struct.Struct(">I")
_COLUMN = struct.Struct(">Ii")


class Malformed(Exception):  # noqa: N818 - its catcher makes an error of ours of it
    """A message is none of the protocol."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A table as it was when a transaction changed it.

    Attributes:
        oid: Its number.
        schema: Its schema.
        name: Its name.
        identity: `d` default, `n` nothing, `f` full, `i` an index.
        columns: Its columns; those of the replica identity are keys.
    """

    oid: int
    schema: str
    name: str
    identity: str
    columns: tuple[Column, ...]


def relation_of(message: bytes) -> Relation:
    """Return what a message R says.

    Raises:
        Malformed: It cannot be read.
    """
    try:
        (oid,) = _NUMBER.unpack_from(message, 1)
        schema, at = _name(message, 5)
        name, at = _name(message, at)
        identity = chr(message[at])
        (count,) = _COUNT.unpack_from(message, at + 1)
        at, columns = at + 3, []
        for _ in range(count):
            is_key = bool(message[at] & 1)
            column, at = _name(message, at + 1)
            type_oid, _ = _COLUMN.unpack_from(message, at)
            at += _COLUMN.size
            columns.append(Column(column, type_oid, is_key))
    except (struct.error, IndexError, ValueError) as cause:
        raise Malformed(f"a relation cannot be read: {cause}") from cause
    return Relation(oid, schema or "pg_catalog", name, identity, tuple(columns))


def _name(message: bytes, at: int) -> tuple[str, int]:
    end = message.index(0, at)
    return message[at:end].decode(), end + 1


relation_once = lru_cache(maxsize=256)(relation_of)
"""The same as `relation_of`: the message is repeated in every range."""
