"""The change log: positions, bounded entries, the compaction cycle, damage."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import StateError
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.log.blob import BLOB_BYTES, Section, encode_blob
from penstock.state.log.change_log import ChangeLog, Head, join_blobs, split_blobs
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.testing.live_run import MemoryLog
from penstock.types import Types

SCHEMA = StateSchema(StateKind.VALUE, Types.LONG())
GROUPS = 8


def write(storage, backend, changes, *, min_compact_bytes=1 << 20):
    """One micro-batch: put or remove, drain, append."""
    log = ChangeLog(storage, min_compact_bytes=min_compact_bytes)
    backend.catch_up(log)
    table = backend.table("op", "s", SCHEMA)
    for key, value in changes.items():
        if value is None:
            table[key % GROUPS].remove(key)
        else:
            table[key % GROUPS].put(key, value)
    appended = log.append(backend.drain(), b"", backend)
    backend.written(appended.position)
    return appended


def content(storage):
    backend = HashBackend()
    backend.catch_up(ChangeLog(storage))
    table = backend.table("op", "s", SCHEMA)
    found: dict[int, int] = {}
    for group in table.groups():
        keys = table[group].keys()
        found |= {key: table[group].get(key) for key in keys}
    return found


@given(
    st.lists(
        st.dictionaries(st.integers(0, 30), st.none() | st.integers(), max_size=12), max_size=40
    ),
    st.sampled_from([1, 300, 3000]),
)
def test_the_log_holds_what_was_written_whatever_is_compacted(batches, min_compact_bytes):
    storage, backend = MemoryLog(), HashBackend()
    model: dict[int, int] = {}
    for changes in batches:
        write(storage, backend, changes, min_compact_bytes=min_compact_bytes)
        for key, value in changes.items():
            if value is None:
                model.pop(key, None)
            else:
                model[key] = value
        assert content(storage) == model


def test_a_cycle_rewrites_a_bounded_part_per_micro_batch_and_then_drops_the_old(monkeypatch):
    monkeypatch.setattr("penstock.state.log.change_log._MIN_REWRITE_BYTES", 1)
    storage, backend = MemoryLog(), HashBackend()
    whole = write(storage, backend, dict.fromkeys(range(4000), 7), min_compact_bytes=1 << 30)
    rewritten, oldest = [], []
    for number in range(60):
        appended = write(storage, backend, {number: 0}, min_compact_bytes=1)
        rewritten.append(appended.rewritten_bytes)
        oldest.append(ChangeLog(storage).head.first)
    per_group = whole.change_bytes / GROUPS
    assert max(rewritten) < 1.5 * per_group
    assert [bool(size) for size in rewritten[:9]] == [True] * 8 + [False]
    assert oldest[6] == 0
    assert oldest[8] > 0
    assert ChangeLog(storage).head.log_bytes < 2 * whole.change_bytes
    assert len(content(storage)) == 4000


def test_the_log_stays_in_proportion_to_the_state():
    storage, backend = MemoryLog(), HashBackend()
    live = write(storage, backend, dict.fromkeys(range(1000), 1)).change_bytes
    for number in range(400):
        keys = range(number % 10 * 100, number % 10 * 100 + 100)
        write(storage, backend, dict.fromkeys(keys, number), min_compact_bytes=1)
        assert storage.size() < 5 * live + 20_000
    assert content(storage)[999] == 399


def test_a_copy_a_few_micro_batches_behind_is_of_use():
    storage, ahead, behind = MemoryLog(), HashBackend(), HashBackend()
    for number in range(5):
        write(storage, ahead, {number: number})
        if number == 1:
            behind.catch_up(ChangeLog(storage))
    log = ChangeLog(storage)
    assert behind.catch_up(log).name == "CATCH_UP"
    assert behind.catch_up(log).name == "HIT"
    table = behind.table("op", "s", SCHEMA)
    assert [table[n].get(n) for n in range(5)] == list(range(5))


def test_a_copy_behind_the_oldest_entry_is_of_no_use():
    storage, ahead, behind = MemoryLog(), HashBackend(), HashBackend()
    write(storage, ahead, {1: 1, 2: 2})
    behind.catch_up(ChangeLog(storage))
    write(storage, ahead, {2: None})
    for number in range(3):
        write(storage, ahead, {3: number}, min_compact_bytes=1)
    assert ChangeLog(storage).head.first > 1
    assert behind.catch_up(ChangeLog(storage)).name == "REBUILD"
    assert behind.table("op", "s", SCHEMA)[2].get(2) is None


def test_an_uncommitted_position_is_unknown_to_the_log():
    storage, backend = MemoryLog(), HashBackend()
    write(storage, backend, {1: 1})
    with suppress(InterruptedError), storage.attempt():
        write(storage, backend, {1: 2})
        raise InterruptedError
    assert backend.catch_up(ChangeLog(storage)).name == "REBUILD"
    assert backend.table("op", "s", SCHEMA)[1].get(1) == 1


def test_entries_are_of_bounded_size():
    storage, backend = MemoryLog(), HashBackend()
    schema = StateSchema(StateKind.VALUE, Types.PRIMITIVE_ARRAY(Types.BYTE()))
    table = backend.table("op", "large", schema)
    for key in range(40):
        table[3].put(key, bytes(500_000))
    log = ChangeLog(storage)
    log.append(backend.drain(), b"", backend)
    sizes = [len(storage.read_entry(number) or b"") for number in log.entries()]
    assert len(sizes) >= 5
    assert max(sizes) <= BLOB_BYTES + 100


def test_a_seeded_log_is_a_log():
    storage = MemoryLog()
    for key in (1, 2):
        blob = encode_blob("op", key, [Section("s", SCHEMA.text(), [key], None, [key])])
        ChangeLog(storage).seed([blob])
    assert content(storage) == {1: 1, 2: 2}
    assert not ChangeLog(storage).is_new


def test_a_missing_entry_is_named():
    storage, backend = MemoryLog(), HashBackend()
    write(storage, backend, {1: 1})
    storage.remove_entry(0)
    with pytest.raises(StateError, match="entry 0 of a change log is missing"):
        content(storage)


@given(st.lists(st.binary(max_size=50), max_size=5))
def test_blobs_come_back_from_an_entry(blobs):
    assert list(split_blobs(3, join_blobs(3, blobs))) == blobs


@given(st.lists(st.binary(max_size=20), min_size=1, max_size=4), st.data())
def test_an_entry_cut_or_extended_anywhere_is_noticed(blobs, data):
    entry = join_blobs(3, blobs)
    cut = data.draw(st.integers(0, len(entry) - 1))
    for broken in (entry[:cut], entry + b"x"):
        with pytest.raises(StateError, match="entry 3"):
            list(split_blobs(3, broken))


def test_an_entry_in_the_place_of_another_is_noticed():
    with pytest.raises(StateError, match="entry 4 of a change log is entry 3"):
        list(split_blobs(4, join_blobs(3, [b"a"])))


@given(st.data(), st.integers(1, 255))
def test_every_damaged_byte_of_a_head_is_noticed(data, flipped):
    head = bytearray(Head(1, 2, ((2, "ab"),), 10, meta=b"m").encode())
    head[data.draw(st.integers(0, len(head) - 1))] ^= flipped
    with pytest.raises(StateError, match="head of a change log"):
        Head.decode(bytes(head))


def test_golden_bytes_of_an_entry():
    assert join_blobs(7, [b"ab", b""]).hex() == (
        "505345310700000000000000020000004881627a02000000616200000000"
    )
