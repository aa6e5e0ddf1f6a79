"""Delta tables on Spark: history, live and both, and on from where a job was stopped.

Every test compares with what one uninterrupted run would have written.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.api.environment.job import JobClient
from penstock.common import Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import FileSink, HybridSource
from penstock.datastream.connectors.delta import DeltaSink, DeltaSource
from penstock.errors import SourceError
from penstock.graph.source import Source
from tests.spark.conftest import Environment, Failures
from tests.spark.test_clients import written
from tests.spark.waiting import wait_for

deltalake = pytest.importorskip("deltalake")

ROW = Types.ROW_NAMED(["key", "n"], [Types.STRING(), Types.LONG()])
NO_TIME = WatermarkStrategy.no_watermarks()


def add(path: Path, first: int, last: int) -> None:
    """Append rows as one version."""
    keys = [f"k{n % 5}" for n in range(first, last)]
    deltalake.write_deltalake(path, pa.table({"key": keys}), mode="append")


def counts(count: int) -> Counter[Any]:
    return Counter((f"k{n % 5}", n // 5 + 1) for n in range(count))


def final(rows: Counter[Any]) -> dict[str, int]:
    return {key: max(n for k, n in rows if k == key) for key, _ in rows}


def start(env: StreamExecutionEnvironment, read: Source, out: Path) -> JobClient:
    """Start a job that counts the rows of every key."""
    rows = env.from_source(read, NO_TIME, "rows").uid("rows")
    ones = rows.map(lambda row: (row.key, 1)).key_by(lambda one: one[0])
    ones.sum(1).uid("counts").map(lambda r: r, ROW).sink_to(FileSink.parquet(out)).uid("out")
    return env.execute_async("rows")


def stop(client: JobClient) -> None:
    client.cancel().result()
    with pytest.raises(Exception, match="cancelled"):
        client.get_job_execution_result().result()


def test_a_batch_run_reads_a_table_in_several_tasks(
    environment: Environment, tmp_path: Path
) -> None:
    table, out = tmp_path / "table", tmp_path / "out"
    add(table, 0, 20_000)
    add(table, 20_000, 50_000)
    client = start(environment("batch"), DeltaSource.table(table).bounded(), out)
    client.get_job_execution_result().result()
    assert final(written(out)) == {f"k{n}": 10_000 for n in range(5)}


@pytest.mark.parametrize("mode", ["streaming", "mixed"])
def test_a_table_is_read_once_over_a_restart(
    environment: Environment, tmp_path: Path, mode: str
) -> None:
    table, out = tmp_path / "table", tmp_path / "out"
    add(table, 0, 50)

    def read() -> Source:
        made = DeltaSource.table(table)
        return HybridSource.until_head(made) if mode == "mixed" else made

    client = start(environment(mode), read(), out)
    wait_for(client, lambda: final(written(out)) == final(counts(50)))
    add(table, 50, 60)
    deltalake.DeltaTable(table).optimize.compact()
    add(table, 60, 70)
    wait_for(client, lambda: final(written(out)) == final(counts(70)))
    stop(client)
    add(table, 70, 90)
    client = start(environment(mode), read(), out)
    wait_for(client, lambda: written(out) == counts(90))
    stop(client)


def test_rows_that_are_removed_while_a_job_reads_stop_it(
    environment: Environment, tmp_path: Path
) -> None:
    table, out = tmp_path / "table", tmp_path / "out"
    add(table, 0, 10)
    client = start(environment("streaming"), DeltaSource.table(table), out)
    wait_for(client, lambda: written(out) == counts(10))
    deltalake.DeltaTable(table).delete("key = 'k1'")
    with pytest.raises(SourceError, match="removed rows or changed them"):
        client.get_job_execution_result().result()


def to_delta(env: StreamExecutionEnvironment, read: Source, sink: DeltaSink) -> JobClient:
    """Start a job that writes how often each key was seen."""
    rows = env.from_source(read, NO_TIME, "rows").uid("rows")
    ones = rows.map(lambda row: (row.key, 1)).key_by(lambda one: one[0])
    ones.sum(1).uid("counts").map(lambda r: r, ROW).sink_to(sink).uid("out")
    return env.execute_async("rows")


def in_table(path: Path) -> Counter[Any]:
    if not deltalake.DeltaTable.is_deltatable(str(path)):
        return Counter()
    found = deltalake.DeltaTable(path).to_pyarrow_table().select(["key", "n"]).to_pylist()
    return Counter(tuple(row.values()) for row in found)


@pytest.mark.parametrize("form", ["append", "upsert"])
@pytest.mark.parametrize("mode", ["batch", "streaming", "mixed"])
def test_counts_are_in_a_table_once_whatever_fails(
    environment: Environment, tmp_path: Path, failures: Failures, mode: str, form: str
) -> None:
    table, out = tmp_path / "table", tmp_path / "out"
    sink = DeltaSink.append(out) if form == "append" else DeltaSink.upsert(out, keys=["key"])
    nth = 1 if mode == "batch" else 2
    inside = "read" if form == "upsert" else "renamed"
    places = [f"delta.{step}:{nth}:raise" for step in ("decided", inside, "committed")]
    settings = failures.at(*places) | {"execution.live.max-records-per-batch": 10}
    for first in range(0, 50, 10):
        add(table, first, first + 10)
    source = DeltaSource.table(table).from_version(0)
    source = source.bounded() if mode == "batch" else source
    read: Source = HybridSource.until_head(source) if mode == "mixed" else source
    client = to_delta(environment(mode, **settings), read, sink)
    if mode == "batch":
        client.get_job_execution_result().result()
        assert in_table(out) == Counter({(f"k{n}", 10): 1 for n in range(5)})
        failures.check_all_happened()
        return
    for first in range(50, 90, 10):
        add(table, first, first + 10)
        wait_for(client, lambda: final(in_table(out)) == final(counts(first + 10)))  # noqa: B023
    stop(client)
    failures.check_all_happened()
    newest = Counter({(f"k{n}", 18): 1 for n in range(5)})
    assert in_table(out) == (counts(90) if form == "append" else newest)
