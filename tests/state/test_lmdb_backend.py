"""Entries and timers of the LMDB backend, within a micro-batch and from one to the next."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from penstock.common import Row, Types
from penstock.errors import StateError
from penstock.state.backends.base import CopyUse
from penstock.state.log.blob import decode_blob, key_group_of
from penstock.state.schema.entry_schema import BROADCAST_GROUP, StateKind, StateSchema
from penstock.testing.live_run import MemoryLog
from tests.state.lmdb_workers import GROUPS, Worker

BROADCAST = StateSchema(StateKind.BROADCAST, Types.STRING(), Types.STRING())


@dataclass(frozen=True)
class Place:
    x: int
    y: str


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "copy"


@pytest.fixture
def storage():
    return MemoryLog()


@pytest.fixture
def worker(directory, storage):
    return Worker(directory, storage)


def test_values_last_from_one_micro_batch_to_the_next(worker):
    assert worker.batch(a=1, b=2) is CopyUse.HIT
    assert worker.batch(b=3, c=4) is CopyUse.HIT
    assert worker.read()[1] == {"a": 1, "b": 3, "c": 4}


def test_a_value_read_twice_in_a_micro_batch_is_one_object(worker):
    worker.batch(a=[1])
    worker.begin()
    part = worker.value[GROUPS["a"]]
    assert part.get("a") is part.get("a")


def test_a_removed_value_is_gone_at_once_and_later(worker):
    worker.batch(a=1, b=2)
    worker.begin()
    worker.value[GROUPS["a"]].remove("a")
    assert worker.value[GROUPS["a"]].get("a", "gone") == "gone"
    worker.end()
    assert worker.read()[1] == {"b": 2}


def test_none_is_a_value(worker):
    worker.batch(a=None)
    worker.begin()
    assert worker.value[GROUPS["a"]].get("a", "absent") is None
    assert worker.value[GROUPS["b"]].get("b", "absent") == "absent"


def test_what_was_not_changed_is_not_written(worker):
    worker.batch(a=1)
    worker.begin()
    worker.value[0].get("a")
    worker.value[0].remove("never there")
    worker.map[0].clear("never there")
    worker.map[0].remove("never there", 1)
    assert worker.backend.drain() == []


def test_equal_keys_of_different_types_are_one_key(worker):
    part = worker.value[GROUPS[1]]
    worker.begin()
    part.put(1, "int")
    worker.end()
    worker.begin()
    assert part.get(1.0) == part.get(True) == "int"
    part.put(True, "bool")
    worker.end()
    assert worker.read()[1] == {1: "bool"}


@pytest.mark.parametrize(
    "key",
    [
        None,
        (),
        ("a", ("b", 2)),
        1.5,
        Place(1, "a"),
        Row(a=1, b="x"),
        "x" * 5000,
        ("k" * 600, 1),
        frozenset({1, 2}),
        b"",
        2**4000,
    ],
    ids=lambda key: repr(key)[:20],
)
def test_keys_of_any_kind_and_length_come_back(worker, key):
    group = GROUPS[key]
    worker.begin()
    worker.value[group].put(key, "value")
    worker.map[group].put(key, key, "inner")
    worker.timers.add(group, key, 5)
    worker.end()
    worker.begin()
    assert worker.value[group].get(key) == "value"
    assert worker.value[group].keys() == [key]
    assert worker.map[group].keys() == [key]
    assert worker.map[group].items(key) == [(key, "inner")]
    assert worker.map[group].subkeys(key) == [key]
    assert worker.timers.pop_due(5) == (5, group, key)


def test_rows_are_stored_plain_and_come_back_as_rows(worker):
    row = Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.LONG()])
    table = worker.backend.table("op", "rows", StateSchema(StateKind.VALUE, row))
    worker.begin()
    table[0].put("a", Row(name="x", n=1))
    [blob] = worker.backend.drain()
    assert decode_blob(blob)[0].values == [("x", 1)]
    worker.log.append([blob], b"", worker.backend)
    worker.backend.written(worker.log.position())
    worker.begin()
    assert table[0].get("a") == Row(name="x", n=1)


class TestMaps:
    def test_entries_are_read_one_by_one(self, worker):
        part = worker.map[3]
        worker.begin()
        for number in range(100):
            part.put("k", number, f"v{number}")
        worker.end()
        worker.begin()
        assert part.get("k", 7) == "v7"
        assert len(part._inner["k"]) == 1
        assert sorted(part.subkeys("k")) == list(range(100))

    def test_changes_are_laid_over_stored_entries(self, worker):
        part = worker.map[3]
        worker.begin()
        for subkey in "abc":
            part.put("k", subkey, 0)
        worker.end()
        worker.begin()
        part.remove("k", "a")
        part.put("k", "b", 1)
        part.put("k", "d", 2)
        expected = {"b": 1, "c": 0, "d": 2}
        assert sorted(part.subkeys("k")) == sorted(expected)
        assert dict(part.items("k")) == expected
        worker.end()
        worker.begin()
        assert dict(part.items("k")) == expected

    def test_clear_empties_a_key_and_no_other(self, worker):
        part = worker.map[3]
        worker.begin()
        for key in ("k", "ka", "", "l"):
            part.put(key, "a", key)
            part.put(key, "b", key)
        worker.end()
        worker.begin()
        part.clear("k")
        assert part.is_empty("k")
        assert part.items("k") == []
        assert part.get("k", "a") is None
        part.put("k", "c", "new")
        worker.end()
        worker.begin()
        assert dict(part.items("k")) == {"c": "new"}
        assert dict(part.items("ka")) == {"a": "ka", "b": "ka"}
        assert sorted(part.keys()) == ["", "k", "ka", "l"]

    def test_a_key_is_empty_once_its_last_entry_is_removed(self, worker):
        part = worker.map[3]
        worker.begin()
        part.put("k", 1, 1)
        part.put("k", 2, 2)
        worker.end()
        worker.begin()
        part.remove("k", 1)
        assert not part.is_empty("k")
        part.remove("k", 2)
        assert part.is_empty("k")
        assert part.keys() == []
        worker.end()
        worker.begin()
        assert part.is_empty("k")
        assert part.keys() == []

    def test_broadcast_state_has_no_key(self, worker):
        rules = worker.backend.table("op", "rules", BROADCAST)
        worker.begin()
        rules[BROADCAST_GROUP].put(None, "a", "x")
        worker.end()
        worker.begin()
        assert rules[BROADCAST_GROUP].items(None) == [("a", "x")]
        assert worker.backend.groups() == [BROADCAST_GROUP]
        assert [key_group_of(blob) for blob in worker.backend.snapshot()] == [BROADCAST_GROUP]


class TestTimers:
    def due(self, worker, until):
        found = []
        while (timer := worker.timers.pop_due(until)) is not None:
            found.append(timer)
        return found

    def test_stored_and_new_timers_fire_in_order_of_time(self, worker):
        worker.begin()
        for time in (30, -10, 20, 2**70, -(2**70)):
            worker.timers.add(1, "a", time)
        worker.end()
        worker.begin()
        worker.timers.add(0, "b", 25)
        worker.timers.add(0, "b", 5)
        assert self.due(worker, 20) == [
            (-(2**70), 1, "a"),
            (-10, 1, "a"),
            (5, 0, "b"),
            (20, 1, "a"),
        ]
        worker.timers.add(2, "c", 1)
        assert self.due(worker, 30) == [(1, 2, "c"), (25, 0, "b"), (30, 1, "a")]
        worker.end()
        worker.begin()
        assert self.due(worker, 2**70) == [(2**70, 1, "a")]
        worker.end()
        worker.begin()
        assert self.due(worker, 2**71) == []

    def test_removed_timers_do_not_fire(self, worker):
        worker.begin()
        for time in (1, 2, 3):
            worker.timers.add(1, "a", time)
        worker.timers.remove(1, "a", 1)
        worker.end()
        worker.begin()
        worker.timers.remove(1, "a", 2)
        assert worker.timers.of_key(1, "a") == [3]
        assert self.due(worker, 9) == [(3, 1, "a")]

    def test_a_timer_added_again_fires_once(self, worker):
        worker.begin()
        worker.timers.add(1, "a", 1)
        worker.timers.add(1, "a", 1)
        worker.end()
        worker.begin()
        worker.timers.add(1, "a", 1)
        worker.timers.remove(1, "a", 1)
        worker.timers.add(1, "a", 1)
        assert self.due(worker, 9) == [(1, 1, "a")]
        worker.timers.add(1, "a", 1)
        assert self.due(worker, 9) == [(1, 1, "a")]
        assert self.due(worker, 9) == []

    def test_clearing_the_timers_of_a_key_clears_their_order(self, worker):
        worker.begin()
        worker.timers.add(1, "a", 1)
        worker.timers.add(1, "b", 2)
        worker.end()
        worker.begin()
        worker.timers._table[1].clear("a")
        worker.end()
        worker.begin()
        assert self.due(worker, 9) == [(2, 1, "b")]

    def test_the_order_is_rebuilt_with_the_copy(self, tmp_path, storage, worker):
        worker.begin()
        worker.timers.add(1, "a", 1)
        worker.timers.add(1, "a", 2)
        worker.end()
        worker.begin()
        assert worker.timers.pop_due(1) == (1, 1, "a")
        worker.end()
        other = Worker(tmp_path / "elsewhere", storage)
        assert other.begin() is CopyUse.REBUILD
        assert self.due(other, 9) == [(2, 1, "a")]


def test_state_outside_a_micro_batch_is_refused(worker):
    worker.batch(a=1)
    for use in (
        lambda: worker.value[0].get("a"),
        worker.backend.groups,
        lambda: list(worker.backend.snapshot()),
    ):
        with pytest.raises(StateError) as caught:
            use()
        assert "outside a micro-batch" in caught.value.problem


def test_a_value_that_cannot_be_pickled_is_named(worker):
    worker.begin()
    worker.value[0].put("a", lambda: None)
    with pytest.raises(StateError) as caught:
        worker.backend.drain()
    assert "op/value" in caught.value.problem
