"""File sources and sinks through Spark, in every mode, with names that need escaping."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from penstock.common import Row, Types, WatermarkStrategy
from penstock.datastream.connectors import FileSink, FileSource, HybridSource
from tests.spark.conftest import Environment

NO_TIME = WatermarkStrategy.no_watermarks()
ROW = Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.LONG()])


def write_parquet(path: Path, rows: list[tuple[str | None, int]]) -> None:
    names, numbers = zip(*rows, strict=True)
    table = pa.table({"name": pa.array(names, pa.string()), "n": pa.array(numbers, pa.int64())})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)


def read_parquet(directory: Path) -> Counter[tuple[Any, ...]]:
    return Counter(
        tuple(row.values())
        for path in directory.glob("*.parquet")
        for row in pq.read_table(path).to_pylist()
    )


def test_csv_json_and_text_files_are_read_as_declared(
    environment: Environment, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("name,n\nx,1\ny,2\n")
    (tmp_path / "a.json").write_text('{"name": "z", "n": 3}\n{"n": 4}\n')
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    env = environment("batch")
    csv = env.from_source(FileSource.csv(str(tmp_path / "a.csv"), ROW), NO_TIME, "csv", ROW)
    json = env.from_source(FileSource.json(str(tmp_path / "a.json"), ROW), NO_TIME, "json", ROW)
    text = env.from_source(FileSource.text(str(tmp_path / "a.txt")), NO_TIME, "text")
    lines = text.map(lambda line: Row(name=line, n=len(line)), ROW)
    found = Counter(tuple(row) for row in csv.union(json, lines).execute_and_collect())
    assert found == Counter(
        {("x", 1): 1, ("y", 2): 1, ("z", 3): 1, (None, 4): 1, ("one", 3): 1, ("two", 3): 1}
    )


@pytest.mark.parametrize("mode", ["batch", "streaming", "mixed"])
def test_parquet_to_parquet_with_awkward_names(
    environment: Environment, tmp_path: Path, mode: str
) -> None:
    history, live = tmp_path / "a b[1]%", tmp_path / "live+*dir"
    write_parquet(history / "x {y}.parquet", [("a", 1), (None, 2)])
    write_parquet(live / "z?.parquet", [("c", 3)])
    env = environment(mode)
    escaped = [str(p).replace("[", r"\[").replace("*", r"\*") for p in (history, live)]
    source = HybridSource.builder(FileSource.parquet(escaped[0]))
    rows = env.from_source(
        source.add_source(FileSource.parquet(escaped[1])).build(), NO_TIME, "rows"
    )
    rows.map(lambda row: (row[0], row[1] * 10), ROW).sink_to(FileSink.parquet(tmp_path / "out"))
    env.execute()
    assert read_parquet(tmp_path / "out") == Counter({("a", 10): 1, (None, 20): 1, ("c", 30): 1})


def test_history_and_live_may_share_a_directory(environment: Environment, tmp_path: Path) -> None:
    """What history has read is not read again; what arrives later is, exactly once."""
    shared = tmp_path / "shared"
    write_parquet(shared / "0.parquet", [("a", 1), ("a", 2)])
    env = environment("mixed")
    source = (
        HybridSource.builder(FileSource.parquet(str(shared)))
        .add_source(FileSource.parquet(str(shared)).monitor_continuously())
        .build()
    )
    rows = env.from_source(source, NO_TIME, "rows")
    totals = rows.map(tuple).key_by(lambda t: t[0]).sum(1)

    pinned = tmp_path / "job" / "run-0.pinned.json"

    def arrive() -> None:
        while not pinned.exists():  # then it is decided what history is
            time.sleep(0.05)
        write_parquet(tmp_path / "elsewhere" / "1.parquet", [("a", 10)])
        (tmp_path / "elsewhere" / "1.parquet").rename(shared / "1.parquet")

    feeder = threading.Thread(target=arrive)
    feeder.start()
    found = totals.execute_and_collect(limit=3)
    feeder.join()
    assert found == [("a", 1), ("a", 3), ("a", 13)]


@pytest.mark.parametrize("watched", [False, True])
def test_a_live_file_months_older_than_the_newest_is_read(
    environment: Environment, tmp_path: Path, watched: bool
) -> None:
    """Spark skips files a week older than the newest, silently, unless told otherwise."""
    now = time.time()
    for days in (0, 1, 30, 200):
        write_parquet(tmp_path / "in" / f"{days}.parquet", [("a", days)])
        stamp = now - days * 86_400
        os.utime(tmp_path / "in" / f"{days}.parquet", (stamp, stamp))
    env = environment("streaming", **{"execution.live.max-files-per-batch": 1})
    source = FileSource.parquet(tmp_path / "in", ROW)
    rows = env.from_source(source.monitor_continuously() if watched else source, NO_TIME, "rows")
    found = rows.map(lambda row: row.n).execute_and_collect(limit=4)
    assert isinstance(found, list)
    assert sorted(found) == [0, 1, 30, 200]


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_an_empty_directory_is_an_empty_stream(
    environment: Environment, tmp_path: Path, mode: str
) -> None:
    (tmp_path / "empty").mkdir()
    env = environment(mode)
    rows = env.from_source(FileSource.parquet(str(tmp_path / "empty"), ROW), NO_TIME, "none")
    assert list(rows.key_by(lambda row: row[0]).reduce(max).execute_and_collect()) == []


def test_a_job_that_is_finished_does_nothing_when_started_again(
    environment: Environment, tmp_path: Path
) -> None:
    write_parquet(tmp_path / "in" / "0.parquet", [("a", 1)])
    for _ in range(2):
        env = environment("mixed")
        rows = env.from_source(FileSource.parquet(str(tmp_path / "in")), NO_TIME, "rows")
        rows.map(tuple, ROW).sink_to(FileSink.csv(tmp_path / "out"))
        env.execute()
    written = list((tmp_path / "out").glob("*.csv"))
    assert len(written) == 1
    assert pyarrow.csv.read_csv(written[0]).to_pylist() == [{"name": "a", "n": 1}]
