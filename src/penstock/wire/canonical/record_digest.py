"""Digests of records: records with the same content have the same digest, computed by value or by declared type."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from functools import cache
from hashlib import blake2b
from operator import methodcaller
from typing import Any

from penstock.errors import KeyTypeError
from penstock.types import (
    BasicArrayTypeInfo,
    BasicTypeInfo,
    ListTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from penstock.types.row import Row, names_of, rows_to_values
from penstock.types.value_kinds import KINDS, Kind
from penstock.wire.canonical.key_bytes import encode_key
from penstock.wire.coded_rows import CodedCodec, coded_codec

DIGEST_BYTES = 12
"""Among 10^9 different records of one key, two have the same digest with a chance of 10^-11."""

_Describe = Callable[[Any], bytes]


def record_digest(record: Any) -> bytes:
    """Return the digest of a record, `DIGEST_BYTES` long.

    Examples:
        >>> record_digest(Row(a=1, b="x")) == record_digest(Row(a=1, b="x"))
        True
        >>> record_digest([1]) == record_digest((1,))
        False
    """
    if not isinstance(record, Row):
        return _digest("", None, [_content(record)])
    texts: list[str] = []
    marks: list[int | bytes] = []
    for value in rows_to_values((record,))[0]:
        if type(value) is str:
            texts.append(value)
            marks.append(len(value))
        else:
            marks.append(_content(value))
    return _digest("".join(texts), names_of(record) or (), marks)


def _digest(texts: str, names: tuple[str, ...] | None, marks: list[Any]) -> bytes:
    joined = f"{len(texts)}|{texts}{names}{marks}"  # the length first: nothing is ambiguous
    return blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()


def _content(value: Any) -> bytes:
    """Return bytes that depend on the content of a value, and not on its identity."""
    kind = type(value)
    describe = _EXACT.get(kind)
    if describe is not None:
        return describe(value)
    if isinstance(value, Row):
        return b"r" + value.get_row_kind().short_string.encode() + record_digest(value)
    name = b"c" + _items([f"{kind.__module__}.{kind.__qualname__}"])
    if is_dataclass(value) and not isinstance(value, type):
        return name + _items(getattr(value, field.name) for field in fields(value))
    for base, describe_base in _OF_SUBCLASS.items():
        if isinstance(value, base):
            return name + describe_base(value)
    try:
        return name + encode_key(value)
    except KeyTypeError as refused:
        raise KeyTypeError(
            f"{value!r:.200} of type {kind.__name__} cannot be compared with records of other "
            "processes",
            hint="Use rows, tuples, lists and dicts of numbers, strings, bytes, dates and the like.",
        ) from refused


def _items(values: Iterable[Any]) -> bytes:
    return repr(list(map(_content, values))).encode()


def _container(kind: Kind, components: Callable[[Any], Iterable[Any]]) -> _Describe:
    mark, in_order = kind.mark, list if kind.is_ordered else sorted
    return lambda value: mark + repr(in_order(map(_content, components(value)))).encode()


_ATOMS = {cls: kind.content for cls, kind in KINDS.items() if kind.content is not None}
_CONTAINERS = {cls: kind for cls, kind in KINDS.items() if kind.mark and cls is not Row}
_EXACT = _ATOMS | {cls: _container(kind, kind.components) for cls, kind in _CONTAINERS.items()}
"""Class to the function that describes its instances, for subclasses too, after their class name."""

# Subclasses call their own method here, unlike in copies. Digests in state forbid to change that.
_OF_SUBCLASS = _ATOMS | {
    cls: _container(kind, methodcaller(kind.components.__name__))
    for cls, kind in _CONTAINERS.items()
}


_PERSON_BYTES = 16
_INTEGERS = frozenset({"Byte", "Short", "Integer", "Long"})
_SEVERAL_FORMS = frozenset({"Double", "Float"})
_SEQUENCES = (ListTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo, PrimitiveArrayTypeInfo)


class TypedDigest:
    """Coded rows and digests of records of one type.

    Attributes:
        encode: Record to coded row.
    """

    __slots__ = ("_person", "encode")

    def __init__(self, codec: CodedCodec, shape: str) -> None:
        self.encode = codec.encode
        self._person = blake2b(shape.encode(), digest_size=_PERSON_BYTES).digest()

    def of_coded(self, coded: bytes) -> bytes:
        """Return the digest, `DIGEST_BYTES` long, of the record with this coded row."""
        return blake2b(coded, digest_size=DIGEST_BYTES, person=self._person).digest()


@cache
def typed_digest(type_info: TypeInformation) -> TypedDigest | None:
    """Return the cached digests of a type; None if it has none."""
    shape = _shape(type_info)
    if shape is None or not isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        return None
    return TypedDigest(coded_codec(type_info), shape)


def _shape(type_info: TypeInformation) -> str | None:
    """Return names and types as text; None if equal content can have different bytes."""
    if isinstance(type_info, BasicTypeInfo):
        name = "Integer" if type_info.name in _INTEGERS else type_info.name
        return None if name in _SEVERAL_FORMS else name
    parts: tuple[Any, ...]
    if isinstance(type_info, RowTypeInfo):
        head, parts = f"row{list(type_info.field_names)}", type_info.field_types
    elif isinstance(type_info, TupleTypeInfo):
        head, parts = "tuple", type_info.field_types
    elif isinstance(type_info, _SEQUENCES):
        head, parts = "list", (type_info.element_type,)
    else:
        return None
    shapes = [_shape(part) for part in parts]
    return None if None in shapes else f"{head}{shapes}"
