"""Key groups whose blobs are decoded at their first access. `test_backends` has the law; here is what
shows only from outside: what is decoded, when, and what is refused although nobody asked for it."""

from __future__ import annotations

from collections import Counter

import pytest

from penstock.errors import StateError, StateMigrationError
from penstock.state.backends.base import TIMERS_SCHEMA
from penstock.state.backends.deferred_groups import may_defer
from penstock.state.backends.hash import backend as hash_backend
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.log.blob import Compression, StateFormat, decode_blob, encode_blob, key_group_of
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.types import Types

LONGS = StateSchema(StateKind.VALUE, Types.LONG())
TEXTS = StateSchema(StateKind.VALUE, Types.STRING())
NAMES = StateSchema(StateKind.MAP, Types.STRING(), Types.STRING())
GROUPS = range(8)


def filled(*schemas, compression=Compression.NONE, timers=False):
    """Return the blobs of a backend with a key per group, in a state per schema."""
    backend = HashBackend()
    backend.format = StateFormat(compression=compression)
    tables = [backend.table("op", f"s{i}", schema) for i, schema in enumerate(schemas)]
    if timers:
        of_operator = backend.timers("op", "timers")
    for group in GROUPS:
        for table in tables:
            value = "t" * 50 if table.schema is TEXTS else group
            table[group].put(f"key {group}", value)
        if timers:
            of_operator.add(group, f"key {group}", group)
    return list(backend.snapshot())


@pytest.fixture
def decoded(monkeypatch):
    """Return the key groups of all blobs that are decoded."""
    found: Counter[int] = Counter()

    def counted(blob):
        found[key_group_of(blob)] += 1
        return decode_blob(blob)

    monkeypatch.setattr(hash_backend, "decode_blob", counted)
    return found


@pytest.mark.parametrize("compression", list(Compression))
@pytest.mark.parametrize("schemas", [(LONGS,), (LONGS, TEXTS), (LONGS, LONGS)])
def test_only_the_groups_that_are_asked_for_are_decoded(decoded, schemas, compression):
    backend = HashBackend()
    tables = [backend.table("op", f"s{i}", schema) for i, schema in enumerate(schemas)]
    backend.load(filled(*schemas, compression=compression))
    assert not decoded
    assert tables[0].groups() == backend.groups() == list(GROUPS)
    assert [table[3].get("key 3") for table in tables] == [
        "t" * 50 if schema is TEXTS else 3 for schema in schemas
    ]
    tables[0][5].put("another", 9)
    assert decoded == {3: 1, 5: 1}


def test_timers_of_deferred_groups_fire_and_restore_nothing(decoded):
    backend = HashBackend()
    table, timers = backend.table("op", "s0", TEXTS), backend.timers("op", "timers")
    backend.load(filled(TEXTS, timers=True))
    eager = dict(decoded)
    assert eager == dict.fromkeys(GROUPS, 1)  # the timers; the blobs of values are deferred
    assert timers.next_due() == 0
    assert timers.pop_due(1) == (0, 0, "key 0")
    assert dict(decoded) == eager
    assert table[0].get("key 0") == "t" * 50
    assert decoded == eager | {0: 2}
    assert [blob for blob in backend.drain() if key_group_of(blob)] == []


def test_changes_of_a_deferred_group_are_applied_behind_its_snapshot():
    blobs = filled(LONGS)
    other = HashBackend()
    table = other.table("op", "s0", LONGS)
    other.load(blobs)
    table[1].put("key 1", 100)
    table[2].remove("key 2")
    changes = other.drain()
    backend = HashBackend()
    table = backend.table("op", "s0", LONGS)
    backend.load(blobs)
    backend.load(changes)
    assert [table[group].get(f"key {group}") for group in (0, 1, 2)] == [0, 100, None]


def test_a_snapshot_holds_what_is_deferred():
    blobs = filled(LONGS)
    backend = HashBackend()
    backend.table("op", "s0", LONGS)
    backend.load(blobs)
    assert list(backend.snapshot()) == blobs


def test_a_state_that_is_declared_late_has_its_entries():
    backend = HashBackend()
    first = backend.table("op", "s0", LONGS)
    backend.load(filled(LONGS, TEXTS))
    assert first[1].get("key 1") == 1
    late = backend.table("op", "s1", TEXTS)
    assert [late[group].get(f"key {group}") for group in GROUPS] == ["t" * 50] * 8


def test_what_cannot_be_read_is_refused_though_nobody_asks_for_it():
    backend = HashBackend()
    backend.table("op", "s0", TEXTS)
    with pytest.raises(StateMigrationError, match="'s0'"):
        backend.load(filled(LONGS))
    whole = filled(LONGS)[4]
    damaged = whole[:-2] + bytes([whole[-2] ^ 1]) + whole[-1:]
    backend = HashBackend()
    backend.table("op", "s0", LONGS)
    with pytest.raises(StateError, match="checksum"):
        backend.load([damaged])


def test_what_was_forgotten_does_not_come_back():
    backend = HashBackend()
    table = backend.table("op", "s0", LONGS)
    backend.load(filled(LONGS))
    backend.discard()
    assert backend.groups() == []
    assert table[1].get("key 1") is None


@pytest.mark.parametrize(
    ("stored", "declared", "is_deferred"),
    [
        ([LONGS], [LONGS], True),
        ([LONGS], [TEXTS], False),
        ([LONGS, LONGS], [LONGS, LONGS], True),
        ([LONGS, LONGS], [LONGS, TEXTS], False),
        ([LONGS, TEXTS, LONGS], [LONGS, TEXTS, LONGS], True),
        ([LONGS, TEXTS, LONGS], [LONGS, TEXTS, TEXTS], False),
        ([LONGS], [LONGS, TEXTS], True),
        ([], [LONGS], True),
    ],
)
def test_which_blobs_are_deferred(stored, declared, is_deferred):
    blobs = filled(*stored) or [encode_blob("op", 1, [])]
    names = {f"s{number}": schema for number, schema in enumerate(declared)}
    assert may_defer(blobs[0], names) is is_deferred
    assert not may_defer(filled(TEXTS, timers=True)[1], {"timers": TIMERS_SCHEMA})
