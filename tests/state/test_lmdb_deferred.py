"""Key groups of an LMDB copy whose blobs are applied at their first access. `test_backends` has the law;
here is what shows only from outside: what is applied, when, and what happens in between."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import penstock
from penstock.errors import StateError, StateMigrationError
from penstock.state.backends.base import CopyUse
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.backends.lmdb import file as lmdb_file
from penstock.state.backends.lmdb import writer as lmdb_writer
from penstock.state.backends.lmdb.backend import LmdbBackend
from penstock.state.log.blob import decode_blob, key_group_of
from penstock.state.log.change_log import ChangeLog
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.testing.live_run import MemoryLog
from penstock.types import Types
from tests.state.lmdb_workers import content, copy_of

LONGS = StateSchema(StateKind.VALUE, Types.LONG())
TEXTS = StateSchema(StateKind.VALUE, Types.STRING())
GROUPS = range(8)
N_KEYS = 5


def seeded(*schemas, timers=False):
    """Return a log that begins with some keys per group in a state per schema."""
    made = HashBackend()
    tables = [made.table("op", f"s{i}", schema) for i, schema in enumerate(schemas)]
    for group in GROUPS:
        for number in range(N_KEYS):
            key = f"key {group} {number}"
            for table in tables:
                table[group].put(key, key * 3 if table.schema is TEXTS else group)
            if timers:
                made.timers("op", "timers").add(group, key, group)
    log = MemoryLog()
    ChangeLog(log).seed(made.snapshot())
    return log


class Lmdb:
    """A worker whose operator has one state of longs and timers."""

    def __init__(self, directory, log, owner="job"):
        self.log = log
        self.backend = LmdbBackend(directory, owner)
        self.table = self.backend.table("op", "s0", LONGS)
        self.timers = self.backend.timers("op", "timers")

    def begin(self):
        return self.backend.catch_up(ChangeLog(self.log))

    def end(self, *, min_compact_bytes=1 << 20):
        log = ChangeLog(self.log, min_compact_bytes=min_compact_bytes)
        self.backend.written(log.append(self.backend.drain(), b"", self.backend).position)

    def get(self, group, number=0):
        return self.table[group].get(f"key {group} {number}")

    def pop_due(self, until):
        """Return (time, key group) of the next timer that is due."""
        due = self.timers.pop_due(until)
        assert due is not None
        return due[:2]

    def deferred(self):
        """Return the deferred key groups, of which a snapshot restores none."""
        return self.backend._current_view().deferred_groups()


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "copy"


@pytest.fixture
def applied(monkeypatch):
    """Return the key groups of all blobs that are decoded to be applied to a file."""
    found: Counter[int] = Counter()

    def counted(blob):
        found[key_group_of(blob)] += 1
        return decode_blob(blob)

    monkeypatch.setattr(lmdb_writer, "decode_blob", counted)
    return found


def test_only_the_groups_that_are_asked_for_are_applied(directory, applied):
    worker = Lmdb(directory, seeded(LONGS))
    assert worker.begin() is CopyUse.HIT
    assert not applied
    assert worker.table.groups() == worker.backend.groups() == list(GROUPS)
    assert worker.get(3) == 3
    assert worker.table[3].get("another") is None
    assert sorted(worker.table[5].keys()) == [f"key 5 {number}" for number in range(N_KEYS)]
    assert applied == {3: 1, 5: 1}


def test_what_is_written_without_being_read_restores_nothing_before_it_is_committed(
    directory, applied
):
    worker = Lmdb(directory, seeded(LONGS))
    worker.begin()
    worker.table[4].put("new", 40)
    worker.end()
    assert not applied
    worker.begin()
    assert applied == {4: 2}  # what was deferred, then the change
    assert worker.table[4].get("new") == 40
    assert worker.get(4) == 4


def test_another_worker_finds_what_is_restored_and_what_is_deferred(directory, applied):
    log = seeded(LONGS)
    one, two = Lmdb(directory, log), Lmdb(directory, log)
    one.begin()
    assert one.get(1) == 1
    two.begin()
    assert two.deferred() == set(GROUPS) - {1}
    # Both saw group 2 deferred: whoever comes second finds the work done.
    assert one.get(2) == two.get(2) == 2
    assert applied == {1: 1, 2: 1}
    one.end()
    two.backend.discard()
    assert two.begin() is CopyUse.HIT
    assert two.deferred() == set(GROUPS) - {1, 2}


def test_timers_of_deferred_groups_fire_and_restore_nothing(directory, applied):
    worker = Lmdb(directory, seeded(LONGS, timers=True))
    worker.begin()
    assert dict(applied) == dict.fromkeys(GROUPS, 1)
    assert worker.timers.next_due() == 0
    assert [worker.pop_due(0) for _ in range(N_KEYS)] == [(0, 0)] * N_KEYS
    assert worker.timers.pop_due(0) is None
    assert worker.deferred() == set(GROUPS)
    assert worker.timers.of_key(1, "key 1 0") == [1]
    assert worker.get(0) == 0
    assert worker.deferred() == set(GROUPS) - {0}
    # The order of timers goes on although the group of the next one was restored since.
    assert worker.get(1) == 1
    assert worker.pop_due(1) == (1, 1)


def test_snapshots_hold_what_is_deferred_and_leave_it_so(directory):
    log = seeded(LONGS, TEXTS, timers=True)
    worker = Lmdb(directory, log)
    worker.begin()
    assert worker.get(2) == 2
    worker.table[2].put("key 2 1", 20)
    worker.table[2].remove("key 2 2")
    worker.table[6].put("key 6 0", 60)
    changes = worker.backend.drain()
    whole = content(worker.backend.snapshot())
    assert worker.deferred() == set(GROUPS) - {2}
    worker.backend.written(ChangeLog(log).append(changes, b"").position)
    other = HashBackend()
    other.catch_up(ChangeLog(log))
    assert whole == content(other.snapshot())
    assert whole["op", 6, "s0", "key 6 0", None][1] == 60


def test_values_and_timers_leave_in_blobs_of_their_own(directory, tmp_path):
    worker = Lmdb(directory, seeded(LONGS, timers=True))
    worker.begin()
    assert [worker.get(group) for group in GROUPS] == list(GROUPS)
    log = MemoryLog()
    ChangeLog(log).seed(worker.backend.snapshot())
    again = Lmdb(tmp_path / "again", log)
    again.begin()
    assert again.deferred() == set(GROUPS)
    assert again.timers.next_due() == 0


def test_compaction_goes_round_deferred_groups(directory):
    log = seeded(LONGS)
    worker = Lmdb(directory, log)
    n_batches = 0
    while ChangeLog(log).head.first == 0:  # what was seeded is there still
        worker.begin()
        assert worker.deferred() == set(GROUPS) - ({1} if n_batches else set())
        worker.table[1].put("key 1 0", n_batches)
        worker.end(min_compact_bytes=1)
        n_batches += 1
        assert n_batches < 100
    worker.begin()
    assert [worker.get(group, 1) for group in GROUPS] == list(GROUPS)
    assert worker.get(1) == n_batches - 1
    assert worker.deferred() == set()  # the snapshot of a group restores it, as a change would
    other = HashBackend()
    table = other.table("op", "s0", LONGS)
    other.catch_up(ChangeLog(log))
    assert table[1].get("key 1 0") == n_batches - 1
    assert [table[group].get(f"key {group} 1") for group in GROUPS] == list(GROUPS)


def test_a_state_that_is_declared_late_has_its_entries(directory):
    worker = Lmdb(directory, seeded(LONGS, TEXTS, timers=True))
    worker.begin()
    late = worker.backend.table("op", "s1", TEXTS)
    assert worker.deferred() == set(GROUPS)
    assert [late[group].get(f"key {group} 4") for group in GROUPS] == [
        f"key {group} 4" * 3 for group in GROUPS
    ]


def test_timers_that_are_declared_late_fire(directory):
    backend = LmdbBackend(directory, "job")
    table = backend.table("op", "s0", LONGS)
    backend.catch_up(ChangeLog(seeded(LONGS, timers=True)))
    timers = backend.timers("op", "timers")
    assert timers.pop_due(10) == (0, 0, "key 0 0")
    assert table[3].get("key 3 3") == 3


def test_what_cannot_be_read_is_refused_though_nobody_asks_for_it(directory, tmp_path):
    worker = Lmdb(directory, seeded(TEXTS))
    with pytest.raises(StateMigrationError, match="'s0'"):
        worker.begin()
    late = LmdbBackend(tmp_path / "late", "job")
    late.catch_up(ChangeLog(seeded(TEXTS)))
    with pytest.raises(StateMigrationError, match="'s0'"):
        late.table("op", "s0", LONGS)


def test_a_group_is_restored_in_bounded_transactions(directory, monkeypatch):
    monkeypatch.setattr("penstock.state.log.blob._ENTRIES_PER_BLOB", 2)
    log = seeded(LONGS)
    monkeypatch.setattr(lmdb_writer, "_ENTRIES_PER_TRANSACTION", 2)
    written = []
    finish = lmdb_writer.EntryWriter.finish

    def counted(writer):
        written.append(writer)
        finish(writer)

    monkeypatch.setattr(lmdb_writer.EntryWriter, "finish", counted)
    worker = Lmdb(directory, log)
    worker.begin()
    written.clear()
    assert [worker.get(3, number) for number in range(N_KEYS)] == [3] * N_KEYS
    assert len(written) >= 3


KILLED = """
import pickle, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from penstock.state.backends.lmdb import writer as lmdb_writer
from tests.state.test_lmdb_deferred import Lmdb
lmdb_writer._ENTRIES_PER_TRANSACTION = 2
worker = Lmdb(Path(sys.argv[1]), pickle.loads(Path(sys.argv[2]).read_bytes()))
worker.begin()
print(worker.get(3))
"""


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_process_killed_while_it_restores_a_group_does_no_harm(
    directory, tmp_path, monkeypatch, nth
):
    monkeypatch.setattr("penstock.state.log.blob._ENTRIES_PER_BLOB", 2)
    log = seeded(LONGS)
    (tmp_path / "log").write_bytes(pickle.dumps(log))
    marker = tmp_path / "marker"
    source = Path(penstock.__file__).parent.parent
    failpoint = f"lmdb-in-restore:{nth}:kill"
    root = Path(__file__).parents[2]
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, str(directory), str(tmp_path / "log"), str(root)],
        env=os.environ
        | {
            "PYTHONPATH": str(source),
            "PENSTOCK_FAILPOINT": failpoint,
            "PENSTOCK_FAILPOINT_MARKER": str(marker),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert marker.read_text().startswith(failpoint)
    worker = Lmdb(directory, log)
    assert worker.begin() is CopyUse.HIT
    assert worker.deferred() == set(GROUPS)  # the last of group 3, too
    before = content(worker.backend.snapshot())
    assert [worker.get(3, number) for number in range(N_KEYS)] == [3] * N_KEYS
    assert content(worker.backend.snapshot()) == before
    assert len(before) == len(GROUPS) * N_KEYS


def test_a_blob_that_was_damaged_is_found_and_the_copy_thrown_away(directory):
    log = seeded(LONGS)
    worker = Lmdb(directory, log)
    worker.begin()
    worker.backend.close()
    data = directory / "copy" / "data.mdb"
    raw = bytearray(data.read_bytes())
    at = raw.index(b"key 3 2")
    raw[at] ^= 1
    data.write_bytes(raw)
    worker = Lmdb(directory, log)
    worker.begin()
    assert worker.get(2) == 2
    with pytest.raises(StateError, match="checksum") as caught:
        worker.get(3)
    assert str(directory) in caught.value.problem
    worker.backend.discard()
    worker.begin()
    assert worker.get(3, 2) == 3


def test_a_damaged_list_of_deferred_blobs_is_found(directory):
    log = seeded(LONGS)
    worker = Lmdb(directory, log)
    worker.begin()
    worker.backend.close()
    data = directory / "copy" / "data.mdb"
    raw = bytearray(data.read_bytes())
    at = raw.index(b'[["op", {"s0"')
    raw[at + 3] ^= 1
    data.write_bytes(raw)
    worker = Lmdb(directory, log)
    assert worker.begin() is CopyUse.HIT  # built again: the log has one micro-batch
    assert [worker.get(group) for group in GROUPS] == list(GROUPS)


def test_an_attempt_that_another_one_has_overtaken_does_not_restore_its_groups(directory):
    log = seeded(LONGS)
    slow, fast = Lmdb(directory, log), Lmdb(directory, log)
    slow.log = copy_of(log)
    slow.begin()
    assert slow.get(1) == 1
    fast.begin()
    fast.table[2].put("key 2 0", 200)
    fast.end()
    fast.begin()
    with pytest.raises(StateError, match="later attempt"):
        slow.get(2)
    assert fast.get(2) == 200
    slow.backend.discard()
    slow.begin()  # in a copy of its own
    assert slow.get(2) == 2
    assert fast.get(3) == 3


def test_a_disk_that_is_full_when_a_group_is_restored_is_named(directory, monkeypatch):
    monkeypatch.setattr(lmdb_file, "_MAX_MAP_BYTES", 128 << 10)
    made = HashBackend()
    table = made.table("op", "s0", LONGS)
    for group in GROUPS:
        for number in range(500):
            table[group].put(f"key {group} {number}", group)
    log = MemoryLog()
    ChangeLog(log).seed(made.snapshot())
    worker = Lmdb(directory, log)
    worker.begin()
    with pytest.raises(StateError, match="cannot be written"):
        [worker.get(group) for group in GROUPS]


def test_the_copy_of_another_job_is_not_looked_at(directory):
    log = seeded(LONGS)
    Lmdb(directory, log).begin()
    other = Lmdb(directory, MemoryLog(), owner="another job")
    other.begin()
    assert other.backend.groups() == []
    assert other.get(3) is None
