"""The kinds of values whose order or rounding can reach a result: sets, floats, and records that have floats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum, auto
from typing import Any

from penstock.types import TypeInformation
from penstock.types.records import RowTypeInfo, TupleTypeInfo
from penstock.types.row import Row
from penstock.types.scalars import BasicTypeInfo


class Form(Enum):
    """Forms of values."""

    OTHER = auto()
    """Any other, or unknown."""

    UNORDERED = auto()
    """A set, or a dict made of one."""

    ARRIVING = auto()
    """An iterable of records in order of arrival."""

    FLOAT = auto()
    """A float of a record."""

    KEPT = auto()
    """A value of state."""

    RECORD = auto()
    """A record, or a container of declared fields."""


@dataclass(frozen=True, slots=True)
class FlowKind:
    """The kind of a value.

    Attributes:
        items: For iterables: the kind of the items.
        members: For records: field, or its number, to the kind of its value.
    """

    form: Form
    items: FlowKind | None = None
    members: tuple[tuple[str | int, FlowKind], ...] = ()

    def member(self, name: str | int) -> FlowKind:
        """Return the kind of a field."""
        return dict(self.members).get(name, OTHER)


OTHER = FlowKind(Form.OTHER)
UNORDERED = FlowKind(Form.UNORDERED)
FLOAT = FlowKind(Form.FLOAT)
KEPT = FlowKind(Form.KEPT)


def arriving(items: FlowKind) -> FlowKind:
    """Return the kind of an iterable of records."""
    return FlowKind(Form.ARRIVING, items)


def kind_of_type(type_info: TypeInformation | None) -> FlowKind:
    """Return the kind of values of a declared type."""
    if isinstance(type_info, BasicTypeInfo):
        return FLOAT if type_info.python_class is float else OTHER
    if isinstance(type_info, RowTypeInfo):
        return _record(type_info.get_field_names(), map(kind_of_type, type_info.get_field_types()))
    if isinstance(type_info, TupleTypeInfo):
        types = type_info.get_field_types()
        return _record(range(len(types)), map(kind_of_type, types))
    return OTHER


def kind_of_value(value: Any) -> FlowKind:
    """Return the kind of a value: of a sample of records, or of a variable of the program."""
    return next((rule(value) for cls, rule in _RULES.items() if isinstance(value, cls)), OTHER)


def _of_row(row: Row) -> FlowKind:
    return kind_of_value(row.as_dict() if getattr(row, "_fields", None) else tuple(row))


def _of_tuple(value: tuple[Any, ...]) -> FlowKind:
    return _record(getattr(value, "_fields", range(len(value))), map(kind_of_value, value))


def _of_mapping(value: Mapping[Any, Any]) -> FlowKind:
    named = {key: content for key, content in value.items() if isinstance(key, str | int)}
    return _record(named, map(kind_of_value, named.values()))


def _of_object(value: Any) -> FlowKind:
    names = [field.name for field in fields(value)] if is_dataclass(value) else []
    return _record(names, (kind_of_value(getattr(value, name, None)) for name in names))


def _record(names: Iterable[str | int], kinds: Iterable[FlowKind]) -> FlowKind:
    named = list(zip(names, kinds, strict=False))
    numbered = [(number, kind) for number, (_, kind) in enumerate(named)]
    members = tuple(dict([*numbered, *named]).items())
    return (
        FlowKind(Form.RECORD, members=members)
        if any(kind != OTHER for _, kind in members)
        else OTHER
    )


_RULES: dict[type | tuple[type, ...], Callable[[Any], FlowKind]] = {
    (set, frozenset): lambda _: UNORDERED,
    float: lambda _: FLOAT,
    Row: _of_row,
    tuple: _of_tuple,
    Mapping: _of_mapping,
    object: _of_object,
}
"""Class of a value to what finds its kind; the first that fits counts."""
