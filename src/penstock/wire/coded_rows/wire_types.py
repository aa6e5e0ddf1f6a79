"""Wire types, tags, varints, and skipping of unknown fields."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

from penstock.errors import DecodeError


# CodedRowData, rule 1.
class WireType(IntEnum):
    """The kind of payload after a tag; it determines where the payload ends."""

    VARINT = 0
    FIXED64 = 1
    LENGTH_DELIMITED = 2
    NULL = 3
    """No payload: an element that is None. Protobuf's start of a group."""
    END = 4
    """No payload: with a NULL before it, an empty list. Protobuf's end of a group."""
    FIXED32 = 5
    DECIMAL = 6
    TIMESTAMP = 7


KIND_NUMBER = (1 << 29) - 1
"""Field number of the kind of a row; the greatest one."""

MAX_VARINT_BYTES = 10
LONG_VARINT_BYTES = 19
"""Limit of the milliseconds of a timestamp, which is far away for an `Instant`."""

_RESERVED_FROM = 19_000
_RESERVED = 1_000
_ONE_BYTE = 0x80
_PAYLOAD = 0x7F
_TWO_BYTES = 1 << 14
_THREE_BYTES = 1 << 21
_U64 = 1 << 64

_LAST = [bytes((low,)) for low in range(_ONE_BYTE)]
_MORE = [bytes((low | _ONE_BYTE,)) for low in range(_ONE_BYTE)]


def field_number(position: int) -> int:
    """Return the number of the field at a position, from 0."""
    number = position + 1
    return number if number < _RESERVED_FROM else number + _RESERVED


def tag(number: int, wire: WireType) -> bytes:
    """Return the tag before the payload of a field."""
    return varint(number << 3 | wire)


def varint(value: int) -> bytes:
    """Return the bytes of an unsigned number of any size."""
    if value < _TWO_BYTES:
        if value < _ONE_BYTE:
            return _LAST[value]
        return _MORE[value & _PAYLOAD] + _LAST[value >> 7]
    if value < _THREE_BYTES:
        return _MORE[value & _PAYLOAD] + _MORE[value >> 7 & _PAYLOAD] + _LAST[value >> 14]
    pieces = []
    while value >= _ONE_BYTE:
        pieces.append(value & _PAYLOAD | _ONE_BYTE)
        value >>= 7
    pieces.append(value)
    return bytes(pieces)


# CodedRowData, rule 2.
def zigzag(value: int) -> int:
    """Map an integer to an unsigned one: 0, -1, 1, -2 become 0, 1, 2, 3."""
    return value << 1 if value >= 0 else (-value << 1) - 1


def unzigzag(value: int) -> int:
    """Return the integer that `zigzag` maps to `value`."""
    return (value >> 1) ^ -(value & 1)


def read_varint(data: bytes, position: int, limit: int = _U64) -> tuple[int, int]:
    """Return the number at `position`, and the position after it."""
    value = shift = 0
    longest = MAX_VARINT_BYTES if limit <= _U64 else LONG_VARINT_BYTES
    for index in range(position, min(position + longest, len(data))):
        byte = data[index]
        value |= (byte & _PAYLOAD) << shift
        if byte < _ONE_BYTE:
            if byte == 0 and index > position:
                raise corrupt(position, "a number is longer than it has to be")
            if value >= limit:
                raise corrupt(position, f"{value} is out of range, which ends at {limit - 1}")
            return value, index + 1
        shift += 7
    raise corrupt(position, f"a number does not end within {longest} bytes")


def read_tag(data: bytes, position: int, end: int) -> tuple[int, int, int]:
    """Return field number, wire type, and the position of the payload."""
    value, after = read_varint(data, position, 1 << 32)
    if after > end or value < 1 << 3:
        raise corrupt(position, "there is no tag")
    return value >> 3, value & 7, after


def _after_varint(data: bytes, position: int) -> int:
    return read_varint(data, position)[1]


def _after_bytes(data: bytes, position: int) -> int:
    size, after = read_varint(data, position)
    return after + size


def _after_decimal(data: bytes, position: int) -> int:
    return _after_bytes(data, read_varint(data, position)[1])


def _after_timestamp(data: bytes, position: int) -> int:
    return read_varint(data, read_varint(data, position, 1 << 7 * LONG_VARINT_BYTES)[1])[1]


_AFTER: dict[int, Callable[[bytes, int], int]] = {
    WireType.VARINT: _after_varint,
    WireType.FIXED64: lambda _, position: position + 8,
    WireType.LENGTH_DELIMITED: _after_bytes,
    WireType.NULL: lambda _, position: position,
    WireType.END: lambda _, position: position,
    WireType.FIXED32: lambda _, position: position + 4,
    WireType.DECIMAL: _after_decimal,
    WireType.TIMESTAMP: _after_timestamp,
}


def find(data: bytes, number: int) -> int:
    """Return the position of the first field with a number or a greater one, or else the end."""
    position, end = 0, len(data)
    while position < end:
        current, wire, payload = read_tag(data, position, end)
        if current >= number:
            return position
        after = _AFTER[wire](data, payload)
        if after > end:
            raise corrupt(position, f"field {current} does not fit")
        position = after
    return position


def read_rest(data: bytes, position: int, end: int, known: int, *, has_kind: bool) -> int:
    """Skip the fields after the known ones, and return the kind of the row; 0 if it has none."""
    if position > end:
        raise corrupt(end, "a field does not end within its message")
    last = known + 1
    while position < end:
        number, wire, payload = read_tag(data, position, end)
        if number < last:
            raise corrupt(position, f"field {number} is out of order or of wire type {wire}")
        if number == KIND_NUMBER:
            kind = data[payload] if payload < end else 0
            if not has_kind or wire != WireType.VARINT or payload + 1 != end or not 0 < kind < 4:  # noqa: PLR2004 - kinds are 1 to 3
                raise corrupt(position, "there is no such kind of row")
            return kind
        last = number
        after = _AFTER[wire](data, payload)
        if after > end:
            raise corrupt(position, f"field {number} does not fit")
        position = after
    return 0


def corrupt(position: int, what: str) -> DecodeError:
    """Return the error about a byte."""
    return DecodeError(
        f"byte {position} of a coded row: {what}",
        hint="Read the bytes with the type they were written with; if it is, they are damaged.",
        position=position,
    )


HEADS = 512
"""Heads of payloads with shorter lengths are precomputed."""


def heads(tag_bytes: bytes) -> list[bytes]:
    """Return tag and length for payloads of 0 to 511 bytes."""
    return [tag_bytes + varint(size) for size in range(HEADS)]


def short_varints(tag_bytes: bytes) -> list[bytes]:
    """Return tag and varint for the numbers 0 to 127."""
    return [tag_bytes + low for low in _LAST]


Namespace = dict[str, Any]
"""Names that generated code uses."""
