"""Declared types whose values cannot be keys, because they are mutable.

    Map(…)                        a dict
    List(Map(…)), Tuple(Map(…))   contains a dict
    Row(tags: List(…))            a list is a key by value, alone or in tuples and lists, not in a row

If no type is declared, the exchange checks each key at run time.
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
    """Return the component of a type that makes its values unusable as keys; None if none does.

    Examples:
        >>> from penstock.types import Types
        >>> no_key_in(Types.TUPLE([Types.LONG(), Types.MAP(Types.STRING(), Types.LONG())]))
        Map(String, Long)
        >>> no_key_in(Types.LIST(Types.LONG())) is None
        True
    """
    return _unusable_component(type_info, in_row=False)


def _unusable_component(type_info: TypeInformation, *, in_row: bool) -> TypeInformation | None:
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
    unusable = (_unusable_component(component, in_row=in_row) for component in inner)
    return next((each for each in unusable if each is not None), None)


def _is_bytes(type_info: TypeInformation) -> bool:
    return isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.is_bytes
