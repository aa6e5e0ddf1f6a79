"""DataFrames become streams, and streams DataFrames."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.common import Types
from penstock.datastream import DataStream, col
from penstock.spark.expressions import aggregates
from tests.spark.conftest import Environment

TOTALS = Types.ROW_NAMED(["name", "total"], [Types.STRING(), Types.LONG()])


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_a_dataframe_goes_in_and_a_dataframe_comes_out(
    environment: Environment, session: SparkSession, mode: str
) -> None:
    frame = session.createDataFrame(
        [("a", 1, True), ("b", 2, False), ("a", None, True)], "name STRING, n LONG, used BOOLEAN"
    )
    declared = Types.ROW_NAMED(["n", "name"], [Types.LONG(), Types.STRING()])
    rows = environment(mode).from_dataframe(frame, type_info=declared)
    doubled = rows.map(lambda row: (row.name, row.n and 2 * row.n), TOTALS)
    result = doubled.to_dataframe()
    assert result.dtypes == [("name", "string"), ("total", "bigint")]
    assert sorted(result.collect(), key=str) == [("a", 2), ("a", None), ("b", 4)]
    assert result.groupBy("name").count().where("name = 'a'").first()["count"] == 2


def test_a_stream_of_nothing_is_an_empty_dataframe(
    environment: Environment, tmp_path: Path
) -> None:
    rows = environment("batch").from_collection([], TOTALS)
    result = rows.to_dataframe("nothing", directory=str(tmp_path / "rows"))
    assert result.columns == ["name", "total"]
    assert result.count() == 0


def computed(stream: DataStream[Any], directory: str | None) -> tuple[Any, list[Any]]:
    frame = stream.to_dataframe(directory=directory)
    return frame, sorted((tuple(row) for row in frame.collect()), key=str)


@pytest.mark.parametrize("name", ["select", "aggregate", "quantile"])
def test_expressions_of_a_dataframe_are_one_plan_of_spark(
    environment: Environment, session: SparkSession, tmp_path: Path, name: str
) -> None:
    rows = session.range(50).selectExpr(
        "id % 3 AS k", "id / 8 AS share", "TIMESTAMP_SECONDS(id) AS at"
    )

    numbers = count()

    def program() -> DataStream[Any]:
        job = {"execution.checkpointing.dir": str(tmp_path / f"job-{next(numbers)}")}
        stream = environment("batch", **job).from_dataframe(rows).where(col.k > 0)
        if name == "select":
            return stream.select(col.k, col.share, col.at, more=col.k * 2, hour=col.at.hour())
        aggregates = {"n": col.count(), "mean": col.k.mean(), "last": col.at.max()}
        if name == "quantile":
            aggregates["median"] = col.k.approx_quantile(0.5)
        return stream.key_by(col.k).aggregate(**aggregates)

    alone, found = computed(program(), None)
    run, wanted = computed(program(), str(tmp_path / "rows"))
    assert found == wanted
    assert alone.dtypes == run.dtypes
    plan = alone._jdf.queryExecution().executedPlan().toString()
    assert ("parquet" in plan) is (name == "quantile"), "only workers compute quantiles"


KEYED = {
    "plain": ("id % 3 AS k", "id AS v"),
    "dotted": ("id % 3 AS `a.k`", "id AS `*`"),
    "hidden": ("id % 3 AS k", "id AS _metadata"),
    "text": ("CAST(id % 3 AS STRING) AS k", "CAST(id AS STRING) AS v"),
    "collated": (
        "IF(id % 2 = 0, 'a', 'A') COLLATE UTF8_LCASE AS k",
        "CAST(id AS STRING) COLLATE UTF8_LCASE AS v",
    ),
    "null": ("IF(id % 3 = 0, NULL, id % 3) AS k", "CAST(NULL AS INT) AS v"),
    "small": ("CAST(id % 3 AS TINYINT) AS k", "CAST(id AS SMALLINT) AS v"),
    "time": ("DATE_FROM_UNIX_DATE(CAST(id % 3 AS INT)) AS k", "TIMESTAMP_SECONDS(id) AS v"),
}
"""Columns of a DataFrame whose names or types are a case of their own: a key and a value."""


@pytest.mark.parametrize("case", KEYED)
def test_results_by_key_are_one_plan_with_the_results_of_several(
    environment: Environment,
    session: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    case: str,
) -> None:
    frame = session.range(9).selectExpr(*KEYED[case])
    declared = Types.ROW_NAMED(frame.columns, [Types.STRING(), Types.STRING()])
    type_info = declared if case == "collated" else None
    key, value = frame.columns
    asked = {"n": col.count(), "last": col[value].max(), "some": col[value].count()}
    if frame.dtypes[1][1] in {"bigint", "int", "smallint"}:
        asked |= {"total": col[value].sum(), "mean": (col[value] + 1).mean()}

    def made() -> Any:
        stream = environment("batch").from_dataframe(frame, type_info=type_info)
        return stream.key_by(col[key]).aggregate(**asked).to_dataframe()

    retains_keys = case not in {"null", "collated"}
    session.conf.set("spark.sql.retainGroupColumns", retains_keys)
    try:
        once = made()
    finally:
        session.conf.unset("spark.sql.retainGroupColumns")
    monkeypatch.setattr(aggregates, "is_one_plan", lambda *_: False)
    several = made()
    assert once.dtypes == several.dtypes
    assert sorted(once.collect(), key=str) == sorted(several.collect(), key=str)
    plan = once._jdf.queryExecution().analyzed()
    assert (plan.nodeName(), plan.child().nodeName()) == (
        ("Project", "Aggregate") if case == "collated" else ("Aggregate", "Project")
    )
    is_renamed = plan.child().child().nodeName() == "Project"
    assert is_renamed is (case in {"dotted", "hidden", "collated"})


def test_what_is_more_than_expressions_of_a_dataframe_runs(
    environment: Environment, session: SparkSession, tmp_path: Path
) -> None:
    for mode, then in (
        ("mixed", lambda stream: stream),
        ("batch", lambda stream: stream.map(lambda row: row, output_type=stream.get_type())),
    ):
        env = environment(mode, **{"execution.checkpointing.dir": str(tmp_path / mode)})
        stream = env.from_dataframe(session.range(5)).select(n=col.id + 1)
        frame, found = computed(then(stream), None)
        assert found == [(n,) for n in range(1, 6)]
        assert "parquet" in frame._jdf.queryExecution().executedPlan().toString()
