"""No column is left out, or left empty, without a word: not in history and not in a live file."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType

from penstock.common import Types, WatermarkStrategy
from penstock.datastream.connectors import FileSink, FileSource, HybridSource
from penstock.errors import SourceError
from penstock.spark.sources.file_columns import FileColumns
from tests.spark.conftest import Environment

NO_TIME = WatermarkStrategy.no_watermarks()
ONE = Types.ROW_NAMED(["a"], [Types.LONG()])
AB = Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()])
TWO = Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.LONG()])


def parquet(path: Path, **columns: list[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def jsons(path: Path, *records: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(record) + "\n" for record in records).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def new_parquet_column(path: Path) -> None:
    parquet(path, a=[2], b=[3])


def new_json_field(path: Path) -> None:
    jsons(path, {"a": 2, "b": 3})


def other_case(path: Path) -> None:
    jsons(path, {"a": 2}, {"A": 2})


def open_quote(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('a,b\n1,"x\n2,y\n')


def closed_quotes(path: Path) -> None:
    path.write_text('a,b\n1,"x"\n2,"y ""z"", "\n3,""\n4,5" wide\n')


def open_quote_zipped(path: Path) -> None:
    path.write_bytes(gzip.compress(b'a,b\n1,"x\n2,y\n'))


def files_of(directory: Path) -> list[str]:
    return [path.as_uri() for path in sorted(directory.glob("*"))]


REFUSED: dict[str, tuple[FileSource, Callable[[Path], None], str, str]] = {
    "parquet": (FileSource.parquet("in"), new_parquet_column, "1.parquet", "column 'b'"),
    "orc": (FileSource("in", "orc"), lambda _: None, "1.orc", "column 'b'"),
    "json": (
        FileSource.json("in"),
        new_json_field,
        "1.json",
        "line 1: the record has the field 'b'",
    ),
    "case": (
        FileSource.json("in", ONE),
        other_case,
        "1.json",
        "line 2: the record has the field 'A'",
    ),
    "zipped": (FileSource.json("in", ONE), other_case, "1.json.gz", "line 2"),
    "csv": (
        FileSource.csv("in", options={"multiLine": "true"}),
        open_quote,
        "1.csv",
        "1 quotes",
    ),
    "line": (
        FileSource.csv("in", None),
        open_quote,
        "1.csv",
        "line 2: field 'b' has the value '\"x', whose quote is left open",
    ),
    "line, zipped": (
        FileSource.csv("in", None),
        open_quote_zipped,
        "1.csv.gz",
        "line 2: field 'b'",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_would_lose_something_is_refused(
    session: SparkSession, tmp_path: Path, name: str
) -> None:
    source, write, file, told = REFUSED[name]
    path = tmp_path / file
    if name == "orc":
        session.range(1).selectExpr("id AS a", "id AS b").write.orc(str(tmp_path / "orc"))
        path = next((tmp_path / "orc").glob("*.orc"))
    write(path)
    fields = [StructField("a", LongType()), StructField("b", StringType())]
    schema = StructType(fields if name.startswith("line") else fields[:1])
    columns = FileColumns(session, source, schema, None)
    with pytest.raises(SourceError) as caught:
        columns.check({path.as_uri(): path.stat().st_size})
    assert path.as_uri() in caught.value.problem
    assert told in caught.value.problem
    # More files than are opened one by one, where Spark has to.
    with pytest.raises(SourceError):
        columns.check({path.as_uri().replace("file:", "file:" + "/" * n): 9 for n in range(9)})


FITTING: dict[str, tuple[FileSource, Callable[[Path], object], str]] = {
    "declared": (FileSource.parquet("in", ONE), new_parquet_column, "1.parquet"),
    "fewer": (FileSource.parquet("in"), lambda path: parquet(path, a=[1]), "1.parquet"),
    "case of parquet": (FileSource.parquet("in"), lambda path: parquet(path, A=[1]), "1.parquet"),
    "declared json": (FileSource.json("in", ONE), new_json_field, "1.json"),
    "both": (FileSource.json("in", ONE), lambda path: jsons(path, {"a": 1, "A": 2}), "1.json"),
    "no json": (FileSource.json("in", ONE), lambda path: path.write_text("{\n[1]\n"), "1"),
    "csv": (FileSource.csv("in", AB), closed_quotes, "1.csv"),
    "permissive": (FileSource.csv("in", AB, options={"mode": "permissive"}), open_quote, "1.csv"),
    "nothing": (FileSource.json("in"), lambda path: path.write_text(""), "1.json"),
}


@pytest.mark.parametrize("name", FITTING)
def test_a_file_that_loses_nothing_is_not(session: SparkSession, tmp_path: Path, name: str) -> None:
    source, write, file = FITTING[name]
    write(tmp_path / file)
    schema = StructType([StructField("a", LongType())])
    FileColumns(session, source, schema, None).check({(tmp_path / file).as_uri(): 9})


@pytest.mark.parametrize("live", [False, True])
def test_a_job_refuses_it_and_leaves_what_was_committed(
    environment: Environment, tmp_path: Path, live: bool
) -> None:
    history, later = tmp_path / "history", tmp_path / "live"
    parquet(history / "0.parquet", a=[1])
    parquet((later if live else history) / "1.parquet", a=[2], b=[3])
    parquet(later / "2.parquet", a=[4])
    hybrid = HybridSource.builder(FileSource.parquet(history))
    source = hybrid.add_source(FileSource.parquet(later).monitor_continuously()).build()
    env = environment("mixed")
    rows = env.from_source(source, NO_TIME, "rows")
    rows.map(lambda row: (row.a,), ONE).sink_to(FileSink.parquet(tmp_path / "out"))
    with pytest.raises(SourceError, match=r"1\.parquet has the column 'b'") as caught:
        env.execute()
    assert caught.value.origin is not None
    written = [pq.read_table(p).to_pylist() for p in (tmp_path / "out").glob("*.parquet")]
    assert written == ([[{"a": 1}]] if live else [])


def test_all_columns_are_read_if_that_is_asked_for(
    environment: Environment, tmp_path: Path
) -> None:
    parquet(tmp_path / "in" / "0.parquet", a=[1])
    parquet(tmp_path / "in" / "1.parquet", a=[2], b=[3])
    source = FileSource.parquet(tmp_path / "in", options={"mergeSchema": "true"})
    rows = environment("batch").from_source(source, NO_TIME, "rows")
    assert sorted(map(tuple, rows.execute_and_collect())) == [(1, None), (2, 3)]


@pytest.mark.parametrize("mode", ["batch", "mixed", "streaming"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_job_refuses_an_open_quote_in_the_last_value(
    environment: Environment, tmp_path: Path, mode: str, end: str
) -> None:
    """History, live and live after history; Spark itself reads `open`."""
    for place in ("history", "live"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "1.csv").write_text('a,b\n1,"x"\n')
    bad = tmp_path / ("history" if mode == "batch" else "live") / "2.csv"
    bad.write_text(f'a,b\n2,"y"\n3,"open{end}')
    history = FileSource.csv(tmp_path / "history", AB)
    live = FileSource.csv(tmp_path / "live", AB).monitor_continuously()
    source: Any = HybridSource.builder(history).add_source(live).build()
    source = {"batch": history, "streaming": live}.get(mode, source)
    rows = environment(mode).from_source(source, NO_TIME, "rows")
    rows.sink_to(FileSink.json(tmp_path / "out"))
    with pytest.raises(
        SourceError, match=r"2\.csv, line 3: field 1 has a quote or line end that is out of place"
    ) as caught:
        rows.get_execution_environment().execute()
    assert caught.value.origin is not None
    assert "open" not in "".join(p.read_text() for p in (tmp_path / "out").rglob("*.json"))
