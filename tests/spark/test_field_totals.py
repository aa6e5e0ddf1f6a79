"""Totals of a field that Spark SQL makes: the same answer as of records, and the same errors."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from penstock.common import Types, WatermarkStrategy
from penstock.connectors.files.file_source import FileSource
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.connectors import HybridSource
from penstock.errors import TypeMismatchError, UserFunctionError
from penstock.expressions.field_totals import FieldTotal
from penstock.expressions.keyed_aggregate import KeyedAggregate
from penstock.spark.expressions.aggregates import merged
from penstock.spark.sources import source_reads
from tests.spark.conftest import Environment

OFF = {"execution.batch.combine": "false"}

ROW = Types.ROW_NAMED(["v", "k"], [Types.LONG(), Types.LONG()])

Make = Callable[..., StreamExecutionEnvironment]


@pytest.fixture
def made(environment: Environment, tmp_path: Path) -> Make:
    """Return a maker of environments whose jobs have a directory each."""
    numbers = count()

    def make(mode: str = "batch", **options: Any) -> StreamExecutionEnvironment:
        directory = str(tmp_path / f"job-{next(numbers)}")
        return environment(mode, **{"execution.checkpointing.dir": directory}, **options)

    return make


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[KeyedAggregate]:
    """Return what jobs had Spark SQL merge so far."""
    seen: list[KeyedAggregate] = []

    def spy(frame: DataFrame, aggregate: KeyedAggregate, tasks: int, **how: bool) -> DataFrame:
        seen.append(aggregate)
        return merged(frame, aggregate, tasks, **how)

    monkeypatch.setattr(source_reads, "merged", spy)
    return seen


def totals(
    env: StreamExecutionEnvironment, frame: DataFrame, how: str = "sum", position: Any = "v"
) -> DataStream[Any]:
    keyed = env.from_dataframe(frame).key_by(lambda row: row.k)
    found: DataStream[Any] = getattr(keyed, how)(position)
    return found


def choices(env: StreamExecutionEnvironment) -> list[str]:
    return [d.subject for d in env.plan().decisions if "combined by Spark SQL" in d.choice]


def answer(stream: DataStream[Any], name: str = "job") -> list[Any]:
    with stream.map(lambda row: (row.k, row.v)).execute_and_collect(name) as found:
        return sorted(found, key=repr)


@pytest.mark.parametrize(
    ("how", "kind"), [("sum", "BIGINT"), ("sum", "TINYINT"), ("min", "INT"), ("max", "BIGINT")]
)
def test_the_answer_is_that_of_records(
    made: Make, session: SparkSession, done: list[KeyedAggregate], how: str, kind: str
) -> None:
    far = {"BIGINT": 2**63 - 1, "INT": 2**31 - 1, "TINYINT": 127}[kind]
    rows = [(f"k{n % 5}" if n % 5 else None, far - n if n % 2 else -far + n) for n in range(60)]
    rows += [("high", far), ("high", far), ("high", -far), ("low", -far - 1)]
    frame = session.createDataFrame(rows, f"k STRING, v {kind}").repartition(3)
    env = made()
    totals(env, frame, how).print()
    assert choices(env) == ["columns of 'DataFrame'"]
    found = answer(totals(made(), frame, how))
    assert found == answer(totals(made(**OFF), frame, how))
    assert [each.merges[-1] for each in done] == [how]
    assert len(found) == 7
    assert ("high", far if how != "min" else -far) in found


FAR = 2**63 - 1


@settings(
    max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=st.lists(st.tuples(st.integers(-FAR, FAR), st.integers(-3, 3)), min_size=1))
def test_sums_may_leave_64_bits_on_their_way(
    made: Make, session: SparkSession, rows: list[tuple[int, int]]
) -> None:
    back = [(-value, key) for value, key in rows]
    small = [(key, key) for _, key in rows]
    frame = session.createDataFrame(rows + small + back, "v BIGINT, k BIGINT").coalesce(1)
    wanted = {key: sum(k for _, k in rows if k == key) for _, key in rows}
    assert answer(totals(made(), frame)) == sorted(wanted.items(), key=repr)


@pytest.mark.parametrize("options", [{}, OFF])
def test_a_sum_out_of_range_is_refused_as_in_python(
    made: Make, session: SparkSession, options: dict[str, str]
) -> None:
    frame = session.createDataFrame([(1, FAR), (1, 1), (2, 1)], "k INT, v BIGINT")
    with pytest.raises(TypeMismatchError, match=f"'sum'.*{FAR + 1}"):
        answer(totals(made(**options), frame))


def test_all_records_are_counted(made: Make, session: SparkSession) -> None:
    env = made()
    frame = session.range(1000).selectExpr("id % 3 AS k", "id AS v")
    totals(env, frame).print()
    (run,) = env.execute("counted").runs
    assert run.records == 1000


def test_a_key_with_one_null_keeps_it(
    made: Make, session: SparkSession, done: list[KeyedAggregate]
) -> None:
    frame = session.createDataFrame([("a", 1), ("b", None), ("a", 2)], "k STRING, v BIGINT")
    assert answer(totals(made(), frame)) == [("a", 3), ("b", None)]
    assert len(done) == 1


def test_least_texts_are_those_of_python(
    made: Make, session: SparkSession, done: list[KeyedAggregate]
) -> None:
    texts = ["Z", "a", "ä", "😀", "\uffff", ""]
    frame = session.createDataFrame(
        [(n % 2 == 0, t) for n, t in enumerate(texts)], "k BOOLEAN, v STRING"
    )
    for how, of in (("min", min), ("max", max)):
        expected = [(False, of(texts[1::2])), (True, of(texts[::2]))]
        assert answer(totals(made(), frame, how)) == expected
    assert len(done) == 2


def test_a_session_that_has_no_errors_reads_records(
    made: Make, session: SparkSession, done: list[KeyedAggregate]
) -> None:
    session.conf.set("spark.sql.ansi.enabled", "false")
    try:
        frame = session.range(9).selectExpr("id % 3 AS k", "id AS v")
        assert answer(totals(made(), frame)) == [(0, 9), (1, 12), (2, 15)]
    finally:
        session.conf.set("spark.sql.ansi.enabled", "true")
    assert done == []


def test_a_null_fails_as_it_does_in_python(made: Make, session: SparkSession) -> None:
    frame = session.createDataFrame([("a", 1), ("a", None), ("a", 2)], "k STRING, v BIGINT")
    with pytest.raises(UserFunctionError, match=r"'sum' failed on .*key 'a'.*NoneType") as caught:
        answer(totals(made(), frame))
    assert caught.value.origin is not None


@pytest.mark.parametrize("mode", ["mixed", "streaming"])
def test_other_modes_read_records(made: Make, session: SparkSession, mode: str) -> None:
    frame = session.range(100).selectExpr("id % 3 AS k", "id AS v")
    found = answer(totals(made(mode), frame).filter(lambda row: row.v >= 1617))
    assert found == [(0, 1683), (1, 1617), (2, 1650)]


def test_files_of_declared_columns_are_combined(
    made: Make, session: SparkSession, tmp_path: Path
) -> None:
    path = str(tmp_path / "files")
    session.range(99).selectExpr("id % 3 AS k", "id AS v", "id AS w").write.json(path)

    def sums(env: StreamExecutionEnvironment) -> DataStream[Any]:
        source = FileSource.json(path, ROW)
        rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "rows")
        return rows.key_by(itemgetter("k")).sum("v")

    env = made()
    sums(env).print()
    assert choices(env) == ["columns of 'rows'"]
    assert answer(sums(made())) == [(0, 1584), (1, 1617), (2, 1650)]


def test_a_live_run_goes_on_with_sums_of_columns(
    made: Make, session: SparkSession, done: list[KeyedAggregate], tmp_path: Path
) -> None:
    history, live = str(tmp_path / "history"), str(tmp_path / "live")
    session.range(90).selectExpr("id % 3 AS k", "id AS v").write.json(history)
    session.range(3).selectExpr("id AS k", "1000 AS v").write.json(live)
    source = HybridSource.builder(FileSource.json(history, ROW))
    env = made("mixed", **{"pipeline.backlog.output": "latest"})
    rows = env.from_source(
        source.add_source(FileSource.json(live, ROW)).build(),
        WatermarkStrategy.no_watermarks(),
        "rows",
    )
    sums = rows.key_by(itemgetter("k")).sum("v").map(lambda row: (row.k, row.v))
    sums.print()
    assert choices(env) == ["columns of 'rows'"]
    with sums.execute_and_collect() as found:
        assert sorted(found) == sorted(
            [(k, sum(range(k, 90, 3)) + more) for k in range(3) for more in (0, 1000)]
        )
    assert done == [FieldTotal(ROW, "k", "v", "sum").aggregate]


def refused(session: SparkSession) -> dict[str, tuple[DataFrame, str, Any]]:
    frame = session.range(9).selectExpr("id % 3 AS k", "id AS v")
    return {
        "another field": (frame.selectExpr("k", "v", "v AS w"), "sum", "v"),
        "a float": (frame.selectExpr("k", "CAST(v AS DOUBLE) AS v"), "sum", "v"),
        "a key that is a float": (frame.selectExpr("CAST(k AS DOUBLE) AS k", "v"), "sum", "v"),
        "the record of the least": (frame, "min_by", "v"),
        "the key itself": (frame, "sum", "k"),
    }


@pytest.mark.parametrize(
    "name",
    [
        "another field",
        "a float",
        "a key that is a float",
        "the record of the least",
        "the key itself",
    ],
)
def test_what_sql_may_mean_otherwise_is_left_to_python(
    made: Make, session: SparkSession, name: str
) -> None:
    env = made()
    totals(env, *refused(session)[name]).print()
    assert choices(env) == []


def test_columns_that_spark_calls_the_same_are_left_to_python(
    made: Make, session: SparkSession
) -> None:
    env = made()
    frame = session.createDataFrame([(1, 2), (1, 3)], "k BIGINT, v BIGINT").toDF("v", "V")
    env.from_dataframe(frame).key_by(lambda row: row[0]).sum(1).print()
    assert choices(env) == []


def test_keys_that_come_from_two_sources_are_left_to_python(
    made: Make, session: SparkSession
) -> None:
    env = made()
    frame = session.range(9).selectExpr("id % 3 AS k", "id AS v")
    both = env.from_dataframe(frame).union(env.from_dataframe(frame))
    both.key_by(lambda row: row.k).sum("v").print()
    assert choices(env) == []


def test_a_reader_beside_the_sum_gets_records(made: Make, session: SparkSession) -> None:
    env = made()
    rows = env.from_dataframe(session.range(9).selectExpr("id % 3 AS k", "id AS v"))
    rows.map(lambda row: row.v).print()
    rows.key_by(lambda row: row.k).sum("v").print()
    assert choices(env) == []


def test_it_can_be_switched_off(made: Make, session: SparkSession) -> None:
    env = made(**OFF)
    totals(env, session.range(9).selectExpr("id % 3 AS k", "id AS v")).print()
    assert choices(env) == []
