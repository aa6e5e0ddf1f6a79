"""Snapshots, loaded entries and changed schemas of the LMDB backend."""

from __future__ import annotations

import pytest

from penstock.common import Row, Types
from penstock.errors import StateMigrationError
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.log.blob import Section, encode_blob
from penstock.state.log.change_log import ChangeLog
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.testing.live_run import MemoryLog
from tests.state.lmdb_workers import GROUPS, MAP, VALUE, Worker, content

BROADCAST = StateSchema(StateKind.BROADCAST, Types.STRING(), Types.STRING())


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "copy"


@pytest.fixture
def storage():
    return MemoryLog()


@pytest.fixture
def worker(directory, storage):
    return Worker(directory, storage)


class TestSnapshots:
    def test_a_snapshot_has_what_the_hash_map_backend_has(self, tmp_path, storage, worker):
        worker.begin()
        for number in range(50):
            key = f"k{number}"
            worker.value[GROUPS[key]].put(key, number)
            worker.map[GROUPS[key]].put(key, number, "x")
            worker.map[GROUPS[key]].put(key, "y", "y")
            worker.timers.add(GROUPS[key], key, number)
        worker.end()
        worker.begin()
        for number in range(0, 50, 3):
            key = f"k{number}"
            worker.value[GROUPS[key]].remove(key)
            worker.map[GROUPS[key]].clear(key)
            worker.map[GROUPS[key]].put(key, "new", number)
            worker.timers.remove(GROUPS[key], key, number)
        worker.value[GROUPS["new"]].put("new", 1)
        worker.map[GROUPS["k1"]].remove("k1", "y")
        worker.log.append(worker.backend.drain(), b"", worker.backend)
        with_changes = content(worker.backend.snapshot())
        stored_only = content(
            blob
            for group in worker.backend.groups()
            for blob in worker.backend.snapshot_group(group)
        )
        worker.backend.written(worker.log.position())
        other = HashBackend()
        other.catch_up(ChangeLog(storage))
        assert with_changes == content(other.snapshot())
        assert stored_only != with_changes
        assert ("op", GROUPS["k0"], "value", "k0", None) in stored_only

    def test_changes_drained_in_several_goes_are_all_in_a_snapshot(self, worker):
        worker.begin()
        worker.map[1].put("k", 1, 1)
        worker.map[1].put("k", 2, 2)
        worker.value[1].put("v", 1)
        worker.backend.drain()
        worker.map[1].clear("k")
        worker.map[1].put("k", 3, 3)
        worker.value[1].remove("v")
        worker.backend.drain()
        found = content(worker.backend.snapshot())
        assert {(address[2:], value) for address, (_, value) in found.items()} == {
            (("map", "k", 3), 3)
        }

    def test_states_nobody_asks_for_stay_as_they_were_stored(self, tmp_path, storage, worker):
        other = Worker(tmp_path / "other", storage)
        gone = other.backend.table("gone", "s", BROADCAST)
        other.begin()
        gone[1].put(None, "a", "x")
        other.end()
        worker.batch(a=1)
        worker.begin()
        found = content(worker.backend.snapshot_group(1))
        assert found["gone", 1, "s", None, "a"] == (BROADCAST.text(), "x")

    def test_large_groups_leave_in_many_blobs(self, worker, monkeypatch):
        monkeypatch.setattr("penstock.state.backends.lmdb.snapshot._ENTRIES", 7)
        worker.begin()
        for number in range(50):
            worker.value[1].put(number, number)
        worker.end()
        worker.begin()
        assert worker.value[1].get(7) == 7  # restored
        blobs = list(worker.backend.snapshot_group(1))
        assert len(blobs) == 8
        assert sorted(value for _, value in content(blobs).values()) == list(range(50))


class TestLoad:
    def test_loaded_entries_are_changes(self, worker):
        other = StateSchema(StateKind.VALUE, Types.LONG())
        blobs = [
            encode_blob("op", 1, [Section("value", VALUE.text(), ["a"], None, [1])]),
            encode_blob("op", 2, [Section("map", MAP.text(), ["m"], ["s"], [2], [], [])]),
            encode_blob("op", 3, [Section("later", other.text(), ["l"], None, [3])]),
            encode_blob("op", 4, [Section("never", other.text(), ["n"], None, [4])]),
        ]
        worker.begin()
        worker.backend.load(blobs)
        assert worker.value[1].get("a") == 1
        assert worker.map[2].get("m", "s") == 2
        later = worker.backend.table("op", "later", other)
        assert later[3].get("l") == 3
        assert worker.backend.groups() == [1, 2, 3, 4]
        worker.end()
        worker.begin()
        assert [address[2] for address in content(worker.backend.snapshot())] == [
            "value",
            "map",
            "later",
            "never",
        ]


class TestEvolution:
    OLD = StateSchema(StateKind.VALUE, Types.ROW_NAMED(["a"], [Types.INT()]))
    NEW = StateSchema(StateKind.VALUE, Types.ROW_NAMED(["b", "a"], [Types.STRING(), Types.LONG()]))
    BAD = StateSchema(StateKind.VALUE, Types.ROW_NAMED(["a"], [Types.STRING()]))

    @pytest.fixture
    def written(self, tmp_path, storage):
        worker = Worker(tmp_path / "copy", storage)
        table = worker.backend.table("op", "row", self.OLD)
        worker.begin()
        table[1].put("k", Row(a=1))
        worker.end()
        worker.begin()  # brings it into the file
        worker.end()
        worker.backend.close()
        return storage

    @pytest.mark.parametrize("is_early", [True, False])
    def test_old_entries_are_read_as_the_new_schema(self, tmp_path, written, is_early):
        worker = Worker(tmp_path / "copy", written)
        if not is_early:
            worker.begin()
        table = worker.backend.table("op", "row", self.NEW)
        if is_early:
            worker.begin()
        assert table[1].get("k") == Row(b=None, a=1)
        assert content(worker.backend.snapshot_group(1)) == {
            ("op", 1, "row", "k", None): (self.NEW.text(), (None, 1))
        }
        table[1].put("l", Row(b="x", a=2))
        worker.end()
        worker.begin()
        assert table[1].get("k") == Row(b=None, a=1)
        assert table[1].get("l") == Row(b="x", a=2)

    @pytest.mark.parametrize("is_early", [True, False])
    def test_a_schema_that_cannot_read_them_is_refused(self, tmp_path, written, is_early):
        worker = Worker(tmp_path / "copy", written)
        if is_early:
            worker.backend.table("op", "row", self.BAD)
            with pytest.raises(StateMigrationError) as caught:
                worker.begin()
        else:
            worker.begin()
            with pytest.raises(StateMigrationError) as caught:
                worker.backend.table("op", "row", self.BAD)
        assert caught.value.code == "STATE_MIGRATION"
        assert "'a'" in caught.value.problem

    def test_a_schema_no_entry_has_any_more_is_of_no_account(self, tmp_path, written):
        worker = Worker(tmp_path / "copy", written)
        table = worker.backend.table("op", "row", self.OLD)
        worker.begin()
        table[1].remove("k")
        worker.end()
        worker.begin()
        worker.end()
        other = Worker(tmp_path / "copy", written)
        table = other.backend.table("op", "row", self.BAD)
        other.begin()
        table[1].put("k", Row(a="text"))
        other.end()
        other.begin()
        assert table[1].get("k") == Row(a="text")
