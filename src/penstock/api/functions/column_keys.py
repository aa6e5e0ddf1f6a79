"""Keys that are columns: the selector of the fields of a row or tuple."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from penstock.errors import ArgumentError, KeyTypeError
from penstock.expressions.column import ColumnExpression
from penstock.expressions.tree import Field
from penstock.expressions.typing import record_type, typed
from penstock.types.base import TypeInformation
from penstock.types.key_types import no_key_in
from penstock.types.list_key import CHANGED_HINT


def column_keys(columns: Sequence[Any], type_info: TypeInformation) -> Callable[[Any], Any]:
    """Return the selector of some columns; the key of several is a tuple of their values.

    It is a getter of `operator`, which the planner recognizes: keys are then read of Arrow columns.

    Args:
        columns: What `key_by` got.
        type_info: Type of the records.

    Raises:
        ArgumentError: The records have no columns, or one of `columns` is none.
        UnknownFieldError: There is no such column.
        KeyTypeError: The values of a column cannot be keys.
    """
    records = record_type(type_info, "key_by")
    positions = []
    for each in columns:
        if not isinstance(each, ColumnExpression) or not isinstance(each.tree, Field):
            shown = each.tree if isinstance(each, ColumnExpression) else repr(each)
            raise ArgumentError.here(
                f"key_by got {shown}, which is no column",
                hint="Compute the key before, with with_columns, and pass its column.",
            )
        kind = typed(each.tree, records, "key_by").type_info
        refused = None if kind is None else no_key_in(kind)
        if refused is not None:
            raise KeyTypeError.here(
                f"key_by got the column {each.tree} of type {kind!r}: values of {refused!r} can be "
                "changed, so they cannot be keys",
                hint=CHANGED_HINT,
            )
        positions.append(records.field_names.index(each.tree.name))
    return itemgetter(*positions)
