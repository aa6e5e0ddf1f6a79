"""The kinds of values: the components of each, and how to build a value of them.

The table has one row per class. These modules read it:

    copy               `penstock.types.values.copying`          held, flat, rebuilt
    digest             `penstock.wire.canonical.record_digest`  content; mark and components
    strict equality    `penstock.testing.answers`                class, then content or components
    key as bytes,      `penstock.wire.canonical.key_encodings`      components; not content: the keys 1,
    hash of a key                                               1.0 and True are equal

    an atom            its content determines it           int, str, date
    a container        its components determine it         list, dict, Row; named tuples are tuples
    an object          its attributes determine it         an instance of a plain class (dataclass)
    of another class   nothing is known of it              it is copied as a pickle

Copies and digests by a declared type use the type instead (`declared_copying`, `typed_digest`). The
size of a record and the digest of code share only `slot_names` with this table. `list_key` turns a
list that is a key into a tuple and back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from math import isnan
from struct import pack
from types import NoneType
from typing import Any
from uuid import UUID

from penstock.types.output_tag import OutputTag
from penstock.types.row import (
    Row,
    RowKind,
    copy_flat_row,
    is_row_class,
    names_of,
    row_like,
    values_of_row,
)
from penstock.types.time import Instant

_HEAP_TYPE = 1 << 9


@dataclass(frozen=True, slots=True)
class Kind:
    """The facts about the values of one class.

    Attributes:
        mark: First bytes of the digest of a container; empty for others.
        components: Value to all of its components. It is a method of the class and not of the
            value, because a subclass may override the method and hide components.
        held: Value to the components that a copy may have to copy; None if values are pickled.
        flat: Copies a value whose components are all immutable.
        rebuilt: (value, copies of the held components) to a value like it.
        is_ordered: The order of the components matters.
        content: Of an atom: value to bytes that determine it; None if there are no such bytes.
        is_final: Values are immutable.
    """

    mark: bytes = b""
    components: Callable[[Any], Iterable[Any]] = tuple
    held: Callable[[Any], Collection[Any]] | None = None
    flat: Callable[[Any], Any] | None = None
    rebuilt: Callable[[Any, list[Any]], Any] | None = None
    is_ordered: bool = True
    content: Callable[[Any], bytes] | None = None
    is_final: bool = False


def itself(value: Any) -> Any:
    """Return the value."""
    return value


def _atom(content: Callable[[Any], bytes]) -> Kind:
    return Kind(content=content, is_final=True)


def _double(value: float) -> bytes:
    return b"fnan" if isnan(value) else b"f" + pack(">d", value)


def _row_components(row: Row) -> tuple[Any, ...]:
    return (row.get_row_kind().short_string, repr(names_of(row)), *row)


def _made(cls: Callable[[list[Any]], Any]) -> Callable[[Any, list[Any]], Any]:
    return lambda _, components: cls(components)


def _dict_like(value: Any, components: list[Any]) -> dict[Any, Any]:
    return dict(zip(value, components, strict=True))


def _object_with(value: Any, attributes: dict[str, Any]) -> Any:
    made = object.__new__(value.__class__)
    made.__dict__.update(attributes)
    return made


KINDS: dict[type, Kind] = {
    NoneType: _atom(lambda _: b"0"),
    bool: _atom(lambda value: b"T" if value else b"F"),
    int: _atom(lambda value: b"i%x" % value),
    float: _atom(_double),
    str: _atom(lambda value: b"s" + str.encode(value, "utf-8", "surrogatepass")),
    bytes: _atom(lambda value: b"".join((b"b", value))),
    bytearray: Kind(content=lambda value: b"y" + bytes(value)),
    tuple: Kind(b"t", tuple.__iter__, itself, itself, _made(tuple)),
    list: Kind(b"l", list.__iter__, itself, list.copy, lambda _, components: components),
    Row: Kind(b"r", _row_components, values_of_row, copy_flat_row, row_like),
    # Only the values of a dict are copied: its keys are hashable, so they are taken as immutable.
    dict: Kind(b"d", dict.items, dict.values, dict.copy, _dict_like, is_ordered=False),
    set: Kind(b"e", set.__iter__, itself, set.copy, _made(set), is_ordered=False),
    frozenset: Kind(b"z", frozenset.__iter__, itself, itself, _made(frozenset), is_ordered=False),
    Decimal: _atom(lambda value: b"m" + str(value).encode()),  # 1.0 and 1.00 have other digits
    datetime: _atom(lambda value: b"w" + repr(value).encode()),
    date: _atom(lambda value: b"a" + repr(value).encode()),
    time: _atom(lambda value: b"o" + repr(value).encode()),
    **dict.fromkeys(
        (complex, timedelta, timezone, range, type, UUID, Instant, OutputTag, RowKind),
        Kind(is_final=True),
    ),
}
"""Exact class to its kind. A subclass comes before its base (`datetime`, `date`)."""

OBJECT = Kind(
    held=lambda value: value.__dict__.values(),
    flat=lambda value: _object_with(value, value.__dict__),
    rebuilt=lambda value, components: _object_with(value, _dict_like(value.__dict__, components)),
)
"""The kind of objects whose `__dict__` determines them."""

OTHER = Kind()
"""The kind of all other values."""


def kind_of(cls: type) -> Kind:
    """Return the kind of the instances of a class."""
    if cls in KINDS:
        return KINDS[cls]
    if is_row_class(cls):
        return KINDS[Row]
    return OBJECT if _is_plain(cls) else OTHER


def _is_plain(cls: type) -> bool:
    """Return whether `__dict__` determines the instances, and no method customizes copies of them."""
    given = ("__reduce__", "__reduce_ex__", "__getstate__", "__new__")
    own = ("__setstate__", "__getnewargs__", "__getnewargs_ex__", "__copy__", "__deepcopy__")
    return (
        cls.__dictoffset__ != 0
        and all(getattr(cls, name) is getattr(object, name) for name in given)
        and not any(hasattr(cls, name) for name in own)
        and all(
            base is object or (base.__flags__ & _HEAP_TYPE and "__slots__" not in vars(base))
            for base in cls.__mro__
        )
    )


def slot_names(cls: type) -> Iterator[str]:
    """Yield the names in `__slots__` of a class and its bases."""
    for base in cls.__mro__:
        names = vars(base).get("__slots__", ())
        yield from (names,) if isinstance(names, str) else names
