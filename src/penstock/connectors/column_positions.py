"""Columns of a DataFrame by position, whatever their names.

Spark parses every name: `a.b` is the field `b` of a struct `a` if there is one, `*` is all columns,
`_metadata` may be the file of a row. Two columns may have the same name, or names that differ only
by case. Escaping the names that we write would not be enough, because `DataFrame.mapInArrow`
resolves the names of all columns again. Renaming by position resolves no name: this module gives all
columns new names for Spark, and workers restore the original names. Plain names need no new ones, where
only Spark's own functions read the columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from penstock.types import RowTypeInfo

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
"""A name that Spark reads as it is, and that no hidden column has."""


def column_name(position: int) -> str:
    """Return the name of a column in a frame of `by_position`."""
    return f"c{position}"


def by_position(dataframe: Any) -> Any:
    """Return a Spark DataFrame whose columns are called `c0`, `c1`, … in their order."""
    return dataframe.toDF(*map(column_name, range(len(dataframe.columns))))


def by_plain_name(dataframe: Any) -> Any:
    """Return a Spark DataFrame each of whose columns its name denotes: the same one, or that of `by_position`.

    To rename columns is a plan that Spark analyses.
    """
    names = dataframe.columns
    is_plain = all(map(_PLAIN.fullmatch, names)) and len({*map(str.lower, names)}) == len(names)
    return dataframe if is_plain else by_position(dataframe)


def chosen(dataframe: Any, names: Sequence[str]) -> Any:
    """Return the columns with exactly these names, in this order."""
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
    """Return two field names of a row, or of a row in it, that differ only by case.

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
