"""Groups of windows of SQL on Spark: history merged by Spark SQL, then live, gives what all of it gives row by row in this process."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.common import Duration, Row, Types, WatermarkStrategy
from penstock.datastream import col
from penstock.datastream.connectors import CollectionSource, FileSource, HybridSource
from penstock.relation.groups import WindowGroupBy
from penstock.sql.streams import StreamTable
from penstock.testing import collect
from tests.spark.conftest import Environment

START = datetime(2024, 1, 1)  # noqa: DTZ001 - a TIMESTAMP has no zone
KIND = Types.ROW_NAMED(["k", "n", "ts"], [Types.STRING(), Types.LONG(), Types.SQL_TIMESTAMP()])
ROWS = [
    (
        "abc"[number % 3],
        None if number % 7 == 0 else number,
        START + timedelta(milliseconds=379 * number),
    )
    for number in range(60)
]
STRATEGY = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(30))
STRATEGY = STRATEGY.with_timestamp_assigner(col.ts)
QUERY = (
    "SELECT k, window_start, window_end, window_time, COUNT(*) AS c, SUM(n) AS s, AVG(n) AS a FROM TABLE({}(TABLE t, DESCRIPTOR(ts), {}))"
    " {} GROUP BY k, window_start, window_end, window_time"
)
WINDOWS = {
    "TUMBLE": "INTERVAL '5' SECOND",
    "HOP": "INTERVAL '2' SECOND, INTERVAL '6' SECOND",
    "CUMULATE": "INTERVAL '3' SECOND, INTERVAL '9' SECOND",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    made = []
    for number, rows in enumerate((ROWS[:41], ROWS[41:])):
        path = tmp_path_factory.mktemp(f"part{number}")
        names = dict(zip(KIND.field_names, zip(*rows, strict=True), strict=True))
        pq.write_table(pa.table(names), Path(path) / "rows.parquet")
        made.append(str(path))
    return made


def of(env: Any, source: Any, query: str) -> Any:
    table = StreamTable(env.from_source(source, STRATEGY, "t"), time="ts")
    return env.sql(query, {"t": table})


def row_by_row(
    query: str, rows: list[Any], environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> list[Any]:
    with monkeypatch.context() as patched:
        patched.setattr(WindowGroupBy, "rows", "asked for")
        source = CollectionSource.of([Row(*each) for each in rows], KIND)
        return sorted(map(tuple, collect(of(environment("batch"), source, query))), key=repr)


@pytest.mark.parametrize("windows", WINDOWS)
@pytest.mark.parametrize(
    ("mode", "condition"), [("batch", ""), ("mixed", ""), ("mixed", "WHERE n > 9")]
)
def test_history_and_live_are_one_answer(
    mode: str,
    condition: str,
    windows: str,
    environment: Environment,
    files: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    query = QUERY.format(windows, WINDOWS[windows], condition)
    first, second = (FileSource.parquet(path, KIND) for path in files)
    source: Any = first
    if mode == "mixed":
        source = HybridSource.builder(first).add_source(second).build()
    rows = ROWS if mode == "mixed" else ROWS[:41]
    wanted = row_by_row(query, rows, environment, monkeypatch)
    env = environment(mode, **{"execution.batch.queries": "false"})
    made = of(env, source, query)
    with made.execute_and_collect() as found:
        assert sorted(map(tuple, found), key=repr) == wanted
    assert len(wanted) > 9
