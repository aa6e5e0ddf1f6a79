"""Insert-only results of SQL on Spark: what a batch job writes to files, and what a stream appends."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from penstock.common import RowKind
from tests.spark.conftest import Environment

START = datetime(2024, 1, 1)  # noqa: DTZ001 - a TIMESTAMP has no zone
QUERIES: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "groups": ("SELECT k, CAST(SUM(v) AS BIGINT) FROM t GROUP BY k", [("a", 4), ("b", 2)]),
    "over": (
        "SELECT k, CAST(SUM(v) OVER (PARTITION BY k ORDER BY v) AS BIGINT) FROM t",
        [("a", 1), ("a", 4), ("b", 2)],
    ),
    "top": (
        "SELECT k, CAST(v AS BIGINT) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) AS r FROM t) WHERE r = 1",
        [("a", 3), ("b", 2)],
    ),
    "distinct": ("SELECT DISTINCT k, CAST(0 AS BIGINT) FROM t", [("a", 0), ("b", 0)]),
    "joined": (
        "SELECT t.k, CAST(u.v AS BIGINT) FROM t LEFT JOIN t AS u ON t.v = u.v + 1",
        [("a", 2), ("a", None), ("b", 1)],
    ),
    "texts": (  # Spark SQL does not compute LISTAGG: operators do
        "SELECT LISTAGG(k), COUNT(*) FROM t GROUP BY v > 1",
        [("a", 1), ("a,b", 2)],
    ),
}


def written(path: Path, file_format: str) -> list[tuple[Any, ...]]:
    """Return the rows of all files of a directory."""
    rows: list[tuple[Any, ...]] = []
    for file in path.rglob("*"):
        parts = file.relative_to(path).parts
        if not file.is_file() or any(each.startswith((".", "_")) for each in parts):
            continue
        if file_format == "parquet":
            found = pq.read_table(file)
        elif file_format == "csv":
            names = pc.ReadOptions(column_names=["k", "n"])
            found = pc.read_csv(
                file, names, convert_options=pc.ConvertOptions(strings_can_be_null=False)
            )
        else:
            lines = map(json.loads, file.read_text().splitlines())
            rows += [(each["k"], each.get("n")) for each in lines]
            continue
        rows += [(each["k"], each["n"]) for each in found.to_pylist()]
    return sorted(rows, key=repr)


@pytest.mark.parametrize("file_format", ["json", "csv", "parquet"])
def test_a_batch_job_writes_final_rows(
    file_format: str, environment: Environment, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(
        pa.table({"k": ["a", "b", "a"], "v": pa.array([1, 2, 3], pa.int32())}),
        tmp_path / "in" / "0.parquet",
    )
    path = tmp_path / "in"
    script = [
        "SET 'execution.runtime-mode' = 'BATCH';",
        f"CREATE TABLE t (k STRING, v INT) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'parquet');",
    ]
    options = f"'connector' = 'filesystem', 'format' = '{file_format}', 'path' = '{tmp_path}"
    script += [
        f"CREATE TABLE to_{name} (k STRING, n BIGINT) WITH ({options}/{name}');" for name in QUERIES
    ]
    script += [f"INSERT INTO to_{name} {query};" for name, (query, _) in QUERIES.items()]
    environment("batch").execute_sql("\n".join(script))
    found = {name: written(tmp_path / name, file_format) for name in QUERIES}
    assert found == {name: sorted(rows, key=repr) for name, (_, rows) in QUERIES.items()}


def at(second: float) -> datetime:
    return START + timedelta(seconds=second)


def add_rows(path: Path, number: int, *rows: tuple[str, int, float]) -> None:
    """Add a file of rows to a directory, whole at once."""
    keys, values, seconds = zip(*rows, strict=True)
    table = pa.table(
        {
            "k": list(keys),
            "v": pa.array(values, pa.int32()),
            "ts": pa.array([at(each) for each in seconds], pa.timestamp("us")),
        }
    )
    pq.write_table(table, path / f".{number}")
    (path / f".{number}").rename(path / f"{number}.parquet")


TABLE = """CREATE TABLE t (k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
WITH ('connector' = 'filesystem', 'path' = '{}', 'format' = 'parquet'{})"""
GROWS = ", 'source.monitor-interval' = '100 ms'"
SESSIONS = """SELECT k, window_start, window_end, COUNT(*) FROM TABLE(
  SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY k, window_start, window_end"""
TOUCHING = [
    ("a", at(0), at(20), 2),
    ("b", at(0.001), at(10.001), 1),
    ("b", at(10.002), at(20.002), 1),
]
OVER = "SELECT k, v, SUM(v) OVER (PARTITION BY k ORDER BY ts) FROM t"
SUMS = [("a", 1, 1), ("b", 2, 2), ("a", 3, 4), ("b", 4, 6)]
FIRST = (("a", 1, 0.0), ("b", 2, 0.001))
SECOND = (("a", 3, 10.0), ("b", 4, 10.002))
END = ("c", 9, 900.0)


@pytest.mark.parametrize(("query", "wanted"), [(SESSIONS, TOUCHING), (OVER, SUMS)])
@pytest.mark.parametrize("mode", ["batch", "mixed", "streaming"])
def test_a_stream_appends_what_a_batch_has(
    mode: str, query: str, wanted: list[Any], environment: Environment, tmp_path: Path
) -> None:
    """Rows exactly a gap apart are one session, one millisecond more makes two; OVER emits each row once."""
    path = tmp_path / "in"
    path.mkdir()
    add_rows(path, 0, *FIRST)
    env = environment(mode)
    if mode == "batch":
        add_rows(path, 1, *SECOND)
    env.execute_sql(TABLE.format(path, "" if mode == "batch" else GROWS))
    with env.sql(query).execute_and_collect() as rows:
        if mode != "batch":
            add_rows(path, 1, *SECOND)
            add_rows(path, 2, END)
        found = [next(rows) for _ in wanted]
    assert sorted(map(tuple, found), key=repr) == sorted(wanted, key=repr)
    assert {row.get_row_kind() for row in found} == {RowKind.INSERT}
