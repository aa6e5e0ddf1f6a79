"""A column is read under its own name, whatever that name means to Spark.

One file of each format has all names. History goes through `read`, live through `readStream`.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StructField, StructType

from penstock.common import Row, Types, WatermarkStrategy
from penstock.datastream.connectors import FileSource, HybridSource, SparkSource
from penstock.errors import ArgumentError, SourceError
from tests.spark.column_names import IN_CSV, NAMES
from tests.spark.conftest import Environment

NO_TIME = WatermarkStrategy.no_watermarks()
STRUCT = "a"
"""The column that is a struct with a field `b`."""


def values(names: tuple[str, ...], first: int) -> dict[str, Any]:
    """Return a record: a number per name."""
    found: dict[str, Any] = {name: first + at for at, name in enumerate(names)}
    if STRUCT in found:
        found[STRUCT] = {"b": -first - 1}
    return found


def write_parquet(path: Path, record: dict[str, Any]) -> None:
    pq.write_table(pa.table({name: [value] for name, value in record.items()}), path)


def write_json(path: Path, record: dict[str, Any]) -> None:
    path.write_text(json.dumps(record) + "\n")


def write_csv(path: Path, record: dict[str, Any]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([record.keys(), record.values()])


def json_of(row: Row) -> str:
    return in_order(row.as_dict(recursive=True))


def in_order(record: dict[str, Any]) -> str:
    return json.dumps(record, sort_keys=True)


def test_all_names_in_files_of_all_formats_in_history_and_live(
    environment: Environment, tmp_path: Path
) -> None:
    wide = {
        "parquet": (FileSource.parquet, write_parquet, NAMES),
        "json": (FileSource.json, write_json, tuple(filter(None, NAMES))),  # not inferred: ""
        "csv": (FileSource.csv, write_csv, tuple(name for name in IN_CSV if name != STRUCT)),
    }
    env = environment("mixed")
    streams, expected = [], []
    for number, (name, (make, write, names)) in enumerate(wide.items()):
        records = [values(names, 1000 * number + first) for first in (100, 200)]
        parts = [tmp_path / f"{name}-{part}" for part in ("history", "live")]
        for path, record in zip(parts, records, strict=True):
            path.mkdir()
            write(path / f"0.{name}", record)
        hybrid = HybridSource.builder(make(parts[0])).add_source(make(parts[1])).build()
        rows = env.from_source(hybrid, NO_TIME, name)
        streams.append(rows.map(json_of, Types.STRING()))
        expected += records
    found = sorted(streams[0].union(*streams[1:]).execute_and_collect())
    for got, wanted in zip(found, sorted(map(in_order, expected)), strict=True):
        assert json.loads(got) == json.loads(wanted)


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_all_names_from_a_dataframe_to_a_dataframe(
    environment: Environment, session: SparkSession, mode: str
) -> None:
    names = ["a.b", *(name for name in NAMES if name != "a.b")]
    schema = StructType([StructField(name, LongType()) for name in names])
    frame = session.createDataFrame([tuple(range(len(names)))], schema)
    chosen = names[::-1]
    declared = Types.ROW_NAMED(chosen, [Types.LONG()] * len(chosen))
    rows = environment(mode).from_dataframe(frame, type_info=declared)
    result = rows.map(lambda row: row, declared).to_dataframe()
    assert result.columns == chosen
    assert [tuple(row) for row in result.collect()] == [tuple(range(len(names)))[::-1]]


TWINS = Types.ROW_NAMED(["id", "Id"], [Types.LONG(), Types.LONG()])


@pytest.mark.parametrize("make", [FileSource.parquet, FileSource.json, FileSource.csv])
@pytest.mark.parametrize("mode", ["batch", "mixed"])
def test_declared_names_that_spark_cannot_tell_apart_are_refused_before_anything_is_read(
    environment: Environment, tmp_path: Path, make: Any, mode: str
) -> None:
    env = environment(mode)
    source = make(tmp_path / "nowhere", TWINS)
    env.from_source(source, NO_TIME, "rows").print()
    with pytest.raises(SourceError) as caught:
        env.execute()
    assert "'id'" in caught.value.problem
    assert "'Id'" in caught.value.problem
    assert "spark.sql.caseSensitive" in caught.value.hint
    assert caught.value.origin is not None


def test_a_dataframe_may_have_case_twins_and_not_the_same_name_twice(
    environment: Environment, session: SparkSession
) -> None:
    frame = session.createDataFrame([(1, 2)], "id LONG, Id LONG")
    env = environment("batch")
    rows = env.from_dataframe(frame, type_info=TWINS)
    with pytest.raises(SourceError, match="'id' and 'Id'"):
        rows.to_dataframe()
    assert list(rows.map(tuple).execute_and_collect()) == [(1, 2)]
    with pytest.raises(ArgumentError, match="two columns called 'id'"):
        env.from_source(SparkSource(frame.toDF("id", "id")), NO_TIME, "rows")
