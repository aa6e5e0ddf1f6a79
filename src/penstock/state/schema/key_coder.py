"""Encodes keys in a local copy of state: keys of any type, or coded rows of a declared type.

    any type                  `penstock.wire.canonical.key_bytes`
    declared row or tuple     50, then the canonical coded row (`penstock.wire.coded_rows`)

    Row(id=7, region="eu")    50 08 0e 12 02 65 75          as a key of any type:
                              32 02 2b 49 02 69 64 05 12 80 00 00 07 06 72 65 67 69 6f 6e 03 20 65 75

So an address does not contain the names of a row, and the row can be decoded from it, unlike a row of
an undeclared type. Equal keys must have one address, whatever their classes and the version of the
program: an earlier version may have stored a key that equals one of the declared form, or a key that
does not. The first is coerced, the second is encoded as a key of any type. Types with fields whose
equality the declared form would change are not coded: numbers that are not integers, booleans, times.
Nor are plain integers and strings, which would take as many bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from numbers import Number
from typing import Any

from penstock.state.schema.declared_form import quick_check
from penstock.types import BasicTypeInfo, RowTypeInfo, TupleTypeInfo, TypeInformation
from penstock.types.base import same_objects
from penstock.types.row import Row, row_factory
from penstock.wire.canonical.key_bytes import MAX_KEY_BYTES, decode_key, encode_key, is_decodable
from penstock.wire.coded_rows import coded_codec

_CODED = b"\x50"
"""First byte of coded keys; no key of `penstock.wire.canonical.key_bytes` begins with it."""

_PLAIN_FIELDS = frozenset({"Byte", "Short", "Integer", "Long", "String"})


@dataclass(frozen=True, slots=True)
class KeyCoder:
    """Encodes the keys of one operator, or the subkeys of one state.

    Attributes:
        encode: Key to its bytes, `MAX_KEY_BYTES` at most. Raises `KeyTypeError`.
        decode: The inverse, for decodable keys. Raises `DecodeError`.
        is_decodable: Returns whether `decode` of the bytes of a key returns the same key.
    """

    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]
    is_decodable: Callable[[Any, bytes], bool]


ANY_KEYS = KeyCoder(encode_key, decode_key, is_decodable)
"""The coder of keys of any type."""


@dataclass(frozen=True, slots=True)
class Coders:
    """The coders of the addresses of one state."""

    keys: KeyCoder = ANY_KEYS
    subkeys: KeyCoder = ANY_KEYS


@cache
def key_coder(key_type: TypeInformation | None) -> KeyCoder:
    """Return the coder of keys of a declared type; None is any type."""
    if not isinstance(key_type, (RowTypeInfo, TupleTypeInfo)) or not _is_plain(key_type):
        return ANY_KEYS
    codec = coded_codec(key_type)
    canonical, from_coded, is_formed = codec.encode_key, codec.decode, quick_check(key_type)

    def encode(key: Any) -> bytes:
        formed = key if is_formed(key) else _formed(key, key_type)
        if formed is not None:
            coded = canonical(formed)
            if len(coded) < MAX_KEY_BYTES:
                return _CODED + coded
        return encode_key(key)

    def decode(encoded: bytes) -> Any:
        return from_coded(encoded[1:]) if encoded[:1] == _CODED else decode_key(encoded)

    def comes_back(key: Any, encoded: bytes) -> bool:
        if encoded[:1] != _CODED:
            return is_decodable(key, encoded)
        return is_formed(key) or _formed(key, key_type) is key

    return KeyCoder(encode, decode, comes_back)


def _is_plain(type_info: TypeInformation) -> bool:
    """Return whether equality of all fields is that of their declared form."""
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        return all(map(_is_plain, type_info.field_types))
    return isinstance(type_info, BasicTypeInfo) and type_info.name in _PLAIN_FIELDS


def _formed(key: Any, key_type: TypeInformation) -> Any:
    """Return the key of the declared form that equals `key`, or None if there is none.

    It does not use `coerce`, which refuses values, such as 1.0 for Long, that equal a declared key.
    """
    try:
        return _RULES[type(key_type)](key, key_type)
    except _NoSuchKeyError:
        return None


class _NoSuchKeyError(Exception):
    """No key of the declared form equals this one."""


def _field(value: Any, field_type: TypeInformation) -> Any:
    return None if value is None else _RULES[type(field_type)](value, field_type)


def _basic(value: Any, basic: BasicTypeInfo) -> Any:
    if basic.name == "String":
        if not isinstance(value, str):
            raise _NoSuchKeyError
        return value if type(value) is str else "".join(value)
    if not isinstance(value, Number):
        raise _NoSuchKeyError
    number: Any = value  # mypy lacks the common methods of classes of numbers
    try:
        whole = int(number.real)
        return basic.coerce(whole if type(number) is not int and whole == number else number)
    except (ValueError, OverflowError) as refused:
        raise _NoSuchKeyError from refused


def _row(row: Any, row_type: RowTypeInfo) -> Row:
    names = row_type.field_names
    if not isinstance(row, Row) or row._fields is None or set(row._fields) != set(names):
        raise _NoSuchKeyError
    given = row.as_dict()
    values = [_field(given[name], field_type) for name, field_type in _fields(row_type)]
    if row_type.has_form(row) and same_objects(values, list(row)):
        return row
    (formed,) = row_factory(names)([values])
    formed.set_row_kind(row.get_row_kind())
    return formed


def _fields(row_type: RowTypeInfo) -> Iterable[tuple[str, TypeInformation]]:
    return zip(row_type.field_names, row_type.field_types, strict=True)


def _tuple(key: Any, tuple_type: TupleTypeInfo) -> tuple[Any, ...]:
    types = tuple_type.field_types
    if not isinstance(key, tuple) or len(key) != len(types) or None in key:
        raise _NoSuchKeyError
    values = tuple(map(_field, key, types))
    return key if type(key) is tuple and same_objects(values, key) else values


_RULES: dict[type, Callable[[Any, Any], Any]] = {
    BasicTypeInfo: _basic,
    RowTypeInfo: _row,
    TupleTypeInfo: _tuple,
}
"""Class of type to the function from a value to the equal value of the declared form."""
