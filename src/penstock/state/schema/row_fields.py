"""Origins of the fields of rows that were stored with other fields.

A field of the same name is the origin of a field, or one of which the declared type says that it was renamed
(`penstock.types.records`). Fields that are gone without a word, beside fields that are new, are refused: the
values of a renamed field would be lost in silence.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.types import RowTypeInfo


@dataclass(frozen=True, slots=True)
class RowFields:
    """Comparison of the fields of a stored and of a declared row type.

    Attributes:
        origins: Position of the stored field of each declared field; None of a new one.
        removed: Names of stored fields that the declared type does not account for.
        added: Names of new fields.
        merged: Names of stored fields that would be the same declared field.
        n_stored: Number of stored fields.
    """

    origins: tuple[int | None, ...]
    removed: tuple[str, ...]
    added: tuple[str, ...]
    merged: tuple[str, ...]
    n_stored: int


def compare_fields(old: RowTypeInfo, new: RowTypeInfo) -> RowFields:
    """Compare the fields of two row types.

    >>> types = [Types.LONG(), Types.LONG()]
    >>> was = Types.ROW_NAMED(["id", "total"], types)
    >>> compare_fields(was, Types.ROW_NAMED(["totals", "id"], types, renamed={"total": "totals"})).origins
    (1, 0)
    """
    later, stored = dict(new.renamed), set(old.field_names)
    origins: dict[str, int] = {}
    removed: list[str] = []
    merged: list[str] = []
    for position, name in enumerate(old.field_names):
        now = _name_now(name, later, stored)
        if now is None:
            continue
        if now in origins:
            merged += [old.field_names[origins[now]], name]
        elif now in new.field_names:
            origins[now] = position
        elif now in later:
            merged += [name, str(later[now])]
        else:
            removed.append(name)
    added = (name for name in new.field_names if name not in origins)
    return RowFields(
        origins=tuple(map(origins.get, new.field_names)),
        removed=tuple(removed),
        added=tuple(added),
        merged=tuple(merged),
        n_stored=len(old.field_names),
    )


def _name_now(name: str, later: dict[str, str | None], stored: set[str]) -> str | None:
    while name in later:
        following = later[name]
        if following is None:
            return None
        if following in stored:  # the row is younger than this renaming
            return name
        name = following
    return name
