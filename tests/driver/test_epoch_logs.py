"""State of a loop of epochs, read from outside: which files, as of which record, and what is missing.

The logs are real ones, the workers are called as functions. Can find: entries that are lost or read twice,
a mix of two records, damage that has no name. Cannot find: how Spark distributes the logs.
"""

from __future__ import annotations

import pickle
from collections import Counter
from typing import Any

import pytest

from penstock.errors import SavepointError, StateError
from penstock.spark.inspect import state_location
from penstock.spark.inspect.state_location import (
    EpochLogs,
    SnapshotFile,
    locate_state,
    newest_epoch,
)
from penstock.spark.job.observed_job import ObservedJob
from penstock.spark.savepoints.settled_part import settled_run
from penstock.spark.worker.state_tasks import SplitEpochLogs
from penstock.state.log.epoch_log import write_settled
from penstock.state.log.epoch_record import EPOCHS, RECORDS, file_of
from penstock.state.log.extent import SEGMENTS, read_extent
from penstock.state.replay import replay
from penstock.wire.atomic_file import write_verified
from tests.state.epoch_world import files, merge, opened, put, small_limits

NAMES = [(1, 0), (1, 1), (2, 0)]
LARGE = {"inline_bytes": 10}


@pytest.fixture
def job(tmp_path, monkeypatch):
    """Return the directory of a job with a batch run, and a live run that has begun."""
    small_limits(monkeypatch)
    write_verified(
        tmp_path / "job.json",
        {
            "name": "j",
            "shape": {"runs": [["b", "BATCH"], ["l", "LIVE"]]},
            "pipelines": [0, 0],
        },
    )
    write_verified(tmp_path / "run-0.done.json", {"state_files": {"part": "00"}})
    (tmp_path / "run-1").mkdir()
    return tmp_path


def located(job):
    """Return the location of the state, which is in logs."""
    location = locate_state(job)
    assert isinstance(location, EpochLogs)
    return location


def blobs_of(location, uid=None):
    rows = [(*name, pickle.dumps(view)) for name, view in location.logs.items()]
    return list(SplitEpochLogs(location.path, uid).split(rows))


def content_of(location):
    """Return (log, key, value) of all entries."""
    found = []
    for where in {row[2] for row in blobs_of(location)}:
        of_log = [row for row in blobs_of(location) if row[2] == where]
        for group in {row[1] for row in of_log}:
            entries = replay((row[2], row[4]) for row in of_log if row[1] == group)
            for section in entries.sections():
                found += [(where, *each) for each in zip(section.keys, section.values, strict=True)]
    return Counter(found)


def expected(**of_log):
    return Counter((f"log of level {n[1]}, subtask {n[2]}", *each)
                   for n, entries in of_log.items() for each in entries.items())  # fmt: skip


def test_the_newest_record_counts_and_a_run_without_one_has_its_initial_state(job):
    log = opened(job / "run-1" / EPOCHS)
    assert newest_epoch(job / "run-1") is None
    assert locate_state(job) == (SnapshotFile(job / "run-0" / "snapshot" / "part", "00"),)
    put(log, {(1, 0): {1: 10, 2: 20}, (1, 1): {3: 30}})
    put(log, {(1, 0): {1: None, 4: 40}, (2, 0): {5: 50}})
    location = located(job)
    assert (location.epoch, list(location.logs)) == (1, NAMES)
    assert content_of(location) == expected(n10={2: 20, 4: 40}, n11={3: 30}, n20={5: 50})
    assert blobs_of(location, "another") == []
    write_verified(job / "run-1.done.json", {"state_files": {"last": "11"}})
    assert locate_state(job) == (SnapshotFile(job / "run-1" / "snapshot" / "last", "11"),)


def test_entries_are_read_with_the_record_and_survive_merges(job):
    directory = job / "run-1" / EPOCHS
    log = opened(directory)
    model = {}
    for number in range(40):
        model[number % 7] = number
        put(log, {(1, 0): {number % 7: number}})
        location, before = located(job), files(directory)
        assert location.epoch == number * 6
        for more in range(5):
            put(log, {(1, 0): {more: -more}})
            merge(log)
        if number > 1:
            assert before - files(directory), "files are removed meanwhile"
        assert content_of(location) == expected(n10=model)
        model |= {more: -more for more in range(5)}


def test_a_file_that_vanishes_while_it_is_read_means_a_newer_record(job, monkeypatch):
    directory = job / "run-1" / EPOCHS
    log = opened(directory)
    put(log, {(1, 0): {1: 1}})
    reads: list[Any] = []

    def read_late(*where):
        if not reads:
            for number in range(20):  # the driver is faster
                put(log, {(1, 0): {1: number}})
                merge(log)
        reads.append(where)
        return read_extent(*where)

    monkeypatch.setattr(state_location, "read_extent", read_late)
    location = located(job)
    assert location.epoch == 20
    assert content_of(location) == expected(n10={1: 19})


def test_large_extents_are_read_by_workers(job, monkeypatch):
    directory = job / "run-1" / EPOCHS
    log = opened(directory)
    put(log, {(1, 0): dict.fromkeys(range(200), 7)}, **LARGE)
    put(log, {(1, 0): {1: 8}})
    monkeypatch.setattr(state_location, "_MOST_BYTES", 600)
    location = located(job)
    large, small = location.logs[1, 0].extents
    assert small.size < 600 < large.size
    assert [number for number, _ in location.logs[1, 0].recent] == [small.first]
    assert content_of(location) == expected(n10=dict.fromkeys(range(200), 7) | {1: 8})
    (segment,) = (directory / SEGMENTS).iterdir()
    segment.unlink()
    with pytest.raises(StateError, match=segment.name) as caught:
        blobs_of(location)
    assert "level 1, subtask 0" in caught.value.problem
    assert "try again" in caught.value.hint


def test_damage_names_the_file(job, monkeypatch):
    directory = job / "run-1" / EPOCHS
    log = opened(directory)
    put(log, {(1, 0): {1: 10}})
    put(log, {(1, 0): {2: 20}})
    for epoch in (0, 1):
        path = directory / file_of(epoch)
        data = path.read_bytes()
        for at in range(0, len(data) * 8, 7):
            damaged = bytearray(data)
            damaged[at // 8] ^= 1 << at % 8
            path.write_bytes(damaged)
            with pytest.raises(StateError, match=path.name):
                locate_state(job)
        path.unlink()
        if epoch == 0:
            with pytest.raises(StateError, match=RECORDS):
                locate_state(job)
        path.write_bytes(data)
    assert content_of(located(job)) == expected(n10={1: 10, 2: 20})
    monkeypatch.setattr(state_location, "_MOST_BYTES", 0)
    location = located(job)
    data = bytearray((directory / file_of(0)).read_bytes())
    data[-1] ^= 1
    (directory / file_of(0)).write_bytes(data)
    with pytest.raises(StateError, match=file_of(0)) as caught:
        blobs_of(location)
    assert "level 1, subtask 0" in caught.value.problem


def test_a_savepoint_without_the_job_needs_a_settled_epoch(job):
    observed = ObservedJob.at(job)
    with pytest.raises(SavepointError, match="before its first epoch"):
        settled_run(observed, 1)
    log = opened(job / "run-1" / EPOCHS)
    log.put(0, {"at": {"3": [7, 8]}}, [], b"")
    for settled in (None, 1):
        if settled is not None:
            write_settled(job / "run-1" / EPOCHS, settled)
        with pytest.raises(SavepointError, match="interrupted in epoch 0"):
            settled_run(observed, 1)
    write_settled(job / "run-1" / EPOCHS, 0)
    found = settled_run(observed, 1)
    assert found.positions == {"at": {"3": [7, 8]}}
    assert found == located(job)
    log.put(1, {"at": {"3": [7, 9]}}, [], b"")
    with pytest.raises(SavepointError, match="interrupted in epoch 1"):
        settled_run(observed, 1)
