"""DataFrames become streams, and streams DataFrames."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.common import Types
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
