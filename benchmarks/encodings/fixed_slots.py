"""Rows with a slot of eight bytes per field: the layout that coded rows are compared with.

The arithmetic is that of Flink's BinaryRowData (CodedRowData 4.1):

    4 bytes    size of what follows, in front of a whole row only
    head       kind of the row in the first byte, then a bit per field that is None;
               ((fields + 63 + 8) / 64) * 8 bytes
    slots      8 bytes a field: the number, a string of up to 7 bytes behind 0x80 | its length,
               or offset << 32 | size of a part
    parts      strings from 8 bytes, rows, maps; each rounded up to 8 bytes

An array is its number of elements in 4 bytes, a bit per element that is None rounded up to 4
bytes, then 8 bytes an element and the parts. A map is the size of its array of keys in 4 bytes,
that array, and the one of its values.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from penstock.errors import ArgumentError
from penstock.types import (
    BasicTypeInfo,
    MapTypeInfo,
    Row,
    RowKind,
    RowTypeInfo,
    TypeInformation,
    row_factory,
)

_SLOT = 8
_INLINE = 7
_KINDS = tuple(RowKind)
_number = struct.Struct("<q")
_size = struct.Struct("<i")
_INTEGERS = frozenset({"Byte", "Short", "Integer", "Long"})

Write = Callable[[Any], bytes]
Read = Callable[[bytes], Any]


class FixedSlots:
    """Writes and reads rows of one type, which has integers, strings, rows and maps of these.

    Args:
        row_type: Type of the rows.

    Raises:
        ArgumentError: There is another type in it.
    """

    def __init__(self, row_type: RowTypeInfo) -> None:
        self._write, self._read = _row_codec(row_type)

    def encode(self, row: Row) -> bytes:
        """Return the bytes of a row, with its size."""
        data = self._write(row)
        return _size.pack(len(data)) + data

    def decode(self, data: bytes) -> Any:
        """Return the row of some bytes that `encode` made."""
        return self._read(data[_size.size :])


def _codec(type_info: TypeInformation) -> tuple[Write, Read] | None:
    """Return what writes and reads parts of a type; None for integers, which are in the slot."""
    if isinstance(type_info, RowTypeInfo):
        return _row_codec(type_info)
    if isinstance(type_info, MapTypeInfo):
        return _map_codec(type_info)
    if isinstance(type_info, BasicTypeInfo) and type_info.name == "String":
        return str.encode, bytes.decode
    if isinstance(type_info, BasicTypeInfo) and type_info.name in _INTEGERS:
        return None
    raise ArgumentError(
        f"fixed slots are not made for {type_info!r}", hint="Use integers, strings, rows and maps."
    )


def _row_codec(row_type: RowTypeInfo) -> tuple[Write, Read]:
    codecs = [_codec(field) for field in row_type.field_types]
    n_fields = len(codecs)
    head = (n_fields + 63 + 8) // 64 * 8
    slots = struct.Struct(f"<{n_fields}q")
    make = row_factory(row_type.field_names)

    def write(row: Row) -> bytes:
        numbers, parts, nulls = _slots_of(list(row), codecs, head + n_fields * _SLOT)
        bits = nulls << 8 | row.get_row_kind().value
        return b"".join((bits.to_bytes(head, "little"), slots.pack(*numbers), *parts))

    def read(data: bytes) -> Row:
        bits = int.from_bytes(data[:head], "little")
        values = _values_of(data, slots.unpack_from(data, head), codecs, bits >> 8, head)
        (row,) = make((values,))
        if bits & 0xFF:
            row.set_row_kind(_KINDS[bits & 0xFF])
        return row

    return write, read


def _map_codec(map_type: MapTypeInfo) -> tuple[Write, Read]:
    write_keys, read_keys = _array_codec(map_type.key_type)
    write_values, read_values = _array_codec(map_type.value_type)

    def write(pairs: dict[Any, Any]) -> bytes:
        keys = write_keys(list(pairs))
        return b"".join((_size.pack(len(keys)), keys, write_values(list(pairs.values()))))

    def read(data: bytes) -> dict[Any, Any]:
        middle = _size.size + _size.unpack_from(data)[0]
        return dict(zip(read_keys(data[4:middle]), read_values(data[middle:]), strict=True))

    return write, read


def _array_codec(element: TypeInformation) -> tuple[Write, Read]:
    codec = _codec(element)

    def write(values: list[Any]) -> bytes:
        n_values = len(values)
        head = 4 + (n_values + 31) // 32 * 4
        numbers, parts, nulls = _slots_of(values, [codec] * n_values, head + n_values * _SLOT)
        start = _size.pack(n_values) + nulls.to_bytes(head - 4, "little")
        return b"".join((start, struct.pack(f"<{n_values}q", *numbers), *parts))

    def read(data: bytes) -> list[Any]:
        (n_values,) = _size.unpack_from(data)
        head = 4 + (n_values + 31) // 32 * 4
        numbers = struct.unpack_from(f"<{n_values}q", data, head)
        nulls = int.from_bytes(data[4:head], "little")
        return _values_of(data, numbers, [codec] * n_values, nulls, head)

    return write, read


def _slots_of(
    values: Sequence[Any], codecs: Sequence[tuple[Write, Read] | None], offset: int
) -> tuple[list[int], list[bytes], int]:
    """Return the numbers in the slots, the parts, and the bits of what is None."""
    numbers: list[int] = []
    parts: list[bytes] = []
    nulls = 0
    for at, (value, codec) in enumerate(zip(values, codecs, strict=True)):
        if value is None:
            nulls |= 1 << at
            numbers.append(0)
        elif codec is None:
            numbers.append(value)
        else:
            data = codec[0](value)
            size = len(data)
            if size <= _INLINE and type(value) is str:
                inline = data.ljust(_INLINE, b"\0") + bytes((0x80 | size,))
                numbers.append(_number.unpack(inline)[0])
            else:
                parts.append(data.ljust((size + 7) // 8 * 8, b"\0"))
                numbers.append(offset << 32 | size)
                offset += len(parts[-1])
    return numbers, parts, nulls


def _values_of(
    data: bytes,
    numbers: Sequence[int],
    codecs: Sequence[tuple[Write, Read] | None],
    nulls: int,
    head: int,
) -> list[Any]:
    values: list[Any] = []
    for at, (number, codec) in enumerate(zip(numbers, codecs, strict=True)):
        if nulls >> at & 1:
            values.append(None)
        elif codec is None:
            values.append(number)
        elif number < 0:
            start = head + at * _SLOT
            size = data[start + _INLINE] & 0x7F
            values.append(codec[1](data[start : start + size]))
        else:
            offset, size = number >> 32, number & 0xFFFF_FFFF
            values.append(codec[1](data[offset : offset + size]))
    return values
