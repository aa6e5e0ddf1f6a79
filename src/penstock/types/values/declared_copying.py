"""Copies of records of a declared type. The copier is made for the type and checks no classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.types.base import TypeInformation
from penstock.types.containers import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
)
from penstock.types.inferred import InferredTypeInfo
from penstock.types.records import RowTypeInfo, TupleTypeInfo
from penstock.types.row import copy_flat_row, row_like
from penstock.types.scalars import BasicTypeInfo, PickledBytesTypeInfo
from penstock.types.values.copying import (
    BatchCopier,
    Copier,
    copy_batch,
    copy_flat_rows,
    copy_value,
)
from penstock.types.values.kinds import itself


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
