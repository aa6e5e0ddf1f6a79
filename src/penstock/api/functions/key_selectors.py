"""Key selectors: by function, by field and by columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from keyword import iskeyword
from operator import itemgetter
from typing import Any

from penstock.api.user_code import checked_type
from penstock.errors import ArgumentError, KeyTypeError
from penstock.expressions.column import ColumnExpression
from penstock.expressions.tree import Field
from penstock.expressions.typing import record_type, typed
from penstock.types.base import TypeInformation
from penstock.types.list_key import CHANGED_HINT, no_key_in


@dataclass(frozen=True, slots=True)
class TypedKeySelector:
    """Brings the keys of a selector to a declared type."""

    select: Callable[[Any], Any]
    key_type: TypeInformation

    def __call__(self, value: Any) -> Any:
        """Return the key of `value` in the declared form."""
        key = self.select(value)
        try:
            return self.key_type.coerce(key)
        except ValueError as refused:
            raise KeyTypeError(
                f"the key {key!r} is not of its declared type {self.key_type!r}: {refused}",
                hint="Correct the key selector, or the key_type.",
            ) from refused


def typed_selector(
    select: Callable[[Any], Any], key_type: TypeInformation | None, operation: str
) -> Callable[[Any], Any]:
    """Return a selector whose keys have the declared type; `select` itself if there is none."""
    declared = checked_type(key_type, operation)
    if not declared.need_conversion():
        return select
    part = no_key_in(declared)
    if part is not None:
        raise KeyTypeError.here(
            f"{operation} got the key type {declared!r}: values of {part!r} can be changed, so they "
            "cannot be keys",
            hint=CHANGED_HINT,
        )
    return TypedKeySelector(select, declared)


def given_columns(columns: Any, operation: str) -> tuple[ColumnExpression, ...]:
    """Return one or several columns as a tuple."""
    is_one = isinstance(columns, ColumnExpression | str) or not isinstance(columns, Iterable)
    given = (columns,) if is_one else tuple(columns)
    for column in given:
        if isinstance(column, ColumnExpression) and isinstance(column.tree, Field):
            continue
        shown = column.tree if isinstance(column, ColumnExpression) else repr(column)
        raise ArgumentError.here(
            f"{operation} got {shown}, which is not a column",
            hint=f"Write {_written(column)}."
            if isinstance(column, str)
            else "Pass col.name, or a list of such; compute it before, with with_columns.",
        )
    return given


def _written(name: str) -> str:
    is_attribute = name.isidentifier() and not iskeyword(name)
    return f"col.{name}" if is_attribute else f"col[{name!r}]"


def column_keys(
    columns: Any, type_info: TypeInformation, operation: str = "key_by"
) -> Callable[[Any], Any]:
    """Return the selector of some columns; the key of several is a tuple of their values.

    It is a getter of `operator`, which the planner recognizes: keys are then read of Arrow columns.
    """
    records = record_type(type_info, operation)
    positions = []
    for column in given_columns(columns, operation):
        assert isinstance(column.tree, Field), "it is a column"
        kind = typed(column.tree, records, operation).type_info
        refused = None if kind is None else no_key_in(kind)
        if refused is not None:
            raise KeyTypeError.here(
                f"{operation} got the column {column.tree} of type {kind!r}: values of {refused!r} can be "
                "changed, so they cannot be keys",
                hint=CHANGED_HINT,
            )
        positions.append(records.field_names.index(column.tree.name))
    return itemgetter(*positions)
