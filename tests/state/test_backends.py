"""State backends against a dictionary: whatever happens, the state is what was committed.

The machine drives several workers of several subtasks through micro-batches that write, fail,
are lost or repeated, with compaction at random, and from time to time restores a snapshot at
another parallelism. It finds what a backend or the log loses, doubles or brings back; it says
nothing about the handles above them. The model shares no code with either.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from penstock.state.backends.base import KeyedStateBackend
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.backends.lmdb.backend import LmdbBackend
from penstock.state.log.blob import key_group_of
from penstock.state.log.change_log import ChangeLog
from penstock.state.schema.entry_schema import BROADCAST_GROUP, StateKind, StateSchema
from penstock.testing.live_run import MemoryLog
from penstock.types import Types
from penstock.wire.canonical.key_groups import KeyGroups, subtask_of

MAX_PARALLELISM = 8
GROUPS = KeyGroups(MAX_PARALLELISM)
VALUE = StateSchema(StateKind.VALUE, Types.ROW_NAMED(["n", "text"], [Types.LONG(), Types.STRING()]))
MAP = StateSchema(StateKind.MAP, Types.PICKLED_BYTE_ARRAY(), Types.STRING())
BROADCAST = StateSchema(StateKind.BROADCAST, Types.LONG(), Types.STRING())
Row = Types.ROW_NAMED(["n", "text"], [Types.LONG(), Types.STRING()])

Content = dict[tuple[str, object, object], object]
"""(state, key, subkey) to value."""

KEYS = (0, 1, 2.5, "a", "b", "x" * 600, (1, "a"), b"k")
SUBKEYS = ("p", "q", "r", "y" * 600)


class Subtask:
    """One subtask: its log, the copies of its workers, and what it must contain."""

    def __init__(self, make, parallelism: int, index: int) -> None:
        self.log = MemoryLog()
        self._make = make
        self.copies = [self._copy(is_declared=number > 0) for number in range(3)]
        self.keys = [
            key for key in KEYS if subtask_of(GROUPS[key], parallelism, MAX_PARALLELISM) == index
        ]

    def lose(self, worker: int, *, politely: bool, is_declared: bool) -> None:
        if politely:
            self.copies[worker].close()
        self.copies[worker] = self._copy(is_declared=is_declared)

    def _copy(self, *, is_declared: bool) -> KeyedStateBackend:
        """Return a new copy; what is declared decides what is deferred when it is filled."""
        copy: KeyedStateBackend = self._make()
        if is_declared:
            Tables(copy)
        return copy

    def close(self) -> None:
        for copy in self.copies:
            copy.close()


operations = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 7), st.integers(0, 5)),
        st.tuples(st.just("remove"), st.integers(0, 7)),
        st.tuples(st.just("map_put"), st.integers(0, 7), st.integers(0, 3), st.integers(0, 5)),
        st.tuples(st.just("map_remove"), st.integers(0, 7), st.integers(0, 3)),
        st.tuples(st.just("map_clear"), st.integers(0, 7)),
        st.tuples(st.just("timer_add"), st.integers(0, 7), st.integers(-3, 12)),
        st.tuples(st.just("timer_remove"), st.integers(0, 7), st.integers(-3, 12)),
        st.tuples(st.just("fire"), st.integers(-3, 12)),
        st.tuples(st.just("broadcast"), st.integers(0, 3), st.integers(0, 5)),
    ),
    max_size=12,
)


def keys_of(model: Content) -> int:
    """Return the keys of the state with most keys; timers and broadcast state do not count."""
    return max(len({key for state, key, _ in model if state == one}) for one in ("value", "map"))


class Tables:
    """A backend's tables, and the operations on them and on the model."""

    def __init__(self, backend) -> None:
        self.value = backend.table("op", "value", VALUE)
        self.map = backend.table("op", "map", MAP)
        self.timers = backend.timers("op", "timers")
        self.broadcast = backend.table("rules", "rules", BROADCAST)

    def apply(self, operation, keys, model) -> None:
        name, *arguments = operation
        if name == "fire":
            self._fire(arguments[0], model)
            return
        if name == "broadcast":
            subkey, value = SUBKEYS[arguments[0]], arguments[1]
            self.broadcast[BROADCAST_GROUP].put(None, subkey, value)
            model["broadcast", None, subkey] = value
            return
        key = keys[arguments[0] % len(keys)]
        getattr(self, f"_{name}")(GROUPS[key], key, arguments[1:], model)

    def _put(self, group, key, arguments, model) -> None:
        row = Row.coerce((arguments[0], "t" * arguments[0]))
        self.value[group].put(key, row)
        model["value", key, None] = row
        assert self.value[group].get(key) == row

    def _remove(self, group, key, arguments, model) -> None:
        assert self.value[group].get(key) == model.pop(("value", key, None), None)
        self.value[group].remove(key)
        assert self.value[group].get(key, "none") == "none"

    def _map_put(self, group, key, arguments, model) -> None:
        subkey = SUBKEYS[arguments[0]]
        self.map[group].put(key, subkey, [arguments[1]])
        model["map", key, subkey] = [arguments[1]]

    def _map_remove(self, group, key, arguments, model) -> None:
        subkey = SUBKEYS[arguments[0]]
        assert self.map[group].get(key, subkey) == model.pop(("map", key, subkey), None)
        self.map[group].remove(key, subkey)

    def _map_clear(self, group, key, arguments, model) -> None:
        for address in [a for a in model if a[:2] == ("map", key)]:
            del model[address]
        self.map[group].clear(key)
        assert self.map[group].is_empty(key)

    def _timer_add(self, group, key, arguments, model) -> None:
        self.timers.add(group, key, arguments[0])
        model["timers", key, arguments[0]] = True

    def _timer_remove(self, group, key, arguments, model) -> None:
        self.timers.remove(group, key, arguments[0])
        model.pop(("timers", key, arguments[0]), None)

    def _fire(self, until, model) -> None:
        fired = []
        while (due := self.timers.pop_due(until)) is not None:
            fired.append(due)
            assert due[1] == GROUPS[due[2]]
        assert [stamp for stamp, _, _ in fired] == sorted(stamp for stamp, _, _ in fired)
        expected = {a for a in model if a[0] == "timers" and a[2] <= until}
        assert {("timers", key, stamp) for stamp, _, key in fired} == expected
        assert len(fired) == len(expected)
        for address in expected:
            del model[address]

    def content(self, keys) -> Content:
        found: Content = {}
        for key in keys:
            group = GROUPS[key]
            value = self.value[group].get(key)
            if value is not None:
                found["value", key, None] = value
            items = self.map[group].items(key)
            assert sorted(self.map[group].subkeys(key)) == sorted(subkey for subkey, _ in items)
            assert self.map[group].is_empty(key) is (not items)
            found |= {("map", key, subkey): item for subkey, item in items}
            found |= {("timers", key, t): True for t in self.timers.of_key(group, key)}
        found |= {
            ("broadcast", None, subkey): value
            for subkey, value in self.broadcast[BROADCAST_GROUP].items(None)
        }
        return found


class BackendMachine(RuleBasedStateMachine):
    """Random micro-batches, failures, lost workers, compactions and rescalings."""

    def factory(self, number: int) -> Callable[[], KeyedStateBackend]:
        """Return how a worker makes its copy of subtask `number`."""
        raise AssertionError

    @initialize()
    def start(self) -> None:
        self.parallelism = 1
        self.number = itertools.count()
        self.model: Content = {}
        self.begin([])

    def begin(self, blobs) -> None:
        """Start the job at the current parallelism from a snapshot."""
        self.subtasks = []
        for index in range(self.parallelism):
            subtask = Subtask(self.factory(next(self.number)), self.parallelism, index)
            own = [
                blob
                for blob in blobs
                if key_group_of(blob) == BROADCAST_GROUP
                or subtask_of(key_group_of(blob), self.parallelism, MAX_PARALLELISM) == index
            ]
            if own:
                ChangeLog(subtask.log).seed(own)
            self.subtasks.append(subtask)

    def expected(self, subtask) -> Content:
        return {a: v for a, v in self.model.items() if a[1] in subtask.keys or a[1] is None}

    @rule(
        which=st.integers(0, 2),
        worker=st.integers(0, 2),
        changes=operations,
        outcome=st.sampled_from(["commit", "commit", "commit", "lost", "failed"]),
        compact_bytes=st.sampled_from([1, 300, 10_000]),
    )
    def micro_batch(self, which, worker, changes, outcome, compact_bytes):
        subtask = self.subtasks[which % self.parallelism]
        if not subtask.keys:
            return
        model = self.expected(subtask)
        # Broadcast elements reach every subtask; the machine keeps them to jobs of one.
        if self.parallelism > 1:
            changes = [c for c in changes if c[0] != "broadcast"]
        copy = subtask.copies[worker]
        try:
            with subtask.log.attempt():
                log = ChangeLog(subtask.log, min_compact_bytes=compact_bytes)
                copy.catch_up(log)
                tables = Tables(copy)
                for change in changes:
                    tables.apply(change, subtask.keys, model)
                if outcome == "failed":
                    raise InterruptedError
                changed = copy.drain()
                assert copy.key_counts() in ({}, {"op": None}, {"op": keys_of(model)})
                appended = log.append(changed, b"", copy)
                copy.written(appended.position)
                if outcome == "lost":
                    raise InterruptedError
        except InterruptedError:
            if outcome == "failed":
                copy.discard()
            return
        for address in [a for a in self.model if a[1] in subtask.keys or a[1] is None]:
            del self.model[address]
        self.model |= model

    @rule(
        which=st.integers(0, 2),
        worker=st.integers(0, 2),
        politely=st.booleans(),
        is_declared=st.booleans(),
    )
    def lose_worker(self, which, worker, politely, is_declared):
        subtask = self.subtasks[which % self.parallelism]
        subtask.lose(worker, politely=politely, is_declared=is_declared)

    @rule(which=st.integers(0, 2), worker=st.integers(0, 2))
    def lose_host(self, which, worker):
        """Lose what is kept between micro-batches: groups are deferred again."""
        subtask = self.subtasks[which % self.parallelism]
        for number in range(3):
            subtask.lose(number, politely=True, is_declared=number == worker)
        self.forget_files()

    def forget_files(self) -> None:
        """Remove files of copies."""

    @rule(parallelism=st.sampled_from([1, 2, 3]), worker=st.integers(0, 2), changes=operations)
    def rescale(self, parallelism, worker, changes):
        blobs = []
        for index, subtask in enumerate(self.subtasks):
            copy = subtask.copies[worker]
            log = ChangeLog(subtask.log)
            copy.catch_up(log)
            if index == 0 and subtask.keys:
                tables, model = Tables(copy), self.expected(subtask)
                for change in changes:
                    if change[0] != "broadcast" or self.parallelism == 1:
                        tables.apply(change, subtask.keys, model)
                for address in self.expected(subtask):
                    del self.model[address]
                self.model |= model
            copy.drain()
            blobs += [
                blob
                for blob in copy.snapshot()
                if index == 0 or key_group_of(blob) != BROADCAST_GROUP
            ]
            copy.discard()
            subtask.close()
        self.parallelism = parallelism
        self.begin(blobs)

    @invariant()
    def every_worker_reads_what_was_committed(self):
        for number, subtask in enumerate(getattr(self, "subtasks", ())):
            some = next(self.number)
            copy = subtask.copies[some % 3]
            copy.catch_up(ChangeLog(subtask.log))
            tables, expected = Tables(copy), self.expected(subtask)
            # One key or all: the other groups stay deferred.
            keys = subtask.keys[some // 2 % 4 :][:1] if some % 2 else subtask.keys
            of_keys = {a: v for a, v in expected.items() if a[1] in keys or a[1] is None}
            assert tables.content(keys) == of_keys, number
            if keys == subtask.keys:
                assert copy.key_counts() in ({}, {"op": keys_of(expected)}), number
            pending = [stamp for state, _, stamp in expected if state == "timers"]
            assert tables.timers.next_due() == min(pending, default=None)  # type: ignore[type-var]
            copy.discard()

    @invariant()
    def a_fresh_worker_reads_the_same(self):
        for subtask in getattr(self, "subtasks", ()):
            fresh = HashBackend()
            fresh.catch_up(ChangeLog(subtask.log))
            assert Tables(fresh).content(subtask.keys) == self.expected(subtask)

    def teardown(self):
        for subtask in getattr(self, "subtasks", ()):
            subtask.close()


class HashMachine(BackendMachine):
    """With dictionaries: every worker has a copy of its own."""

    def factory(self, number):
        return HashBackend


class LmdbMachine(BackendMachine):
    """With a file per subtask that its workers share."""

    def __init__(self) -> None:
        super().__init__()
        self._directory = tempfile.TemporaryDirectory()

    def factory(self, number):
        directory = Path(self._directory.name) / str(number)
        return lambda: LmdbBackend(directory, f"job/{number}")

    def forget_files(self):
        for directory in Path(self._directory.name).iterdir():
            shutil.rmtree(directory)

    def teardown(self):
        super().teardown()
        self._directory.cleanup()


HashMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestHashBackend = HashMachine.TestCase
LmdbMachine.TestCase.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
TestLmdbBackend = LmdbMachine.TestCase


@pytest.fixture(params=["hashmap", "lmdb"])
def backend(request, tmp_path):
    made = HashBackend() if request.param == "hashmap" else LmdbBackend(tmp_path / "f", "job")
    made.catch_up(ChangeLog(MemoryLog()))
    yield made
    made.close()


def test_draining_costs_in_proportion_to_the_changes(backend):
    log = MemoryLog()
    table = backend.table("op", "s", VALUE)
    for key in range(1000):
        table[GROUPS[key]].put(key, Row.coerce((key, "x")))
    appended = ChangeLog(log).append(backend.drain(), b"")
    backend.written(appended.position)
    backend.catch_up(ChangeLog(log))
    table[GROUPS[7]].put(7, Row.coerce((8, "y")))
    (blob,) = backend.drain()
    assert key_group_of(blob) == GROUPS[7]
    assert len(blob) < 400
    assert backend.drain() == []


def test_reading_the_number_of_keys_visits_no_key_group(monkeypatch):
    backend = HashBackend()
    table = backend.table("op", "s", VALUE)
    for key in range(100):
        table[GROUPS[key]].put(key, Row.coerce((key, "x")))
    table[GROUPS[7]].remove(7)
    backend.drain()
    monkeypatch.delattr(type(table), "parts")
    assert backend.key_counts() == {"op": 99}


class Incomparable:
    """A value that refuses to be compared, as arrays do."""

    def __init__(self, number: int) -> None:
        self.number = number

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise AssertionError(other)


def test_changes_are_taken_without_comparing_values(backend):
    plain = StateSchema(StateKind.VALUE, Types.PICKLED_BYTE_ARRAY())
    part = backend.table("op", "s", plain)[3]
    for key in range(4):
        part.put(key, Incomparable(key))
    part.remove(2)
    part.remove(3)
    part.put(3, Incomparable(33))
    copy = HashBackend()
    copy.load(backend.drain())
    taken = copy.table("op", "s", plain)[3]
    assert [(key, taken.get(key).number) for key in (0, 1, 3)] == [(0, 0), (1, 1), (3, 33)]
    assert taken.get(2) is None
