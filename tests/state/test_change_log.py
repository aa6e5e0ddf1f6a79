"""The change log against a dictionary: whatever happens, the state is what was committed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from penstock.errors import StateError
from penstock.serde.key_groups import KeyGroups
from penstock.state.backend import KeyedStore
from penstock.state.blob import Section, decode_blob, encode_blob, key_group_of
from penstock.state.change_log import ChangeLog, join_blobs, split_blobs
from penstock.testing.memory_log import MemoryLog

GROUPS = KeyGroups(8)


class Copy:
    """A local copy: a store and how far it is."""

    def __init__(self) -> None:
        self.store = KeyedStore()
        self.position: tuple[int, str] | None = None

    def catch_up(self, log: ChangeLog) -> bool:
        """Return whether the copy could be used."""
        missing = log.missing_after(self.position)
        usable = missing is not None
        if missing is None:
            self.store.clear()
            missing = log.entries()
        for blob in log.blobs(missing):
            self.store.load(blob)
        self.position = log.position()
        return usable

    def content(self) -> dict[tuple[str, object], object]:
        return {
            (state, key): value
            for state in ("s", "t")
            for key, value in self.store.table("op", state).entries.items()
        }


class ChangeLogMachine(RuleBasedStateMachine):
    """Micro-batches of writes by workers whose copies are current, stale or from nowhere."""

    def __init__(self) -> None:
        super().__init__()
        self.storage = MemoryLog()
        self.model: dict[tuple[str, object], object] = {}
        self.memory = b""
        self.copies = [Copy(), Copy(), Copy()]

    changes = st.lists(
        st.tuples(
            st.sampled_from("st"), st.integers(0, 6), st.one_of(st.none(), st.text(max_size=3))
        ),
        max_size=5,
    )

    @rule(
        worker=st.integers(0, 2),
        changes=changes,
        memory=st.binary(max_size=3),
        committed=st.booleans(),
        compact_bytes=st.sampled_from([1, 100, 10_000]),
        compact_now=st.booleans(),
    )
    def micro_batch(self, worker, changes, memory, committed, compact_bytes, compact_now):
        copy = self.copies[worker]
        before = dict(self.model)
        try:
            with self.storage.attempt():
                log = ChangeLog(self.storage, min_compact_bytes=compact_bytes)
                copy.catch_up(log)
                assert copy.content() == before
                self._write(copy, changes)
                drained = copy.store.drain(GROUPS.__getitem__)
                if log.wants_compaction or compact_now:
                    log.compact(copy.store.snapshot(GROUPS.__getitem__), memory)
                else:
                    log.append(drained, memory)
                copy.position = log.position()
                if not committed:
                    raise InterruptedError
                self.memory = memory
        except InterruptedError:
            self.model = before

    @rule(worker=st.integers(0, 2))
    def restart(self, worker):
        self.copies[worker] = Copy()

    @rule(worker=st.integers(0, 2))
    def read_only(self, worker):
        self.copies[worker].catch_up(ChangeLog(self.storage))
        assert self.copies[worker].content() == self.model

    @precondition(lambda self: self.model)
    @invariant()
    def log_holds_the_model(self):
        fresh = Copy()
        log = ChangeLog(self.storage)
        fresh.catch_up(log)
        assert fresh.content() == self.model
        assert log.head.meta == self.memory

    @invariant()
    def nothing_older_than_the_snapshot_is_kept(self):
        log = ChangeLog(self.storage)
        assert sorted(self.storage._entries) == list(log.entries())

    def _write(self, copy, changes):
        for state, key, value in changes:
            table = copy.store.table("op", state)
            table.changed.add(key)
            if value is None:
                table.entries.pop(key, None)
                self.model.pop((state, key), None)
            else:
                table.entries[key] = value
                self.model[state, key] = value


ChangeLogMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=25)
TestChangeLog = ChangeLogMachine.TestCase


def test_a_copy_a_few_entries_behind_is_of_use():
    storage, ahead, behind = MemoryLog(), Copy(), Copy()
    for number in range(5):
        log = ChangeLog(storage)
        ahead.catch_up(log)
        table = ahead.store.table("op", "s")
        table.entries[number] = number
        table.changed.add(number)
        log.append(ahead.store.drain(GROUPS.__getitem__), b"")
        ahead.position = log.position()
        if number == 1:
            behind.catch_up(ChangeLog(storage))
    assert behind.catch_up(ChangeLog(storage))
    assert behind.content() == {("s", n): n for n in range(5)}


def test_drain_costs_in_proportion_to_the_changes():
    store = KeyedStore()
    table = store.table("op", "s")
    for key in range(1000):
        table.entries[key] = key
        table.changed.add(key)
    assert sum(map(len, store.drain(GROUPS.__getitem__))) > 1000
    table.entries[7] = 8
    table.changed.add(7)
    (blob,) = store.drain(GROUPS.__getitem__)
    assert decode_blob(blob) == (GROUPS[7], [Section("op", "s", {7: 8}, [])])
    assert store.drain(GROUPS.__getitem__) == []


def test_a_missing_entry_is_named():
    storage = MemoryLog()
    log = ChangeLog(storage)
    log.append([], b"")
    storage._entries.clear()
    with pytest.raises(StateError, match="entry 0"):
        list(log.blobs(log.entries()))


def test_golden_bytes_of_a_blob():
    blob = encode_blob(7, [Section("agg", "count", {"a": 3}, [])])
    assert blob.hex() == (
        "50535331"
        "17b0b477"
        "07000000"
        "80059520000000000000005d94288c03616767948c05636f756e74947d948c01"
        "61944b03735d947494612e"
    )


def test_key_group_is_read_without_the_entries():
    assert key_group_of(encode_blob(300, [])) == 300


@given(st.data(), st.integers(1, 255))
def test_every_damaged_byte_is_noticed(data, flipped):
    blob = bytearray(encode_blob(7, [Section("agg", "count", {"a": [1, 2]}, ["b"])]))
    blob[data.draw(st.integers(0, len(blob) - 1))] ^= flipped
    with pytest.raises(StateError) as caught:
        decode_blob(bytes(blob))
    assert caught.value.code == "STATE"


@pytest.mark.parametrize("size", range(12))
def test_a_blob_cut_short_is_noticed(size):
    with pytest.raises(StateError):
        decode_blob(encode_blob(7, [])[:size])


def test_blobs_come_back_from_an_entry():
    blobs = [b"", b"a", b"bc" * 100]
    assert list(split_blobs(join_blobs(blobs))) == blobs


@pytest.mark.parametrize("cut", [1, 3, 5, 8, 10])
def test_an_entry_cut_short_is_noticed(cut):
    data = join_blobs([b"abc", b"defgh"])
    with pytest.raises(StateError, match="change log"):
        list(split_blobs(data[:-cut]))


def test_a_value_that_does_not_pickle_names_its_state():
    with pytest.raises(StateError, match="agg/count"):
        encode_blob(1, [Section("agg", "count", {"a": lambda: 1}, [])])
