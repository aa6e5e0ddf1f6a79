"""The log of one subtask within one task: what it reads, and what it returns to the driver."""

from __future__ import annotations

import pickle
import stat
import tracemalloc
from zlib import crc32

import pytest

from penstock.errors import StateError
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.log.change_log import ChangeLog
from penstock.state.log.extent import SEGMENTS, Extent, join_entries
from penstock.state.log.subtask_log import LogChange, LogView, SubtaskLog
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.types import Types

SCHEMA = StateSchema(StateKind.VALUE, Types.LONG())


@pytest.fixture
def directory(tmp_path):
    (tmp_path / SEGMENTS).mkdir()
    return tmp_path


def stored(directory, first, *entries, file="segments/old"):
    """Return the extent of entries in a file of their own."""
    data = join_entries(entries)
    (directory / file).write_bytes(data)
    return Extent(first, first + len(entries) - 1, file, 0, len(data), crc32(data))


def test_what_was_not_written_is_no_change(directory):
    log = SubtaskLog(directory, LogView(b"head"))
    assert log.read_head() == b"head"
    assert log.change(1, 2) is None


def test_small_changes_are_returned(directory):
    log = SubtaskLog(directory, LogView())
    assert log.read_head() is None
    log.write_entry(5, b"five")
    log.write_entry(6, b"six")
    log.write_head(b"new")
    assert [log.read_entry(n) for n in (4, 5, 6, 7)] == [None, b"five", b"six", None]
    change = log.change(1, 2)
    assert change == LogChange(1, 2, b"new", 5, (b"five", b"six"))
    assert pickle.loads(pickle.dumps(change, 5)) == change
    assert change.name == (1, 2)
    assert not list((directory / SEGMENTS).iterdir())


def test_entries_are_read_from_extents_and_recent_ones_from_the_view(directory):
    old = stored(directory, 3, b"three", b"four")
    gone = Extent(5, 6, "records/none", 0, 1, 0)
    view = LogView(b"head", (old, gone), ((5, b"five"), (6, b"six")))
    log = SubtaskLog(directory, pickle.loads(pickle.dumps(view, 5)))
    log.write_entry(7, b"seven")
    found = [log.read_entry(n) for n in range(2, 9)]
    assert found == [None, b"three", b"four", b"five", b"six", b"seven", None]
    log.remove_entry(3)
    assert [log.read_entry(n) for n in (3, 4)] == [None, b"four"]


@pytest.mark.parametrize("limit", [0, 5, 12])
def test_large_changes_are_in_a_segment_and_can_be_read_back(directory, limit):
    log = SubtaskLog(directory, LogView(), inline_bytes=limit)
    entries = [bytes([n]) * 5 for n in range(6)]
    for number, entry in enumerate(entries):
        log.write_entry(number, entry)
        assert [log.read_entry(n) for n in range(number + 1)] == entries[: number + 1]
    log.write_head(b"head")
    change = log.change(2, 9)
    assert change is not None
    log.close()
    assert change.entries == ()
    assert [log.read_entry(n) for n in range(7)] == [*entries, None]
    (file,) = (directory / SEGMENTS).iterdir()
    assert {extent.file for extent in change.extents} == {f"{SEGMENTS}/{file.name}"}
    assert file.name.startswith("2-9-")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    after = SubtaskLog(directory, LogView(change.head, change.extents))
    assert [after.read_entry(n) for n in range(7)] == [*entries, None]


def test_a_segment_that_is_in_no_change_is_removed(directory):
    log = SubtaskLog(directory, LogView(), inline_bytes=0)
    log.write_entry(0, b"a")
    assert list((directory / SEGMENTS).iterdir())
    log.close()
    assert not list((directory / SEGMENTS).iterdir())


def test_an_entry_out_of_turn_is_refused(directory):
    log = SubtaskLog(directory, LogView())
    log.write_entry(0, b"a")
    with pytest.raises(StateError, match="entry 2 of a change log was written where 1 is next"):
        log.write_entry(2, b"b")


def test_every_damaged_byte_of_a_segment_is_named(directory):
    extent = stored(directory, 0, b"abc", b"", b"de")
    data = (directory / extent.file).read_bytes()
    changed = [data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :] for at in range(len(data))]
    for broken in (*changed, *(data[:at] for at in range(len(data)))):
        (directory / extent.file).write_bytes(broken)
        with pytest.raises(StateError, match="segments/old is damaged"):
            SubtaskLog(directory, LogView(b"", (extent,))).read_entry(2)


def test_a_change_log_in_it_is_rebuilt_by_another_task(directory):
    backend = HashBackend()
    log = SubtaskLog(directory, LogView(), inline_bytes=200)
    table = backend.table("op", "s", SCHEMA)
    for key in range(300):
        table[key % 8].put(key, key)
    ChangeLog(log).append(backend.drain(), b"memory", backend)
    change = log.change(1, 0)
    assert change is not None
    copy = HashBackend()
    again = ChangeLog(SubtaskLog(directory, LogView(change.head, change.extents)))
    copy.catch_up(again)
    assert again.head.meta == b"memory"
    found = copy.table("op", "s", SCHEMA)
    assert [found[key % 8].get(key) for key in range(300)] == list(range(300))


def test_a_change_of_any_size_takes_bounded_memory(directory):
    log = SubtaskLog(directory, LogView())
    tracemalloc.start()
    for number in range(400):
        log.write_entry(number, bytes(100_000))
    log.write_head(b"head")
    change = log.change(1, 0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert change is not None
    assert sum(extent.size for extent in change.extents) > 40_000_000
    assert peak < 2_000_000
    after = SubtaskLog(directory, LogView(change.head, change.extents))
    tracemalloc.start()
    assert all(after.read_entry(number) == bytes(100_000) for number in range(400))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4_000_000
