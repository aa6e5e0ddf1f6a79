"""When an LMDB copy is trusted: shared, foreign, damaged, deleted, half built, left behind."""

from __future__ import annotations

import os
import shutil

import pytest

from penstock.errors import StateError
from penstock.state.backends.base import CopyUse
from penstock.state.backends.lmdb import directory as lmdb_directory
from penstock.state.backends.lmdb import file as lmdb_file
from penstock.state.backends.lmdb import writer as lmdb_writer
from penstock.state.backends.lmdb.format import group_prefix
from penstock.state.log.change_log import ChangeLog
from penstock.testing.live_run import MemoryLog
from penstock.testing.schedule import AttemptFailed, Steps
from penstock.wire.canonical.key_bytes import encode_key
from tests.state.lmdb_workers import GROUPS, TimedWorker, copy_of, values_of


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "copy"


@pytest.fixture
def storage():
    return MemoryLog()


@pytest.fixture
def worker(directory, storage):
    return TimedWorker(directory, storage)


class TestUse:
    def test_a_copy_that_lacks_one_micro_batch_is_a_hit(self, directory, storage, worker):
        assert worker.batch(a=1) is CopyUse.HIT
        other = TimedWorker(directory, storage)
        assert other.batch(a=2) is CopyUse.HIT
        assert worker.read() == (CopyUse.HIT, {"a": 2})

    def test_a_copy_elsewhere_that_lacks_more_catches_up(self, tmp_path, storage, worker):
        other = TimedWorker(tmp_path / "other host", storage)
        worker.batch(a=1)
        assert other.batch(b=2) is CopyUse.HIT
        worker.batch(c=3)
        worker.batch(d=4)
        assert other.read() == (CopyUse.CATCH_UP, {"a": 1, "b": 2, "c": 3, "d": 4})

    def test_a_copy_that_lacks_too_much_is_rebuilt(self, tmp_path, storage, worker):
        other = TimedWorker(tmp_path / "other host", storage)
        other.batch(a=1)
        other.read()
        for number in range(20):
            worker.batch(b=number)
        assert other.read() == (CopyUse.REBUILD, {"a": 1, "b": 19})

    def test_no_copy_is_a_rebuild(self, tmp_path, storage, worker):
        worker.batch(a=1)
        worker.batch(b=2)
        other = TimedWorker(tmp_path / "other host", storage)
        assert other.read() == (CopyUse.REBUILD, {"a": 1, "b": 2})

    def test_a_compacted_log_is_read_like_any_other(self, tmp_path, storage, worker, monkeypatch):
        monkeypatch.setattr("penstock.state.log.change_log._MIN_REWRITE_BYTES", 1)
        other = TimedWorker(tmp_path / "other host", storage)
        model: dict[str, int] = {}
        for number in range(60):
            for one in (worker, other) if number % 7 == 0 else (worker,):
                one.begin()
                one.log = ChangeLog(storage, min_compact_bytes=1)
                key = f"k{number % 11}"
                if number % 3 and key in model:
                    del model[key]
                    one.value[GROUPS[key]].remove(key)
                else:
                    model[key] = number
                    one.value[GROUPS[key]].put(key, number)
                one.end()
                assert one.read()[1] == model
        assert ChangeLog(storage).head.first > 0


class TestFailedAttempts:
    def test_an_attempt_that_failed_leaves_nothing(self, storage, worker):
        worker.batch(a=1)
        with pytest.raises(AttemptFailed), storage.attempt(Steps(0)):
            worker.batch(a=2, b=2)
        worker.backend.discard()
        assert worker.read() == (CopyUse.HIT, {"a": 1})

    def test_an_attempt_that_wrote_but_was_not_committed_leaves_nothing(self, storage, worker):
        worker.batch(a=1)
        with pytest.raises(AttemptFailed), storage.attempt():  # noqa: PT012 - two steps of one attempt
            worker.batch(a=2, b=2)
            raise AttemptFailed
        assert worker.read() == (CopyUse.HIT, {"a": 1})

    def test_an_attempt_nobody_ended_leaves_nothing(self, worker):
        worker.batch(a=1)
        worker.begin()
        worker.put(b=2)
        assert worker.read() == (CopyUse.HIT, {"a": 1})

    def test_two_attempts_at_once_see_the_same(self, directory, storage, worker):
        worker.batch(a=1)
        other = TimedWorker(directory, storage)
        worker.begin()
        other.begin()
        worker.put(a=2)
        other.put(b=3)
        assert (values_of(worker.value), values_of(other.value)) == ({"a": 2}, {"a": 1, "b": 3})
        worker.end()
        assert values_of(other.value) == {"a": 1, "b": 3}

    def test_a_zombie_sees_its_own_log_and_disturbs_nobody(self, directory, storage, worker):
        worker.batch(a=1)
        left = copy_of(storage)
        worker.batch(a=2)
        worker.batch(b=3)
        worker.read()
        zombie = TimedWorker(directory, left)
        use = zombie.begin()
        assert (use, values_of(zombie.value)) == (CopyUse.REBUILD, {"a": 1})
        assert worker.read() == (CopyUse.HIT, {"a": 2, "b": 3})
        assert values_of(zombie.value) == {"a": 1}
        zombie.put(z=1)
        zombie.end()
        assert worker.read() == (CopyUse.HIT, {"a": 2, "b": 3})
        assert sorted(entry.name for entry in directory.iterdir()) == ["copy", "lock"]

    def test_a_zombie_keeps_its_view_while_others_go_on(self, directory, storage, worker):
        worker.batch(a=1, b=1)
        zombie = TimedWorker(directory, copy_of(storage))
        zombie.begin()
        for number in range(2, 30):
            worker.batch(a=number)
        assert values_of(zombie.value) == {"a": 1, "b": 1}

    def test_a_copy_left_ahead_of_a_log_that_began_anew_is_replaced(self, directory, worker):
        for number in range(5):
            worker.batch(a=number)
        worker.read()
        anew = TimedWorker(directory, MemoryLog())
        anew.batch(b=1)
        anew.batch(c=1)
        assert anew.read() == (CopyUse.HIT, {"b": 1, "c": 1})

    def test_two_logs_of_equal_length_do_not_mix(self, directory, storage, worker):
        twin = copy_of(storage)
        other = TimedWorker(directory, twin)
        worker.batch(a=1)
        other.batch(b=1)
        for _ in range(3):
            assert worker.read()[1] == {"a": 1}
            assert other.read()[1] == {"b": 1}


class TestTrust:
    def test_the_copy_of_another_owner_is_thrown_away(self, directory, storage, worker):
        worker.batch(a=0)
        worker.batch(a=1)
        worker.read()
        other = TimedWorker(directory, storage, owner="another job")
        assert other.read() == (CopyUse.REBUILD, {"a": 1})
        assert other.read() == (CopyUse.HIT, {"a": 1})

    def test_a_copy_of_another_format_is_thrown_away(self, directory, storage, worker):
        worker.batch(a=0)
        worker.batch(a=1)
        worker.read()
        worker.backend.close()
        data = (directory / "copy" / "data.mdb").read_bytes()
        (directory / "copy" / "data.mdb").write_bytes(data.replace(b'"format": 3', b'"format": 4'))
        assert TimedWorker(directory, storage).read() == (CopyUse.REBUILD, {"a": 1})

    @pytest.mark.parametrize(
        "damage",
        [
            lambda path: path.write_bytes(b""),
            lambda path: path.write_bytes(b"no database" * 1000),
            lambda path: os.truncate(path, path.stat().st_size - 4096),
            lambda path: os.truncate(path, 8192),
            lambda path: os.truncate(path, 100),
            lambda path: path.unlink(),
            lambda path: shutil.rmtree(path.parent),
            lambda path: shutil.rmtree(path.parent.parent),
            lambda path: (path.parent / "lock.mdb").unlink(),
            lambda path: os.truncate(path.parent / "lock.mdb", 10),
        ],
        ids=[
            "empty",
            "other",
            "page",
            "cut",
            "stub",
            "gone",
            "no copy",
            "no dir",
            "no lock",
            "lock",
        ],
    )
    @pytest.mark.parametrize("is_open", [False, True])
    def test_a_copy_damaged_between_micro_batches_is_rebuilt(
        self, directory, storage, worker, damage, is_open
    ):
        worker.batch(**{f"k{number}": number for number in range(200)})
        _, before = worker.read()
        if not is_open:
            worker.backend.close()
            del worker
            worker = TimedWorker(directory, storage)
        damage(directory / "copy" / "data.mdb")
        _, found = worker.read()
        assert found == before
        worker.batch(a=1)
        assert worker.read() == (CopyUse.HIT, before | {"a": 1})

    def flip(self, directory, text):
        """Change one bit in the middle of every place where the copy has `text`."""
        data = directory / "copy" / "data.mdb"
        content = bytearray(data.read_bytes())
        at = content.index(text)
        while at >= 0:
            content[at + len(text) // 2] ^= 1
            at = content.find(text, at)
        data.write_bytes(content)

    @pytest.mark.parametrize("flipped", [b"secret-value", b"\x20alice", b"\x20alic"])
    @pytest.mark.parametrize(
        "use",
        [
            lambda worker: worker.value[GROUPS["alice"]].get("alice"),
            lambda worker: worker.value[GROUPS["alice"]].keys(),
            lambda worker: list(worker.backend.snapshot_group(GROUPS["alice"])),
        ],
        ids=["get", "keys", "snapshot"],
    )
    def test_a_bit_flip_in_an_entry_is_found_and_named(
        self, directory, storage, worker, flipped, use
    ):
        worker.begin()
        worker.value[GROUPS["alice"]].put("alice", "secret-value")
        worker.end()
        worker.batch(bob=1)
        worker.read()
        worker.backend.close()
        self.flip(directory, flipped)
        worker = TimedWorker(directory, storage)
        worker.begin()
        with pytest.raises(StateError) as caught:
            use(worker)
        assert "checksum" in caught.value.problem
        assert str(directory) in caught.value.problem
        worker.backend.discard()
        assert worker.read() == (CopyUse.REBUILD, {"alice": "secret-value", "bob": 1})

    def fire_all(self, worker):
        worker.begin()
        while worker.timers.pop_due(100) is not None:
            pass

    @pytest.mark.parametrize("place", [0, 7, 14])
    def test_a_bit_flip_in_a_timer_is_found_and_named(self, directory, storage, worker, place):
        worker.batch(alice=5)
        worker.batch(bob=7)
        worker.read()
        worker.backend.close()
        alice = encode_key(5) + group_prefix(GROUPS["alice"]) + encode_key("alice")
        self.flip(directory, alice[: place + 1] if place else alice)
        worker = TimedWorker(directory, storage)
        with pytest.raises(StateError) as caught:
            self.fire_all(worker)
        assert "checksum" in caught.value.problem
        worker.backend.discard()
        worker.begin()
        assert worker.timers.pop_due(100) == (5, GROUPS["alice"], "alice")

    def test_a_bit_flip_in_an_inner_page_never_hides_an_entry(self, directory, storage, worker):
        for number in range(2):
            worker.begin()
            for key in range(1000):
                worker.value[GROUPS[key]].put(key, number)
            worker.end()
        worker.read()
        worker.backend.close()
        data = directory / "copy" / "data.mdb"
        before = data.read_bytes()
        n_found = 0
        for page in range(2, len(before) // 4096):
            flags = int.from_bytes(before[page * 4096 + 10 : page * 4096 + 12], "little")
            if flags != 1:  # a branch page
                continue
            for offset in range(100, 4096, 150):
                content = bytearray(before)
                content[page * 4096 + offset] ^= 4
                (directory / "copy").mkdir(exist_ok=True)
                data.write_bytes(content)
                (directory / "copy" / "lock.mdb").unlink(missing_ok=True)
                one = TimedWorker(directory, storage)
                one.begin()
                try:
                    assert all(one.value[GROUPS[key]].get(key) == 1 for key in range(1000))
                except StateError:
                    n_found += 1
                one.backend.close()
        assert n_found > 0

    def test_a_directory_that_cannot_be_written_to_is_named(self, tmp_path, storage):
        (tmp_path / "file").write_text("")
        with pytest.raises(StateError) as caught:
            TimedWorker(tmp_path / "file" / "copy", storage).begin()
        assert caught.value.code == "STATE"
        assert str(tmp_path) in caught.value.problem

    def test_closing_leaves_the_copy_to_others(self, directory, storage, worker):
        worker.batch(a=1)
        worker.read()
        worker.backend.close()
        assert (str(directory / "copy"), os.getpid()) not in lmdb_directory._opened
        assert TimedWorker(directory, storage).read() == (CopyUse.HIT, {"a": 1})

    def test_a_full_disk_is_named(self, directory, storage, worker, monkeypatch):
        monkeypatch.setattr(lmdb_file, "_MAX_MAP_BYTES", 64 << 10)
        worker.batch(a=b"x" * 1_000_000)
        with pytest.raises(StateError) as caught:
            worker.begin()
        assert "cannot be written" in caught.value.problem


def test_the_map_is_as_large_as_the_disk(directory, worker):
    worker.begin()
    size = lmdb_directory._opened[str(directory / "copy"), os.getpid()]._env.info()["map_size"]
    disk = os.statvfs(directory)
    assert size == min(disk.f_blocks * disk.f_frsize, 1 << 42) // 4096 * 4096


def test_catching_up_takes_bounded_transactions(tmp_path, storage, worker, monkeypatch):
    monkeypatch.setattr(lmdb_writer, "_ENTRIES_PER_TRANSACTION", 10)
    taken = []
    finish = lmdb_writer.EntryWriter.finish

    def counted(writer):
        taken.append(writer)
        finish(writer)

    monkeypatch.setattr(lmdb_writer.EntryWriter, "finish", counted)
    worker.batch(**{f"k{number}": number for number in range(100)})
    assert len(worker.read()[1]) == 100
    assert len(taken) > 5


def test_a_copy_from_before_the_machine_started_is_thrown_away(directory, storage, monkeypatch):
    worker = TimedWorker(directory, storage)
    worker.batch(a=1)
    worker.batch(a=2)
    worker.read()
    worker.backend.close()
    monkeypatch.setattr(lmdb_directory, "_boot_id", lambda: "another")
    assert TimedWorker(directory, storage).read() == (CopyUse.REBUILD, {"a": 2})
