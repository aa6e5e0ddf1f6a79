"""State in coded rows and compressed: laws of the switch, then bytes and messages.

The laws compare with plain, uncompressed state, so they find what the switch changes; what is
wrong in both is found by `test_evolution` and the tests of the backends.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import DecodeError, StateError
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.backends.lmdb.backend import LmdbBackend
from penstock.state.log.blob import (
    Compression,
    Section,
    StateFormat,
    decode_blob,
    encode_blob,
    encode_blobs,
    key_group_of,
    operator_of,
)
from penstock.state.log.change_log import ChangeLog
from penstock.state.replay import check_blob, replay
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.state.schema.evolution import migration
from penstock.state.schema.stored_form import stored_codec
from penstock.testing.live_run import MemoryLog
from penstock.types import Row, RowKind, TypeInformation, Types
from penstock.types.value_serializer import StoredForm
from tests.state.test_evolution import _evolved
from tests.types.random_types import exact
from tests.types.type_strategies import values_of

_FORMS = st.sampled_from(StoredForm)
_PLAIN, _CODED = StoredForm.PLAIN, StoredForm.CODED


def _store(schema: StateSchema, values: list[Any]) -> list[Any]:
    codec = stored_codec(schema)
    return codec.to_plain(values) if codec else values


def _load(schema: StateSchema, stored: list[Any]) -> list[Any]:
    codec = stored_codec(schema)
    return codec.from_plain(stored) if codec else stored


def _moved(old: StateSchema, new: StateSchema, values: list[Any]) -> list[Any]:
    change = migration(old, new, "state", lambda: 1_000)
    stored = _store(old, values)
    return _load(new, stored if change is None else change(stored))


@settings(max_examples=200)
@given(_evolved(), st.sampled_from([StateKind.VALUE, StateKind.LIST]), st.data())
def test_a_change_of_types_means_the_same_in_every_form(
    case: tuple[TypeInformation, TypeInformation, list[Any]], kind: StateKind, data: st.DataObject
) -> None:
    old_type, new_type, values = case
    ttl = data.draw(st.tuples(st.booleans(), st.booleans()))
    old = StateSchema(kind, old_type, has_ttl=ttl[0])
    new = StateSchema(kind, new_type, has_ttl=ttl[1])
    entries: list[Any] = [(7, value) for value in values] if ttl[0] else values
    if kind is StateKind.LIST:
        entries = [entries, []]
    expected = _moved(old, new, entries)
    for before in StoredForm:
        for after in StoredForm:
            found = _moved(replace(old, form=before), replace(new, form=after), entries)
            assert exact(found) == exact(expected), (before, after)


_PROFILE = Types.ROW_NAMED(["name", "age", "tags"], [Types.STRING(), Types.INT(),
                                                     Types.LIST(Types.STRING())])  # fmt: skip
_SCHEMAS: dict[str, StateSchema] = {
    "row": StateSchema(StateKind.VALUE, _PROFILE),
    "tuple": StateSchema(StateKind.REDUCING, Types.TUPLE([Types.LONG(), Types.BIG_DEC()])),
    "dict": StateSchema(StateKind.AGGREGATING, Types.MAP(Types.STRING(), _PROFILE)),
    "list": StateSchema(StateKind.LIST, _PROFILE),
    "map": StateSchema(StateKind.MAP, _PROFILE, Types.STRING()),
    "aging": StateSchema(StateKind.MAP, _PROFILE, Types.ROW([Types.LONG()]), has_ttl=True),
    "rows": StateSchema(StateKind.VALUE, Types.LIST(_PROFILE)),
    "arrays": StateSchema(
        StateKind.REDUCING, Types.OBJECT_ARRAY(Types.LIST(Types.TUPLE([Types.LONG()])))
    ),
    "numbers": StateSchema(StateKind.VALUE, Types.LIST(Types.LONG())),
    "basic": StateSchema(StateKind.VALUE, Types.LONG()),
    "pickled": StateSchema(StateKind.VALUE, Types.PICKLED_BYTE_ARRAY()),
}
_CODED_STATES = {"row", "tuple", "dict", "list", "map", "aging", "rows", "arrays"}
_ROWS = values_of(_PROFILE)
_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "row": _ROWS,
    "tuple": values_of(_SCHEMAS["tuple"].value_type),
    "dict": values_of(_SCHEMAS["dict"].value_type),
    "list": st.lists(_ROWS, min_size=1, max_size=2),
    "map": st.none() | _ROWS,
    "aging": st.tuples(st.integers(0, 9), st.none() | _ROWS),
    "rows": values_of(_SCHEMAS["rows"].value_type),
    "arrays": values_of(_SCHEMAS["arrays"].value_type),
    "numbers": values_of(_SCHEMAS["numbers"].value_type),
    "basic": st.integers(-5, 5),
    "pickled": st.binary(max_size=3) | st.lists(st.integers(), max_size=2),
}
_KEYS = st.sampled_from(
    ["a", 1, (2, "b"), (2.0, "b"), (3, "c"), 2.5, Row(f0=1, f1="d"), Row(f1="d", f0=True)]
)
_KEY_TYPES = st.sampled_from(
    [
        None,
        Types.TUPLE([Types.LONG(), Types.STRING()]),
        Types.ROW([Types.LONG(), Types.STRING()]),
    ]
)
_SUBKEYS: dict[str, st.SearchStrategy[Any]] = {
    "list": st.integers(0, 2),
    "map": st.sampled_from("pq"),
    "aging": st.sampled_from([Row(f0=1), Row(f0=2)]),
}
_FORMATS = st.builds(StateFormat, st.booleans(), st.sampled_from(Compression))


@st.composite
def _steps(draw: st.DrawFn) -> tuple[str, Any, Any, Any, bool]:
    name = draw(st.sampled_from(list(_SCHEMAS)))
    key = draw(_KEYS)
    subkey = draw(_SUBKEYS[name]) if name in _SUBKEYS else None
    value = draw(st.none() | _VALUES[name].map(lambda value: (value,)))
    return name, key, subkey, value, draw(st.booleans())


_RUNS = st.lists(
    st.tuples(
        st.sampled_from(["hashmap", "lmdb"]),
        _FORMATS,
        _KEY_TYPES,
        st.lists(_steps(), max_size=8),
    ),
    min_size=2,
    max_size=4,
)


def _apply(backend: Any, steps: list[Any], model: dict[Any, Any]) -> None:
    for name, key, subkey, value, is_known in steps:
        table = backend.table("op", name, _SCHEMAS[name])
        part = table[0]
        address = (key,) if subkey is None else (key, subkey)
        if value is None:
            part.remove(*address)
            model.pop((name, address), None)
        elif is_known and subkey is not None and table.schema.form is _CODED:
            # Whether the writer knows the bytes or the backend makes them must not matter.
            codec = stored_codec(table.schema)
            assert codec is not None
            part.put(*address, value[0], codec.to_plain_one(value[0]))
            model[name, address] = value[0]
        else:
            part.put(*address, value[0])
            model[name, address] = value[0]


def _check(backend: Any, model: dict[Any, Any]) -> None:
    found: dict[Any, Any] = {}
    for name, schema in _SCHEMAS.items():
        part = backend.table("op", name, schema)[0]
        for key in list(part.keys()):
            if schema.kind.is_nested:
                found.update({(name, (key, sub)): value for sub, value in part.items(key)})
            else:
                found[name, (key,)] = part.get(key)
    assert found.keys() == model.keys()
    for address, value in model.items():
        assert exact(found[address]) == exact(value)


# CodedRowData, rule 5.
@settings(max_examples=60, deadline=None)
@given(_RUNS)
def test_state_is_the_same_whatever_it_is_written_in(runs: list[Any]) -> None:
    log = MemoryLog()
    model: dict[Any, Any] = {}
    with TemporaryDirectory() as folder:
        for kind, form, key_type, steps in runs:
            # In one place, so that a copy with other addresses has to be recognised.
            lmdb = LmdbBackend(Path(folder) / "copy", "job") if kind == "lmdb" else None
            backend: Any = lmdb or HashBackend()
            backend.format = form
            if key_type is not None:
                backend.declare_keys("op", key_type)
            for some in (steps[:3], steps[3:]):
                changes = ChangeLog(log, min_compact_bytes=0)
                backend.catch_up(changes)
                _check(backend, model)
                _apply(backend, some, model)
                blobs = backend.drain()
                snapshots = [list(backend.snapshot())]
                assert all(_schema_forms(blobs + snapshots[0], form))
                backend.written(changes.append(blobs, b"", backend).position)
            backend.close()
        reader = HashBackend()
        reader.catch_up(ChangeLog(log))
        _check(reader, model)


def _schema_forms(blobs: list[bytes], form: StateFormat) -> list[bool]:
    coded = _CODED_STATES if form.coded_rows else set()
    return [
        ('"form":"coded"' in section.schema) == (section.state in coded)
        for blob in blobs
        for section in decode_blob(blob)
        if section.keys
    ]


# CodedRowData, rule 3.
def test_only_types_with_a_form_of_variable_length_are_coded() -> None:
    on = StateFormat(coded_rows=True)
    coded = {name for name, schema in _SCHEMAS.items() if on.of(schema).form is _CODED}
    assert coded == _CODED_STATES
    assert all(StateFormat().of(schema) is schema for schema in _SCHEMAS.values())
    timers = StateSchema(StateKind.TIMERS, Types.ROW([Types.LONG()]), Types.LONG())
    assert on.of(timers) is timers


@pytest.mark.parametrize("name", _SCHEMAS)
def test_the_text_of_a_schema_says_its_form(name: str) -> None:
    plain = _SCHEMAS[name]
    coded = replace(plain, form=_CODED)
    assert "form" not in plain.text()
    assert StateSchema.parse(plain.text()) == plain
    assert StateSchema.parse(coded.text()) == coded
    assert plain.fingerprint() != coded.fingerprint()


def test_golden_text_of_a_coded_schema() -> None:
    schema = StateSchema(StateKind.VALUE, Types.ROW([Types.LONG()]), form=_CODED)
    text = (
        '{"form":"coded","kind":"value","subkey":null,"ttl":false,"value":{"row":[["f0","Long"]]}}'
    )
    assert schema.text() == text


@pytest.mark.parametrize("form", ['"plain"', '"other"', "1", "[]", "null"])
def test_other_forms_are_refused(form: str) -> None:
    text = f'{{"form":{form},"kind":"value","subkey":null,"ttl":false,"value":"Long"}}'
    with pytest.raises(DecodeError):
        StateSchema.parse(text)


def test_columns_behind_the_others_leave_the_bytes_alone() -> None:
    def schema(*fields: TypeInformation) -> StateSchema:
        names = [f"c{at}" for at in range(len(fields))]
        return StateSchema(StateKind.VALUE, Types.ROW_NAMED(names, fields), form=_CODED)

    one, two = schema(Types.INT()), schema(Types.LONG(), Types.STRING())
    assert migration(one, two, "state") is None
    assert _moved(one, two, [Row.of_kind(RowKind.DELETE, c0=1)]) == [
        Row.of_kind(RowKind.DELETE, c0=1, c1=None)
    ]
    back = migration(schema(Types.LONG(), Types.STRING()), schema(Types.LONG()), "state")
    assert back is not None  # what is gone must not be read by a later column
    assert back([b"\x08\x02\x12\x01a"]) == [b"\x08\x02"]
    assert migration(schema(Types.FLOAT()), schema(Types.DOUBLE()), "state") is not None
    assert migration(schema(Types.LONG()), schema(Types.BIG_INT()), "state") is not None


_SECTION = Section("s", _SCHEMAS["basic"].text(), list(range(100)), None, [7] * 100)


@pytest.mark.parametrize("compression", Compression)
def test_blobs_come_back(compression: Compression) -> None:
    blob = encode_blob("op", 3, [_SECTION], compression)
    assert decode_blob(blob) == [_SECTION]
    assert (operator_of(blob), key_group_of(blob)) == ("op", 3)
    assert blob[:4] == b"PSS3"
    check_blob("here", blob)
    assert list(replay([("here", blob)]).sections()) == [_SECTION]
    assert list(encode_blobs("op", 3, [_SECTION], compression)) == [blob]


def test_what_does_not_become_smaller_is_not_compressed() -> None:
    small = Section("s", _SCHEMAS["basic"].text()[:5], [1], None, [7])
    assert encode_blob("op", 3, [small], Compression.ZSTD) == encode_blob("op", 3, [small])


@pytest.mark.parametrize("compression", [Compression.LZ4, Compression.ZSTD])
def test_large_states_become_several_compressed_blobs(compression: Compression) -> None:
    many = replace(_SECTION, keys=list(range(50_000)), values=["x" * 300] * 50_000)
    blobs = list(encode_blobs("op", 3, [many], compression))
    assert sum(map(len, blobs)) < 3_000_000
    assert [key for blob in blobs for section in decode_blob(blob) for key in section.keys] == list(
        range(50_000)
    )


def test_damage_to_a_compressed_blob_is_found() -> None:
    blob = bytearray(encode_blob("op", 3, [_SECTION], Compression.ZSTD))
    blob[-1] ^= 1
    with pytest.raises(StateError, match="checksum"):
        decode_blob(bytes(blob))


def test_golden_compressed_blobs() -> None:
    golden = {
        path.stem: path.read_bytes() for path in (Path(__file__).parent / "golden").glob("*.bin")
    }
    assert set(golden) == {"lz4", "zstd"}
    for blob in golden.values():
        assert decode_blob(blob) == [_SECTION]
