"""The journal of a live run, when its log is opened again while a merge is written."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.spark.driver.sink_stage import StagedEpoch
from penstock.spark.live.epochs.epoch_journal import EpochJournal, EpochPositions
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.log.extent import SegmentWriter
from tests.state.epoch_world import run_task, small_limits

NAME = 1, 0


def journal_in(directory: Path) -> EpochJournal:
    def nothing(*_: object) -> None:
        pass

    of_job = SimpleNamespace(
        run_directory=lambda *_: directory,
        digest_of=lambda _: "0" * 64,
        check_digest=nothing,
        fence=nothing,
        fingerprint="0",
    )
    run = SimpleNamespace(index=0)
    return EpochJournal(cast("Any", SimpleNamespace(directory=of_job)), cast("Any", run))


def test_a_merge_in_progress_is_dropped_when_the_log_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if another driver had put a record: opening removes the temporary file of the merge."""
    small_limits(monkeypatch)
    journal, backend = journal_in(tmp_path), HashBackend()
    positions = EpochPositions({})
    journal.open()

    def put(number: int) -> None:
        log = run_task(tmp_path, journal.view(NAME), backend, {number % 4: number})
        change = log.change(*NAME)
        assert change is not None
        journal.put(positions, None, StagedEpoch(), [change])

    finish, has_written, may_finish = SegmentWriter.finish, threading.Event(), threading.Event()

    def finish_later(segment: SegmentWriter, label: str) -> Any:
        has_written.set()
        may_finish.wait()
        return finish(segment, label)

    monkeypatch.setattr(SegmentWriter, "finish", finish_later)
    with ThreadPoolExecutor(1) as threads:
        for number in range(5):
            put(number)
        journal.merge(threads)
        has_written.wait()
        threading.Timer(0.1, may_finish.set).start()
        newest = journal.open()
        assert newest is not None
        assert newest.number == 4
        threads.submit(int).result()
        assert not list((tmp_path / "segments").glob(".*"))
        for number in range(5, 12):
            journal.merge(threads)
            put(number)
    again = journal_in(tmp_path).open()
    assert again is not None
    assert again.number == 11
