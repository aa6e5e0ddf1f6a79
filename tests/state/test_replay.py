"""State read without the job, against a dictionary; and damage.

The model applies sections one entry at a time and knows no schemas: it finds entries that survive
under a schema they were once written with, and removals that reach one of them only.
"""

from __future__ import annotations

import pickle
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import StateError
from penstock.state.log.blob import Section, decode_blob, encode_blob
from penstock.state.replay import GroupReplay, check_blob, check_row, open_blob, replay
from penstock.state.schema.entry_schema import BROADCAST_GROUP, StateKind, StateSchema
from penstock.types import Types

INTEGER, LONG = (StateSchema(StateKind.VALUE, t).text() for t in (Types.INT(), Types.LONG()))
MAP_INTEGER, MAP_LONG = (
    StateSchema(StateKind.MAP, t, Types.STRING()).text() for t in (Types.INT(), Types.LONG())
)

keys = st.integers(0, 3)
values = st.integers(0, 99)


def _distinct(elements: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(elements, max_size=4, unique=True)


@st.composite
def single_sections(draw: st.DrawFn) -> Section:
    put, removed = draw(_distinct(keys)), draw(_distinct(keys))
    removed = [key for key in removed if key not in put]
    return Section(
        "s", draw(st.sampled_from([INTEGER, LONG])), put, None, [draw(values) for _ in put], removed
    )


@st.composite
def nested_sections(draw: st.DrawFn) -> Section:
    pairs = st.tuples(keys, st.sampled_from("ab"))
    put = draw(_distinct(pairs))
    removed = [pair for pair in draw(_distinct(pairs)) if pair not in put]
    return Section(
        "m",
        draw(st.sampled_from([MAP_INTEGER, MAP_LONG])),
        [key for key, _ in put],
        [subkey for _, subkey in put],
        [draw(values) for _ in put],
        [key for key, _ in removed],
        [subkey for _, subkey in removed],
        draw(_distinct(keys)),
    )


def model(sections: list[Section]) -> dict[tuple[Any, ...], tuple[str, Any]]:
    """Return (state, key, subkey) to (schema, value)."""
    entries: dict[tuple[Any, ...], tuple[str, Any]] = {}
    for section in sections:
        for gone in section.cleared:
            for address in [a for a in entries if a[:2] == (section.state, gone)]:
                del entries[address]
        for at, (key, value) in enumerate(zip(section.keys, section.values, strict=True)):
            subkey = section.subkeys[at] if section.subkeys is not None else None
            entries[section.state, key, subkey] = (section.schema, value)
        for at, key in enumerate(section.removed):
            subkey = section.removed_subkeys[at] if section.removed_subkeys is not None else None
            entries.pop((section.state, key, subkey), None)
    return entries


@given(st.lists(st.one_of(single_sections(), nested_sections()), max_size=8))
def test_replay_equals_the_model(sections: list[Section]) -> None:
    made = GroupReplay()
    for section in sections:
        made.apply(section)
    left = list(made.sections())
    assert model(left) == model(sections)
    assert sum(map(len, left)) == len(model(sections))
    assert all(not s.removed and not s.removed_subkeys and not s.cleared for s in left)


def _section(value: Any) -> Section:
    return Section("s", LONG, ["k"], None, [value])


def test_a_replay_is_written_as_blobs_that_replay_to_the_same() -> None:
    first = encode_blob("op", 3, [_section(1), Section("s", LONG, [], None, [], ["gone"])])
    second = encode_blob("op", 3, [_section(2)])
    once = list(replay([("here", first), ("here", second)]).sections())
    again = list(replay([("here", encode_blob("op", 3, once))]).sections())
    assert once == again == [_section(2)]


def test_every_flipped_bit_and_every_cut_of_a_blob_is_noticed() -> None:
    blob = encode_blob("operator", 7, [_section(1)])
    check_blob("file x", blob)
    for at in range(len(blob) * 8):
        damaged = bytearray(blob)
        damaged[at // 8] ^= 1 << at % 8
        with pytest.raises(StateError, match="file x"):
            check_blob("file x", bytes(damaged))
        with pytest.raises(StateError):
            decode_blob(bytes(damaged))
    for size in range(len(blob)):
        with pytest.raises(StateError, match="file x"):
            check_blob("file x", blob[:size])


def test_damage_names_operator_and_key_group() -> None:
    blob = encode_blob("operator", 7, [_section(1)])
    with pytest.raises(StateError) as caught:
        check_row("file x", "operator", 7, blob[:-1] + b"!")
    assert "operator 'operator', key group 7, file x" in caught.value.problem


@pytest.mark.parametrize(("operator", "key_group"), [("other", 7), ("operator", 8)])
def test_a_row_with_the_blob_of_another_is_refused(operator: str, key_group: int) -> None:
    blob = encode_blob("operator", 7, [_section(1)])
    with pytest.raises(StateError, match="has the blob of operator 'operator', key group 7"):
        check_row("file x", operator, key_group, blob)


def test_rows_of_broadcast_state_are_signed() -> None:
    check_row("file x", "operator", -1, encode_blob("operator", BROADCAST_GROUP, [_section(1)]))


class Gone:
    """Removed from its module by the test."""


def test_a_class_that_cannot_be_imported_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    module = type(sys)("module_of_a_job")
    module.Gone = Gone  # type: ignore[attr-defined]
    monkeypatch.setattr(Gone, "__module__", module.__name__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    blob = encode_blob("operator", 7, [_section(Gone())])
    assert pickle.loads(pickle.dumps(Gone())) is not None
    monkeypatch.delitem(sys.modules, module.__name__)
    with pytest.raises(StateError) as caught:
        open_blob("file x", blob)
    assert "module_of_a_job.Gone" in caught.value.problem
    assert "operator 'operator', key group 7, file x" in caught.value.problem
    assert "PYTHONPATH" in caught.value.hint
