"""Declared types whose values cannot be keys, because they can be changed.

    Map(…)                        a dict
    List(Map(…)), Tuple(Map(…))   holds one
    Row(tags: List(…))            a list is a key by value, alone or in tuples and lists, and not in a row

Of a type nobody declared nothing is known: its keys are looked at when they come.
"""

from __future__ import annotations

from penstock.types.base import TypeInformation
from penstock.types.containers import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
)
from penstock.types.records import RowTypeInfo, TupleTypeInfo

_LISTS = (ListTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo, PrimitiveArrayTypeInfo)


def no_key_in(type_info: TypeInformation) -> TypeInformation | None:
    """Return the part of a type whose values make it one of no keys; None if none is known.

    Examples:
        >>> from penstock.types import Types
        >>> no_key_in(Types.TUPLE([Types.LONG(), Types.MAP(Types.STRING(), Types.LONG())]))
        Map(String, Long)
        >>> no_key_in(Types.LIST(Types.LONG())) is None
        True
    """
    return _found(type_info, in_row=False)


def _found(type_info: TypeInformation, *, in_row: bool) -> TypeInformation | None:
    inner: tuple[TypeInformation, ...] = ()
    if isinstance(type_info, MapTypeInfo):
        return type_info
    if isinstance(type_info, _LISTS):
        if in_row and not _is_bytes(type_info):
            return type_info
        inner = (type_info.element_type,)
    elif isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        inner = type_info.field_types
        in_row = in_row or isinstance(type_info, RowTypeInfo)
    parts = (_found(part, in_row=in_row) for part in inner)
    return next((part for part in parts if part is not None), None)


def _is_bytes(type_info: TypeInformation) -> bool:
    return isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.is_bytes
