"""Spark SQL computes expressions as the reference does, and a job gives one answer wherever they run.

Catches: semantics that Spark has by default (NaN, remainders, zones), evaluation in another order, columns
mixed up by a projection, a program that still has the operator, or has it not where Spark did not run it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from penstock.common import Row, Types, WatermarkStrategy
from penstock.connectors.files.file_formats import FileFormat
from penstock.connectors.files.file_naming import BucketAssigner
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.connectors.spark_source import by_position
from penstock.datastream import StreamExecutionEnvironment, col, when
from penstock.datastream.connectors import FileSink, FileSource, HybridSource
from penstock.errors import ConfigError, PenstockError
from penstock.expressions.facts import nowhere
from penstock.expressions.functions import FUNCTIONS
from penstock.expressions.steps import adds_decimals
from penstock.expressions.tree import Expression
from penstock.expressions.typing import typed
from penstock.spark.expressions.builders import BUILDERS
from penstock.spark.expressions.projection import built, fields
from penstock.types.arrow import arrow_columns, arrow_schema, columns_to_lists
from tests.expressions.generated import FIELDS, ROW, expressions, records, same
from tests.expressions.reference import NoValueError, evaluate
from tests.spark.conftest import Environment

JOBS, PER_JOB, ROWS = 3, 50, 40


def test_all_functions_have_a_builder() -> None:
    assert set(BUILDERS) == {
        name for name, function in FUNCTIONS.items() if function.spark is not nowhere
    }


@pytest.fixture
def far_zone(session: SparkSession) -> Iterator[SparkSession]:
    before = str(session.conf.get("spark.sql.session.timeZone"))
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    yield session
    session.conf.set("spark.sql.session.timeZone", before)


def drawn(strategy: st.SearchStrategy[Any], count: int) -> list[Any]:
    found: list[Any] = []

    @settings(
        max_examples=count,
        database=None,
        derandomize=True,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def draw(each: Any) -> None:
        found.append(each)

    draw()
    return found


def outcomes(expression: Expression, rows: list[Row]) -> dict[int, Any]:
    """Return the index of every record that has a value, with the value."""
    found = {}
    for at, row in enumerate(rows):
        try:
            found[at] = evaluate(expression, row.as_dict())
        except NoValueError:
            continue
    return found


def in_sql(expression: Expression, frame: DataFrame, chosen: list[int]) -> Column:
    return sf.when(sf.col(f"c{len(FIELDS)}").isin(chosen), built(expression, fields(frame, ROW)))


def test_spark_agrees_with_the_reference(far_zone: SparkSession, tmp_path: Path) -> None:
    rows = drawn(records(), ROWS)[:ROWS]
    table = pa.Table.from_arrays(
        [*arrow_columns(ROW, rows), pa.array(range(len(rows)), pa.int64())],
        schema=arrow_schema(ROW).append(pa.field("n", pa.int64())),
    )
    pq.write_table(table, tmp_path / "rows.parquet")
    trees = drawn(expressions(), JOBS * PER_JOB)
    made = [typed(tree, ROW, "test") for tree in trees]
    made = [each for each in made if not adds_decimals(each)]  # the planner leaves them to workers
    assert len(made) > JOBS * PER_JOB // 2
    frame = by_position(far_zone.read.parquet(str(tmp_path)))
    compared = 0
    for first in range(0, len(made), PER_JOB):
        some = made[first : first + PER_JOB]
        expected = [outcomes(each, rows) for each in some]
        chosen = [
            in_sql(each, frame, list(values)).alias(f"x{at}")
            for at, (each, values) in enumerate(zip(some, expected, strict=True))
        ]
        found = frame.select(sf.col(f"c{len(FIELDS)}").alias("n"), *chosen).toArrow()
        numbers, *columns = columns_to_lists(found.combine_chunks().to_batches()[0])
        for expression, values, column in zip(some, expected, columns, strict=True):
            for n, value in zip(numbers, column, strict=True):
                if n in values:
                    assert same(value, values[n]), (str(expression), rows[n])
                    compared += 1
    assert compared > JOBS * PER_JOB * ROWS // 4


FLIGHT = Types.ROW_NAMED(
    ["carrier", "delay", "at", "a.b"],
    [Types.STRING(), Types.INT(), Types.TIMESTAMP_LTZ(), Types.DOUBLE()],
)


@pytest.fixture
def flights(tmp_path: Path) -> tuple[str, str]:
    """Return directories with history and with what comes behind it."""
    rows = [
        Row(
            **{
                "carrier": f"c{n % 3}" if n % 7 else None,
                "delay": n % 40 - 5 if n % 5 else None,
                "at": datetime(2026, 3, 1, n % 24, tzinfo=UTC),
                "a.b": n / 4,
            }
        )
        for n in range(200)
    ]
    for name, some in (("history", rows[:150]), ("live", rows[150:])):
        (tmp_path / name).mkdir()
        for part in range(2):
            table = pa.Table.from_arrays(
                arrow_columns(FLIGHT, some[part::2]), schema=arrow_schema(FLIGHT)
            )
            pq.write_table(table, tmp_path / name / f"{part}.parquet")
    return str(tmp_path / "history"), str(tmp_path / "live")


def by_columns(stream: Any) -> Any:
    return (
        stream.where(col.delay > 0, 100 / col.delay < 60)
        .with_columns(hour=col.at.hour(), share=col["a.b"] / col.delay)
        .select(
            col.carrier.fill_null("none").alias("carrier"),
            when(col.share > 1, "much").otherwise("little").alias("how much"),
            col["a.b"],
            hour=col.hour % 5,
        )
        .key_by(col.carrier)
        .map(tuple)
    )


def answer(env: StreamExecutionEnvironment, paths: tuple[str, str], job: Any) -> list[Any]:
    first, second = (FileSource.parquet(path, FLIGHT) for path in paths)
    source = HybridSource.builder(first).add_source(second).build()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "flights")
    with job(stream).execute_and_collect() as found:
        return sorted(found, key=repr)


PLACES = {"sql": {}, "worker": {"execution.batch.expressions": "false"}}


@pytest.mark.parametrize(
    ("mode", "settings"),
    [
        ("batch", PLACES["sql"]),
        ("batch", PLACES["worker"]),
        ("mixed", PLACES["sql"]),
        ("mixed", PLACES["worker"]),
        ("streaming", {}),
    ],
)
def test_one_answer_in_every_mode_and_place(
    environment: Environment, flights: tuple[str, str], mode: str, settings: dict[str, str]
) -> None:
    env = environment(mode, **settings)
    found = answer(env, flights, by_columns)
    frame = [r for path in flights for r in pq.read_table(path).to_pylist()]
    expected = [
        (
            f["carrier"] or "none",
            "much" if f["a.b"] / f["delay"] > 1 else "little",
            f["a.b"],
            f["at"].hour % 5,
        )
        for f in frame
        if f["delay"] is not None and f["delay"] > 0 and 100 / f["delay"] < 60
    ]
    assert found == sorted(expected, key=repr)


@pytest.mark.parametrize("mode", ["batch", "mixed"])
def test_columns_are_written_into_files_as_they_are(
    environment: Environment, flights: tuple[str, str], tmp_path: Path, mode: str
) -> None:
    env = environment(mode)
    first, second = (FileSource.parquet(path, FLIGHT) for path in flights)
    source = HybridSource.builder(first).add_source(second).build()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "flights")
    rows = stream.where(col.delay > 0).select(col.carrier, col.delay, hour=col.at.hour())
    by_carrier = BucketAssigner.by_columns("carrier")
    json = FileSink.for_bulk_format(tmp_path / "json", FileFormat.JSON)
    rows.sink_to(json.with_bucket_assigner(by_carrier).build()).name("json")
    env.execute("written")
    frame = [r for path in flights for r in pq.read_table(path).to_pylist()]
    late = [f for f in frame if f["delay"] is not None and f["delay"] > 0]
    lines = {
        path.name: sorted(line for part in path.glob("part-*") for line in part.read_text().split())
        for path in (tmp_path / "json").glob("carrier=*")
    }
    assert lines == {
        f"carrier={name or '__HIVE_DEFAULT_PARTITION__'}": sorted(
            f'{{"delay":{f["delay"]},"hour":{f["at"].hour}}}' for f in late if f["carrier"] == name
        )
        for name in {f["carrier"] for f in late}
    }


def decisions(env: StreamExecutionEnvironment) -> list[tuple[str, str]]:
    subjects = ("where", "select", "with_columns")
    return [
        (d.subject, d.choice)
        for d in env.plan().decisions
        if d.subject.strip("'").startswith(subjects) and " in run " in d.subject
    ]


def test_the_plan_says_where_and_why(environment: Environment, flights: tuple[str, str]) -> None:
    env = environment("mixed")
    first, second = (FileSource.parquet(path, FLIGHT) for path in flights)
    source = HybridSource.builder(first).add_source(second).build()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "flights")
    stream.where(col.delay > 1).map(lambda f: f, FLIGHT).select(col.delay).print()
    assert decisions(env) == [
        ("'where' in run 0 (history)", "one projection of Spark SQL"),
        ("'select' in run 0 (history)", "Arrow kernels in the worker"),
        ("'where' in run 1 (live)", "Arrow kernels in the worker"),
        ("'select' in run 1 (live)", "Arrow kernels in the worker"),
    ]


def test_a_dataframe_is_projected_by_spark(environment: Environment, session: SparkSession) -> None:
    frame = session.range(1000).selectExpr("id", "CAST(id % 7 AS INT) AS `Week Day`", "'x' AS c")
    env = environment("batch")
    rows = env.from_dataframe(frame).where(col["Week Day"] == 3).select(n=col.id * 2)
    assert [p.operator for p in _planned(rows).projections] != []
    with rows.execute_and_collect() as found:
        assert sorted(r.n for r in found) == [2 * n for n in range(1000) if n % 7 == 3]


def _planned(stream: Any) -> Any:
    stream.sink_to(DiscardingSink())
    return stream.get_execution_environment().plan()


@pytest.mark.parametrize("place", PLACES)
def test_a_failing_record_fails_the_job(
    environment: Environment, session: SparkSession, place: str
) -> None:
    env = environment("batch", **PLACES[place])
    stream = env.from_dataframe(session.range(3)).select(x=col.id + (2**63 - 2))
    with pytest.raises(PenstockError) as failed, stream.execute_and_collect() as found:
        list(found)
    assert "overflow" in str(failed.value).lower()


def test_a_session_without_ansi_is_refused(environment: Environment, session: SparkSession) -> None:
    session.conf.set("spark.sql.ansi.enabled", "false")
    try:
        env = environment("batch")
        stream = env.from_dataframe(session.range(3)).select(x=col.id + 1)
        with pytest.raises(ConfigError, match="ansi"), stream.execute_and_collect() as found:
            list(found)
    finally:
        session.conf.set("spark.sql.ansi.enabled", "true")
