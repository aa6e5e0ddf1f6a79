"""The epoch log of a driver: crashes at every step, two drivers, damage, bounds."""

from __future__ import annotations

import re
import stat
import threading
from itertools import count
from pathlib import Path

import pytest

import penstock.state.log.epoch_log
from penstock.errors import JobFailedError, JobFencedError, StateError
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.log.change_log import Head
from penstock.state.log.epoch_log import EpochLog
from penstock.state.log.epoch_record import RECORDS
from penstock.state.log.log_table import epochs_in, with_logs
from penstock.state.log.subtask_log import LogChange, LogView, SubtaskLog
from tests.state.epoch_world import (
    PLACES,
    PUT_SUCCEEDS,
    Copies,
    contents,
    contents_elsewhere,
    crash_at,
    files,
    merge,
    not_durable,
    opened,
    put,
    run_task,
    small_limits,
    updated,
)

NAMES = [(1, 0), (1, 1), (2, 0)]


def newest(record, views):
    assert views
    return record


@pytest.fixture
def directory(tmp_path, monkeypatch):
    not_durable(monkeypatch)
    return tmp_path / "epochs"


def test_a_new_log_has_no_record(directory):
    log = EpochLog(directory)
    assert log.open() is None
    assert log.next_epoch == 0
    assert log.view((1, 0)) == LogView()
    assert log.plan_merge() is None
    with pytest.raises(StateError, match="has no epoch record"):
        with_logs(directory, newest)
    with pytest.raises(StateError, match="has no epoch record"):
        with_logs(directory / "none", newest)


def test_a_record_is_read_back_as_it_was_put(directory):
    log = opened(directory)
    put(log, {(1, 0): {1: 1}, (2, 3): {5: 5}})
    task = run_task(directory, log.view((1, 0)), HashBackend(), {2: 2})
    record = log.put(1, {"orders": [1, "a"]}, [task.change(1, 0)], b"outcome")
    again = EpochLog(directory)
    assert again.open() == record
    assert again.next_epoch == 2
    assert contents(again, [(1, 0), (2, 3)]) == {(1, 0): {1: 1, 2: 2}, (2, 3): {5: 5}}
    assert with_logs(directory, newest) == record


def test_files_are_for_their_owner_only(directory):
    log = opened(directory)
    put(log, {(1, 0): {1: 1}}, inline_bytes=0)
    for path in directory.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_recent_entries_travel_with_the_view(directory, monkeypatch):
    log = opened(directory)
    copies: Copies = {}
    for number in range(20):
        put(log, {(1, 0): {1: number}}, copies=copies, compact_bytes=1 << 20)
    view = log.view((1, 0))
    assert [number for number, _ in view.recent] == list(range(12, 20))
    for path in (directory / RECORDS).iterdir():
        path.unlink()
    storage = SubtaskLog(directory, view)
    assert all(storage.read_entry(number) for number in range(12, 20))
    monkeypatch.setattr("penstock.state.log.log_table.RECENT_BYTES", 3 * len(view.recent[0][1]))
    put(log, {(1, 0): {1: 20}}, copies=copies, compact_bytes=1 << 20)
    assert [number for number, _ in log.view((1, 0)).recent] == [18, 19, 20]


def head(first, last):
    return Head(first, last, ((last, "t"),)).encode()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ([LogChange(1, 0, head(0, 2), 2, (b"a",))], "do not follow those before"),
        ([LogChange(1, 0, head(0, 1), 0, (b"a", b"b"))], "do not follow those before"),
        ([LogChange(1, 0, head(0, 2), 1, (b"a",))], "it has entries 0 to 2, stored are 0 to 1"),
        ([LogChange(1, 1, head(0, 0), 0)], "it has entries 0 to 0, stored are none"),
        ([LogChange(1, 1, head(0, 0), 1, (b"a",))], "stored are 1 to 1"),
        ([LogChange(1, 1, head(0, -1), 0, (b"a",))], "behind its last one"),
        ([LogChange(1, 1, head(0, -1), 0)] * 2, "two changes of the log"),
    ],
)
def test_changes_that_do_not_follow_their_log_are_refused(directory, changes, problem):
    log = opened(directory)
    log.put(0, {}, [LogChange(1, 0, head(0, 0), 0, (b"zero",))], b"")
    with pytest.raises(StateError, match=problem):
        log.put(1, {}, changes, b"")
    assert epochs_in(directory) == [0]


def test_the_record_of_another_epoch_is_refused(directory):
    with pytest.raises(StateError, match="epoch 3 was put, the next one is 0"):
        opened(directory).put(3, {}, [], b"")


def test_the_failpoints_are_those_that_are_tested():
    folder = Path(penstock.state.log.epoch_log.__file__).parent
    source = "".join(path.read_text() for path in folder.glob("*.py"))
    named = set(re.findall(r'failpoint\("([^"]+)"\)', source))
    put = {f"epoch.record-{step}" for step in ("written", "checked", "linked", "durable")}
    assert named | put == set(PLACES)


SCENARIO = [
    {name: {key: 100 * epoch + key for key in range(epoch % 3, 5 + 9 * (epoch % 4 == 1))}}
    | {NAMES[0]: {epoch % 6: epoch, (epoch + 1) % 6: None}}
    for epoch in range(16)
    for name in [NAMES[1 + epoch % 2]]
]


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("place", PLACES)
def test_a_crash_at_every_step_loses_nothing_and_leaves_nothing(
    tmp_path, monkeypatch, place, killed
):
    """The scenario is run once per pass of the failpoint, until it passes it no more."""
    small_limits(monkeypatch)
    for nth in count(1):
        directory = tmp_path / f"{nth}"
        if not run_scenario(directory, place, nth, killed=killed):
            assert nth > 1, "the scenario never comes there"
            break


def update(model, changes):
    """Apply the changes of an epoch."""
    for name, some in changes.items():
        model[name] = updated(model.get(name, {}), some)


def run_scenario(directory, place, nth, *, killed):
    """Run all epochs, with one crash; return whether there was one."""
    model: dict[tuple[int, int], dict[int, int]] = {}
    copies: Copies = {}
    epoch = 0
    crashed = False
    log = EpochLog(directory)
    while epoch < len(SCENARIO):
        with crash_at("none" if crashed else place, nth, killed=killed) as dead:
            try:
                log.open() if epoch == 0 else None
                while epoch < len(SCENARIO):
                    merge(log)
                    put(log, SCENARIO[epoch], copies=copies, inline_bytes=150)
                    update(model, SCENARIO[epoch])
                    epoch += 1
            except JobFailedError:
                crashed = True
        if dead:
            if place in PUT_SUCCEEDS:
                update(model, SCENARIO[epoch])
                epoch += 1
            log = EpochLog(directory)
            log.open()
            assert log.next_epoch == epoch
            assert contents(log, NAMES) == {name: model.get(name, {}) for name in NAMES}
        if not crashed:
            break
    if crashed:
        for _ in range(4):  # some files at a time
            log.put(log.next_epoch, {}, [], b"")
        assert files(directory) == log._files
        assert contents_elsewhere(directory) == (epoch + 3, model)
    return crashed


def test_of_two_drivers_one_puts_the_record(directory):
    first, second = opened(directory), opened(directory)
    start = threading.Barrier(2)
    results: list[list[int]] = [[], []]

    def drive(number, log):
        for epoch in range(40):
            start.wait()
            task = run_task(directory, log.view((1, 0)), HashBackend(), {epoch: number})
            try:
                log.put(epoch, {}, [task.change(1, 0)], b"%d" % number)
                results[number].append(epoch)
            except FileExistsError:
                record = log.open()
                assert record is not None
                assert (record.epoch, record.outcome) == (epoch, b"%d" % (1 - number))
            merge(log)

    other = threading.Thread(target=drive, args=(1, second))
    other.start()
    drive(0, first)
    other.join()
    assert sorted([*results[0], *results[1]]) == list(range(40))
    winners = {epoch: number for number in (0, 1) for epoch in results[number]}
    assert contents(first, [(1, 0)]) == contents(second, [(1, 0)]) == {(1, 0): winners}
    assert not [file for file in files(directory) if file.endswith(".tmp")]


def test_a_driver_that_was_thought_dead_may_still_put_its_record(directory):
    first = opened(directory)
    put(first, {(1, 0): {1: 1}})
    task = run_task(directory, first.view((1, 0)), HashBackend(), {2: 2}, inline_bytes=0)
    change = task.change(1, 0)
    second = opened(directory)  # finds a segment that no record names
    late = run_task(directory, second.view((1, 0)), HashBackend(), {3: 3})
    first.put(1, {}, [change], b"first")
    with pytest.raises(FileExistsError):
        second.put(1, {}, [late.change(1, 0)], b"second")
    record = second.open()
    assert record is not None
    assert record.outcome == b"first"
    assert contents(second, [(1, 0)]) == {(1, 0): {1: 1, 2: 2}}
    put(second, {(1, 0): {3: 3}})
    with pytest.raises(FileExistsError):
        put(first, {(1, 0): {4: 4}})


def test_what_a_driver_leaves_is_removed_when_the_next_one_has_put_a_record(directory):
    first = opened(directory)
    put(first, {(1, 0): {1: 1}}, inline_bytes=0)
    run_task(directory, first.view((1, 0)), HashBackend(), {2: 2}, inline_bytes=0).change(1, 0)
    lost = run_task(directory, first.view((1, 0)), HashBackend(), {2: 2}, inline_bytes=0)
    assert lost._segment is not None
    lost._segment._file.close()  # without removing it, as when a worker is killed
    (directory / RECORDS / ".000000000001.ab.tmp").touch()
    assert len(files(directory)) == 5
    second = opened(directory)
    assert len(files(directory)) == 3
    assert not [file for file in files(directory) if file.endswith(".tmp")]
    second.put(1, {}, [], b"")
    assert files(directory) == second._files
    assert len(files(directory)) == 3


def test_a_driver_removes_no_file_that_it_does_not_know(directory, monkeypatch):
    """It may be of a task of the driver that comes after this one."""
    small_limits(monkeypatch)
    log = opened(directory)
    put(log, {(1, 0): {1: 1}})
    later = opened(directory)
    task = run_task(directory, later.view((1, 0)), HashBackend(), {2: 2}, inline_bytes=0)
    (extent,) = task.change(1, 0).extents
    first_base = log._base_epoch
    for epoch in range(20):
        merge(log)
        put(log, {(1, 0): {3: epoch}})
    assert log._base_epoch > first_base
    assert not log._garbage
    assert extent.file in files(directory)


def test_a_fenced_driver_puts_nothing(directory):
    log = opened(directory)
    asked = []

    def refuse():
        asked.append(list((directory / RECORDS).iterdir()))
        if len(asked) == 2:
            raise JobFencedError("another driver", hint="")

    with pytest.raises(JobFencedError):
        log.put(0, {}, [], b"", may_put=refuse)
    assert len(asked[1]) == 1
    assert not list((directory / RECORDS).iterdir())
