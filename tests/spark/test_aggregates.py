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

from penstock.common import Duration, Time, Types, WatermarkStrategy
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import StreamExecutionEnvironment, col
from penstock.datastream.connectors import FileSource, HybridSource, NumberSequenceSource
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import PenstockError
from penstock.expressions.aggregates import AggregateExpression
from penstock.expressions.arrow.merging import ColumnMerge
from penstock.expressions.arrow.records import ChainEvaluation
from penstock.expressions.keyed_aggregate import keyed_aggregate
from penstock.observe.events.job_events import JobEvent, RunFinished
from penstock.observe.events.listeners import JobListener, also_listening
from penstock.spark.expressions.aggregates import merged
from penstock.spark.expressions.projection import projected
from penstock.types.arrow import arrow_columns, arrow_schema
from tests.expressions.test_aggregates import EXACT, RECORDS, ROW, check, expected, last_of_keys
from tests.spark.conftest import Environment
from tests.spark.test_expressions import drawn

VALUES = Types.ROW_NAMED(
    ["k", "flag", "n", "text", "at_ms"],
    [Types.STRING(), Types.BOOLEAN(), Types.INT(), Types.STRING(), Types.LONG()],
)
HISTORY: list[dict[str, Any]] = [
    {
        "k": None if n % 11 == 0 else f"k{n % 7}",
        "flag": n % 3 == 0,
        "n": None if n % 5 == 0 else n - 60,
        "text": "aZ😀"[n % 3] * (n % 4),
        "at_ms": n,
    }
    for n in range(120)
]
LIVE: list[dict[str, Any]] = [
    {"k": f"k{n % 4}", "flag": True, "n": n, "text": "b", "at_ms": 100 + n} for n in range(9)
]


ONCE = (
    *("q50_whole", "q90_small", "distinct_text", "distinct_money", "distinct_at"),
    *("different_whole", "least_text", "least_at", "joined_text"),
)
"""Aggregates whose parts count values, which Spark SQL does once per program."""

COUNTING = {"approx_quantile", "count_distinct", "distinct", "of_values"}


def is_projected(each: AggregateExpression) -> bool:
    """Return whether Spark SQL may compute the parts of an aggregate, by the planner's rule."""
    chain, _ = keyed_aggregate(ROW, ("k",), {"a": each})
    return chain.unprojected_because is None


@pytest.mark.parametrize("counted", ONCE)
def test_spark_sql_merges_as_the_reference_does(
    session: SparkSession, tmp_path: Path, counted: str
) -> None:
    rows = [row for each in drawn(RECORDS, 12) for row in each]
    aggregates = {
        name: each
        for name, each in EXACT.items()
        if name == counted or (each.how not in COUNTING and is_projected(each))
    }
    assert len(aggregates) > 20
    chain, function = keyed_aggregate(ROW, ("k",), aggregates)
    table = pa.Table.from_arrays(
        arrow_columns(ROW, [list(row) for row in rows]), schema=arrow_schema(ROW)
    )
    pq.write_table(table, tmp_path / "rows.parquet")
    parts = projected(session.read.parquet(str(tmp_path)), chain, None)
    found = merged(parts, function, 2).toArrow()
    prepared = ColumnMerge(function).prepared
    results = ChainEvaluation(function.results, "aggregate", None)
    records = [
        row
        for batch in found.to_batches()
        if batch.num_rows
        for row in results.of_columns(prepared(batch))[0]
    ]
    assert len(records) == len({row.k for row in rows})
    check(last_of_keys(records), expected(rows, aggregates))


def test_what_spark_sql_read_is_what_was_read(
    environment: Environment, session: SparkSession, files: tuple[str, str], tmp_path: Path
) -> None:
    """Of each part of a union, whether Spark SQL drops or merges its records, or workers read them."""
    numbers = session.range(1000).selectExpr("'a' AS k", "id AS n")
    listener = Seen()

    def job(name: str) -> StreamExecutionEnvironment:
        return environment("batch", **{"execution.checkpointing.dir": str(tmp_path / name)})

    merged_env = job("merged")
    rows = merged_env.from_dataframe(numbers).where(col.n < 100)
    rows.key_by(col.k).aggregate(n=col.count()).sink_to(DiscardingSink())

    levels = job("levels")
    few = levels.from_dataframe(numbers).where(col.n < 10).map(lambda row: row.n, Types.LONG())
    sequence = levels.from_source(
        NumberSequenceSource(1, 50), WatermarkStrategy.no_watermarks(), "sequence"
    )
    few.union(sequence).key_by(lambda n: n % 3).reduce(max).sink_to(DiscardingSink())

    dropped = job("dropped")
    source = FileSource.parquet(files[0], VALUES)
    read = dropped.from_source(source, WatermarkStrategy.no_watermarks(), "values")
    read.where(col.n.is_null()).sink_to(DiscardingSink())

    wanted = {"merged": 1000, "levels": 1050, "dropped": len(HISTORY)}
    for (name, records), env in zip(wanted.items(), (merged_env, levels, dropped), strict=True):
        with also_listening(listener):
            (run,) = env.execute(name).runs
        assert run.records == records, name
        assert [each.records for each in listener.ended] == [records], name
        listener.ended.clear()


class Seen(JobListener):
    """Keeps the ends of runs."""

    def __init__(self) -> None:
        self.ended: list[RunFinished] = []

    def on_event(self, event: JobEvent) -> None:
        if isinstance(event, RunFinished):
            self.ended.append(event)


KINDS: dict[str, tuple[str, list[str]]] = {
    "real": ("DOUBLE", ["0.0D", "-0.0D", "1.5D", "double('Infinity')", "NULL"]),
    "at": ("TIMESTAMP_NTZ", ["TIMESTAMP_NTZ'1969-12-31 23:59:59.5'", "TIMESTAMP_NTZ'2024-01-01'"]),
    "instant": (
        "TIMESTAMP",
        ["TIMESTAMP'2024-01-01 00:00:00Z'", "TIMESTAMP'2024-01-01 01:00:00+01'"],
    ),
    "day": ("DATE", ["DATE'2024-01-01'", "NULL"]),
    "flag": ("BOOLEAN", ["true", "false", "NULL"]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_keys_of_every_type_are_those_of_workers(
    environment: Environment, session: SparkSession, tmp_path: Path, kind: str
) -> None:
    sql, values = KINDS[kind]
    rows = [f"SELECT CAST({value} AS {sql}) AS k, {n} AS x" for n, value in enumerate(values * 3)]
    frame = session.sql(" UNION ALL ".join(rows))

    def counted(combine: str) -> Any:
        job = {"execution.checkpointing.dir": str(tmp_path / combine)}
        env = environment("batch", **{"execution.batch.combine": combine}, **job)
        return env.from_dataframe(frame).key_by(col.k).aggregate(n=col.count(), total=col.x.sum())

    found = []
    for combine in ("true", "false"):
        planned = counted(combine)
        planned.sink_to(DiscardingSink())
        projections = planned.get_execution_environment().plan().projections
        assert any(each.merged_for is not None for each in projections) is (combine == "true")
        with counted(combine).execute_and_collect() as results:
            found.append({row.k: (row.n, row.total) for row in results})
    assert found[0] == found[1]
    assert sum(n for n, _ in found[0].values()) == len(rows)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    paths = (str(tmp_path / "history"), str(tmp_path / "live"))
    for path, rows in zip(paths, (HISTORY, LIVE), strict=True):
        Path(path).mkdir()
        for part in range(2):
            table = pa.Table.from_pylist(rows[part::2], arrow_schema(VALUES))
            pq.write_table(table, Path(path, f"{part}.parquet"))
    return paths


UNTIMED = WatermarkStrategy.no_watermarks()
TIMED = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(col.at_ms)


def totals(
    env: StreamExecutionEnvironment,
    files: tuple[str, str],
    strategy: WatermarkStrategy = UNTIMED,
) -> Any:
    first, second = (FileSource.parquet(path, VALUES) for path in files)
    source = HybridSource.builder(first).add_source(second).build()
    stream = env.from_source(source, strategy, "values")
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
    ],
)
@pytest.mark.parametrize("strategy", [UNTIMED, TIMED], ids=["untimed", "timed"])
def test_one_answer_in_every_mode_and_place(
    environment: Environment,
    files: tuple[str, str],
    strategy: WatermarkStrategy,
    mode: str,
    settings: dict[str, str],
) -> None:
    with totals(environment(mode, **settings), files, strategy).execute_and_collect() as found:
        last = {(row.k, row.flag): tuple(row)[2:] for row in found}
    assert last == answer()


def of_windows(
    env: StreamExecutionEnvironment,
    files: tuple[str, str],
    bound_ms: int,
    of_values: Any = lambda stream: stream,
    size_ms: int = 25,
) -> dict[Any, tuple[Any, ...]]:
    """Return (key, begin of a window) to its last count and sum."""
    first, second = (FileSource.parquet(path, VALUES) for path in files)
    source = HybridSource.builder(first).add_source(second).build()
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(bound_ms))
    strategy = strategy.with_timestamp_assigner(col.at_ms)
    stream = of_values(env.from_source(source, strategy, "values"))
    windows = stream.key_by(col.k).window(TumblingEventTimeWindows.of(Time.milliseconds(size_ms)))
    results = windows.aggregate(col.window_start, n=col.count(), total=col.n.sum())
    with results.execute_and_collect() as found:
        return {(row.k, row.window_start.microsecond // 1000): (row.n, row.total) for row in found}


def wanted_of_windows(rows: list[dict[str, Any]], size_ms: int = 25) -> dict[Any, tuple[Any, ...]]:
    groups: dict[Any, list[Any]] = {}
    for row in rows:
        groups.setdefault((row["k"], row["at_ms"] // size_ms * size_ms), []).append(row["n"])
    known = {key: [n for n in numbers if n is not None] for key, numbers in groups.items()}
    return {
        key: (len(numbers), sum(known[key]) if known[key] else None)
        for key, numbers in groups.items()
    }


def some_quotients(stream: Any) -> Any:
    """Return values with 600 divided by them, which those that are dropped do not have."""
    chosen = stream.where(~col.flag, col.n != 0).where(col.at_ms < 103)
    return chosen.with_columns(n=600 % col.n)


@pytest.mark.parametrize(
    ("mode", "has_conditions"), [("batch", True), ("mixed", True), ("streaming", False)]
)
def test_windows_of_columns_with_timestamps_of_columns(
    environment: Environment, files: tuple[str, str], mode: str, has_conditions: bool
) -> None:
    env = environment(mode)
    if not has_conditions:
        assert of_windows(env, files, 1000) == wanted_of_windows(HISTORY + LIVE)
        return
    rows = [
        row | {"n": 600 % row["n"]}
        for row in HISTORY + LIVE
        if not row["flag"] and row["n"] and row["at_ms"] < 103
    ]
    assert of_windows(env, files, 1000, some_quotients) == wanted_of_windows(rows)


def test_times_of_dropped_records_decide_what_is_late(
    environment: Environment, files: tuple[str, str], tmp_path: Path
) -> None:
    def before_100(stream: Any) -> Any:
        return stream.where((col.at_ms < 100) | (col.n == 5))

    found = []
    for place in ("true", "false"):
        settings = {"execution.batch.expressions": place}
        env = environment(
            "mixed", **{"execution.checkpointing.dir": str(tmp_path / place)}, **settings
        )
        found.append(of_windows(env, files, 0, before_100, size_ms=5))
    assert found[0] == found[1]
    rows = [row for row in HISTORY + LIVE if row["at_ms"] < 100 or row["n"] == 5]
    on_time = [row for row in rows if row["at_ms"] != 105]
    assert len(rows) == len(on_time) + 1
    assert found[0] == wanted_of_windows(on_time, size_ms=5)


@pytest.mark.parametrize("place", ["true", "false"])
def test_a_record_without_a_time_fails_where_spark_sql_merges_by_key(
    environment: Environment, tmp_path: Path, place: str
) -> None:
    rows = [HISTORY[0], HISTORY[1] | {"at_ms": None}, *HISTORY[2:]]
    pq.write_table(pa.Table.from_pylist(rows, arrow_schema(VALUES)), tmp_path / "rows.parquet")
    env = environment("batch", **{"execution.batch.expressions": place})
    values = env.from_source(FileSource.parquet(str(tmp_path), VALUES), TIMED, "values")
    counted = values.key_by(col.k).aggregate(n=col.count())
    with (
        pytest.raises(PenstockError, match="NULL") as failed,
        counted.execute_and_collect() as found,
    ):
        list(found)
    assert failed.value.code == "TYPE_MISMATCH"


def test_the_plan_says_where_parts_are_merged(
    environment: Environment, files: tuple[str, str]
) -> None:
    for mode, settings, by_spark in (
        ("batch", {}, True),
        ("mixed", {}, True),
        ("batch", {"execution.batch.combine": "false"}, False),
        ("batch", {"execution.batch.expressions": "false"}, False),
    ):
        for strategy in (UNTIMED, TIMED):
            env = environment(mode, **settings)
            totals(env, files, strategy).sink_to(DiscardingSink())
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


def test_windows_are_merged_by_spark_sql_in_history(
    environment: Environment, files: tuple[str, str]
) -> None:
    assigners = {"column": col.at_ms, "function": lambda row, _: row.at_ms}
    for name, assigner in assigners.items():
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(assigner)
        env = environment("batch")
        source = FileSource.parquet(files[0], VALUES)
        stream = env.from_source(source, strategy, "values")
        keyed = stream.where(col.flag).key_by(col.k)
        windows = keyed.window(TumblingEventTimeWindows.of(Time.seconds(1)))
        windows.aggregate(n=col.count()).sink_to(DiscardingSink())
        decisions = str(env.plan().decisions)
        assert ("merged by key and pane" in decisions) is (name == "column")
