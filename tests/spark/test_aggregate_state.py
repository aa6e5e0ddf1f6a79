"""State of aggregates of columns: savepoints with it, what `penstock state` shows of it, and aggregates that come and go."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from typer.testing import CliRunner

from penstock.api.environment.job import JobClient
from penstock.cli.main import command_line
from penstock.common import Row, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment, col
from penstock.datastream.connectors import DataGeneratorSource, FileSink
from penstock.state.savepoint import read_savepoint
from tests.spark.conftest import Environment
from tests.spark.test_clients import written
from tests.spark.waiting import wait_for

COUNT, KEYS = 320, 5
NUMBER = Types.ROW_NAMED(["key", "n"], [Types.LONG(), Types.LONG()])


def started(env: StreamExecutionEnvironment, out: Path, **aggregates: Any) -> JobClient:
    source = DataGeneratorSource(lambda i: Row(key=i % KEYS, n=i), type_info=NUMBER, count=COUNT)
    rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    totals = rows.key_by(col.key).aggregate(**aggregates).uid("totals")
    totals.sink_to(FileSink.parquet(out).with_sequence_column("seq")).uid("out")
    return env.execute_async("totals")


def last_of_keys(out: Path) -> dict[int, dict[str, Any]]:
    tables = [pq.read_table(path) for path in out.glob("part-*")]
    rows = sorted([row for table in tables for row in table.to_pylist()], key=lambda r: r["seq"])
    return {row["key"]: row for row in rows}


def shown(*arguments: str) -> list[dict[str, Any]]:
    result = CliRunner().invoke(command_line(), ["state", *arguments, "--json"])
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_savepoint_has_the_parts_and_aggregates_come_and_go(
    environment: Environment, tmp_path: Path
) -> None:
    def at(name: str, parallelism: int, **settings: Any) -> StreamExecutionEnvironment:
        directory = {"execution.checkpointing.dir": str(tmp_path / name)}
        keys = {"parallelism.default": parallelism, "execution.live.max-records-per-batch": 40}
        return environment("streaming", **directory | keys | settings)

    mean = col.n.mean()
    client = started(at("first", 2), tmp_path / "one", n=col.count(), total=col.n.sum(), mean=mean)
    wait_for(client, lambda: bool(written(tmp_path / "one")))
    savepoint = client.stop_with_savepoint().result()
    client.get_job_execution_result().result()
    splits = read_savepoint(Path(savepoint)).sources[0].position["splits"]
    left = [n for at, end in splits for n in range(int(at), int(end))]
    read = [n for n in range(COUNT) if n not in left]
    assert read
    assert left

    (state,) = shown("ls", savepoint)
    entries = shown("show", savepoint, state["operator"], state["name"])
    numbers = {key: [n for n in read if n % KEYS == key] for key in range(KEYS)}
    assert {entry["key"]: entry["value"] for entry in entries} == {
        key: {
            "key": key,
            "n": len(some),
            "total": sum(some),
            "mean.sum": sum(some),
            "mean.count": len(some),
        }
        for key, some in numbers.items()
    }

    recovery = {"execution.state-recovery.path": savepoint}
    client = started(at("second", 3, **recovery), tmp_path / "two", n=col.count(), most=col.n.max())
    client.get_job_execution_result().result()
    assert {
        key: (row["n"], row["most"]) for key, row in last_of_keys(tmp_path / "two").items()
    } == {key: (COUNT // KEYS, max(n for n in left if n % KEYS == key)) for key in range(KEYS)}
