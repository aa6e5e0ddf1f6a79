"""The kinds of values: the components of each, how to build a value of them, and copies of records.

A function that changes its copy of a record does not change another reader's. The table of kinds has one row
per class. These modules read it:

    digest             `penstock.wire.canonical.record_digest`  content; mark and components
    strict equality    `penstock.types.strict_equality`         class, then content or components
    key as bytes,      `penstock.wire.canonical.key_encodings`  components; not content: the keys 1,
    hash of a key                                               1.0 and True are equal

    an atom            its content determines it           int, str, date
    a container        its components determine it         list, dict, Row; named tuples are tuples
    an object          its attributes determine it         an instance of a plain class (dataclass)
    of another class   its content is unknown              it is copied as a pickle

Copies and digests by a declared type use the type instead (`declared_copying`, `typed_digest`). The
size of a record and the digest of code share only `slot_names` with this table. `list_key` turns a
list that is a key into a tuple and back.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from functools import lru_cache
from itertools import chain
from math import isnan
from struct import pack
from types import NoneType
from typing import Any
from uuid import UUID

from penstock.errors import UserCodeError
from penstock.types.base import TypeInformation
from penstock.types.containers import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
)
from penstock.types.infer import InferredTypeInfo
from penstock.types.output_tag import OutputTag
from penstock.types.records import RowTypeInfo, TupleTypeInfo
from penstock.types.row import (
    Row,
    RowKind,
    copy_flat_row,
    is_row_class,
    names_of,
    only_rows,
    row_factory,
    row_like,
    rows_of_one_schema,
    rows_to_values,
    values_of_row,
)
from penstock.types.scalars import BasicTypeInfo, PickledBytesTypeInfo
from penstock.types.time import Instant
from penstock.user_failure import raise_interrupt, words_of

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
        content: For an atom: value to bytes that determine it; None if there are no such bytes.
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
    instance = object.__new__(value.__class__)
    instance.__dict__.update(attributes)
    return instance


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


Copier = Callable[[Any], Any]
"""Returns an immutable value itself, and a copy of any other."""

BatchCopier = Callable[[list[Any]], list[Any]]
"""The same for a batch; returns the list itself if all values are immutable."""

ATOMS = frozenset(cls for cls, kind in KINDS.items() if kind.is_final)
"""Exact classes whose values are immutable."""

_ATOMS_AND_TUPLES = ATOMS | {tuple}
_MAX_DEPTH = 4
_are_atoms = ATOMS.issuperset


class _TooDeepError(Exception):
    """Containers are nested too deeply to copy them one by one."""


def copy_value(value: Any, depth: int = 0) -> Any:
    """Return a copy of any value; the value itself if it is immutable."""
    kind = type(value)
    if kind in ATOMS or (kind is tuple and _are_atoms(map(type, value))):
        return value
    if depth:
        return _copier_of(kind)(value, depth)  # type: ignore[arg-type]
    try:
        return _copier_of(kind)(value, depth)  # type: ignore[arg-type]
    except _TooDeepError:
        return _through_pickle(value)


def copy_batch(values: list[Any]) -> list[Any]:
    """Return copies of all values, of any classes; it checks columns, not records."""
    kinds = set(map(type, values))
    if kinds <= ATOMS:
        return values
    if len(kinds) == 1:
        at_once = _AT_ONCE.get(next(iter(kinds)))
        copied = None if at_once is None else at_once(values)
        if copied is not None:
            return copied
    if only_rows(kinds):
        lists = rows_to_values(values)
        if _are_atoms(map(type, chain.from_iterable(lists))):
            return copy_flat_rows(values)
    return list(map(copy_value, values))


def copy_flat_rows(rows: list[Row]) -> list[Row]:
    """Return copies of rows whose fields are immutable."""
    shared = rows_of_one_schema(rows)
    lists = map(list.copy, rows_to_values(rows))
    if shared is not None:
        return row_factory(shared[0])(lists)
    return list(map(row_like, rows, lists))


def gives_one_object_again(values: list[Any]) -> bool:
    """Return whether a mutable object is among `values` more than once."""
    if set(map(type, values)) <= _ATOMS_AND_TUPLES:
        return False
    return len(set(map(id, values))) < len(values)


def is_immutable(value: Any) -> bool:
    """Return whether `copy_value` certainly returns the value itself; it does not look deeper."""
    kind = type(value)
    return kind in ATOMS or (kind is tuple and _are_atoms(map(type, value)))


def _through_pickle(value: Any, _depth: int = 0) -> Any:
    try:
        return pickle.loads(pickle.dumps(value, 5))
    except BaseException as cause:  # noqa: BLE001 - whatever __reduce__ raises: another way is left
        raise_interrupt(cause)
        return _deep_copy(value)


def _deep_copy(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except BaseException as cause:
        raise_interrupt(cause)
        raise UserCodeError(
            f"a record of type {type(value).__name__} cannot be copied: {words_of(cause)}",
            hint="Return False from is_output_value_stored of the function that emits it, if that "
            "keeps no emitted value; or emit something that can be pickled.",
        ) from cause


def _has_several(components: Iterable[Any]) -> bool:
    return sum(type(component) not in ATOMS for component in components) > 1


@lru_cache(maxsize=1024)
def _copier_of(cls: Hashable) -> Callable[[Any, int], Any]:
    """Return the function from (instance of a class, its depth) to a copy."""
    assert isinstance(cls, type)
    kind = kind_of(cls)
    # Local names: a closure reads them faster than attributes, and does so for every value.
    held, flat, rebuilt = kind.held, kind.flat, kind.rebuilt
    if held is None or flat is None or rebuilt is None:
        return _through_pickle

    def copied(value: Any, depth: int) -> Any:
        components = held(value)
        if _are_atoms(map(type, components)):
            return flat(value)
        if depth == _MAX_DEPTH:  # perhaps it contains itself
            raise _TooDeepError
        if _has_several(components):
            return _through_pickle(value)
        return rebuilt(value, [copy_value(component, depth + 1) for component in components])

    return copied


def _at_once(cls: type) -> Callable[[list[Any]], list[Any] | None]:
    """Return the copier of batches of a class; it returns None for a batch that contains containers."""
    held, flat = KINDS[cls].held, KINDS[cls].flat
    assert held is not None
    assert flat is not None

    def copied(values: list[Any]) -> list[Any] | None:
        components = values if held is itself else map(held, values)
        if not _are_atoms(map(type, chain.from_iterable(components))):
            return None
        return values if flat is itself else list(map(flat, values))

    return copied


_AT_ONCE: dict[type, Callable[[list[Any]], list[Any] | None]] = {
    cls: _at_once(cls) for cls in (dict, list, tuple)
}
"""Exact class to the copier of a batch of its values, which checks columns, not values."""


def declared_copier(type_info: TypeInformation) -> Copier | None:
    """Return the copier of values in the declared form; None if they are immutable.

    It copies rows and tuples field by field. An inferred type is not enforced, so its values may be
    any objects.
    """
    make: Callable[[Any], Copier | None] = _COPIERS.get(type(type_info), _any_object)
    return make(type_info)


def batch_copier(type_info: TypeInformation) -> BatchCopier | None:
    """Return the copier of batches in the declared form; None if the values are immutable."""
    copier = declared_copier(type_info)
    if copier is None:
        return None
    if copier is copy_value:
        return copy_batch
    if copier is _flat_row:
        return copy_flat_rows
    return lambda values: list(map(copier, values))


def emission_copier(type_info: TypeInformation) -> Copier | None:
    """Return the copier of values that are not coerced yet; None if they are immutable.

    A value that is coerced to a tuple may be a list before, which is mutable.
    """
    copier = declared_copier(type_info)
    if copier is not None:
        return copy_value
    return _unless_tuple if isinstance(type_info, TupleTypeInfo) else None


def _unless_tuple(value: Any) -> Any:
    return value if type(value) is tuple else copy_value(value)


def _flat_row(row: Any) -> Any:
    return row if row is None else copy_flat_row(row)


def _always_atoms(_: TypeInformation) -> None:
    """Return None: the values are immutable."""


def _any_object(_: TypeInformation) -> Copier:
    return copy_value


def _row(type_info: RowTypeInfo) -> Copier:
    fields = [declared_copier(of_field) or itself for of_field in type_info.field_types]
    if all(copier is itself for copier in fields):
        return _flat_row

    def copied(row: Any) -> Any:
        if row is None:
            return None
        parts = zip(fields, row, strict=True)
        return row_like(row, [copier(part) for copier, part in parts])

    return copied


def _tuple(type_info: TupleTypeInfo) -> Copier | None:
    fields = [declared_copier(of_field) or itself for of_field in type_info.field_types]
    if all(copier is itself for copier in fields):
        return None

    def copied(value: Any) -> Any:
        if value is None:
            return None
        return tuple([copier(part) for copier, part in zip(fields, value, strict=True)])

    return copied


def _list(type_info: ListTypeInfo | ObjectArrayTypeInfo) -> Copier:
    copier = declared_copier(type_info.element_type)
    if copier is None:
        return _flat
    return lambda value: None if value is None else list(map(copier, value))


def _map(type_info: MapTypeInfo) -> Copier:
    copier = declared_copier(type_info.value_type)
    if copier is None:
        return _flat
    return lambda value: (
        None if value is None else {key: copier(part) for key, part in value.items()}
    )


def _flat(value: Any) -> Any:
    return value if value is None else value.copy()


_COPIERS: dict[type, Callable[[Any], Copier | None]] = {
    BasicTypeInfo: _always_atoms,
    PickledBytesTypeInfo: _any_object,
    InferredTypeInfo: _any_object,
    BasicArrayTypeInfo: _any_object,
    PrimitiveArrayTypeInfo: _any_object,
    RowTypeInfo: _row,
    TupleTypeInfo: _tuple,
    ListTypeInfo: _list,
    ObjectArrayTypeInfo: _list,
    MapTypeInfo: _map,
}
"""Class of a type to the function that makes its copier. Total over our types (tested)."""
