"""Migrates coded rows to another schema: decides which bytes may stay, and converts the others.

Bytes stay if the new type reads the same values from them: an integer is wider, or columns were added
after the others. Removed columns do not stay in the bytes, because a column of another type may get
their number later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.state.schema.entry_schema import StateSchema
from penstock.state.schema.plain import plain_codec
from penstock.state.schema.row_fields import compare_fields
from penstock.state.schema.stored_form import stored_codec, stored_type
from penstock.types import (
    BasicTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from penstock.types.inferred import enforced
from penstock.types.value_serializer import StoredForm

Migration = Callable[[list[Any]], list[Any]]
"""Stored values of an old schema to those of a new one, in the same order."""

_VARINTS = ("Byte", "Short", "Integer", "Long")


def between_forms(old: StateSchema, new: StateSchema, change: Migration | None) -> Migration | None:
    """Return the migration of stored values of `old` to those of `new`; None if they stay."""
    if old.form is StoredForm.PLAIN and new.form is StoredForm.PLAIN:
        return change
    is_same_form = old.form is new.form and old.has_ttl == new.has_ttl
    if is_same_form and _reads(old.value_type, new.value_type):
        return None
    steps = [step for step in (_to_plain(old), change, _from_plain(new)) if step is not None]

    def migrate(stored: list[Any]) -> list[Any]:
        for step in steps:
            stored = step(stored)
        return stored

    return migrate


def _to_plain(schema: StateSchema) -> Migration | None:
    if schema.form is StoredForm.PLAIN:
        return None
    coded, plain = stored_codec(schema), plain_codec(stored_type(schema))
    assert coded is not None
    read = coded.from_plain
    return read if plain is None else lambda stored: plain.to_plain(read(stored))


def _from_plain(schema: StateSchema) -> Migration | None:
    if schema.form is StoredForm.PLAIN:
        return None
    coded, plain = stored_codec(schema), plain_codec(stored_type(schema))
    assert coded is not None
    write = coded.to_plain
    return write if plain is None else lambda stored: write(plain.from_plain(stored))


def _reads(old: TypeInformation, new: TypeInformation) -> bool:
    """Return whether coded bytes of `old` decode to the same value with `new`."""
    old, new = enforced(old), enforced(new)
    if old == new:
        return True
    rule = _RULES.get(type(new)) if type(old) is type(new) else None
    return rule is not None and rule(old, new)


def _basic_reads(old: BasicTypeInfo, new: BasicTypeInfo) -> bool:
    names = old.name, new.name
    return set(names) <= set(_VARINTS) and _VARINTS.index(old.name) < _VARINTS.index(new.name)


def _row_reads(old: RowTypeInfo, new: RowTypeInfo) -> bool:
    n_old = len(old.field_names)
    if compare_fields(old, new).origins[:n_old] != tuple(range(n_old)):
        return False
    return all(map(_reads, old.field_types, new.field_types))


def _tuple_reads(old: TupleTypeInfo, new: TupleTypeInfo) -> bool:
    return all(map(_reads, old.field_types, new.field_types))


def _map_reads(old: MapTypeInfo, new: MapTypeInfo) -> bool:
    return _reads(old.key_type, new.key_type) and _reads(old.value_type, new.value_type)


_RULES: dict[type, Callable[[Any, Any], bool]] = {
    BasicTypeInfo: _basic_reads,
    RowTypeInfo: _row_reads,
    TupleTypeInfo: _tuple_reads,
    MapTypeInfo: _map_reads,
}
"""Class of two different types to whether one reads the other; lists of other elements do not."""
