"""The comparison of a log of files with Spark's file stream: what it writes, and when it ends."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.reading_cost import FILES, KEYS, Arrived, write_files
from penstock.observe.events.job_events import MicroBatch


def test_every_record_is_in_one_of_the_files(tmp_path: Path) -> None:
    write_files(tmp_path / "data", 10_007)
    tables = [pq.read_table(path) for path in (tmp_path / "data").iterdir()]
    assert len(tables) == FILES
    rows = sorted(row["amount"] for table in tables for row in table.to_pylist())
    assert rows == list(range(10_007))
    assert all(row["key"] == row["amount"] % KEYS for row in tables[0].to_pylist())


def test_a_round_ends_with_its_last_record() -> None:
    arrived = Arrived(30)
    for number, total in enumerate((10, 20)):
        arrived.on_event(MicroBatch(number, 10, total, 0.1, None))
    assert not arrived.done.is_set()
    arrived.on_event(MicroBatch(2, 10, 30, 0.1, None))
    assert arrived.done.is_set()
    assert [total for _, total in arrived.commits] == [10, 20, 30]
