"""The classes of keys, one row per class, with the equality, the bytes and the hash of its keys.

Equality is Python's: the keys 1, 1.0 and True are equal, though their content as records differs
(`penstock.types.value_kinds`). So an atom has its own encoding here; the components of a container are those
of any value. The row of a class that has none of its own is found once.

Bytes are equal exactly if keys are; `penstock.wire.canonical.key_bytes` defines them. Equal keys have equal hashes,
and so have a few unequal ones. Python's hash is unsuitable: that of strings differs between processes:

    numbers                       Python's numeric hash, which is fixed and equal for equal numbers
    str, bytes                    CRC-32 of the UTF-8 bytes
    None, enums                   fixed tag; class and member name
    tuple, list, Row, dataclass   combination of the elements
    dates, times, UUID            CRC-32 of the ISO text (of the instant in UTC if it has a zone)

NaN does not equal itself, so it cannot be a key. A mutable object cannot be one either, except a list, which
becomes a tuple (`penstock.types.list_key`).

One state backend finds keys in a dictionary, another by their bytes. So a class can be a class of keys only
if its `==` is known: that of a base class whose values have an encoding, or the generated `==` of a
`dataclass`. A class that defines `__eq__` or `__hash__` itself would be grouped by these in a dictionary and by
its fields elsewhere. Calling its methods everywhere does not help: bytes and key groups need one
representative of each set of equal keys, which only the author of the class can name.

    class UserId(str): ...                      as str
    namedtuple, IntEnum, StrEnum                as tuple, int, str
    Enum                                        its members, by name
    @dataclass(frozen=True)                     its compared fields
    a class that defines __eq__ or __hash__     refused
    identity (object, @dataclass(eq=False))     refused: no two records would have the same key
"""

from __future__ import annotations

import struct
from cmath import isnan
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, make_dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from types import NoneType
from typing import Any, NamedTuple, NoReturn
from uuid import UUID
from zlib import crc32

import numpy as np

from penstock.errors import KeyTypeError
from penstock.types.list_key import ListKey, TupleKey
from penstock.types.row import Row
from penstock.types.value_kinds import KINDS

PLAIN: tuple[type, ...] = (
    *(int, float, complex, Decimal, Fraction, str, bytes, tuple, Row, ListKey, frozenset),
    *(datetime, date, time, timedelta, UUID),
)
"""Types whose values have an encoding; it is also that of classes that inherit their equality."""

_INTEGERS = (np.dtype(code).type for code in "bhilqBHILQ")
_NUMPY: dict[type, type] = {
    **dict.fromkeys((np.bool_, *_INTEGERS), int),
    **dict.fromkeys((np.float16, np.float32, np.float64), float),
    np.str_: str,
    np.bytes_: bytes,
}
"""NumPy's scalars; they equal Python's numbers and have the same hashes."""

_ENUM_BASES = frozenset({int, float, str, bytes})
_RULES = (
    "Return a number, string, bytes, None, enum, date, UUID, or a tuple, list or frozen dataclass "
    "of these from the key selector."
)


@dataclass(frozen=True, slots=True)
class KeyClass:
    """The equality of the keys of one class.

    Attributes:
        family: The type of `PLAIN` whose equality they have, `Enum`, or None for a dataclass.
        compared: Names of the fields that a dataclass compares.
    """

    family: type | None
    compared: tuple[str, ...] = ()


def key_class(cls: Any) -> KeyClass | str:
    """Return the equality of the keys of a class, or the reason why it is no class of keys."""
    owner = _owner(cls, "__eq__")
    if cls.__hash__ is None:
        return "its instances can be changed"
    if owner in PLAIN:
        return _of_plain(cls, owner)
    if owner in _NUMPY:
        return KeyClass(_NUMPY[owner])
    if owner is object:
        return _of_identity(cls)
    return _of_fields(cls, owner)


def _of_fields(cls: Any, owner: type) -> KeyClass | str:
    generated = [_has_made(cls, owner, method) for method in ("__eq__", "__hash__")]
    if not all(generated):
        return _defines(cls, "__hash__" if generated[0] else "__eq__")
    if issubclass(cls, Enum):
        return KeyClass(Enum)
    return KeyClass(None, tuple(member.name for member in fields(cls) if member.compare))


def _of_plain(cls: type, owner: type) -> KeyClass | str:
    if _owner(cls, "__hash__") is not owner:
        return _defines(cls, "__hash__")
    if issubclass(cls, Enum) and owner not in _ENUM_BASES:
        return f"its members are {owner.__name__}s as well"
    return KeyClass(owner)


def _of_identity(cls: type) -> KeyClass | str:
    if not issubclass(cls, Enum):
        return "an instance equals only itself"
    return KeyClass(Enum) if _owner(cls, "__hash__") is Enum else _defines(cls, "__hash__")


def _defines(cls: type, method: str) -> str:
    return f"{_owner(cls, method).__name__} defines {method} itself"


def no_key_class(key: Any, reason: str) -> KeyTypeError:
    """Return the error about a key whose class is no class of keys."""
    return KeyTypeError(
        f"{key!r} of type {type(key).__name__} cannot be a key: {reason}", hint=hint_for(reason)
    )


def hint_for(reason: str) -> str:
    """Return the hint about a class that is no class of keys."""
    if "defines" not in reason:
        return _RULES
    return (
        "Keys are compared as Python compares numbers, text, tuples and the like, in every mode; a "
        "rule of a class's own cannot be stored. Return what the rule compares from the key "
        "selector, for example a tuple or a frozen dataclass of it."
    )


def _owner(cls: type, method: str) -> type:
    return next(base for base in cls.__mro__ if method in vars(base))


def _has_made(cls: type, owner: Any, method: str) -> bool:
    """Return whether `dataclass` generated a method of a class.

    It compares the method with that of a new dataclass with the same fields, because Python does not
    record which decorator made a method.
    """
    if (
        "__dataclass_fields__" not in vars(owner)
        or _owner(cls, "__dataclass_fields__") is not owner
    ):
        return False
    same = make_dataclass(
        owner.__name__,
        [
            (member.name, object, field(compare=member.compare, hash=member.hash))
            for member in fields(owner)
        ],
        frozen=True,
    )
    return _code(getattr(owner, method)) == _code(getattr(same, method))


def _code(function: Any) -> tuple[Any, ...]:
    code = getattr(function, "__code__", None)
    return () if code is None else (code.co_code, code.co_names, code.co_consts)


NONE, SMALL = 0x01, 0x12
BIG_NEGATIVE, NEGATIVE, POSITIVE, BIG_POSITIVE = 0x10, 0x11, 0x13, 0x14
_DOUBLE, _RATIO, _COMPLEX, STR, BYTES, TUPLE = b"\x16", b"\x17", b"\x18", b"\x20", b"\x21", b"\x30"
_ROW, _NAMED_ROW, _SET, _DATACLASS, _ENUM = b"\x31", b"\x32", b"\x33", b"\x34", b"\x35"
_DATE, _DATETIME, _INSTANT, _TIME, _TIME_IN_ZONE = b"\x40", b"\x41", b"\x42", b"\x43", b"\x44"
_TIMEDELTA, _UUID, _IN_ZONE, _LIST = b"\x45", b"\x46", b"\x47", b"\x36"

_NAMES_30 = ("tuple", "row", "row with names", "frozenset", "dataclass", "enum", "list")
_NAMES_40 = ("date", "datetime", "datetime with a zone", "time", "time with a zone", "timedelta")
NAMES: dict[int, str | None] = {
    NONE: None,
    **dict.fromkeys(range(BIG_NEGATIVE, _COMPLEX[0] + 1), "number"),
    **dict(enumerate(("text", "bytes"), 0x20)),
    **dict(enumerate(_NAMES_30, 0x30)),
    **dict(enumerate((*_NAMES_40, "UUID", "datetime with a zone"), 0x40)),
}
"""First byte of a key's bytes to the kind of the key."""

HALF_32 = 1 << 31
HALF_64 = 1 << 63
MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15  # 2**64 / golden ratio, odd: spreads consecutive integers
_LONG_PIECE = 0xFF
_MAX_DECIMAL_EXPONENT = 10_000

pack_small = struct.Struct(">BI").pack
_pack_large = struct.Struct(">BQ").pack
_pack_double = struct.Struct(">cd").pack
_SHORT = [bytes((size,)) for size in range(_LONG_PIECE)]
_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - it is subtracted from moments without a zone


class KeyEncoding(NamedTuple):
    """The encoding of the keys of one class.

    Attributes:
        to_bytes: Key to its bytes. The first one is the kind of the key.
        to_hash: Key to its stable hash, an integer of up to 64 bits.
    """

    to_bytes: Callable[[Any], bytes]
    to_hash: Callable[[Any], int]


def bytes_of(key: Any) -> bytes:
    """Return the bytes of a key, of any length."""
    encode = _TO_BYTES.get(type(key)) or _encoding_of(type(key)).to_bytes  # type: ignore[arg-type]
    return encode(key)


def stable_hash(key: Any) -> int:
    """Return a hash of `key` (an integer of up to 64 bits) that never changes.

    Equal keys have equal hashes.

    Examples:
        >>> stable_hash(1) == stable_hash(1.0) == stable_hash(True)
        True
        >>> stable_hash("a")
        3904355907
    """
    hasher = _TO_HASH.get(type(key)) or _encoding_of(type(key)).to_hash  # type: ignore[arg-type]
    return hasher(key)


@lru_cache(maxsize=1024)
def _encoding_of(cls: Any) -> KeyEncoding:
    """Return the encoding of the keys of a class without a row."""
    answer = key_class(cls)
    if isinstance(answer, str):
        return _refused(answer)
    return _dataclass(answer.compared) if answer.family is None else KEY_ENCODINGS[answer.family]


def _combined(values: Iterable[Any]) -> int:
    components = tuple(values)
    mixed = 0x345678 + len(components)
    for part in components:
        mixed = ((mixed ^ stable_hash(part)) * GOLDEN) & MASK
    return mixed


def not_a_number() -> KeyTypeError:
    """Return the error for NaN."""
    return KeyTypeError(
        "NaN cannot be a key: it is not equal to itself",
        hint="Map missing numbers to None before key_by, or filter them out.",
    )


def _check_decimal(key: Decimal) -> None:
    """Refuse NaN, and decimals beyond 10 to the 10,000, whose digits would take too much memory."""
    if key.is_nan():
        raise not_a_number()
    if key.is_finite() and key and abs(key.adjusted()) > _MAX_DECIMAL_EXPONENT:
        raise KeyTypeError(
            f"{key!r} cannot be a key: it is beyond 10 to the {_MAX_DECIMAL_EXPONENT}",
            hint="Scale the number, or use its text as the key.",
        )


def _pieces(components: Iterable[bytes]) -> bytes:
    """Join byte strings unambiguously: the length of each precedes it."""
    joined: list[bytes] = []
    for part in components:
        size = len(part)
        joined.append(_SHORT[size] if size < _LONG_PIECE else pack_small(_LONG_PIECE, size))
        joined.append(part)
    return b"".join(joined)


def _in_order(tag: bytes, of: type, *salt: str) -> KeyEncoding:
    components = KINDS[of].components
    hashed = (lambda key: (*salt, *components(key))) if salt else components
    return KeyEncoding(
        lambda key: tag + _pieces(map(bytes_of, components(key))),
        lambda key: _combined(hashed(key)),
    )


def _in_any_order(tag: bytes, of: type) -> KeyEncoding:
    components = KINDS[of].components
    return KeyEncoding(
        lambda key: tag + _pieces(sorted(map(bytes_of, components(key)))),
        lambda key: sum(map(stable_hash, components(key))) & MASK,
    )


def _row(key: Row) -> bytes:
    # The kind is part of equality, the order of names is not.
    values = list(map(bytes_of, key))
    kind = key.get_row_kind().short_string.encode()
    names = key._fields
    if names is None:
        return _ROW + _pieces([kind, *values])
    named = sorted(zip((name.encode() for name in names), values, strict=True))
    return _NAMED_ROW + _pieces([kind, *(piece for pair in named for piece in pair)])


def _hash_of_row(key: Row) -> int:
    names = key._fields
    if names is None:
        return _combined(key)
    # The order of names is irrelevant to equality, so it must be to the hash.
    return sum(map(_combined, zip(names, key, strict=True))) & MASK


def _dataclass(compared: tuple[str, ...]) -> KeyEncoding:
    def values(key: Any) -> list[Any]:
        return [getattr(key, name) for name in compared]

    return KeyEncoding(
        lambda key: _DATACLASS + _pieces([_class_name(key), *map(bytes_of, values(key))]),
        lambda key: _combined(values(key)),
    )


def _refused(reason: str) -> KeyEncoding:
    def refuse(key: Any) -> NoReturn:
        raise no_key_class(key, reason)

    return KeyEncoding(refuse, refuse)


def _class_name(key: Any) -> bytes:
    return f"{type(key).__module__}.{type(key).__qualname__}".encode()


def _integer(key: int) -> bytes:
    if -HALF_32 <= key < HALF_32:
        return pack_small(SMALL, key + HALF_32)
    if -HALF_64 <= key < HALF_64:
        return _pack_large(NEGATIVE if key < 0 else POSITIVE, key + HALF_64)
    size = (key.bit_length() + 7) // 8
    if key > 0:
        return pack_small(BIG_POSITIVE, size) + key.to_bytes(size, "big")
    # A negative number with more bytes is smaller; of equally many the complement keeps the order.
    complement = key + (1 << 8 * size)
    return pack_small(BIG_NEGATIVE, 0xFFFF_FFFF - size) + complement.to_bytes(size, "big")


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
    _check_decimal(key)
    return _fraction(key)


def _complex(key: complex) -> bytes:
    real = _float(key.real)
    return real if key.imag == 0 else _COMPLEX + _pieces([real, _float(key.imag)])


def _hash(key: Any) -> int:
    return hash(key) & MASK  # Python's numeric hash is the same everywhere


def _hash_of_number(key: complex) -> int:
    if isnan(key):
        raise not_a_number()
    return hash(key) & MASK


def _hash_of_decimal(key: Decimal) -> int:
    _check_decimal(key)
    return hash(key) & MASK


def _moment(key: datetime) -> bytes:
    naive = key.replace(tzinfo=None, fold=0)
    # Equality ignores `fold`, so the offset must be the one without it.
    offset = key.replace(fold=0).utcoffset()
    elapsed = naive - _EPOCH
    if offset is None:
        return _DATETIME + _integer(elapsed // _MICROSECOND)
    if offset != key.replace(fold=1).utcoffset():
        # Ambiguous and missing times of a zone equal those of the same zone only (PEP 495).
        return _IN_ZONE + _pieces([str(key.tzinfo).encode(), _integer(elapsed // _MICROSECOND)])
    return _INSTANT + _integer((elapsed - offset) // _MICROSECOND)


def _hash_of_moment(key: datetime) -> int:
    offset = key.replace(fold=0).utcoffset()  # equality, as Python's hash, ignores `fold`
    if offset is None:
        return crc32(datetime.isoformat(key).encode())
    naive = key.replace(tzinfo=None, fold=0)
    try:
        moment = (naive - offset).replace(tzinfo=UTC)
    except OverflowError:  # before the year 1 or after 9999 in UTC
        return crc32(repr((naive - _EPOCH - offset) // _MICROSECOND).encode())
    return crc32(moment.isoformat().encode())


def _microseconds(key: time) -> int:
    """Return the time since midnight, in UTC if there is an offset."""
    since_midnight = timedelta(
        hours=key.hour, minutes=key.minute, seconds=key.second, microseconds=key.microsecond
    )
    return (since_midnight - (key.utcoffset() or timedelta())) // _MICROSECOND


def _clock(key: time) -> bytes:
    # Times with a zone are equal if they are the same time in UTC, a naive one equals none.
    return (_TIME if key.utcoffset() is None else _TIME_IN_ZONE) + _integer(_microseconds(key))


def _hash_of_clock(key: time) -> int:
    text = key.isoformat() if key.utcoffset() is None else repr(_microseconds(key))
    return crc32(text.encode())


KEY_ENCODINGS: dict[type, KeyEncoding] = {
    NoneType: KeyEncoding(lambda _: bytes((NONE,)), lambda _: 0x6E6F6E65),
    bool: KeyEncoding(_integer, _hash),
    int: KeyEncoding(lambda key: _integer(int(key)), _hash),
    float: KeyEncoding(_float, _hash_of_number),
    complex: KeyEncoding(_complex, _hash_of_number),
    Decimal: KeyEncoding(_decimal, _hash_of_decimal),
    Fraction: KeyEncoding(_fraction, _hash),
    str: KeyEncoding(
        lambda key: STR + str.encode(key, "utf-8", "surrogatepass"),
        lambda key: crc32(str.encode(key, "utf-8", "surrogatepass")),
    ),
    bytes: KeyEncoding(lambda key: b"".join((BYTES, key)), crc32),
    datetime: KeyEncoding(_moment, _hash_of_moment),
    date: KeyEncoding(
        lambda key: _DATE + _integer(key.toordinal()),
        lambda key: crc32(key.isoformat().encode()),
    ),
    time: KeyEncoding(_clock, _hash_of_clock),
    timedelta: KeyEncoding(
        lambda key: _TIMEDELTA + _integer(key // _MICROSECOND),
        lambda key: hash(key / _MICROSECOND) & MASK,
    ),
    UUID: KeyEncoding(lambda key: _UUID + key.bytes, lambda key: crc32(key.bytes)),
    Enum: KeyEncoding(
        lambda key: _ENUM + _pieces([_class_name(key), key.name.encode()]),
        lambda key: crc32(f"{type(key).__qualname__}.{key.name}".encode()),
    ),
    tuple: _in_order(TUPLE, tuple),
    TupleKey: _in_order(TUPLE, tuple),
    ListKey: _in_order(_LIST, tuple, "list"),
    frozenset: _in_any_order(_SET, frozenset),
    Row: KeyEncoding(_row, _hash_of_row),
}
"""Class to the encoding of its keys, and of keys that inherit their equality from it."""

# One dictionary per column: one lookup per key instead of a lookup and an attribute access.
_TO_BYTES = {cls: form.to_bytes for cls, form in KEY_ENCODINGS.items()}
_TO_HASH = {cls: form.to_hash for cls, form in KEY_ENCODINGS.items()}
