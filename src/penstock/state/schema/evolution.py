"""Schema evolution: reads entries that were stored with another schema.

Between two versions of a program the declared type of a state may change in these ways:

* a row with names gets fields (they are None), loses fields, or has another order of fields;
* fields of a row have new names, which its type declares (`penstock.types.records`);
* a number becomes wider: Byte, Short, Integer, Long, BigInteger in this direction; Float to
  Double; Byte, Short and Integer to Double; any integer to BigDecimal;
* the same inside rows, tuples, lists, arrays and values of maps;
* a time-to-live is switched on (every value counts as just accessed) or off.

Rows of parts of aggregates (`StateSchema.is_part`) get no fields: a part that is new was not computed of earlier records.

Any other change is refused, also that of a row which gets and loses fields at once: the values of a field that was
renamed, and not declared so, would be lost in silence. If a removed field is added again, it is None in entries
that were rewritten in between.

The migration converts plain values (see `penstock.state.schema.stored_form`), many at a time. Coded rows are
decoded, converted and encoded again, unless the new type reads the same values from their bytes: an integer is
wider, or columns were added after the others. Removed columns do not stay in the bytes, because a column of
another type may get their number later.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations
from typing import Any

from penstock.errors import StateError, StateMigrationError
from penstock.state.schema.entry_schema import StateSchema
from penstock.state.schema.own_states import described
from penstock.state.schema.stored_form import (
    in_lists,
    in_maps,
    in_tuples,
    plain_codec,
    present,
    split_kinds,
    stored_codec,
    stored_type,
)
from penstock.types import (
    BasicArrayTypeInfo,
    BasicTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from penstock.types.description import describe_type, type_of
from penstock.types.infer import enforced
from penstock.types.user_types import StoredUserType, user_codec
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
    rule = _SAME_BYTES.get(type(new)) if type(old) is type(new) else None
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


_SAME_BYTES: dict[type, Callable[[Any, Any], bool]] = {
    BasicTypeInfo: _basic_reads,
    RowTypeInfo: _row_reads,
    TupleTypeInfo: _tuple_reads,
    MapTypeInfo: _map_reads,
}
"""Class of two different types to whether one reads the other; lists of other elements do not."""


@dataclass(frozen=True, slots=True)
class RowFields:
    """Comparison of the fields of a stored and of a declared row type.

    Attributes:
        origins: Position of the stored field of each declared field; None of a new one.
        removed: Names of stored fields that the declared type does not account for.
        added: Names of new fields.
        merged: Names of stored fields that would be the same declared field.
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


_NANOS_PER_MILLI = 1_000_000

_DECLARE = (
    "Declare the stored type again or a wider one, or keep the new type in a state with a new name; to begin without "
    "the old state, read history again in a new directory (execution.checkpointing.dir)."
)
_AGGREGATE = (
    "Aggregate it by an operator of its own with a uid of its own, which begins now; or give this operator another uid and start "
    "with execution.state-recovery.ignore-unclaimed-state, and all of it begins now."
)


def wall_clock_ms() -> int:
    """Return the time of day in milliseconds since 1970."""
    return time.time_ns() // _NANOS_PER_MILLI


def migration(
    old: StateSchema,
    new: StateSchema,
    subject: str,
    now_ms: Callable[[], int] = wall_clock_ms,
    *,
    keeps_all: bool = False,
) -> Migration | None:
    """Return the migration of stored values of `old` to those of `new`; None if they stay."""
    place = _Place(subject, keeps_all=keeps_all)
    if old.kind is not new.kind:
        raise place.refusal(f"was of kind {old.kind.value}, is of kind {new.kind.value}")
    if _key_text(old.subkey_type) != _key_text(new.subkey_type):
        raise place.refusal(f"had keys of type {old.subkey_type!r}, has {new.subkey_type!r}")
    if keeps_all and old.has_ttl and not new.has_ttl:
        raise place.refusal("has no time-to-live any more")
    if new.is_part is not None:
        _check_parts(old.value_type, new.value_type, new.is_part, place)
    change = _of_elements(old, new, place, now_ms)
    if new.kind.is_list:
        change = change and in_lists(change)
    return between_forms(old, new, change)


def migration_of(old: StateSchema, new: StateSchema, operator: str, state: str) -> Migration | None:
    """Return the function that reads stored values of `old` as `new`; None if they are the same."""
    return migration(old, new, f"{described(state)} of operator {operator!r}")


def common_schema(schemas: Sequence[StateSchema], subject: str) -> StateSchema:
    """Return the one of several stored schemas as which entries of all of them are read, the one that loses least."""
    refused: StateError | None = None
    for keeps_all in (True, False):
        for target in schemas:
            try:
                for schema in schemas:
                    migration(schema, target, subject, keeps_all=keeps_all)
            except StateError as cause:
                refused = cause
            else:
                return target
    assert refused is not None
    raise refused


def _key_text(type_info: TypeInformation | None) -> Any:
    return None if type_info is None else describe_type(_without_renamed(type_info))


def _without_renamed(key_type: TypeInformation) -> TypeInformation:
    """Return the type of keys; those with other names are other keys, so a renaming has no meaning for them."""
    if isinstance(key_type, RowTypeInfo):
        return RowTypeInfo(list(map(_without_renamed, key_type.field_types)), key_type.field_names)
    if isinstance(key_type, TupleTypeInfo):
        return TupleTypeInfo(list(map(_without_renamed, key_type.field_types)))
    return key_type


def _check_parts(
    old: TypeInformation, new: TypeInformation, is_part: Callable[[str], bool], place: _Place
) -> None:
    """Check that a row of parts of aggregates has the stored columns of the key, and no part that is not stored."""
    old, new = _without_time(old), _without_time(new)
    if not isinstance(old, RowTypeInfo) or not isinstance(new, RowTypeInfo):
        raise place.not_readable(old, new)
    was, now = (
        [name for name in row_type.field_names if not is_part(name)] for row_type in (old, new)
    )
    if was != now:
        raise place.refusal(
            f"is by the key ({', '.join(was)}), the program aggregates by ({', '.join(now)})",
            _AGGREGATE,
        )
    missing = [name for name in new.field_names if name not in old.field_names]
    if missing:
        raise place.refusal(
            f"has {', '.join(filter(is_part, old.field_names))}, but not {', '.join(missing)} of the records before",
            _AGGREGATE,
        )


def _without_time(type_info: TypeInformation) -> TypeInformation:
    """Return the type of a row, which windows with an evictor keep behind its timestamp."""
    known = enforced(type_info)
    return enforced(known.field_types[-1]) if isinstance(known, TupleTypeInfo) else known


def _of_elements(
    old: StateSchema, new: StateSchema, place: _Place, now_ms: Callable[[], int]
) -> Migration | None:
    values = _change(old.value_type, new.value_type, place)
    if old.has_ttl and new.has_ttl:
        return values and in_tuples([None, values])
    if new.has_ttl:
        return _stamped(values, now_ms)
    return _stripped(values) if old.has_ttl else values


def _stamped(values: Migration | None, now_ms: Callable[[], int]) -> Migration:
    def migrate(stored: list[Any]) -> list[Any]:
        now = now_ms()
        return [(now, value) for value in (values(stored) if values else stored)]

    return migrate


def _stripped(values: Migration | None) -> Migration:
    def migrate(stored: list[Any]) -> list[Any]:
        plain = [value for _, value in stored]
        return values(plain) if values else plain

    return migrate


@dataclass(frozen=True, slots=True)
class _Place:
    """A state, or a field of its values, for messages."""

    subject: str
    path: tuple[str, ...] = ()
    keeps_all: bool = False

    def inside(self, name: str) -> _Place:
        """Return the place of a component: a field, `f0`, `element`, `key` or `value`."""
        return replace(self, path=(*self.path, name))

    def refusal(self, what: str, hint: str = _DECLARE) -> StateMigrationError:
        """Return the error about this place."""
        where = f": field {'.'.join(self.path)!r}" if self.path else ""
        return StateMigrationError(f"{self.subject}{where} {what}", hint=hint)

    def not_readable(self, old: TypeInformation, new: TypeInformation) -> StateMigrationError:
        """Return the error with the old and the new type of this place."""
        return self.refusal(f"was {old!r}, is {new!r}")

    def check_fields(self, fields: RowFields) -> None:
        """Check that no values of fields are lost in silence."""
        if fields.merged:
            one, other = map(repr, fields.merged[:2])
            raise self.refusal(
                f"has both {one} and {other}, which are one field of the new type",
                f"Declare what became of each: renamed={{{one}: None}} in the row's type if {one} was removed.",
            )
        gone = _quoted(fields.removed)
        if fields.removed and fields.added:
            raise self.refusal(
                f"no longer has {gone}, and has {_quoted(fields.added)}, which it had not",
                f"If {gone} was renamed, declare it: {_declared(fields.removed, fields.added)}; if it was removed and its "
                f"values may go: {_declared(fields.removed, ())}. Or keep the new type in a state with a new name.",
            )
        if self.keeps_all and len(fields.origins) - len(fields.added) < fields.n_stored:
            raise self.refusal(f"no longer has {gone}")


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


def _declared(removed: Sequence[str], added: Sequence[str]) -> str:
    """Return the declaration of what became of fields that were removed; `added` are new ones, if they were renamed."""
    if added and len(removed) == len(added) == 1:
        now = repr(added[0])
    else:
        now = "'the new name'" if added else "None"
    return f"Types.ROW_NAMED(…, renamed={{{', '.join(f'{name!r}: {now}' for name in removed)}}})"


def _change(old: TypeInformation, new: TypeInformation, place: _Place) -> Migration | None:
    old, new = enforced(old), enforced(new)
    if old == new:
        return None
    if isinstance(old, StoredUserType):
        return _user_change(old, new, place)
    rule = _RULES.get(type(old)) if type(old) is type(new) else None
    if rule is None:
        raise place.not_readable(old, new)
    return rule(old, new, place)


def _user_change(old: StoredUserType, new: TypeInformation, place: _Place) -> Migration | None:
    """Return the change of bytes of another version of a program's serializer."""
    if describe_type(new) == describe_type(old):
        return None
    declared = type_of(describe_type(new))
    if not isinstance(declared, StoredUserType) or declared.name != old.name:
        raise place.not_readable(old, new)
    codec = user_codec(new)
    try:
        before = replace(codec, serializer=codec.serializer.restore(old.version))
    except StateMigrationError as refused:
        raise place.refusal(f"was not restored: {refused.problem}", refused.hint) from refused
    return lambda stored: [codec.encode(before.decode(data)) for data in stored]


def _basic_change(old: BasicTypeInfo, new: BasicTypeInfo, place: _Place) -> Migration | None:
    try:
        return _WIDENING[old.name, new.name]
    except KeyError:
        raise place.not_readable(old, new) from None


def _row_change(old: RowTypeInfo, new: RowTypeInfo, place: _Place) -> Migration | None:
    if (_is_unnamed(old) or _is_unnamed(new)) and old.field_names != new.field_names:
        raise place.not_readable(old, new)
    fields = compare_fields(old, new)
    place.check_fields(fields)
    origins, n_old = fields.origins, fields.n_stored
    changes = [
        None if origin is None else _change(old.field_types[origin], field, place.inside(name))
        for origin, name, field in zip(origins, new.field_names, new.field_types, strict=True)
    ]
    if origins == tuple(range(n_old)) and not any(changes):
        return None

    def migrate(plain: list[Any]) -> list[Any]:
        rows, kinds = split_kinds(plain, n_old)
        columns: list[Sequence[Any]] = list(zip(*rows, strict=True))
        nulls = (None,) * len(rows)
        moved = [nulls if origin is None else columns[origin] for origin in origins]
        changed = (c(list(m)) if c else m for c, m in zip(changes, moved, strict=True))
        tuples = zip(*changed, strict=True)
        if kinds is None:
            return list(tuples)
        return [row + kind for row, kind in zip(tuples, kinds, strict=True)]

    return present(migrate)


def _is_unnamed(row: RowTypeInfo) -> bool:
    """Return whether the names of a row are the default ones."""
    return row == RowTypeInfo(row.field_types)


def _tuple_change(old: TupleTypeInfo, new: TupleTypeInfo, place: _Place) -> Migration | None:
    if len(old.field_types) != len(new.field_types):
        raise place.not_readable(old, new)
    triples = zip(old.field_types, new.field_types, old.field_names, strict=True)
    changes = [_change(was, now, place.inside(name)) for was, now, name in triples]
    return in_tuples(changes) if any(changes) else None


def _sequence_change(old: Any, new: Any, place: _Place) -> Migration | None:
    change = _change(old.element_type, new.element_type, place.inside("element"))
    return change and in_lists(change)


def _primitive_change(
    old: PrimitiveArrayTypeInfo, new: PrimitiveArrayTypeInfo, place: _Place
) -> Migration | None:
    if old.is_bytes or new.is_bytes:  # bytes are no list
        raise place.not_readable(old, new)
    return _sequence_change(old, new, place)


def _map_change(old: MapTypeInfo, new: MapTypeInfo, place: _Place) -> Migration | None:
    if _key_text(old.key_type) != _key_text(new.key_type):
        raise place.inside("key").not_readable(old.key_type, new.key_type)
    change = _change(old.value_type, new.value_type, place.inside("value"))
    return change and in_maps(None, change)


_RULES: dict[type, Callable[[Any, Any, _Place], Migration | None]] = {
    BasicTypeInfo: _basic_change,
    RowTypeInfo: _row_change,
    TupleTypeInfo: _tuple_change,
    ListTypeInfo: _sequence_change,
    BasicArrayTypeInfo: _sequence_change,
    ObjectArrayTypeInfo: _sequence_change,
    PrimitiveArrayTypeInfo: _primitive_change,
    MapTypeInfo: _map_change,
}
"""Class of two different types to the change from one to the other. Pickled types are all equal."""


def _each(convert: Callable[[Any], Any]) -> Migration:
    return present(lambda values: list(map(convert, values)))


_INTEGERS = ("Byte", "Short", "Integer", "Long", "BigInteger")

_WIDENING: dict[tuple[str, str], Migration | None] = {
    **dict.fromkeys(combinations(_INTEGERS, 2)),
    ("Float", "Double"): None,
    **{(name, "Double"): _each(float) for name in ("Byte", "Short", "Integer")},
    **{(name, "BigDecimal"): _each(Decimal) for name in _INTEGERS},
}
"""Stored and declared basic type to the change of values; None if they stay."""
