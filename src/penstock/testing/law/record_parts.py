"""The parts of a record of any shape: its fields or elements, or itself."""

from __future__ import annotations

from typing import Any

from penstock.types.row import Row, names_of


def parts_of(record: Any) -> dict[Any, Any]:
    """Return place to value: names of fields, indexes of elements, or None for a record without parts.

    Examples:
        >>> parts_of(("ann", 5)), parts_of(Row(name="ann")), parts_of(5)
        ({0: 'ann', 1: 5}, {'name': 'ann'}, {None: 5})
    """
    if isinstance(record, Row):
        return dict(zip(names_of(record) or range(len(record)), record, strict=True))
    if isinstance(record, dict):
        return dict(record)
    if type(record) in (tuple, list) or hasattr(record, "_make"):
        return dict(enumerate(record))
    return {None: record}


def with_parts(record: Any, changed: dict[Any, Any]) -> Any:
    """Return a record with some parts replaced; the record itself if there are none.

    Examples:
        >>> with_parts(("ann", 5), {1: 6}), with_parts(Row(n=5), {"n": None}), with_parts(5, {None: 6})
        (('ann', 6), Row(n=None), 6)
    """
    if not changed:
        return record
    parts = parts_of(record) | changed
    if isinstance(record, Row):
        made = Row(**parts) if names_of(record) else Row(*parts.values())
        made.set_row_kind(record.get_row_kind())
        return made
    if isinstance(record, dict):
        return parts
    if hasattr(record, "_make"):
        return record._make(parts.values())
    return type(record)(parts.values()) if type(record) in (tuple, list) else parts[None]
