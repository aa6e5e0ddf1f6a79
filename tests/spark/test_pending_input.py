"""The pending input of a live run, and how much it takes at a time. Nothing here needs Spark: its
checkpoint is written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Configuration
from penstock.config.options import MAX_FILES_PER_BATCH
from penstock.connectors.files.file_source import FileSource
from penstock.plan.phases.backlog import catch_up_factor
from penstock.spark.job.run_outline import SourceOutline
from penstock.spark.live import pending_input as pending_module
from penstock.spark.live.pending_input import InputMonitor, PendingInput
from penstock.spark.sources.pinned_files import PinnedFiles
from penstock.spark.sources.positions import ControlLog, PositionsReader
from penstock.spark.sources.read_context import Pinned
from penstock.spark.sources.source_row import StreamKind
from penstock.spark.sources.split_advance import taken_at_once


def positions(tmp_path: Path, splits: list[Any], **options: Any) -> PositionsReader:
    described = [{"source": 3, "splits": splits, "rate": None}]
    values = {"control": tmp_path, "sources": json.dumps(described), **options}
    return PositionsReader({name: str(value) for name, value in values.items()})


def sizes(reader: PositionsReader, count: int) -> list[int]:
    """Return the records of the first micro-batches."""
    at = reader.initialOffset()
    found = []
    for _ in range(count):
        end = reader.latestOffset(at)
        found.append(sum(end["3"]) - sum(at["3"]))
        at = end
    return found


@given(waiting=st.integers(0, 10**9), usual=st.integers(1, 10**6), factor=st.integers(1, 20))
def test_what_is_taken_is_bounded_and_comes_down_by_itself(
    waiting: int, usual: int, factor: int
) -> None:
    taken = taken_at_once(waiting, usual, factor)
    assert usual <= taken <= usual * factor
    if waiting <= usual * factor:
        assert taken == usual
    if waiting >= usual * factor * factor:
        assert taken == usual * factor
    assert taken_at_once(waiting + 1, usual, factor) >= taken


def test_a_large_backlog_is_taken_in_large_micro_batches(tmp_path: Path) -> None:
    ControlLog(tmp_path).append("start")
    bounded = positions(tmp_path, [[0, 1000], [0, 1000]], max_records=10, catch_up_factor=4)
    found = sizes(bounded, 200)
    assert found[0] == 40
    assert found == sorted(found, reverse=True)
    assert sum(found) == 2000
    assert found.count(10) >= 3
    never = positions(tmp_path, [[0, 1000]], max_records=10, catch_up_factor=1)
    assert set(sizes(never, 100)) == {10}
    endless = positions(tmp_path, [[0, None]], max_records=10, catch_up_factor=4)
    assert set(sizes(endless, 100)) == {10}


def test_the_first_micro_batch_behind_a_large_hand_over_is_small(tmp_path: Path) -> None:
    ControlLog(tmp_path).append("start")
    reader = positions(tmp_path, [[0, None]], max_records=1000, first_records=5)
    assert sizes(reader, 3) == [5, 1000, 1000]
    at = {"control": 1, "tick": 0, "3": [7]}
    assert reader.latestOffset(at)["3"] == [1007], "a run that goes on is not at its beginning"


class Run:
    """A live run whose checkpoint and sources are made up."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> None:
        self.directory = tmp_path / "run-1"
        self.checkpoint = self.directory / "spark"
        for name in ("offsets", "commits", "sources/1"):
            (self.checkpoint / name).mkdir(parents=True)
        self.now = 100.0
        monkeypatch.setattr("penstock.spark.live.pending_input.time.monotonic", lambda: self.now)
        self.listed: list[str] = []
        self.job: Any = SimpleNamespace(
            configuration=Configuration.from_dict(settings),
            earlier={},
            plan=SimpleNamespace(source=lambda _: SimpleNamespace(parts=self.parts)),
            session=SimpleNamespace(read=self),
        )
        self.parts: list[Any] = []

    def format(self, name: str) -> Run:
        assert name == "binaryFile"
        return self

    def options(self, **_: str) -> Run:
        return self

    def load(self, path: str) -> Run:
        return self

    def inputFiles(self) -> list[str]:  # noqa: N802 - as in Spark
        return self.listed

    def pending(self, kind: StreamKind, pinned: Pinned) -> InputMonitor:
        source = SourceOutline(
            3, "s", "s", ("file",), 0, kind.name, 0 if kind is StreamKind.SPLITS else 1, 1
        )
        outline: Any = SimpleNamespace(sources=(source,))
        return InputMonitor(self.job, outline, pinned, self.directory)

    def commit(self, batch: int, positions: dict[str, Any], files: int | None = None) -> None:
        """Write what Spark writes for a micro-batch that has read so many files in all."""
        lines = ["v1", "{}", json.dumps(positions)]
        lines.append("-" if files is None else json.dumps({"logOffset": batch}))
        (self.checkpoint / "offsets" / str(batch)).write_text("\n".join(lines))
        (self.checkpoint / "commits" / str(batch)).write_text("v1\n{}")
        if files is not None:
            rows = [
                json.dumps({"path": self.listed[i], "timestamp": 1, "batchId": batch})
                for i in range(files)
            ]
            (self.checkpoint / "sources/1" / str(batch)).write_text("\n".join(["v1", *rows]))


def test_records_left_of_splits_and_the_time_they_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path, monkeypatch)
    pending = run.pending(StreamKind.SPLITS, Pinned(splits={(3, 0): [(0, 600), (100, 500)]}))
    pending.measure(None)
    assert pending.current == PendingInput(), "no micro-batch is committed"
    run.now += 10
    run.commit(0, {"3": [100, 100]})
    pending.measure(None)
    assert pending.current == PendingInput(records=900)
    run.commit(1, {"3": [300, 300]})
    run.now += 1
    pending.measure(None)
    assert pending.current.records == 900, "the last look was only just"
    run.now += 9
    pending.measure(None)
    assert pending.current.records == 500
    assert pending.current.seconds == pytest.approx(12.5)
    run.commit(2, {"3": [600, 500]})
    run.now += 10
    pending.measure(None)
    assert pending.current == PendingInput(records=0, seconds=0.0)


def test_of_endless_splits_only_event_time_says_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path, monkeypatch)
    pending = run.pending(StreamKind.SPLITS, Pinned(splits={(3, 0): [(0, None)]}))
    run.commit(0, {"3": [100]})
    pending.measure(110_000)
    run.now += 10
    pending.measure(60_000)
    assert pending.current.records is pending.current.files is None
    assert pending.current.seconds == pytest.approx(10.0)
    run.now += 10
    pending.measure(5_000)
    assert pending.current == PendingInput(seconds=0.0)


def test_files_of_a_directory_that_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(tmp_path, monkeypatch)
    run.listed = [f"file:///data/{i}.json" for i in range(10)]
    run.parts = [FileSource(str(tmp_path), "json", continuous=True)]
    run.job.earlier[3, 0] = PinnedFiles({"file:///data/9.json": (1, 1)}, "")
    pending = run.pending(StreamKind.FILES, Pinned())
    run.commit(0, {}, files=3)
    pending.measure(None)
    assert pending.current == PendingInput(files=6)


def test_what_a_micro_batch_has_read_is_not_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path, monkeypatch)
    run.listed = [f"file:///data/{i}.json" for i in range(4)]
    run.parts = [FileSource(str(tmp_path), "json", continuous=True)]
    pending = run.pending(StreamKind.FILES, Pinned())
    run.commit(0, {}, files=1)
    pending.measure(None)
    assert pending.current.files == 3
    pending.note_read(1, {3: {"file:///data/1.json"}})
    assert pending.current.files == 2
    run.now += 10
    pending.measure(None)
    assert pending.current.files == 2, "its commit is not yet in Spark's record"
    run.commit(1, {}, files=2)
    pending.note_read(2, {3: {"file:///data/2.json", "file:///data/3.json"}})
    assert pending.current == PendingInput(files=0, seconds=0.0)


def test_records_that_a_micro_batch_has_read_are_not_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path, monkeypatch)
    pending = run.pending(StreamKind.SPLITS, Pinned(splits={(3, 0): [(0, 600)]}))
    run.commit(0, {"3": [100]})
    pending.measure(None)
    run.commit(1, {"3": [600]})
    pending.note_read(1, {})
    assert pending.current == PendingInput(records=0, seconds=0.0)


@pytest.mark.parametrize(
    ("waiting", "size", "factor", "taken"),
    [
        (8, 10, 4, 2),  # not more than four micro-batches
        (20, 10, 4, 5),
        (500, 10, 4, 8),
        (500, 10, 1, None),
        (500, 200 << 20, 4, 2),  # three would have more bytes than they may
        (500, 150 << 20, 4, 3),
    ],
)
def test_a_start_takes_more_files_at_once_as_far_as_their_bytes_allow(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    waiting: int,
    size: int,
    factor: int,
    taken: int | None,
) -> None:
    run = Run(
        tmp_path,
        monkeypatch,
        **{
            "execution.live.max-files-per-batch": 2,
            "execution.live.catch-up-factor": factor,
        },
    )
    run.listed = [f"file:///data/{i}.json" for i in range(waiting)]
    run.parts = [FileSource(str(tmp_path), "json", continuous=True)]
    monkeypatch.setattr(pending_module, "_size_of", lambda _: size)
    assert run.pending(StreamKind.FILES, Pinned()).files_per_batch() == (
        {} if taken is None else {3: taken}
    )


@pytest.mark.parametrize(
    ("settings", "factor"),
    [
        ({}, 4),
        ({"execution.live.max-files-per-batch": 8}, 1),
        ({"execution.live.max-records-per-batch": 8}, 4),
        ({"execution.live.max-files-per-batch": 8, "execution.live.catch-up-factor": 3}, 3),
    ],
)
def test_a_limit_that_is_set_is_a_limit(settings: dict[str, int], factor: int) -> None:
    configuration = Configuration.from_dict(settings)
    assert catch_up_factor(configuration, MAX_FILES_PER_BATCH) == factor
