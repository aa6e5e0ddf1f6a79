"""Rows of numbers go to workers in batches whose bytes Spark does not count; rows that may be large are counted, and so are those of others."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.spark.session.job_settings import BATCH_BYTES, plan_with_partitions
from penstock.spark.sources.source_reads import has_small_batches, without_limit

RECORDS = "spark.sql.execution.arrow.maxRecordsPerBatch"


def sizes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.record_batch({"rows": [batch.num_rows]})


def rows_of_batches(rows: DataFrame) -> list[int]:
    return [size for (size,) in rows.mapInArrow(sizes, "rows LONG").collect()]


def test_a_query_without_a_limit_leaves_the_session_as_it_is(session: SparkSession) -> None:
    before = str(session.conf.get(BATCH_BYTES))
    rows = session.range(0, 100, numPartitions=1)
    try:
        session.conf.set(BATCH_BYTES, "80")
        made = without_limit(rows.mapInArrow(sizes, "rows LONG"))
        assert session.conf.get(BATCH_BYTES) == "80"
        assert [size for (size,) in made.collect()] == [100]
        assert len(rows_of_batches(rows)) > 1
    finally:
        session.conf.set(BATCH_BYTES, before)


def test_a_query_without_a_limit_is_planned_with_its_number_of_partitions(
    session: SparkSession,
) -> None:
    counted = session.range(100).selectExpr("id % 7 AS key").groupBy("key").count()
    made = without_limit(counted.mapInArrow(sizes, "rows LONG"))
    plan_with_partitions(made, 1, adapts=False)  # of the session it would be 2
    assert made._jdf.queryExecution().executedPlan().outputPartitioning().numPartitions() == 1
    assert sum(size for (size,) in made.collect()) == 7


MANY = [f"id AS c{n}" for n in range(104)]
"""As many LONG as a batch of 10,000 rows may have."""


@pytest.mark.parametrize(
    ("columns", "is_small"),
    [
        (["id"], True),
        (["id > 1", "CAST(id AS DOUBLE)", "CAST(id AS DECIMAL(38, 0))"], True),
        (["current_date()", "current_timestamp()"], True),
        (["id", "CAST(id AS STRING) AS text"], False),
        (["id", "array(id) AS list"], False),
        (["id", "struct(id) AS row"], False),
        (MANY, True),
        ([*MANY, "id"], False),
    ],
)
def test_rows_are_small_if_their_types_say_so(
    session: SparkSession, columns: list[str], *, is_small: bool
) -> None:
    assert has_small_batches(session.range(1).selectExpr(*columns)) is is_small


def test_a_batch_of_all_rows_is_not_small(session: SparkSession) -> None:
    before = str(session.conf.get(RECORDS))
    try:
        session.conf.set(RECORDS, "0")
        assert not has_small_batches(session.range(1))
    finally:
        session.conf.set(RECORDS, before)
