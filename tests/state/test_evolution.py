"""Evolution: laws over random changes of random types, then what is refused and how it is said.

The oracle changes one declared value at a time, by name, and shares no code with the
migrations: it finds fields that move to wrong places and values left in their old form. The
law of composition finds what depends on the way a schema was reached.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import PenstockError, StateError, StateMigrationError
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.state.schema.evolution import migration
from penstock.state.schema.stored_form import plain_codec
from penstock.types import (
    BasicArrayTypeInfo,
    BasicTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    Row,
    RowKind,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from penstock.types.basic import BASIC_RULES
from tests.types.random_types import TYPES, exact
from tests.types.type_strategies import values_of

_SUBJECT = "state 'profile' of operator 'enrich'"
_LONG, _INT, _STRING, _DOUBLE = Types.LONG(), Types.INT(), Types.STRING(), Types.DOUBLE()

WIDER: dict[str, set[str]] = {
    "Byte": {"Short", "Integer", "Long", "BigInteger", "Double", "BigDecimal"},
    "Short": {"Integer", "Long", "BigInteger", "Double", "BigDecimal"},
    "Integer": {"Long", "BigInteger", "Double", "BigDecimal"},
    "Long": {"BigInteger", "BigDecimal"},
    "BigInteger": {"BigDecimal"},
    "Float": {"Double"},
}


# --- allowed changes, and what they make of one value -----------------------------------------


def _wider(basic: BasicTypeInfo, allowed: frozenset[str] | None) -> list[TypeInformation]:
    names = {basic.name, *WIDER.get(basic.name, ())}
    return [BasicTypeInfo(name) for name in sorted(names if allowed is None else names & allowed)]


def _arrays(array: Any, _: str) -> st.SearchStrategy[TypeInformation]:
    if isinstance(array, PrimitiveArrayTypeInfo) and array.is_bytes:
        return st.just(array)
    wider = _wider(array.element_type, array.allowed_elements)
    return st.sampled_from(wider).map(type(array))


@st.composite
def _rows(draw: st.DrawFn, row: RowTypeInfo, fresh: str) -> RowTypeInfo:
    fields = dict(zip(row.field_names, row.field_types, strict=True))
    if row == Types.ROW(row.field_types):
        return Types.ROW([draw(_changed(field, fresh)) for field in fields.values()])
    kept = draw(st.lists(st.sampled_from(row.field_names), unique=True))
    found = {name: draw(_changed(fields[name], fresh)) for name in kept}
    moved = draw(st.lists(st.sampled_from(kept), unique=True)) if kept else []
    renamed: dict[str, str | None] = {name: None for name in row.field_names if name not in kept}
    for name in moved:
        renamed[name] = f"{fresh}-{name}"
        found[f"{fresh}-{name}"] = found.pop(name)
    for number in range(draw(st.integers(0 if kept else 1, 2))):
        found[f"{fresh}{number}"] = draw(TYPES)
    names = draw(st.permutations(list(found)))
    # What earlier versions renamed stays declared.
    renamed = {k: v for k, v in row.renamed if k not in found} | renamed
    return Types.ROW_NAMED(names, [found[name] for name in names], renamed)


_CHANGES: dict[type, Callable[[Any, str], st.SearchStrategy[TypeInformation]]] = {
    BasicTypeInfo: lambda basic, _: st.sampled_from(_wider(basic, None)),
    PickledBytesTypeInfo: lambda pickled, _: st.just(pickled),
    RowTypeInfo: _rows,
    TupleTypeInfo: lambda t, fresh: st.tuples(*(_changed(f, fresh) for f in t.field_types)).map(
        Types.TUPLE
    ),
    ListTypeInfo: lambda t, fresh: _changed(t.element_type, fresh).map(Types.LIST),
    ObjectArrayTypeInfo: lambda t, fresh: _changed(t.element_type, fresh).map(Types.OBJECT_ARRAY),
    BasicArrayTypeInfo: _arrays,
    PrimitiveArrayTypeInfo: _arrays,
    MapTypeInfo: lambda t, fresh: _changed(t.value_type, fresh).map(
        lambda value: Types.MAP(t.key_type, value)
    ),
}


def _changed(old: TypeInformation, fresh: str) -> st.SearchStrategy[TypeInformation]:
    """Return types that `old` may become; new fields have names that begin with `fresh`."""
    return _CHANGES[type(old)](old, fresh)


def _expected(old: Any, new: Any, value: Any) -> Any:
    """Return what a declared value of `old` should be as a value of `new`."""
    if value is None or old == new:
        return value
    if isinstance(new, BasicTypeInfo):
        made: dict[str, Any] = {"Double": float, "BigDecimal": Decimal}
        return made[new.name](value) if new.name in made else value
    if isinstance(new, RowTypeInfo):
        was, fields = dict(zip(old.field_names, old.field_types, strict=True)), value.as_dict()
        before = {_last_name(name, dict(new.renamed)): name for name in old.field_names}
        row = Row(**{
            name: _expected(was[before[name]], now, fields[before[name]]) if name in before else None
            for name, now in zip(new.field_names, new.field_types, strict=True)
        })  # fmt: skip
        row.set_row_kind(value.get_row_kind())
        return row
    if isinstance(new, TupleTypeInfo):
        return tuple(map(_expected, old.field_types, new.field_types, value))
    if isinstance(new, MapTypeInfo):
        return {k: _expected(old.value_type, new.value_type, v) for k, v in value.items()}
    return [_expected(old.element_type, new.element_type, element) for element in value]


def _last_name(name: str, renamed: dict[str, str | None]) -> str | None:
    now: str | None = name
    while now in renamed:
        now = renamed[now]
    return now


# --- helpers ----------------------------------------------------------------------------------


def _schema(value_type: TypeInformation, *, ttl: bool = False) -> StateSchema:
    return StateSchema(StateKind.VALUE, value_type, has_ttl=ttl)


def _clock() -> int:
    return 1_000


def _migrate(old: StateSchema, new: StateSchema, plain: list[Any]) -> list[Any]:
    migrate = migration(old, new, _SUBJECT, _clock)
    return plain if migrate is None else migrate(plain)


def _stored(type_info: TypeInformation, values: list[Any]) -> list[Any]:
    codec = plain_codec(type_info)
    return codec.to_plain(values) if codec else values


def _read(type_info: TypeInformation, plain: list[Any]) -> list[Any]:
    codec = plain_codec(type_info)
    return codec.from_plain(plain) if codec else plain


def _refused(old: StateSchema, new: StateSchema) -> StateMigrationError:
    with pytest.raises(StateMigrationError) as caught:
        migration(old, new, _SUBJECT, _clock)
    assert caught.value.code == "STATE_MIGRATION"
    assert caught.value.problem.startswith(_SUBJECT)
    assert "new name" in caught.value.hint
    return caught.value


@st.composite
def _evolved(draw: st.DrawFn) -> tuple[TypeInformation, TypeInformation, list[Any]]:
    old = draw(TYPES)
    return old, draw(_changed(old, "n")), draw(st.lists(st.none() | values_of(old), max_size=3))


# --- laws -------------------------------------------------------------------------------------


@settings(max_examples=150)
@given(_evolved())
def test_migrated_values_are_what_the_new_type_says(
    case: tuple[TypeInformation, TypeInformation, list[Any]],
) -> None:
    old, new, values = case
    plain = _stored(old, values)
    before = exact(plain)
    back = _read(new, _migrate(_schema(old), _schema(new), plain))
    assert exact(plain) == before  # left as it was
    assert exact(back) == exact([_expected(old, new, value) for value in values])
    assert all(value is None or new.coerce(value) is value for value in back)


@settings(max_examples=150)
@given(st.data())
def test_two_migrations_are_one(data: st.DataObject) -> None:
    old = data.draw(TYPES)
    mid = data.draw(_changed(old, "m"))
    new = data.draw(_changed(mid, "n"))
    plain = _stored(old, data.draw(st.lists(st.none() | values_of(old), max_size=3)))
    ttl = data.draw(st.booleans())
    schemas = _schema(old), _schema(mid, ttl=ttl), _schema(new, ttl=ttl)
    once = _migrate(schemas[0], schemas[2], plain)
    twice = _migrate(schemas[1], schemas[2], _migrate(schemas[0], schemas[1], plain))
    assert exact(twice) == exact(once)


@given(TYPES, TYPES, st.data())
def test_any_two_types_are_refused_or_migrated(
    old: TypeInformation, new: TypeInformation, data: st.DataObject
) -> None:
    values = data.draw(st.lists(values_of(old), max_size=2))
    try:
        plain = _migrate(_schema(old), _schema(new), _stored(old, values))
    except StateMigrationError:
        return
    back = _read(new, plain)
    assert all(new.coerce(value) is value for value in back)


@given(TYPES, st.booleans())
def test_nothing_to_do_for_equal_schemas(type_info: TypeInformation, ttl: bool) -> None:
    schema = _schema(type_info, ttl=ttl)
    assert migration(schema, schema, _SUBJECT) is None


@given(_evolved(), st.booleans(), st.booleans())
def test_time_to_live_comes_and_goes_around_the_change(
    case: tuple[TypeInformation, TypeInformation, list[Any]], before: bool, after: bool
) -> None:
    old, new, values = case
    bare = _stored(old, values)
    plain = [(7, value) for value in bare] if before else bare
    migrated = _migrate(_schema(old, ttl=before), _schema(new, ttl=after), plain)
    moved = _migrate(_schema(old), _schema(new), bare)
    stamp = 7 if before else _clock()
    assert exact(migrated) == exact([(stamp, value) for value in moved] if after else moved)


def _broken_at(parts: Any, names: Any, index: int, data: st.DrawFn) -> Any:
    part, path = data(_broken(parts[index]))
    return [*parts[:index], part, *parts[index + 1 :]], (names[index], *path)


@st.composite
def _broken(draw: st.DrawFn, old: Any) -> tuple[TypeInformation, tuple[str, ...]]:
    """Return a type that `old` may not become, and the path of the difference."""
    if isinstance(old, BasicTypeInfo):
        others = sorted(BASIC_RULES.keys() - WIDER.get(old.name, set()) - {old.name})
        return BasicTypeInfo(draw(st.sampled_from(others))), ()
    if isinstance(old, PickledBytesTypeInfo):
        return _LONG, ()
    if isinstance(old, (BasicArrayTypeInfo, PrimitiveArrayTypeInfo)) or draw(st.booleans()):
        return Types.PICKLED_BYTE_ARRAY(), ()
    if isinstance(old, (RowTypeInfo, TupleTypeInfo)):
        index = draw(st.integers(0, len(old.field_types) - 1))
        parts, path = _broken_at(list(old.field_types), old.field_names, index, draw)
        made = RowTypeInfo(parts, old.field_names) if isinstance(old, RowTypeInfo) else None
        return made or Types.TUPLE(parts), path
    if isinstance(old, MapTypeInfo):
        part, path = draw(_broken(old.value_type))
        return Types.MAP(old.key_type, part), ("value", *path)
    part, path = draw(_broken(old.element_type))
    return type(old)(part), ("element", *path)


@given(st.data())
def test_a_refusal_names_the_field(data: st.DataObject) -> None:
    old = data.draw(TYPES)
    new, path = data.draw(_broken(old))
    problem = _refused(_schema(old), _schema(new)).problem
    assert problem.startswith(
        f"{_SUBJECT}: field {'.'.join(path)!r} was " if path else f"{_SUBJECT} was "
    )


@pytest.mark.parametrize("new", BASIC_RULES)
@pytest.mark.parametrize("old", BASIC_RULES)
def test_every_pair_of_basic_types(old: str, new: str) -> None:
    schemas = _schema(BasicTypeInfo(old)), _schema(BasicTypeInfo(new))
    if new != old and new not in WIDER.get(old, set()):
        assert f"was {old}, is {new}" in _refused(*schemas).problem
    else:
        assert (migration(*schemas, _SUBJECT) is None) == (
            new not in {"Double", "BigDecimal"} or old in {new, "Float"}
        )


# --- examples ---------------------------------------------------------------------------------


def _row(**fields: TypeInformation) -> RowTypeInfo:
    return Types.ROW_NAMED(list(fields), list(fields.values()))


def test_golden_migration() -> None:
    old = _row(name=_STRING, address=_row(zip=_INT, street=_STRING), score=_INT)
    new = _row(address=_row(street=_STRING, zip=_LONG, city=_STRING), score=_DOUBLE, name=_STRING)
    plain = [("a", (8001, "b"), 3), ("a", None, None, "-D"), None]
    assert exact(_migrate(_schema(old), _schema(new), plain)) == exact(
        [(("b", 8001, None), 3.0, "a"), (None, None, "a", "-D"), None]
    )


def test_the_clock_is_read_once_per_call() -> None:
    times = iter([5, 6])
    migrate = migration(_schema(_LONG), _schema(_LONG, ttl=True), _SUBJECT, lambda: next(times))
    assert migrate is not None
    assert migrate([1, 2]) == [(5, 1), (5, 2)]
    assert migrate([3]) == [(6, 3)]


def test_kinds_of_rows_survive() -> None:
    old, new = _row(a=_INT), _row(b=_INT, a=_LONG)
    rows = [Row.of_kind(kind, a=1) for kind in RowKind]
    back = _read(new, _migrate(_schema(old), _schema(new), _stored(old, rows)))
    assert back == [Row.of_kind(kind, b=None, a=1) for kind in RowKind]


def test_the_message_says_what_was_and_is() -> None:
    old = _row(address=_row(zip=_INT))
    refused = _refused(_schema(old), _schema(_row(address=_row(zip=_STRING))))
    assert refused.problem == f"{_SUBJECT}: field 'address.zip' was Integer, is String"
    assert isinstance(refused, StateError)
    again = PenstockError.from_wire(refused.to_wire())
    assert type(again) is StateMigrationError


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        (_LONG, _INT, "was Long, is Integer"),
        (Types.PICKLED_BYTE_ARRAY(), _LONG, "was any object, is Long"),
        (_LONG, Types.PICKLED_BYTE_ARRAY(), "was Long, is any object"),
        (Types.TUPLE([_INT]), Types.TUPLE([_INT, _INT]), "was Tuple(Integer), is"),
        (Types.ROW([_INT]), Types.ROW([_INT, _INT]), "was Row(f0: Integer), is"),
        (Types.ROW([_INT]), _row(a=_INT), "is Row(a: Integer)"),
        (_row(a=_INT), Types.ROW([_INT]), "is Row(f0: Integer)"),
        (Types.LIST(_LONG), Types.OBJECT_ARRAY(_LONG), "is ObjectArray(Long)"),
        (Types.MAP(_INT, _INT), Types.MAP(_LONG, _INT), "field 'key' was Integer"),
        (Types.MAP(_INT, _LONG), Types.MAP(_INT, _INT), "field 'value' was Long"),
        (Types.LIST(_row(a=_LONG)), Types.LIST(_row(a=_INT)), "field 'element.a' was Long"),
        (Types.TUPLE([_INT, _LONG]), Types.TUPLE([_INT, _INT]), "field 'f1' was Long"),
        (
            Types.PRIMITIVE_ARRAY(Types.BYTE()),
            Types.PRIMITIVE_ARRAY(_INT),
            "was PrimitiveArray(Byte)",
        ),
    ],
)
def test_refused_types(old: TypeInformation, new: TypeInformation, named: str) -> None:
    assert named in _refused(_schema(old), _schema(new)).problem


def test_refused_kinds_and_keys() -> None:
    def of(kind: StateKind, key: TypeInformation | None) -> StateSchema:
        return StateSchema(kind, _LONG, key)

    kinds = _refused(of(StateKind.LIST, None), of(StateKind.VALUE, None))
    assert kinds.problem == f"{_SUBJECT} was of kind list, is of kind value"
    keys = _refused(of(StateKind.MAP, _INT), of(StateKind.MAP, _LONG))
    assert keys.problem == f"{_SUBJECT} had keys of type Integer, has Long"
