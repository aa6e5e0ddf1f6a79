"""Expressions of the generated code that write and read types without fields."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

from penstock.types import (
    BasicTypeInfo,
    InferredTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    TypeInformation,
)
from penstock.wire.coded_rows.payloads import (
    EPOCH_DAY,
    MICROS_PER_DAY,
    clock_key,
    clock_number,
    clock_of,
    decimal_key,
    decimal_payload,
    instant_payload,
    integer_bytes,
    integer_of,
    pickled,
    read_decimal,
    read_instant,
    read_timestamp,
    read_zoned,
    timestamp_key,
    timestamp_payload,
    unpickled,
    zoned_key,
    zoned_payload,
)
from penstock.wire.coded_rows.wire_types import Namespace, WireType

_TEXT = "{v}.encode({text})"
_ZIGZAG = "({v} << 1 ^ {v} >> 63)"
_UNZIGZAG = "z >> 1 ^ -(z & 1)"


@dataclass(frozen=True, slots=True)
class Leaf:
    """The expressions of one type without fields.

    Attributes:
        wire: Its wire type.
        write: Expression in the value `{v}`: for VARINT the unsigned number, else the payload,
            for LENGTH_DELIMITED without its length. `{text}` are the arguments of `str.encode`.
        read: Expression of the value: in `z`, the number of a VARINT; in `data[at:stop]`, the bytes
            of LENGTH_DELIMITED; else in `data` and `at`, and it is (value, end).
        limit: Upper bound of the number of a VARINT, exclusive.
        key: `write` for keys; None if the type has no canonical form.
    """

    wire: WireType
    write: str
    read: str
    limit: int = 1 << 64
    key: str | None = ""

    @property
    def canonical(self) -> str | None:
        """The expression that writes keys; None if values cannot be keys."""
        return self.write if self.key == "" else self.key


def _integer(bits: int) -> Leaf:
    return Leaf(WireType.VARINT, _ZIGZAG, _UNZIGZAG, 1 << bits)


_STRING = Leaf(WireType.LENGTH_DELIMITED, _TEXT, "data[at:stop].decode('utf-8', 'surrogatepass')")
_PICKLED = Leaf(WireType.LENGTH_DELIMITED, "pickled({v})", "unpickled(data[at:stop], at)", key=None)
_BYTES = Leaf(WireType.LENGTH_DELIMITED, "{v}", "data[at:stop]")

_LEAVES: dict[str, Leaf] = {
    "String": _STRING,
    "Char": Leaf(
        WireType.LENGTH_DELIMITED,
        _TEXT,
        "character(data[at:stop].decode('utf-8', 'surrogatepass'))",
    ),
    "Boolean": Leaf(WireType.VARINT, "(1 if {v} else 0)", "z == 1", 2),
    "Byte": _integer(8),
    "Short": _integer(16),
    "Integer": _integer(32),
    "Long": _integer(64),
    "Float": Leaf(
        WireType.FIXED32, "pack_single({v})", "single_at(data, at)", key="pack_single(plain({v}))"
    ),
    "Double": Leaf(
        WireType.FIXED64, "pack_double({v})", "double_at(data, at)", key="pack_double(plain({v}))"
    ),
    "BigInteger": Leaf(
        WireType.LENGTH_DELIMITED, "integer_bytes({v})", "integer_of(data[at:stop])"
    ),
    "BigDecimal": Leaf(
        WireType.DECIMAL,
        "decimal_payload({v})",
        "read_decimal(data, at)",
        key="decimal_key({v})",
    ),
    "Instant": Leaf(WireType.TIMESTAMP, "instant_payload({v})", "read_instant(data, at)"),
    "SqlDate": Leaf(WireType.VARINT, "zigzag_day({v})", "day_of(z)", 1 << 32),
    "SqlTime": Leaf(
        WireType.VARINT,
        "clock_number({v})",
        "clock_of(z)",
        2 * MICROS_PER_DAY,
        key="clock_key({v})",
    ),
    "SqlTimestamp": Leaf(
        WireType.TIMESTAMP,
        "timestamp_payload({v})",
        "read_timestamp(data, at)",
        key="timestamp_key({v})",
    ),
    "TimestampLtz": Leaf(
        WireType.TIMESTAMP, "zoned_payload({v})", "read_zoned(data, at)", key="zoned_key({v})"
    ),
}
"""Name of every basic type to its leaf."""


# CodedRowData, rule 1.
def leaf_of(type_info: TypeInformation) -> Leaf | None:
    """Return the leaf of a type; None if it has fields, elements or pairs, or is unknown."""
    kind = type(type_info)
    if kind is BasicTypeInfo:
        return _LEAVES[type_info.name]  # type: ignore[attr-defined]
    if kind is PrimitiveArrayTypeInfo and type_info.is_bytes:  # type: ignore[attr-defined]
        return _BYTES
    return _PICKLED if kind in {PickledBytesTypeInfo, InferredTypeInfo} else None


_single = struct.Struct("<f")
_double = struct.Struct("<d")
_NAN = _double.unpack(b"\0\0\0\0\0\0\xf8\x7f")[0]


def _reader(layout: struct.Struct) -> Callable[[bytes, int], tuple[float, int]]:
    unpack, size = layout.unpack_from, layout.size

    def read(data: bytes, at: int) -> tuple[float, int]:
        return unpack(data, at)[0], at + size

    return read


def _plain(value: float) -> float:
    """Return the same number for all numbers that are equal as keys."""
    return value + 0.0 if value == value else _NAN  # noqa: PLR0124 - what NaN is not


def _zigzag_day(value: date) -> int:
    days = value.toordinal() - EPOCH_DAY
    return days << 1 ^ days >> 63


def _day_of(number: int) -> date:
    return date.fromordinal((number >> 1 ^ -(number & 1)) + EPOCH_DAY)


def _character(text: str) -> str:
    if len(text) != 1:
        msg = f"{text!r:.80} is not one character"
        raise ValueError(msg)
    return text


NAMES: Namespace = {
    "pack_single": _single.pack,
    "pack_double": _double.pack,
    "single_at": _reader(_single),
    "double_at": _reader(_double),
    "plain": _plain,
    "zigzag_day": _zigzag_day,
    "day_of": _day_of,
    "character": _character,
    **{
        made.__name__: made
        for made in (
            clock_key, clock_number, clock_of, decimal_key, decimal_payload, instant_payload,
            integer_bytes, integer_of, pickled, read_decimal, read_instant, read_timestamp,
            read_zoned, timestamp_key, timestamp_payload, unpickled, zoned_key, zoned_payload,
        )
    },
}  # fmt: skip
"""Names in the expressions."""


def name_of(value: Any) -> str:
    """Return bytes as source text."""
    return repr(bytes(value))
