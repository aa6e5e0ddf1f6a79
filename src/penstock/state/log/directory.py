"""The directory of a state blob: which states it has, and under which schemas.

    varint number of schema texts; per text varint length and UTF-8
    varint number of sections; per section varint length and UTF-8 of the state's name, varint number
    of its schema text

An operator with the states "count" and "sum", both of longs:

    01 39 {"kind":"value","subkey":null,"ttl":false,"value":"Long"}
    02 05 count 00 03 sum 00

The blobs of an operator have few different directories, so one is written and read once per process and
looked up from then on: in a small blob it would cost as much as the entries.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

from penstock.errors import DecodeError
from penstock.wire.coded_rows.wire_types import read_varint, varint

Directory: TypeAlias = tuple[tuple[str, str], ...]
"""Name of a state and schema text of its entries, per section and in order."""

_REMEMBERED = 1024
_HALVES = "surrogatepass"
"""Half a character is written like a whole one, as pickle does."""


@lru_cache(_REMEMBERED)
def encode_directory(directory: Directory) -> bytes:
    """Return the bytes of a directory; the same whatever was written before."""
    numbers: dict[str, int] = {}
    for _, schema in directory:
        numbers.setdefault(schema, len(numbers))
    parts = [varint(len(numbers)), *map(_text, numbers), varint(len(directory))]
    for state, schema in directory:
        parts += (_text(state), varint(numbers[schema]))
    return b"".join(parts)


@lru_cache(_REMEMBERED)
def decode_directory(data: bytes) -> Directory:
    """Return the directory that `encode_directory` wrote.

    Raises:
        DecodeError: There is none, or something is behind it.
    """
    n_schemas, at = read_varint(data, 0)
    schemas = []
    for _ in range(n_schemas):
        schema, at = _read_text(data, at)
        schemas.append(schema)
    n_states, at = read_varint(data, at)
    states = []
    for _ in range(n_states):
        state, at = _read_text(data, at)
        number, at = read_varint(data, at, n_schemas)
        states.append((state, schemas[number]))
    if at != len(data):
        raise _damaged(f"it has {len(data) - at} bytes too many")
    return tuple(states)


def _text(text: str) -> bytes:
    data = text.encode(errors=_HALVES)
    return varint(len(data)) + data


def _read_text(data: bytes, at: int) -> tuple[str, int]:
    length, start = read_varint(data, at)
    end = start + length
    try:
        return data[start:end].decode(errors=_HALVES), end
    except UnicodeDecodeError as cause:
        raise _damaged(f"a name is no UTF-8: {cause}") from cause


def _damaged(what: str) -> DecodeError:
    return DecodeError(
        f"the directory of a state blob cannot be read: {what}",
        hint="Restore the checkpoint directory from a copy.",
    )
