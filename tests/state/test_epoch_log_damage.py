"""Damaged and missing files of the epoch log: an error that names the file, or the right answer."""

from __future__ import annotations

import re

import pytest

from penstock.errors import StateError
from penstock.state.log.epoch_log import EpochLog
from penstock.state.log.epoch_record import RECORDS
from penstock.state.log.extent import SEGMENTS
from penstock.state.log.log_table import epochs_in, with_logs
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

NAMES = [(1, 0), (1, 1)]


@pytest.fixture
def directory(tmp_path, monkeypatch):
    not_durable(monkeypatch)
    return tmp_path / "epochs"


@pytest.fixture
def merged(directory, monkeypatch):
    """A log with records before and after the base, and segments of tasks and merges."""
    small_limits(monkeypatch)
    log = opened(directory)
    copies: Copies = {}
    for epoch in range(10):
        merge(log)
        put(
            log,
            {NAMES[epoch % 2]: {epoch: epoch, 50: epoch}},
            copies=copies,
            inline_bytes=0 if epoch % 5 == 3 else 1 << 20,
            compact_bytes=1 << 20,
            outcome=b"outcome",
        )
    found = files(directory)
    assert sum(file.startswith(f"{SEGMENTS}/merged") for file in found) >= 1
    assert any(re.match(f"{SEGMENTS}/1-", file) for file in found)
    assert epochs_in(directory)[0] < log._base_epoch < log.next_epoch - 1
    return directory


def read_everything(directory):
    log = EpochLog(directory)
    record = log.open()
    return record, contents(log, NAMES)


def problem_of(directory, expected):
    """Return what is said when everything is read, None if it is what is expected."""
    try:
        found = read_everything(directory)
    except StateError as error:
        return error.problem
    assert found == expected
    return None


def test_every_damaged_byte_is_named_or_does_not_matter(merged):
    expected = read_everything(merged)
    table = EpochLog(merged)
    table.open()
    named = set()
    for file in sorted(files(merged)):
        path = merged / file
        data = path.read_bytes()
        for at in range(0, len(data), 7):
            path.write_bytes(data[:at] + bytes([data[at] ^ 16]) + data[at + 1 :])
            problem = problem_of(merged, expected)
            if problem is not None:
                assert str(path) in problem
                named.add(file)
        path.write_bytes(data)
    records = {f"{RECORDS}/{epoch:012}" for epoch in range(table._base_epoch, table.next_epoch)}
    assert named == records | table._table.files()


def test_every_file_that_is_missing_or_cut_is_named_or_does_not_matter(merged):
    expected = read_everything(merged)
    newest = f"{RECORDS}/{max(epochs_in(merged)):012}"
    for file in sorted(files(merged) - {newest}):
        path = merged / file
        data = path.read_bytes()
        for kept in (None, b"", data[: len(data) // 2], data[:-1], data + b"x"):
            path.unlink(missing_ok=True)
            if kept is not None:
                path.write_bytes(kept)
            problem = problem_of(merged, expected)
            assert problem is None or str(path) in problem
        path.write_bytes(data)


def test_damage_that_stays_is_not_retried(directory):
    log = opened(directory)
    put(log, {(1, 0): {1: 1}}, inline_bytes=0)
    (file,) = (directory / SEGMENTS).iterdir()
    file.unlink()
    calls = []

    def use(_, views):
        calls.append(1)
        return content(directory, views[1, 0])

    with pytest.raises(StateError, match="cannot be read"):
        with_logs(directory, use)
    assert calls == [1]
