"""The form in which records that hold values of a program's own types leave a process.

Such records are not pickled: the serializers of the types write them, as they write state. In place of
a list of records, the type is pickled, once, with bytes; unpickling gives the list. So every reader of
frames and of staged records reads both, and a program without such a type has no cost.

    pickle of [Money(1), Money(2)] by MoneyType    call of `_unpacked` with the pickled type and the stored form
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cloudpickle

from penstock.types import ListTypeInfo
from penstock.types.base import TypeInformation
from penstock.types.description import has_serializers
from penstock.types.value_serializer import Codec, StoredForm, codec_of

_TYPES = 256


@dataclass(frozen=True, slots=True)
class RecordForm:
    """Packs records of one type."""

    pickled_type: bytes
    codec: Codec

    def pack(self, records: list[Any]) -> PackedRecords:
        """Return what to pickle in place of a list of records."""
        encode, _ = self.codec
        return PackedRecords(self.pickled_type, encode(records))


@dataclass(frozen=True, slots=True)
class PackedRecords:
    """Records as bytes; they are a list again when they are unpickled."""

    pickled_type: bytes
    packed: bytes

    def __reduce__(self) -> Any:
        return _unpacked, (self.pickled_type, self.packed)


def record_form(type_info: TypeInformation | None) -> RecordForm | None:
    """Return the form of records of a type; None if they are pickled as they are."""
    if type_info is None or not has_serializers(type_info):
        return None
    return RecordForm(_pickled(type_info), _codec(type_info))


def _unpacked(pickled_type: bytes, packed: bytes) -> list[Any]:
    _, decode = _codec_of_pickled(pickled_type)
    records: list[Any] = decode(packed)
    return records


@lru_cache(_TYPES)
def _codec_of_pickled(pickled_type: bytes) -> Codec:
    return _codec(pickle.loads(pickled_type))


def _codec(type_info: TypeInformation) -> Codec:
    return codec_of(ListTypeInfo(type_info), StoredForm.PLAIN)


def _pickled(type_info: TypeInformation) -> bytes:
    """Return a type pickled by name; by value if its class is defined in a function."""
    try:
        return pickle.dumps(type_info, 5)
    except (pickle.PicklingError, AttributeError):
        by_value: bytes = cloudpickle.dumps(type_info)
        return by_value
