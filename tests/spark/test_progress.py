"""What runs say of what they have read, and of what is left."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.common import Types, WatermarkStrategy
from penstock.datastream.connectors import FileSource
from penstock.observe.events.job_events import BatchProgress, JobEvent, MicroBatch
from penstock.observe.events.listeners import JobListener, also_listening
from tests.spark.conftest import Environment


class Left(JobListener):
    def __init__(self) -> None:
        self.files: list[int | None] = []

    def on_event(self, event: JobEvent) -> None:
        if isinstance(event, MicroBatch):
            self.files.append(event.files_behind)


class Seen(JobListener):
    """Makes a file when history has told how many records it has read so far."""

    def __init__(self, marker: Path) -> None:
        self._marker = marker
        self.records = 0

    def on_event(self, event: JobEvent) -> None:
        if isinstance(event, BatchProgress) and event.records:
            self.records = event.records
            self._marker.touch()


@pytest.mark.parametrize("kind", ["parquet", "json"])
def test_history_tells_what_it_has_read_before_it_is_through(
    environment: Environment, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "in").mkdir()
    for number in range(2):
        if kind == "json":
            (tmp_path / "in" / f"{number}.json").write_text(f'{{"n": {number}}}\n' * 500)
        else:
            pq.write_table(pa.table({"n": [number] * 500}), tmp_path / "in" / f"{number}.parquet")
    marker = tmp_path / "seen"
    until = time.time() + 90

    def wait(row: Any) -> Any:
        while row.n and not marker.exists() and time.time() < until:
            time.sleep(0.02)
        return row.n

    env = environment("batch")
    row = Types.ROW_NAMED(["n"], [Types.LONG()])
    source = FileSource(str(tmp_path / "in"), kind, row)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    seen = Seen(marker)
    with also_listening(seen):
        found = list(numbers.map(wait).execute_and_collect())
    assert len(found) == 1_000
    assert seen.records in {500, 1_000}


def test_files_that_wait_become_fewer(environment: Environment, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(5):
        pq.write_table(pa.table({"n": [number]}), tmp_path / "in" / f"{number}.parquet")
    env = environment("streaming", **{"execution.live.max-files-per-batch": 1})
    source = FileSource.parquet(tmp_path / "in").monitor_continuously()
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    left = Left()
    with also_listening(left):
        found = numbers.map(lambda row: row.n).execute_and_collect(limit=5)
    assert sorted(found) == [0, 1, 2, 3, 4]
    assert left.files == [4, 3, 2, 1, 0]
