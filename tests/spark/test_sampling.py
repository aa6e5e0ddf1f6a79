"""`take` and `show`: a few records, and nothing else has changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.common import Row, Types, WatermarkStrategy
from penstock.config.configuration import set_process_overrides
from penstock.datastream.connectors import (
    DataGeneratorSource,
    FileSink,
    FileSource,
    HybridSource,
    NumberSequenceSource,
)
from penstock.errors import ArgumentError, GraphError
from tests.spark.conftest import Environment

NO_TIME = WatermarkStrategy.no_watermarks()
DIRECTORY = "execution.checkpointing.dir"


def test_records_of_an_endless_stream(environment: Environment, tmp_path: Path) -> None:
    env = environment("streaming", **{DIRECTORY: str(tmp_path / "job")})
    numbers = env.from_source(DataGeneratorSource(lambda n: n, count=None), NO_TIME, "numbers")
    squares = numbers.map(lambda n: n * n)
    squares.map(lambda n: (n,), Types.TUPLE([Types.LONG()])).sink_to(
        FileSink.parquet(tmp_path / "out")
    )
    found = squares.take(3)
    assert len(found) == 3
    assert set(found) <= {n * n for n in range(10_000)}
    assert not (tmp_path / "job").exists(), "no checkpoint"
    assert not (tmp_path / "out").exists(), "no output"
    assert [sink.name for sink in env.plan().sinks] != ["sample"], "the program is as it was"
    assert len(env.plan().sinks) == 1


def test_a_job_goes_on_where_it_was(environment: Environment, tmp_path: Path) -> None:
    env = environment("streaming", **{DIRECTORY: str(tmp_path / "job")})
    numbers = env.from_source(NumberSequenceSource(1, 20), NO_TIME, "numbers")
    totals = numbers.key_by(lambda n: n % 2).sum().uid("totals")
    totals.print()
    env.execute("totals")
    before = {path: path.read_bytes() for path in (tmp_path / "job").rglob("*") if path.is_file()}
    assert len(totals.take(4)) == 4
    after = {path: path.read_bytes() for path in (tmp_path / "job").rglob("*") if path.is_file()}
    assert before == after


def test_history_is_read_no_further_than_needed(environment: Environment, tmp_path: Path) -> None:
    history = tmp_path / "history"
    history.mkdir()
    for part in range(20):
        pq.write_table(
            pa.table({"n": [part * 10 + n for n in range(10)]}), history / f"{part}.parquet"
        )
    pq.write_table(pa.table({"n": ["no number"]}), history / "99.parquet")
    env = environment("mixed", **{DIRECTORY: str(tmp_path / "job")})
    parquet = FileSource.parquet(history, type_info=Types.ROW_NAMED(["n"], [Types.LONG()]))
    live = FileSource.parquet(tmp_path / "live", type_info=Types.ROW_NAMED(["n"], [Types.LONG()]))
    (tmp_path / "live").mkdir()
    source = HybridSource.builder(parquet).add_source(live.monitor_continuously()).build()
    rows = env.from_source(source, NO_TIME, "rows")
    assert len(rows.take(5)) == 5


def test_fewer_records_than_were_asked_for(environment: Environment) -> None:
    env = environment("batch")
    numbers = env.from_collection([3, 1, 2])
    assert sorted(numbers.take(10)) == [1, 2, 3]
    assert numbers.take(0) == []
    for wrong in (-1, 1.5, True, "3"):
        with pytest.raises(ArgumentError, match="take got"):
            numbers.take(wrong)  # type: ignore[arg-type]


def test_records_are_shown_as_a_table(environment: Environment, capsys: Any) -> None:
    env = environment("batch")
    people = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
    env.from_collection([Row("ann", 5)], people).show()
    env.from_collection([7]).name("numbers").show()
    assert capsys.readouterr().out == "name   age\n'ann'  5\nnumbers\n7\n"


def test_a_directory_of_the_command_line_is_not_used(
    environment: Environment, tmp_path: Path
) -> None:
    set_process_overrides("cli", {DIRECTORY: str(tmp_path / "of-the-command")})
    try:
        with pytest.raises(GraphError, match="is set by cli"):
            environment("batch").from_collection([1]).take(1)
    finally:
        set_process_overrides("cli", {})
