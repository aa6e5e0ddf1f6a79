"""What kinds of values there are, how each is taken apart, and how it is put together again.

A row per class. What is done with any value follows from it:

    copy               `penstock.types.values.copying`          held, flat, rebuilt
    digest             `penstock.wire.canonical.record_digest`  content; mark and parts
    equality, strict   `penstock.testing.shapes`                content; parts, both behind the class
    key as bytes,      `penstock.wire.canonical.key_forms`      parts. Other content: for a key 1, 1.0
    hash of a key                                               and True are one, and a class is none

    an atom            content says all there is           int, str, date
    a container        its parts do, in order or in any    list, dict, Row; named tuples are tuples
    an object          its attributes do                   of a plain class, such as a dataclass
    of another class   nothing is known of it              it is copied as a pickle

Other questions are asked elsewhere. Copies and digests by a declared type look at the type, and at no value
(`declared_copying`, `typed_digest`). The size of a record counts objects, the digest of code follows functions:
of this they share `slot_names`. A list as a key becomes a tuple and comes back (`penstock.types.list_key`).
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
    """What is known of the values of one class.

    Attributes:
        mark: What its bytes begin with if it is a container; empty for others.
        parts: Value to all that makes it up. A method of the class, so no subclass hides anything.
        held: Value to what of it a copy has to look at; None if it is copied as a pickle.
        flat: Copies a value that holds nothing but what nobody can change.
        rebuilt: (value, copies of what it holds) to a value like it.
        is_ordered: The order of the parts is content.
        content: Value to bytes that say all there is of it, of an atom; None if there are none.
        is_final: Nobody can change one.
    """

    mark: bytes = b""
    parts: Callable[[Any], Iterable[Any]] = tuple
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


def _parts_of_row(row: Row) -> tuple[Any, ...]:
    return (row.get_row_kind().short_string, repr(names_of(row)), *row)


def _made(cls: Callable[[list[Any]], Any]) -> Callable[[Any, list[Any]], Any]:
    return lambda _, parts: cls(parts)


def _dict_like(value: Any, parts: list[Any]) -> dict[Any, Any]:
    return dict(zip(value, parts, strict=True))


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
    list: Kind(b"l", list.__iter__, itself, list.copy, lambda _, parts: parts),
    Row: Kind(b"r", _parts_of_row, values_of_row, copy_flat_row, row_like),
    # Keys of a dict are taken for what they must be: unchangeable.
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
    rebuilt=lambda value, parts: _object_with(value, _dict_like(value.__dict__, parts)),
)
"""The kind of objects that are their `__dict__`."""

OTHER = Kind()
"""The kind of which nothing is known."""


def kind_of(cls: type) -> Kind:
    """Return the kind of the instances of a class."""
    if cls in KINDS:
        return KINDS[cls]
    if is_row_class(cls):
        return KINDS[Row]
    return OBJECT if _is_plain(cls) else OTHER


def _is_plain(cls: type) -> bool:
    """Return whether instances are their `__dict__`, and copied by nothing but the default."""
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
