"""Merging in the epoch log: what it leaves, its memory, and files and extents over many epochs."""

from __future__ import annotations

import tracemalloc

import pytest

from penstock.errors import StateError
from penstock.state.log.change_log import ChangeLog, Head
from penstock.state.log.epoch_log import MAX_EXTENTS, MAX_RECORDS
from penstock.state.log.epoch_record import RECORDS
from penstock.state.log.extent import SEGMENTS
from penstock.state.log.log_merge import SEGMENT_BYTES
from penstock.state.log.log_table import with_logs
from penstock.state.log.subtask_log import LogChange, SubtaskLog
from tests.state.epoch_world import (
    Copies,
    content,
    contents,
    files,
    merge,
    not_durable,
    opened,
    put,
    small_limits,
)


@pytest.fixture
def directory(tmp_path, monkeypatch):
    not_durable(monkeypatch)
    return tmp_path / "epochs"


def head(first, last):
    return Head(first, last, ((last, "t"),)).encode()


def test_a_damaged_source_is_not_merged(directory, monkeypatch):
    small_limits(monkeypatch)
    log = opened(directory)
    for epoch in range(8):
        put(log, {(1, 0): {epoch: epoch}}, compact_bytes=1 << 20)
    path = directory / RECORDS / "000000000001"
    data = path.read_bytes()
    path.write_bytes(data[:-1] + b"x")
    planned = log.plan_merge()
    assert planned is not None
    with pytest.raises(StateError, match="000000000001 is damaged"):
        planned.write()
    with pytest.raises(StateError, match="adopted before it was written"):
        log.adopt(planned)
    path.write_bytes(data)
    merge(log)
    put(log, {(1, 0): {9: 9}})
    assert contents(opened(directory), [(1, 0)]) == {(1, 0): {n: n for n in (*range(8), 9)}}


def test_a_merge_from_before_the_log_was_opened_again_has_no_effect(directory, monkeypatch):
    small_limits(monkeypatch)
    log = opened(directory)
    for epoch in range(8):
        put(log, {(1, 0): {epoch: epoch}}, compact_bytes=1 << 20)
    planned = log.plan_merge()
    assert planned is not None
    planned.write()
    log.open()
    log.adopt(planned)
    put(log, {(1, 0): {8: 8}})
    assert not list((directory / SEGMENTS).iterdir())
    assert contents(log, [(1, 0)]) == {(1, 0): {n: n for n in range(9)}}


def test_files_and_extents_stay_few_over_many_small_epochs(directory):
    """Three logs change in every epoch, one in every hundredth."""
    log = opened(directory)
    copies: Copies = {}
    most_files = most_extents = 0
    names = [(1, 0), (1, 1), (2, 0)]
    for epoch in range(2000):
        changes = {name: {epoch % 50: epoch} for name in names}
        if epoch % 100 == 0:
            changes[9, 0] = {epoch: epoch}
        merge(log)
        put(log, changes, copies=copies, compact_bytes=1 << 17)
        most_files = max(most_files, len(files(directory)))
        most_extents = max(
            most_extents, *(len(log.view(name).extents) for name in [*names, (9, 0)])
        )
    assert most_extents <= MAX_EXTENTS + 1
    assert most_files <= MAX_RECORDS + 20
    assert any(log.view(name).extents[-1].first > 1000 for name in names)
    found = contents(opened(directory), [*names, (9, 0)])
    assert found[9, 0] == {epoch: epoch for epoch in range(0, 2000, 100)}
    assert found[1, 0] == {epoch % 50: epoch for epoch in range(1950, 2000)}


def test_epochs_without_changes_are_few_files_too(directory):
    log = opened(directory)
    put(log, {(1, 0): {1: 1}})
    for _ in range(2 * MAX_RECORDS + 40):
        merge(log)
        put(log, {})
    assert len(files(directory)) < MAX_RECORDS
    assert contents(opened(directory), [(1, 0)]) == {(1, 0): {1: 1}}


def test_a_merge_takes_bounded_memory_and_makes_bounded_files(directory):
    log = opened(directory)
    entry = bytes(300_000)
    for epoch in range(60):
        change = LogChange(1, 0, head(0, epoch), epoch, (entry,))
        log.put(epoch, {}, [change], b"")
    log._base_epoch = -1000
    planned = log.plan_merge()
    assert planned is not None
    tracemalloc.start()
    planned.write()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000
    log.adopt(planned)
    log.put(60, {}, [LogChange(1, 0, head(0, 60), 60, (entry,))], b"")
    segments = list((directory / SEGMENTS).iterdir())
    assert 2 <= len(segments) <= 3
    assert all(path.stat().st_size <= SEGMENT_BYTES for path in segments)
    storage = SubtaskLog(directory, opened(directory).view((1, 0)))
    assert all(storage.read_entry(number) == entry for number in range(61))


def test_a_reader_begins_again_when_the_driver_removes_its_files(directory, monkeypatch):
    small_limits(monkeypatch)
    log, calls = opened(directory), []
    for epoch in range(8):
        put(log, {(1, 0): {epoch: epoch}})

    def use(record, views):
        calls.append(record.epoch)
        if len(calls) == 1:
            for _ in range(10):
                merge(log)
                put(log, {(1, 0): {1: 7}})
        return content(directory, views[1, 0])

    expected = {epoch: epoch for epoch in range(8)} | {1: 7}
    assert with_logs(directory, use) == expected
    assert calls == [7, 17]


def test_compaction_in_the_epochs_removes_what_is_old(directory, monkeypatch):
    """A log of which everything is rewritten again and again stays about as large as its state."""
    small_limits(monkeypatch)
    log = opened(directory)
    copies: Copies = {}
    for epoch in range(120):
        merge(log)
        changes = dict.fromkeys(range(epoch % 4, 80, 4), epoch)
        put(log, {(1, 0): changes}, copies=copies, inline_bytes=300)
    size = sum((directory / file).stat().st_size for file in files(directory))
    first = ChangeLog(SubtaskLog(directory, log.view((1, 0)))).head.first
    assert first > 100
    assert size < 60_000
    assert len(contents(log, [(1, 0)])[1, 0]) == 80
