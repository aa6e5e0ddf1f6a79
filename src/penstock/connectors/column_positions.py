"""Columns of a DataFrame by their positions, whatever they are called.

Spark reads a name wherever it takes one: `a.b` is the field `b` of a struct `a` if there is one,
`*` is all columns, `_metadata` may be the file of a row. Two columns may have the same name, or
names that only their case tells apart. `DataFrame.mapInArrow` resolves the names of all columns
once more by itself, so escaping them where we write a name would not be enough. Renaming by
position resolves nothing: this is the only place where columns get names for Spark, and workers
give them their own names back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from penstock.types import RowTypeInfo


def column_name(position: int) -> str:
    """Return the name of a column in a frame of `by_position`."""
    return f"c{position}"


def by_position(dataframe: Any) -> Any:
    """Return a Spark DataFrame whose columns are called `c0`, `c1`, … in their order."""
    return dataframe.toDF(*map(column_name, range(len(dataframe.columns))))


def chosen(dataframe: Any, names: Sequence[str]) -> Any:
    """Return the columns of these names, exactly as they are written, in this order.

    Args:
        dataframe: Of Spark.
        names: Each the name of one of its columns.
    """
    columns = list(dataframe.columns)
    positions = map(columns.index, names)
    return by_position(dataframe).select(*map(column_name, positions)).toDF(*names)


def repeated(names: Iterable[str]) -> str | None:
    """Return a name that occurs twice, None if there is none."""
    known: set[str] = set()
    for name in names:
        if name in known:
            return name
        known.add(name)
    return None


def case_twins(type_info: RowTypeInfo) -> tuple[str, str] | None:
    """Return two field names of a row, or of a row inside, that differ only by case.

    Examples:
        >>> from penstock.types import Types
        >>> case_twins(Types.ROW_NAMED(["id", "Id"], [Types.INT(), Types.INT()]))
        ('id', 'Id')
    """
    known: dict[str, str] = {}
    for name in type_info.get_field_names():
        before = known.setdefault(name.lower(), name)
        if before != name:
            return before, name
    inside = (case_twins(f) for f in type_info.get_field_types() if isinstance(f, RowTypeInfo))
    return next(filter(None, inside), None)
