"""State of aggregates of columns in savepoints: of history that Spark SQL merged, shown, and taken over by a changed program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from penstock.api.environment.job import JobClient
from penstock.cli.main import command_line
from penstock.common import Row, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment, col
from penstock.datastream.connectors import DataGeneratorSource, FileSink, FileSource, HybridSource
from penstock.errors import StateMigrationError
from penstock.state.savepoint import read_savepoint
from penstock.types.arrow import arrow_schema
from tests.spark.conftest import Environment
from tests.spark.waiting import wait_for

HISTORY, COUNT, KEYS = 100, 320, 5
NUMBER = Types.ROW_NAMED(["key", "n"], [Types.LONG(), Types.LONG()])


def started(
    env: StreamExecutionEnvironment, history: Path, out: Path, **aggregates: Any
) -> JobClient:
    """Aggregate numbers, of which the first are history in files."""
    live = DataGeneratorSource(
        lambda i: Row(key=i % KEYS, n=HISTORY + i), type_info=NUMBER, count=COUNT
    )
    source = HybridSource.builder(FileSource.parquet(history, NUMBER)).add_source(live).build()
    rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    totals = rows.key_by(col.key).aggregate(**aggregates).uid("totals")
    totals.sink_to(FileSink.parquet(out).with_sequence_column("seq")).uid("out")
    return env.execute_async("totals")


def last_of_keys(out: Path) -> dict[int, dict[str, Any]]:
    tables = [pq.read_table(path) for path in out.glob("*.parquet")]
    rows = sorted([row for table in tables for row in table.to_pylist()], key=lambda r: r["seq"])
    return {row.pop("key"): row for row in rows if row.pop("seq") is not None}


def shown(*arguments: str) -> list[dict[str, Any]]:
    result = CliRunner().invoke(command_line(), ["state", *arguments, "--json"])
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_savepoint_goes_on_with_what_was_computed(
    environment: Environment, tmp_path: Path
) -> None:
    history = tmp_path / "history"
    history.mkdir()
    table = pa.table(
        [[n % KEYS for n in range(HISTORY)], [*range(HISTORY)]], schema=arrow_schema(NUMBER)
    )
    pq.write_table(table, history / "0.parquet")

    def at(name: str, parallelism: int, **settings: Any) -> StreamExecutionEnvironment:
        directory = {"execution.checkpointing.dir": str(tmp_path / name)}
        keys = {"parallelism.default": parallelism, "execution.live.max-records-per-batch": 40}
        return environment("mixed", **directory, **keys, **settings)

    one, two = tmp_path / "one", tmp_path / "two"
    env = at("first", 2)
    client = started(env, history, one, n=col.count(), total=col.n.sum(), mean=col.n.mean())
    wait_for(client, lambda: any(row["n"] > HISTORY // KEYS for row in last_of_keys(one).values()))
    savepoint = client.stop_with_savepoint().result()
    client.get_job_execution_result().result()
    splits = read_savepoint(Path(savepoint)).sources[0].position["splits"]
    left = {HISTORY + n for at, end in splits for n in range(int(at), int(end))}
    read = [n for n in range(HISTORY + COUNT) if n not in left]
    assert left
    assert len(read) > HISTORY

    (state,) = shown("ls", savepoint)
    entries = shown("show", savepoint, state["uid"], state["name"])
    numbers = {key: [n for n in read if n % KEYS == key] for key in range(KEYS)}
    assert {entry["key"]: entry["value"] for entry in entries} == {
        key: {
            "key": key,
            "count()": len(some),
            "sum(n)": sum(some),
            "count(n)": len(some),
        }
        for key, some in numbers.items()
    }

    recovery = {"execution.state-recovery.path": savepoint}
    client = started(at("third", 3, **recovery), history, two, n=col.count(), most=col.n.max())
    with pytest.raises(StateMigrationError, match=r"not max\(n\)"):
        client.get_job_execution_result().result()

    env = at("second", 3, **recovery)
    client = started(env, history, two, all=col.n.sum(), records=col.count())
    client.get_job_execution_result().result()
    every = {key: range(key, HISTORY + COUNT, KEYS) for key in range(KEYS)}
    assert last_of_keys(two) == {
        key: {"all": sum(some), "records": len(some)} for key, some in every.items()
    }
