"""Schemas of states: their text is what later versions read."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import DecodeError
from penstock.state.schema.entry_schema import BROADCAST_GROUP, KINDS, StateKind, StateSchema
from penstock.types import Types
from tests.types.random_types import TYPES

SCHEMAS: st.SearchStrategy[StateSchema] = st.builds(
    StateSchema, st.sampled_from([*KINDS.values()]), TYPES, st.none() | TYPES, st.booleans()
)


@given(SCHEMAS)
def test_a_schema_comes_back_from_its_text(schema: StateSchema) -> None:
    assert StateSchema.parse(schema.text()) == schema


@given(SCHEMAS)
def test_the_text_is_canonical(schema: StateSchema) -> None:
    text = schema.text()
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))
    assert text.isascii()


@given(SCHEMAS, SCHEMAS)
def test_only_equal_schemas_have_equal_texts(left: StateSchema, right: StateSchema) -> None:
    assert (left.text() == right.text()) == (left == right)
    assert (left.fingerprint() == right.fingerprint()) == (left == right)


# Only ever added to: checkpoints hold these.
GOLDEN = [
    (
        StateSchema(StateKind.VALUE, Types.LONG()),
        '{"kind":"value","subkey":null,"ttl":false,"value":"Long"}',
        "2ac279783859aa5b",
    ),
    (
        StateSchema(
            StateKind.MAP,
            Types.ROW_NAMED(["size", "at"], [Types.LONG(), Types.INSTANT()]),
            Types.STRING(),
            has_ttl=True,
        ),
        (
            '{"kind":"map","subkey":"String","ttl":true,'
            '"value":{"row":[["size","Long"],["at","Instant"]]}}'
        ),
        "fa696e016cb72431",
    ),
]


@pytest.mark.parametrize(("schema", "text", "fingerprint"), GOLDEN)
def test_golden_texts(schema: StateSchema, text: str, fingerprint: str) -> None:
    assert schema.text() == text
    assert schema.fingerprint() == fingerprint
    assert StateSchema.parse(text) == schema


def test_golden_kinds() -> None:
    nested, single = {"list", "map", "timers", "broadcast"}, {"value", "reducing", "aggregating"}
    assert {*KINDS} == nested | single
    assert {kind.value for kind in KINDS.values() if kind.is_nested} == nested
    assert all(getattr(StateKind, name.upper()) is kind for name, kind in KINDS.items())


def test_a_kind_is_the_same_object_after_pickling() -> None:
    assert [pickle.loads(pickle.dumps(kind)) for kind in KINDS.values()] == [*KINDS.values()]


def test_the_number_of_the_group_of_broadcast_state() -> None:
    assert BROADCAST_GROUP == 4_294_967_295


_GOOD = {"kind": "value", "subkey": None, "ttl": False, "value": "Long"}


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "null",
        "[]",
        "{",
        "[" * 100_000,
        *map(
            json.dumps,
            [
                {**_GOOD, "kind": "set"},
                {**_GOOD, "kind": []},
                {**_GOOD, "ttl": 1},
                {**_GOOD, "value": None},
                {**_GOOD, "value": "long"},
                {**_GOOD, "subkey": "long"},
                {**_GOOD, "more": 1},
                {"kind": "value", "ttl": False, "value": "Long"},
            ],
        ),
    ],
)
def test_what_is_no_schema_is_refused(bad: str) -> None:
    with pytest.raises(DecodeError) as caught:
        StateSchema.parse(bad)
    assert caught.value.code == "SERDE_DECODE"
    assert len(caught.value.problem) < 400


@given(st.text() | st.recursive(st.none() | st.text(), st.lists).map(json.dumps))
def test_any_text_is_a_schema_or_refused(text: Any) -> None:
    with pytest.raises(DecodeError):
        StateSchema.parse(text)
