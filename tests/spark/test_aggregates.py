"""Spark SQL merges parts of aggregates as workers do, and a job gives one answer wherever they are merged.

Catches: a NULL key that is lost, texts in another order, sums of another type, records that are merged by Spark and
counted once more, a merge that the plan does not show.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.common import Row, Types, WatermarkStrategy
from penstock.connectors.python.discard import DiscardingSink
from penstock.datastream import StreamExecutionEnvironment, col
from penstock.datastream.connectors import FileSource, HybridSource
from penstock.errors import PenstockError
from penstock.expressions.keyed_aggregate import keyed_aggregate
from penstock.spark.expressions.projection import merged, projected
from penstock.types.arrow import arrow_columns, arrow_schema, columns_to_lists
from tests.expressions.test_aggregates import EXACT, RECORDS, ROW, check, expected, last_of_keys
from tests.spark.conftest import Environment
from tests.spark.test_expressions import drawn

VALUES = Types.ROW_NAMED(
    ["k", "flag", "n", "text"],
    [Types.STRING(), Types.BOOLEAN(), Types.INT(), Types.STRING()],
)
HISTORY: list[dict[str, Any]] = [
    {
        "k": None if n % 11 == 0 else f"k{n % 7}",
        "flag": n % 3 == 0,
        "n": None if n % 5 == 0 else n - 60,
        "text": "aZ😀"[n % 3] * (n % 4),
    }
    for n in range(120)
]
LIVE: list[dict[str, Any]] = [
    {"k": f"k{n % 4}", "flag": True, "n": n, "text": "b"} for n in range(9)
]


def test_spark_sql_merges_as_the_reference_does(session: SparkSession, tmp_path: Path) -> None:
    rows = [row for each in drawn(RECORDS, 12) for row in each]
    aggregates = {name: each for name, each in EXACT.items() if name != "sum_money"}
    chain, function = keyed_aggregate(ROW, ("k",), aggregates)
    table = pa.Table.from_arrays(
        arrow_columns(ROW, [list(row) for row in rows]), schema=arrow_schema(ROW)
    )
    pq.write_table(table, tmp_path / "rows.parquet")
    parts = projected(session.read.parquet(str(tmp_path)), chain, None)
    found = merged(parts, function, 2).toArrow()
    lists = [columns_to_lists(batch) for batch in found.to_batches() if batch.num_rows]
    records = [Row(**dict(zip(found.schema.names, each, strict=True)))
               for columns in lists for each in zip(*columns, strict=True)]  # fmt: skip
    assert len(records) == len({row.k for row in rows})
    # The results of these aggregates are their parts.
    check(last_of_keys(records), without_means(expected(rows, aggregates)))


def without_means(wanted: dict[Any, dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    return {
        key: {name: value for name, value in each.items() if not name.startswith("mean")}
        for key, each in wanted.items()
    }


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    paths = (str(tmp_path / "history"), str(tmp_path / "live"))
    for path, rows in zip(paths, (HISTORY, LIVE), strict=True):
        Path(path).mkdir()
        for part in range(2):
            table = pa.Table.from_pylist(rows[part::2], arrow_schema(VALUES))
            pq.write_table(table, Path(path, f"{part}.parquet"))
    return paths


def totals(env: StreamExecutionEnvironment, files: tuple[str, str]) -> Any:
    first, second = (FileSource.parquet(path, VALUES) for path in files)
    source = HybridSource.builder(first).add_source(second).build()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "values")
    return (
        stream.where(col.flag | (col.n > 0))
        .key_by(col.k, col.flag)
        .aggregate(
            records=col.count(),
            n=col.n.count(),
            total=(col.n * 2).sum(),
            mean=col.n.mean(),
            first=col.text.min(),
            last=col.text.max(),
        )
    )


def answer() -> dict[Any, tuple[Any, ...]]:
    groups: dict[Any, list[dict[str, Any]]] = {}
    for row in HISTORY + LIVE:
        if row["flag"] or (row["n"] or 0) > 0:
            groups.setdefault((row["k"], row["flag"]), []).append(row)
    found = {}
    for key, rows in groups.items():
        numbers = [row["n"] for row in rows if row["n"] is not None]
        texts = [row["text"] for row in rows]
        known = (2 * sum(numbers), sum(numbers) / len(numbers)) if numbers else (None, None)
        found[key] = (len(rows), len(numbers), *known, min(texts), max(texts))
    return found


@pytest.mark.parametrize(
    ("mode", "settings"),
    [
        ("batch", {}),
        ("batch", {"execution.batch.combine": "false"}),
        ("batch", {"execution.batch.expressions": "false"}),
        ("mixed", {}),
        ("mixed", {"pipeline.backlog.output": "latest"}),
        ("streaming", {}),
        ("streaming", {"execution.live.engine": "query"}),
    ],
)
def test_one_answer_in_every_mode_and_place(
    environment: Environment, files: tuple[str, str], mode: str, settings: dict[str, str]
) -> None:
    with totals(environment(mode, **settings), files).execute_and_collect() as found:
        last = {(row.k, row.flag): tuple(row)[2:] for row in found}
    assert last == answer()


def test_the_plan_says_where_parts_are_merged(
    environment: Environment, files: tuple[str, str]
) -> None:
    for mode, settings, by_spark in (
        ("batch", {}, True),
        ("mixed", {}, True),
        ("batch", {"execution.batch.combine": "false"}, False),
        ("batch", {"execution.batch.expressions": "false"}, False),
    ):
        env = environment(mode, **settings)
        totals(env, files).sink_to(DiscardingSink())
        plan = env.plan()
        assert any(each.merged_for is not None for each in plan.projections) is by_spark
        assert ("merged by key" in str(plan.decisions)) is by_spark


@pytest.mark.parametrize("combine", ["true", "false"])
def test_a_sum_that_leaves_its_type_fails_the_job(
    environment: Environment, session: SparkSession, combine: str
) -> None:
    env = environment("batch", **{"execution.batch.combine": combine})
    frame = session.range(4).selectExpr("'a' AS k", "9223372036854775807L AS x")
    stream = env.from_dataframe(frame).key_by(col.k).aggregate(total=col.x.sum())
    with pytest.raises(PenstockError) as failed, stream.execute_and_collect() as found:
        list(found)
    assert failed.value.code == "EXPRESSION"
