"""Groups of windows on parts and panes: the same changes as row by row, the plan of the twin in columns, and what a record costs.

The oracle adds each row to the accumulators of each of its windows (`accumulated_groups`).
"""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.api.windows.time_assigners import CumulatingEventTimeWindows
from penstock.common import Configuration, Duration, Row, Time, Types, WatermarkStrategy
from penstock.datastream import (
    AggregateFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors import CollectionSource, FileSource, HybridSource
from penstock.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.errors import TypeMismatchError
from penstock.expressions.column import col
from penstock.program.operators import KEYED_PROCESS, KEYED_WINDOW
from penstock.relation.groups import WindowGroupBy
from penstock.sql.streams import StreamTable
from penstock.sql.udf import udaf
from penstock.testing import Schedule, collect
from tests.sql.accumulated_groups import on_accumulators
from tests.sql.harness import START, at, query_harness, shown
from tests.sql.test_group_parts import Seen, Sorted, calls_of, hashable

T = Types.ROW_NAMED(
    ["k", "g", "i", "b", "s", "f", "x", "ts"],
    [
        *(Types.STRING(), Types.INT(), Types.INT(), Types.LONG(), Types.STRING()),
        *(Types.BOOLEAN(), Types.DOUBLE(), Types.SQL_TIMESTAMP()),
    ],
)
MODES = {
    "batch": ("BATCH", Schedule()),
    "streaming": ("STREAMING", Schedule(batch_sizes=(1, 3, 150))),
    "restart": ("STREAMING", Schedule(batch_sizes=(7,), restart_every=2)),
    "hand-over": ("MIXED", Schedule(batch_sizes=(9,))),
}
STRATEGY = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(3))
BY_COLUMN = STRATEGY.with_timestamp_assigner(col.ts)


def _stamp(row: Row, _: int) -> int:
    """Return the timestamp of a row, also of one whose column is NULL."""
    time = row[len(row) - 1]
    return 30_000 if time is None else (time - START) // timedelta(milliseconds=1)


BY_FUNCTION = STRATEGY.with_timestamp_assigner(_stamp)


def second(count: int) -> str:
    return f"INTERVAL '{count}' SECOND"


TUMBLE = f"TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), {second(10)}))"
SHIFTED = f"TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), {second(10)}, {second(13)}))"
HOP = f"TABLE(HOP(TABLE t, DESCRIPTOR(ts), {second(4)}, {second(10)}))"
GAPS = f"TABLE(HOP(TABLE t, DESCRIPTOR(ts), {second(6)}, {second(4)}, {second(1)}))"
CUMULATE = f"TABLE(CUMULATE(TABLE t, DESCRIPTOR(ts), {second(3)}, {second(12)}))"
ONE_STEP = f"TABLE(CUMULATE(TABLE t, DESCRIPTOR(ts), {second(8)}, {second(8)}, {second(3)}))"
TABLES = {
    "tumble": TUMBLE,
    "shifted": SHIFTED,
    "hop": HOP,
    "gaps": GAPS,
    "cumulate": CUMULATE,
    "one step": ONE_STEP,
}
BOUNDS = "window_start, window_end"
ALL = (
    "COUNT(*) AS c, COUNT(s) AS cs, SUM(i) AS si, SUM(b) AS sb, AVG(b) AS ab, MIN(s) AS ms, MAX(ts) AS mt,"
    " SUM(b) FILTER (WHERE f) AS sf"
)
QUERIES = [
    f"SELECT k, {BOUNDS}, window_time, {ALL} FROM {{}} GROUP BY k, {BOUNDS}, window_time",
    "SELECT window_end, g, k, SUM(b) AS s FROM {} WHERE i > 0 GROUP BY window_start, g, window_end, k",
    f"SELECT {BOUNDS}, COUNT(*) AS c FROM {{}} GROUP BY {BOUNDS}",
    f"SELECT k, window_start, AVG(i) AS a FROM {{}} GROUP BY k, {BOUNDS} HAVING COUNT(*) > 1",
    f"SELECT DISTINCT k, f, {BOUNDS} FROM {{}}",
    f"SELECT n, COUNT(*) AS c FROM (SELECT k, window_end, SUM(b) AS n FROM {{}} GROUP BY k, {BOUNDS}) GROUP BY n",
    f"SELECT k, window_end, SUM(x) AS s, AVG(x) AS a, MIN(x) AS n, STDDEV(x) AS d FROM {{}} GROUP BY k, {BOUNDS}",
    (
        f"SELECT k, x, window_end, COUNT(DISTINCT i) AS d, SUM(DISTINCT b) AS e, LISTAGG(s) AS l, MIN(f) AS m,"
        f" SUM(CAST(x AS DECIMAL(10, 2))) AS n, ARRAY_AGG(i) FILTER (WHERE f) AS r FROM {{}} GROUP BY k, x, {BOUNDS}"
    ),
    f"SELECT k, g + 1 AS h, window_end, SUM(i * 2) AS s FROM {{}} GROUP BY k, g + 1, {BOUNDS}",
]
CASCADED = (
    f"WITH w AS (SELECT k, window_time AS wt, COUNT(*) AS n FROM {CUMULATE} GROUP BY k, {BOUNDS}, window_time)"
    f" SELECT k, window_end, SUM(n) AS s FROM TABLE(TUMBLE(TABLE w, DESCRIPTOR(wt), {second(24)})) GROUP BY k, {BOUNDS}"
)
TOTALS = (
    f"SELECT window_end, MAX(n) AS m, COUNT(*) FILTER (WHERE window_start > TIMESTAMP '1970-01-01 00:00:05') AS c FROM"
    f" (SELECT k, {BOUNDS}, SUM(b) AS n FROM {HOP} GROUP BY k, {BOUNDS}) WHERE n IS NOT NULL GROUP BY {BOUNDS}"
)
OF_SESSIONS = (
    f"SELECT window_end, COUNT(*) AS c FROM (SELECT k, {BOUNDS}, SUM(x) AS n FROM TABLE(SESSION(TABLE t PARTITION BY k,"
    f" DESCRIPTOR(ts), {second(5)})) GROUP BY k, {BOUNDS}) GROUP BY {BOUNDS}"
)


def sessions(gap: int, by: str = " PARTITION BY k") -> str:
    return f"TABLE(SESSION(TABLE t{by}, DESCRIPTOR(ts), {second(gap)}))"


OF_PARTITIONS = [
    f"SELECT k, {BOUNDS}, window_time, {ALL} FROM {{}} GROUP BY k, {BOUNDS}, window_time",
    (
        f"SELECT window_end, k, SUM(b) AS s, COUNT(f) FILTER (WHERE f) AS n, MAX(s) FILTER (WHERE f) AS m FROM {{}}"
        f" WHERE i > 0 GROUP BY {BOUNDS}, k"
    ),
    f"SELECT k, window_start, SUM(12 / i) AS s, COUNT(*) AS c FROM {{}} WHERE i <> 0 GROUP BY k, {BOUNDS}",
    f"SELECT k, window_start, AVG(i) AS a FROM {{}} WHERE g = 1 GROUP BY k, {BOUNDS} HAVING COUNT(*) > 1",
    f"SELECT DISTINCT k, {BOUNDS} FROM {{}} WHERE f",
    f"SELECT n, COUNT(*) AS c FROM (SELECT k, window_end, SUM(b) AS n FROM {{}} GROUP BY k, {BOUNDS}) GROUP BY n",
    f"SELECT k, window_end, SUM(x) AS s, AVG(x) AS a, MIN(x) AS n, STDDEV(x) AS d FROM {{}} GROUP BY k, {BOUNDS}",
    (
        f"SELECT k, window_end, COUNT(DISTINCT i) AS d, LISTAGG(s) AS l, SUM(CAST(x AS DECIMAL(10, 2))) AS n FROM {{}}"
        f" WHERE g = 1 GROUP BY k, {BOUNDS}"
    ),
]
"""Groups of sessions by `k`; what a condition drops is still in them, and is not computed with."""
OF_ALL = f"SELECT {BOUNDS}, COUNT(*) AS c, MAX(s) AS m FROM {sessions(2, '')} WHERE b > 0 GROUP BY {BOUNDS}"
UNITED = (
    f"WITH u AS (SELECT k, b, ts FROM t WHERE b > 0 UNION ALL SELECT s, b, ts FROM t) SELECT k, {BOUNDS}, SUM(b) AS s"
    f" FROM TABLE(HOP(TABLE u, DESCRIPTOR(ts), {second(5)}, {second(10)})) GROUP BY k, {BOUNDS}"
)
ROW_BY_ROW = {
    "computes with the bounds of windows": f"SELECT k, COUNT(*) AS c FROM {HOP} WHERE window_end > ts + {second(1)} GROUP BY k, {BOUNDS}",
    "its group is not the partition of its sessions": f"SELECT k, i, COUNT(*) AS c FROM {sessions(5)} GROUP BY k, i, {BOUNDS}",
    "its windows are columns of Correlate": f"SELECT v, COUNT(*) AS c FROM {TUMBLE} CROSS JOIN UNNEST(ARRAY[i, i + 1]) AS u (v)"
    f" GROUP BY v, {BOUNDS}",
}
"""Groups whose rows get their windows in Python, by a part of the reason: the list may only become shorter."""

OF_USER = f"SELECT k, window_end, sorted_seen(i, s) AS s, COUNT(DISTINCT i) AS d FROM {HOP} GROUP BY k, {BOUNDS}"
"""A function of the user, beside another aggregate."""


def rows_of_seed(
    seed: int, count: int, *, nulls: bool = False, is_whole: bool = False
) -> list[Row]:
    rng = random.Random(seed)  # noqa: S311 - examples, not secrets

    def one(*values: Any) -> Any:
        return rng.choice((*values, None))

    def time(number: int) -> Any:
        millis = 0 if is_whole else rng.randrange(1000)
        second = number * 90 // count if is_whole else number * 90 / count
        when = at(max(0, second - 30 + rng.randrange(9)) + millis / 1000)
        return None if nulls and rng.random() < 0.2 else when

    return [
        Row(
            one("p", "q"),
            one(0, 1),
            one(-7, 0, 3),
            one(-5, 1, 1 << 50),
            one("", "ä", "Z"),
            one(True, False),
            one(-1.5, 2.5),
            time(number),
        )
        for number in range(count)
    ]


def table_of(
    rows: list[Row], mode: str, strategy: Any = BY_COLUMN, **options: str
) -> tuple[Any, Schedule]:
    runtime, schedule = MODES[mode]
    given = {
        "execution.runtime-mode": "STREAMING" if runtime == "MIXED" else runtime,
        "execution.checkpointing.interval-during-backlog": "0",  # history is a batch run
        "parallelism.default": "2",
        **options,
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(given))
    source: Any = CollectionSource.of(rows, T)
    if runtime == "MIXED":
        half = len(rows) // 2
        past, live = (CollectionSource.of(part, T) for part in (rows[:half], rows[half:]))
        source = HybridSource.builder(past).add_source(live).build()
    return env.from_source(source, strategy, "t"), schedule


def changes_of(query: str, rows: list[Row], mode: str, strategy: Any = BY_COLUMN) -> Counter[Any]:
    """Return the changes that a query emits, with how often each came."""
    stream, schedule = table_of(rows, mode, strategy)
    table = StreamTable(stream, time="ts")
    env = stream.get_execution_environment()
    env.create_function("seen", udaf(Seen(), result_type="STRING"))
    env.create_function("sorted_seen", udaf(Sorted(), result_type="STRING"))
    made = env.sql(query, {"t": table})
    return Counter(
        (str(row.get_row_kind()), *map(hashable, row)) for row in collect(made, schedule)
    )


def compare(
    query: str, monkeypatch: pytest.MonkeyPatch, strategy: Any = BY_COLUMN, **of_rows: Any
) -> None:
    for seed, mode in enumerate(MODES):
        rows = rows_of_seed(seed, 200 if mode == "streaming" else 60, **of_rows)
        with on_accumulators(monkeypatch):
            wanted = changes_of(query, rows, mode, strategy)
        assert wanted
        assert changes_of(query, rows, mode, strategy) == wanted, mode


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("query", QUERIES)
def test_changes_are_those_of_rows_one_by_one(
    query: str, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare(query.format(TABLES[table]), monkeypatch)


@pytest.mark.parametrize(
    "query",
    [
        CASCADED,
        UNITED,
        TOTALS,
        OF_SESSIONS,
        OF_USER,
        OF_USER.replace(HOP, TUMBLE).replace("sorted_", ""),
    ],
    ids=["cascaded", "united", "totals", "of sessions", "of the user", "of the user, once"],
)
def test_windows_of_windows_and_of_unions(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(query, monkeypatch)


@pytest.mark.parametrize("gap", [1, 3])
@pytest.mark.parametrize("query", OF_PARTITIONS)
def test_sessions_have_all_rows_of_their_table(
    query: str, gap: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Times are whole seconds, so windows touch."""
    compare(query.format(sessions(gap)), monkeypatch, is_whole=True)


def test_sessions_without_a_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(OF_ALL, monkeypatch)
    compare(OF_ALL, monkeypatch, BY_FUNCTION, nulls=True)


@pytest.mark.parametrize("table", ["tumble", "hop", "cumulate"])
def test_a_row_without_a_time_is_in_no_window(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(QUERIES[0].format(TABLES[table]), monkeypatch, BY_FUNCTION, nulls=True)


def test_a_time_that_the_timestamp_is_read_from_is_not_null() -> None:
    rows = [*rows_of_seed(0, 3), Row("p", 0, 0, 0, "", True, 0.0, None)]
    for mode in MODES:
        with pytest.raises(TypeMismatchError, match=r"NULL|None"):
            changes_of(QUERIES[2].format(TUMBLE), rows, mode)


@pytest.mark.parametrize("seed", [5, 6])
@pytest.mark.parametrize("table", [*TABLES.values(), sessions(2), sessions(1)])
def test_late_rows_are_in_the_windows_that_are_not_over(
    table: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run() -> list[Any]:
        given = {"t": (T, {"time": "ts"})}
        with query_harness(QUERIES[0].format(table), given) as harness:
            for number, row in enumerate(rows_of_seed(seed, 80, is_whole="SESSION" in table)):
                harness.push(row, _stamp(row, 0))
                if number % 3 == 2:
                    harness.advance_watermark((number - 30) * 1000)
            harness.advance_watermark(1_000_000)
            return shown(harness.output())

    with on_accumulators(monkeypatch):
        wanted = run()
    assert len(wanted) > 5
    assert run() == wanted


def kinds_of(env: Any) -> list[Any]:
    found = {KEYED_WINDOW, KEYED_PROCESS}
    return [each.kind for each in env.graph.nodes() if each.kind in found]


@pytest.mark.parametrize("table", [*TABLES, "session"])
@pytest.mark.parametrize("query", QUERIES)
def test_the_operator_is_that_of_columns(query: str, table: str) -> None:
    stream, _ = table_of([], "streaming")
    env = stream.get_execution_environment()
    if table == "session":
        query = dict(zip(QUERIES, [*OF_PARTITIONS, OF_ALL], strict=True))[query]
    env.sql(query.format(TABLES.get(table, sessions(3))), {"t": StreamTable(stream, time="ts")})
    assert kinds_of(env) == [KEYED_WINDOW]


@pytest.mark.parametrize("because", ROW_BY_ROW)
def test_rows_may_have_windows_before_they_are_grouped(
    because: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare(ROW_BY_ROW[because], monkeypatch, is_whole=True)


@pytest.mark.parametrize("because", ROW_BY_ROW)
def test_groups_row_by_row_are_said_in_the_plan(because: str) -> None:
    stream, _ = table_of([], "streaming")
    env = stream.get_execution_environment()
    env.sql(ROW_BY_ROW[because], {"t": StreamTable(stream, time="ts")})
    assert KEYED_WINDOW in kinds_of(env)
    created = (
        "CREATE TABLE t (k STRING, i INT, x DOUBLE, s STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)"
        " WITH ('connector' = 'datagen', 'number-of-rows' = '1');"
    )
    assert because in env.execute_sql(f"{created} EXPLAIN {ROW_BY_ROW[because]}").text


@pytest.mark.parametrize("query", [QUERIES[2].format(HOP), OF_PARTITIONS[0].format(sessions(1))])
def test_a_savepoint_of_groups_row_by_row_is_refused_by_name(
    query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """State is known by the uid of its operator, which has the form of that."""

    def uids() -> set[str]:
        stream, _ = table_of([], "streaming")
        env = stream.get_execution_environment()
        env.sql(query, {"t": StreamTable(stream, time="ts")})
        return {str(each.uid) for each in env.graph.nodes() if "group by-" in str(each.uid)}

    with monkeypatch.context() as patched:
        patched.setattr(WindowGroupBy, "form", 1)
        before = uids()
    assert len(before) == len(uids()) == 1
    assert before.isdisjoint(uids())


ASSIGNERS = {
    "tumble": TumblingEventTimeWindows.of(Time.seconds(10)),
    "hop": SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(4)),
    "cumulate": CumulatingEventTimeWindows(12_000, 3_000, 0),
    "session": EventTimeSessionWindows.with_gap(Time.seconds(1)),
}


def calls_of_a_record(table: str, mode: str, *, of_sql: bool) -> float:
    """Return calls per record: they are counted for many records and for few, and the difference is that of records."""

    def calls(count: int) -> int:
        rows = [
            Row("pq"[n % 2], 0, 1, n % 9, "", True, 0.0, at(n * 60 / count)) for n in range(count)
        ]
        stream, _ = table_of(rows, mode)
        if of_sql:
            read = TABLES.get(table, sessions(1))
            query = f"SELECT k, window_end, SUM(b) AS s FROM {read} GROUP BY k, {BOUNDS}"
            given = {"t": StreamTable(stream, time="ts")}
            made = stream.get_execution_environment().sql(query, given)
        else:
            windows = stream.key_by(col.k).window(ASSIGNERS[table])
            made = windows.aggregate(col.window_end, s=col.b.sum())
        return calls_of(lambda: collect(made, Schedule(batch_sizes=(500,))))

    return (calls(2500) - calls(500)) / 2000


@pytest.mark.parametrize("mode", ["batch", "streaming"])
@pytest.mark.parametrize("table", ASSIGNERS)
def test_a_record_costs_at_most_twice_what_it_costs_in_columns(table: str, mode: str) -> None:
    sql, columns = (calls_of_a_record(table, mode, of_sql=each) for each in (True, False))
    assert sql <= 2 * columns, (sql, columns)


@pytest.mark.parametrize("of_sql", [True, False])
def test_a_record_of_a_session_costs_at_most_thrice_that_of_a_window(*, of_sql: bool) -> None:
    """Also live: sessions of a micro-batch are cut as columns."""
    found = [calls_of_a_record(each, "streaming", of_sql=of_sql) for each in ("session", "tumble")]
    assert found[0] <= 3 * found[1], found


@pytest.mark.parametrize("seed", range(4))
def test_sessions_of_columns_are_those_of_records(seed: int) -> None:
    """Late records are among them, in micro-batches of any size."""
    query = f"SELECT k, g, {BOUNDS}, SUM(b) AS s, COUNT(*) AS c FROM {sessions(2, ' PARTITION BY k, g')} GROUP BY k, g, {BOUNDS}"
    rows = rows_of_seed(seed, 150, is_whole=True)
    schedule = Schedule(batch_sizes=(1, 40, 5))
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(col.ts)

    class Sum(AggregateFunction):
        def create_accumulator(self) -> Any:
            return None, 0

        def add(self, value: Any, accumulator: Any) -> Any:
            total, count = accumulator
            return value.b if total is None else total + (value.b or 0), count + 1

        def get_result(self, accumulator: Any) -> Any:
            return accumulator

        def merge(self, a: Any, b: Any) -> Any:
            known = [each[0] for each in (a, b) if each[0] is not None]
            return sum(known) if known else None, a[1] + b[1]

    class Shown(ProcessWindowFunction):
        def process(self, key: Any, context: Any, elements: Any) -> Any:
            ((total, count),) = elements
            yield (*key, context.window().start, context.window().end, total, count)

    stream, _ = table_of(rows, "streaming", strategy, **{"parallelism.default": "1"})
    windows = stream.key_by(lambda row: (row.k, row.g)).window(
        EventTimeSessionWindows.with_gap(Time.seconds(2))
    )
    wanted = collect(windows.aggregate(Sum(), Shown()), schedule)
    stream, _ = table_of(rows, "streaming", strategy, **{"parallelism.default": "1"})
    made = stream.get_execution_environment().sql(query, {"t": StreamTable(stream, time="ts")})
    found = [
        (row.k, row.g, *map(_millis, row[2:4]), row.s, row.c) for row in collect(made, schedule)
    ]
    assert Counter(found) == Counter(map(tuple, wanted))
    assert sum(row[-1] for row in found) < len(rows), "some are late"


def _millis(time: Any) -> int:
    return int((time - START) / timedelta(milliseconds=1))


def plan_of_history(query: str, tmp_path: Any) -> str:
    """Return the plan of a query of files that hand over."""
    arrow = [
        *(pa.string(), pa.int32(), pa.int32(), pa.int64(), pa.string(), pa.bool_(), pa.float64()),
        pa.timestamp("us"),
    ]
    columns = {name: pa.array([], kind) for name, kind in zip(T.field_names, arrow, strict=True)}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"execution.checkpointing.interval-during-backlog": "0"})
    )
    source = HybridSource.builder(FileSource.parquet(tmp_path, T)).add_source(
        CollectionSource.of([], T)
    )
    stream = env.from_source(source.build(), BY_COLUMN, "t")
    env.sql(query, {"t": StreamTable(stream, time="ts")}).print()
    return str(env.explain())


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("query", QUERIES[:3])
def test_history_that_hands_over_is_merged_by_spark_sql(
    query: str, table: str, tmp_path: Any
) -> None:
    plan = plan_of_history(query.format(TABLES[table]), tmp_path)
    assert "one projection of Spark SQL, merged by key and pane" in plan
    assert "folded as columns" in plan


@pytest.mark.parametrize(
    "query", [*(each.format(sessions(3)) for each in OF_PARTITIONS[:2]), OF_ALL]
)
def test_sessions_of_history_are_merged_by_spark_sql(query: str, tmp_path: Any) -> None:
    assert "one projection of Spark SQL, merged by key and session" in plan_of_history(
        query, tmp_path
    )


def test_the_plan_has_the_reason_why_workers_merge_sessions(tmp_path: Any) -> None:
    of_floats = OF_PARTITIONS[6].format(sessions(3))
    plan = plan_of_history(of_floats, tmp_path)
    assert "merged by key" not in plan
    assert "Arrow kernels in the worker, because" in plan
