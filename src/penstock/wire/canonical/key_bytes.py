"""Keys as bytes: equal keys have equal bytes, unequal keys unequal ones.

Equality is Python's, as in `penstock.wire.canonical.key_groups`, whose rules say what may be a key: 1, 1.0
and True are one key, and so are two rows that have the same names in another order.

The first byte says what follows. Numbers have one form per value, whatever their type:

    int                   12  four bytes, 11 or 13  eight bytes, 10 or 14  length and the rest
    not whole             16  IEEE double if exact, else 17  numerator, denominator; 18  complex
    None, str, bytes      01, 20, 21
    tuple, Row, frozenset 30, 31 or 32 (with names), 33
    dataclass, enum       34, 35 with module and name of the class
    list                  36
    dates and times       40 to 45      UUID 46
    time a clock shows    47 with the zone: what no other zone equals
    twice or never
    longer than 240       7f  BLAKE2b digest of the bytes

    1 = True = 1.0        12 80 00 00 01
    ("a", 1)              30 02 20 61 05 12 80 00 00 01

Ints, and numbers equal to them, sort as their bytes do. `int`, `str`, `bytes`, None and tuples of
exactly these can be had back from their bytes (`is_decodable`, `decode_key`); other keys have to
be stored beside them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from hashlib import blake2b
from typing import Any
from uuid import UUID

from penstock.errors import DecodeError
from penstock.types.list_key import ListKey, TupleKey
from penstock.types.row import Row
from penstock.wire.canonical.key_classes import (
    check_decimal,
    compared_values,
    key_class,
    no_key_class,
    not_a_number,
)

MAX_KEY_BYTES = 240
"""No key has more bytes."""

_DIGEST_BYTES = 32
_HALF_32 = 1 << 31
_HALF_64 = 1 << 63
_LONG_PIECE = 0xFF

_NONE, _BIG_NEGATIVE, _NEGATIVE, _SMALL, _POSITIVE, _BIG_POSITIVE = (
    0x01,
    0x10,
    0x11,
    0x12,
    0x13,
    0x14,
)
_DOUBLE, _RATIO, _COMPLEX, _STR, _BYTES, _TUPLE = (
    b"\x16",
    b"\x17",
    b"\x18",
    b"\x20",
    b"\x21",
    b"\x30",
)
_ROW, _NAMED_ROW, _SET, _DATACLASS, _ENUM = b"\x31", b"\x32", b"\x33", b"\x34", b"\x35"
_DATE, _DATETIME, _INSTANT, _TIME, _TIME_IN_ZONE = b"\x40", b"\x41", b"\x42", b"\x43", b"\x44"
_TIMEDELTA, _UUID, _IN_ZONE, _LIST, _DIGEST = b"\x45", b"\x46", b"\x47", b"\x36", b"\x7f"

_KINDS: dict[int, str | None] = {
    _NONE: None,
    **dict.fromkeys(
        (*range(_BIG_NEGATIVE, _BIG_POSITIVE + 1), *_DOUBLE, *_RATIO, *_COMPLEX), "number"
    ),
    **dict.fromkeys(_STR, "text"),
    **dict.fromkeys(_BYTES, "bytes"),
    **dict.fromkeys(_TUPLE, "tuple"),
    **dict.fromkeys(_LIST, "list"),
    **dict.fromkeys(_ROW, "row"),
    **dict.fromkeys(_NAMED_ROW, "row with names"),
    **dict.fromkeys(_SET, "frozenset"),
    **dict.fromkeys(_DATACLASS, "dataclass"),
    **dict.fromkeys(_ENUM, "enum"),
    **dict.fromkeys(_DATE, "date"),
    **dict.fromkeys(_DATETIME, "datetime"),
    **dict.fromkeys(_INSTANT + _IN_ZONE, "datetime with a zone"),
    **dict.fromkeys(_TIME, "time"),
    **dict.fromkeys(_TIME_IN_ZONE, "time with a zone"),
    **dict.fromkeys(_TIMEDELTA, "timedelta"),
    **dict.fromkeys(_UUID, "UUID"),
}
"""First byte of a key's bytes to its kind."""

_pack_small = struct.Struct(">BI").pack
_pack_large = struct.Struct(">BQ").pack
_pack_double = struct.Struct(">cd").pack
_read_u32 = struct.Struct(">I").unpack_from
_read_u64 = struct.Struct(">Q").unpack_from
_SHORT = [bytes((size,)) for size in range(_LONG_PIECE)]
_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - it is subtracted from moments without a zone


def encode_key(key: Any) -> bytes:
    """Return the bytes of `key`, `MAX_KEY_BYTES` at most.

    Raises:
        KeyTypeError: `key` is NaN, mutable, or of a type without a stable form.

    Examples:
        >>> encode_key(1) == encode_key(1.0) == encode_key(True)
        True
        >>> encode_key(("a", 1)).hex(" ")
        '30 02 20 61 05 12 80 00 00 01'
    """
    kind = type(key)
    if kind is int and -_HALF_32 <= key < _HALF_32:
        return _pack_small(_SMALL, key + _HALF_32)
    encoded = _STR + key.encode("utf-8", "surrogatepass") if kind is str else _encode(key)
    if len(encoded) <= MAX_KEY_BYTES:
        return encoded
    return _DIGEST + blake2b(encoded, digest_size=_DIGEST_BYTES).digest()


def kind_of_key(key: Any) -> str | None:
    """Return what kind of key it is: what equal keys have in common; None for the key None.

    Raises:
        KeyTypeError: It cannot be a key.

    Examples:
        >>> kind_of_key(1), kind_of_key(1.0), kind_of_key(("a",))
        ('number', 'number', 'tuple')
    """
    return _KINDS[_encode(key)[0]]


def is_decodable(key: Any, encoded: bytes) -> bool:
    """Return whether `decode_key(encoded)`, where `encoded` are the bytes of `key`, is `key`.

    The type counts as well: of True one would get 1 back.
    """
    return encoded[:1] != _DIGEST and _is_exact(key)


def decode_key(encoded: bytes) -> Any:
    """Return the key that has these bytes, for keys that are decodable.

    Raises:
        DecodeError: They are the bytes of another kind of key, or of none.
    """
    decoder = _DECODERS.get(encoded[:1])
    if decoder is None:
        raise _malformed(encoded)
    try:
        return decoder(encoded)
    except (struct.error, UnicodeDecodeError, IndexError) as cause:
        raise _malformed(encoded) from cause


def _is_exact(key: Any) -> bool:
    return type(key) in _EXACT or (type(key) is tuple and all(map(_is_exact, key)))


_EXACT = frozenset({int, str, bytes, type(None)})


def _encode(key: Any) -> bytes:
    encoder = _ENCODERS.get(type(key))
    if encoder is not None:
        return encoder(key)
    found = key_class(type(key))
    if isinstance(found, str):
        raise no_key_class(key, found)
    if found.family is None:
        values = compared_values(key, found)
        return _DATACLASS + _pieces([_class_name(key), *map(_encode, values)])
    return _ENCODERS[found.family](key)


def _class_name(key: Any) -> bytes:
    return f"{type(key).__module__}.{type(key).__qualname__}".encode()


def _pieces(parts: Iterable[bytes]) -> bytes:
    """Join byte strings so that they can be told apart: each behind its length."""
    joined: list[bytes] = []
    for part in parts:
        size = len(part)
        joined.append(_SHORT[size] if size < _LONG_PIECE else _pack_small(_LONG_PIECE, size))
        joined.append(part)
    return b"".join(joined)


def _number(key: int) -> bytes:
    return _integer(int(key))  # of any class


def _integer(key: int) -> bytes:
    if -_HALF_32 <= key < _HALF_32:
        return _pack_small(_SMALL, key + _HALF_32)
    if -_HALF_64 <= key < _HALF_64:
        return _pack_large(_NEGATIVE if key < 0 else _POSITIVE, key + _HALF_64)
    size = (key.bit_length() + 7) // 8
    if key > 0:
        return _pack_small(_BIG_POSITIVE, size) + key.to_bytes(size, "big")
    # More bytes, smaller number; among equally many the complement keeps the order.
    complement = key + (1 << 8 * size)
    return _pack_small(_BIG_NEGATIVE, 0xFFFF_FFFF - size) + complement.to_bytes(size, "big")


def _float(key: float) -> bytes:
    key = float(key)
    if key.is_integer():
        return _integer(int(key))
    if key != key:  # noqa: PLR0124 - what NaN is
        raise not_a_number()
    return _pack_double(_DOUBLE, key)


def _fraction(key: Fraction | Decimal) -> bytes:
    """Encode an exact number: as the double it equals, else as a ratio in lowest terms."""
    try:
        double = float(key)
    except OverflowError:
        double = float("inf")
    if double == key:
        return _float(double)
    numerator, denominator = key.as_integer_ratio()
    if denominator == 1:
        return _integer(numerator)
    return _RATIO + _pieces([_integer(numerator), _integer(denominator)])


def _decimal(key: Decimal) -> bytes:
    check_decimal(key)
    return _fraction(key)


def _complex(key: complex) -> bytes:
    real = _float(key.real)
    return real if key.imag == 0 else _COMPLEX + _pieces([real, _float(key.imag)])


def _row(key: Row) -> bytes:
    # The kind is part of equality, the order of names is not.
    values = list(map(_encode, key))
    kind = key.get_row_kind().short_string.encode()
    names = key._fields
    if names is None:
        return _ROW + _pieces([kind, *values])
    named = sorted(zip((name.encode() for name in names), values, strict=True))
    return _NAMED_ROW + _pieces([kind, *(piece for pair in named for piece in pair)])


def _moment(key: datetime) -> bytes:
    naive = key.replace(tzinfo=None, fold=0)
    # Equality ignores `fold`, so the offset must be the one without it.
    offset = key.replace(fold=0).utcoffset()
    elapsed = naive - _EPOCH
    if offset is None:
        return _DATETIME + _integer(elapsed // _MICROSECOND)
    if offset != key.replace(fold=1).utcoffset():
        # Times a clock shows twice, or never, equal those of the same zone only (PEP 495).
        return _IN_ZONE + _pieces([str(key.tzinfo).encode(), _integer(elapsed // _MICROSECOND)])
    return _INSTANT + _integer((elapsed - offset) // _MICROSECOND)


def _clock(key: time) -> bytes:
    since_midnight = timedelta(
        hours=key.hour, minutes=key.minute, seconds=key.second, microseconds=key.microsecond
    )
    offset = key.utcoffset()
    if offset is None:
        return _TIME + _integer(since_midnight // _MICROSECOND)
    return _TIME_IN_ZONE + _integer((since_midnight - offset) // _MICROSECOND)


def _day(key: date) -> bytes:
    return _DATE + _integer(key.toordinal())


def _string(key: str) -> bytes:
    return _STR + str.encode(key, "utf-8", "surrogatepass")


def _byte_string(key: bytes) -> bytes:
    return b"".join((_BYTES, key))


def _tuple(key: tuple[Any, ...]) -> bytes:
    return _TUPLE + _pieces(map(_encode, tuple.__iter__(key)))


def _member(key: Enum) -> bytes:
    return _ENUM + _pieces([_class_name(key), key.name.encode()])


_ENCODERS: dict[type, Callable[[Any], bytes]] = {
    int: _number,
    str: _string,
    bytes: _byte_string,
    tuple: _tuple,
    type(None): lambda _: bytes((_NONE,)),
    bool: _integer,
    float: _float,
    TupleKey: _tuple,
    ListKey: lambda key: _LIST + _pieces(map(_encode, key)),
    complex: _complex,
    Decimal: _decimal,
    Fraction: _fraction,
    Row: _row,
    frozenset: lambda key: _SET + _pieces(sorted(map(_encode, key))),
    datetime: _moment,
    date: _day,
    time: _clock,
    timedelta: lambda key: _TIMEDELTA + _integer(key // _MICROSECOND),
    UUID: lambda key: _UUID + key.bytes,
    Enum: _member,
}


def _decode_small(encoded: bytes) -> int:
    return int(_read_u32(encoded, 1)[0]) - _HALF_32


def _decode_large(encoded: bytes) -> int:
    return int(_read_u64(encoded, 1)[0]) - _HALF_64


def _decode_big(encoded: bytes) -> int:
    number = int.from_bytes(encoded[5:], "big")
    return number if encoded[0] == _BIG_POSITIVE else number - (1 << 8 * (len(encoded) - 5))


def _decode_tuple(encoded: bytes) -> tuple[Any, ...]:
    parts: list[Any] = []
    at = 1  # a piece too long for one byte of length only occurs in digests
    while at < len(encoded):
        size = encoded[at]
        at += 1
        if at + size > len(encoded):
            raise _malformed(encoded)
        parts.append(decode_key(encoded[at : at + size]))
        at += size
    return tuple(parts)


_DECODERS: dict[bytes, Callable[[bytes], Any]] = {
    bytes((_NONE,)): lambda _: None,
    bytes((_SMALL,)): _decode_small,
    bytes((_NEGATIVE,)): _decode_large,
    bytes((_POSITIVE,)): _decode_large,
    bytes((_BIG_NEGATIVE,)): _decode_big,
    bytes((_BIG_POSITIVE,)): _decode_big,
    _STR: lambda encoded: encoded[1:].decode("utf-8", "surrogatepass"),
    _BYTES: lambda encoded: encoded[1:],
    _TUPLE: _decode_tuple,
}


def _malformed(encoded: bytes) -> DecodeError:
    return DecodeError(
        f"the bytes {encoded.hex(' ')} are not those of a key",
        hint="Rebuild the state from its log: the bytes are damaged or of another version.",
    )
