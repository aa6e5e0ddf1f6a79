"""Digests of records of one declared type, computed from their coded rows.

The law is that of `penstock.wire.canonical.record_digest`: equal content, and only that, has equal
digests. A coded row contains all content of a value, and takes less time than a description of each
field: 2.5 µs instead of 5 for a row of 21 strings. A state that stores the record needs it anyway.

    BLAKE2b, 12 bytes, of the coded row; personalised with 16 bytes BLAKE2b of names and types

The kind of a row must be INSERT. Integers of any width have the same digests. These types have no
typed digest, because equal content can have different bytes:

    Double, Float    NaN with other bits
    Map              the same pairs in another order
    pickled types    anything
"""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from typing import Any

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
from penstock.wire.canonical.record_digest import DIGEST_BYTES
from penstock.wire.coded_rows import CodedCodec, coded_codec

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


__all__ = ["DIGEST_BYTES", "TypedDigest", "typed_digest"]
