"""Keys of types: lists as immutable tuples, and declared types whose values cannot be keys."""

from __future__ import annotations

from typing import Any

from penstock.errors import KeyTypeError
from penstock.types.base import TypeInformation
from penstock.types.containers import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
)
from penstock.types.records import RowTypeInfo, TupleTypeInfo

CHANGED_HINT = (
    "Return a frozen dataclass instead of another, a frozenset of a set, bytes of a bytearray, or a "
    "tuple of sorted items of a dict from the key selector."
)
"""The hint of the error about a mutable key."""


class ListKey(tuple[Any, ...]):
    """A key that is a list."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        """Return whether the other one is a list with equal elements."""
        return type(other) is ListKey and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        """Return whether it is not equal."""
        return not self == other

    def __hash__(self) -> int:
        """Return a hash that tuples of the same elements do not have."""
        try:
            return hash((ListKey, tuple.__hash__(self)))
        except TypeError as cause:
            raise KeyTypeError(
                f"{self!r} cannot be a key: {cause}",
                hint=CHANGED_HINT,
            ) from cause

    def __repr__(self) -> str:
        """Return the text of the list."""
        return repr(selected_key(self))


class TupleKey(tuple[Any, ...]):
    """A key that is a tuple with a list in it; equality is that of tuples."""

    __slots__ = ()

    # Python compares two classes derived from tuple by the left one: a list would equal a tuple there.
    def __eq__(self, other: object) -> bool:
        """Return whether the other one is a tuple with equal elements."""
        return type(other) is not ListKey and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        """Return whether it is not equal."""
        return not self == other

    __hash__ = tuple.__hash__

    def __repr__(self) -> str:
        """Return the text of the tuple with its lists."""
        return repr(selected_key(self))


def immutable_key(key: Any) -> Any:
    """Return `key` with each list as a `ListKey`; `key` itself if it contains no list."""
    kind = type(key)
    if kind is list:
        return ListKey(map(immutable_key, key))
    if kind is tuple:
        parts = tuple(map(immutable_key, key))
        if _FROZEN.intersection(map(type, parts)):
            return TupleKey(parts)
    return key


def selected_key(key: Any) -> Any:
    """Return the key as the selector returned it, with new lists in place of each `ListKey`."""
    kind = type(key)
    if kind is ListKey:
        return list(map(selected_key, key))
    return tuple(map(selected_key, key)) if kind is TupleKey else key


_FROZEN = frozenset({ListKey, TupleKey})


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
    return next((component for component in unusable if component is not None), None)


def _is_bytes(type_info: TypeInformation) -> bool:
    return isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.is_bytes
