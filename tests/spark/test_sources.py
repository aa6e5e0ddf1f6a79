"""Sources that are not files: DataFrames, sequences and generators, through Spark."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.api.environment.job import JobStatus
from penstock.common import Types, WatermarkStrategy
from penstock.datastream.connectors import (
    DataGeneratorSource,
    FileSink,
    FileSource,
    HybridSource,
    NumberSequenceSource,
    SparkSource,
)
from tests.spark.conftest import Environment
from tests.spark.waiting import wait_for

NO_TIME = WatermarkStrategy.no_watermarks()
ROW = Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.LONG()])
ROWS = [(f"k{i % 3}" if i % 7 else None, i) for i in range(60)]
TOTALS = {name: sum(n for other, n in ROWS if other == name) for name, _ in ROWS}


def read_rows(directory: Path) -> Counter[tuple[Any, ...]]:
    return Counter(
        tuple(row.values())
        for path in directory.glob("*.parquet")
        for row in pq.read_table(path).to_pylist()
    )


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_a_dataframe_is_a_bounded_stream(
    environment: Environment, session: SparkSession, mode: str
) -> None:
    env = environment(mode)
    frame = session.createDataFrame(ROWS, "name STRING, n LONG")
    rows = env.from_source(SparkSource(frame), NO_TIME, "rows")
    totals = rows.map(lambda row: (row.name, row.n)).key_by(lambda t: t[0]).sum(1)
    with totals.execute_and_collect() as results:
        found = list(results)
    assert dict(found) == TOTALS
    assert len(found) == (len(TOTALS) if mode == "batch" else len(ROWS))


@pytest.mark.parametrize("mode", ["streaming", "mixed"])
def test_a_dataframe_can_be_history(
    environment: Environment, session: SparkSession, tmp_path: Path, mode: str
) -> None:
    parts = [
        session.createDataFrame(rows, "name STRING, n LONG") for rows in (ROWS[:40], ROWS[40:])
    ]
    parts[1].coalesce(1).write.parquet(str(tmp_path / "live"))
    source = (
        HybridSource.builder(SparkSource(parts[0]))
        .add_source(FileSource.parquet(tmp_path / "live", ROW))
        .build()
    )
    env = environment(mode)
    rows = env.from_source(source, NO_TIME, "rows")
    totals = rows.map(lambda row: (row.name, row.n)).key_by(lambda t: t[0]).sum(1)
    with totals.execute_and_collect() as results:
        found = list(results)
    assert dict(found) == TOTALS
    assert len(found) == len(ROWS)


def test_a_streaming_dataframe_is_read_until_the_job_is_cancelled(
    environment: Environment, session: SparkSession, tmp_path: Path
) -> None:
    arriving, out = tmp_path / "arriving", tmp_path / "out"
    schema = "name STRING, n LONG"
    session.createDataFrame(ROWS[:30], schema).coalesce(1).write.parquet(str(arriving))
    frame = session.readStream.schema(schema).parquet(str(arriving)).where("n % 2 = 0")
    env = environment("streaming")
    rows = env.from_source(SparkSource(frame), NO_TIME, "rows")
    rows.sink_to(FileSink.parquet(out))
    client = env.execute_async()
    try:
        wait_for(client, lambda: read_rows(out).total() == 15)
        more = session.createDataFrame(ROWS[30:], schema).coalesce(1)
        more.write.mode("append").parquet(str(arriving))
        wait_for(client, lambda: read_rows(out).total() == 30)
        assert client.get_job_status().result() is JobStatus.RUNNING
    finally:
        client.cancel()
    assert client.get_job_status().result() is JobStatus.CANCELED
    assert session.streams.active == []
    assert read_rows(out) == Counter(row for row in ROWS if row[1] % 2 == 0)


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_both_bounds_of_a_sequence_are_read(environment: Environment, mode: str) -> None:
    env = environment(mode, **{"execution.live.max-records-per-batch": 30})
    numbers = env.from_source(NumberSequenceSource(-5, 50), NO_TIME, "numbers")
    with numbers.execute_and_collect() as results:
        assert sorted(results) == list(range(-5, 51))


def test_a_rate_holds_in_a_live_run(environment: Environment) -> None:
    env = environment("streaming")
    squares = DataGeneratorSource(lambda i: i * i, count=60, records_per_second=30)
    started = time.monotonic()
    with env.from_source(squares, NO_TIME, "squares").execute_and_collect() as results:
        found = list(results)
    seconds = time.monotonic() - started
    assert sorted(found) == [i * i for i in range(60)]
    assert seconds >= 60 / 30


def test_a_batch_run_ignores_the_rate(environment: Environment) -> None:
    env = environment("batch")
    slow = DataGeneratorSource(lambda i: -i, count=100, records_per_second=1)
    started = time.monotonic()
    with env.from_source(slow, NO_TIME, "slow").execute_and_collect() as results:
        assert sorted(results, reverse=True) == [-i for i in range(100)]
    assert time.monotonic() - started < 100


def test_a_generator_without_end_stops_at_the_limit(
    environment: Environment, session: SparkSession
) -> None:
    env = environment("streaming", **{"execution.live.max-records-per-batch": 500})
    endless = env.from_source(DataGeneratorSource(lambda i: i % 10), NO_TIME, "endless")
    totals = endless.map(lambda n: (n, 1)).key_by(lambda t: t[0]).sum(1)
    found = totals.execute_and_collect(limit=700)
    assert isinstance(found, list)
    assert len(found) == 700
    counts = Counter(n for n, _ in found)
    assert set(found) == {(n, i + 1) for n, count in counts.items() for i in range(count)}
    assert session.streams.active == []


TYPED = [
    (
        i,
        None if i % 3 == 0 else datetime(2024, 2, 29, 23, 59, i, 123456, tzinfo=UTC),
        None if i % 4 == 0 else datetime(1969, 12, 31, 23, 59, i, 654321),  # noqa: DTZ001
        None if i % 5 == 0 else Decimal(f"{-i}.{i:02}"),
        None if i % 2 == 0 else [[i, None], None, []],
    )
    for i in range(1, 13)
]
TYPED_ROW = Types.ROW_NAMED(
    ["id", "instant", "local", "amount", "nested"],
    [
        Types.LONG(),
        Types.TIMESTAMP_LTZ(),
        Types.SQL_TIMESTAMP(),
        Types.BIG_DEC(),
        Types.LIST(Types.LIST(Types.LONG())),
    ],
)


@pytest.fixture
def new_york(session: SparkSession) -> Iterator[None]:
    before = str(session.conf.get("spark.sql.session.timeZone"))
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    yield
    session.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.usefixtures("new_york")
@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_typed_columns_survive_from_dataframe_to_parquet(
    environment: Environment, session: SparkSession, tmp_path: Path, mode: str
) -> None:
    """Wherever the session is: it only decides how Spark shows instants as text."""
    frame = session.createDataFrame(
        TYPED,
        "id LONG, instant TIMESTAMP, local TIMESTAMP_NTZ, amount DECIMAL(12, 2), "
        "nested ARRAY<ARRAY<LONG>>",
    )
    env = environment(mode)
    rows = env.from_source(SparkSource(frame), NO_TIME, "rows")
    shuffled = rows.key_by(lambda row: row.id % 3).map(lambda row: row, TYPED_ROW)
    shuffled.sink_to(FileSink.parquet(tmp_path / "out"))
    env.execute()
    found = [
        tuple(row.values())
        for path in (tmp_path / "out").glob("*.parquet")
        for row in pq.read_table(path).to_pylist()
    ]
    assert sorted(found, key=lambda row: row[0]) == TYPED
