"""The columns of two streams that are joined: those that must be equal, and those of the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.errors import ArgumentError
from penstock.expressions.column import ColumnExpression
from penstock.expressions.typing import RecordType
from penstock.types import TypeInformation


@dataclass(frozen=True, slots=True)
class PairedColumns:
    """All columns of the left side, then those of the right one that are not compared.

    Attributes:
        names: Names of the columns of the result.
        types: Their types.
        left_keys: Positions of the compared columns on the left.
        right_keys: Positions of the same on the right.
        right_positions: Positions of the other columns on the right.
    """

    names: tuple[str, ...]
    types: tuple[TypeInformation, ...]
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    right_positions: tuple[int, ...]


def paired_columns(
    sides: tuple[RecordType, ...], columns: Sequence[ColumnExpression], operation: str
) -> PairedColumns:
    """Return the columns of two sides that are equal in some columns; these exist and may be keys.

    Args:
        sides: Types of the left and the right records.
        columns: Columns that must be equal.
        operation: Name of the API method, for messages.

    Raises:
        ArgumentError: A column has two types, or another one is on both sides.
    """
    left, right = sides
    keys = [str(each.tree) for each in columns]
    for key in keys:
        first, second = (side.field_types[side.field_names.index(key)] for side in sides)
        if first != second:
            raise ArgumentError.here(
                f"{operation} got the column {key!r}, which is {first!r} on the left and {second!r} on the right",
                hint="Cast one of them before, with with_columns.",
            )
    positions = tuple(at for at, name in enumerate(right.field_names) if name not in keys)
    names = (*left.field_names, *(right.field_names[at] for at in positions))
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ArgumentError.here(
            f"{operation} got the column {twice[0]!r} on both sides",
            hint="Rename one before, with select; only the compared columns may have one name.",
        )
    return PairedColumns(
        names=names,
        types=(*left.field_types, *(right.field_types[at] for at in positions)),
        left_keys=tuple(map(left.field_names.index, keys)),
        right_keys=tuple(map(right.field_names.index, keys)),
        right_positions=positions,
    )
