"""Groups on parts: the same changes as accumulators make, the plan of the twin in columns, and what a record costs.

Accumulators in Python are the oracle, which shares no kernel with parts: `on_accumulators` makes them compute all aggregates.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.common import Configuration, Row, RowKind, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import CollectionSource, FileSource, HybridSource
from penstock.errors import ExpressionError
from penstock.expressions.column import col
from penstock.program.operators import KEYED_AGGREGATE, KEYED_CHANGES
from penstock.relation.tree import Changelog
from penstock.sql.streams import StreamTable
from penstock.sql.udf import AggregateFunction, udaf
from penstock.testing import Schedule, collect
from tests.sql.accumulated_groups import on_accumulators
from tests.sql.harness import query_harness, shown, state_bytes

SUM_LIMIT = 1 << 63
T = Types.ROW_NAMED(
    ["k", "g", "i", "b", "s", "d", "ts", "f", "x"],
    [
        *(Types.STRING(), Types.INT(), Types.INT(), Types.LONG(), Types.STRING()),
        *(Types.SQL_DATE(), Types.SQL_TIMESTAMP(), Types.BOOLEAN(), Types.DOUBLE()),
    ],
)
MODES = {
    "batch": ("BATCH", Schedule()),
    "streaming": ("STREAMING", Schedule(batch_sizes=(1, 3, 150))),
    "restart": ("STREAMING", Schedule(batch_sizes=(7,), restart_every=2)),
    "hand-over": ("MIXED", Schedule(batch_sizes=(9,))),
}
FILTERED = "SUM(b) FILTER (WHERE f)"
AGGREGATES = {
    "COUNT(*)": "count",
    "COUNT(*) FILTER (WHERE f)": "count",
    "COUNT(s)": "count",
    "COUNT(f)": "count",
    "SUM(i)": "sum",
    "SUM(b)": "sum",
    FILTERED: "sum",
    "AVG(i)": "mean",
    "AVG(b)": "mean",
    "AVG(CAST(i AS SMALLINT))": "mean",
    "MIN(i)": "min",
    "MAX(b)": "max",
    "MIN(s)": "min",
    "MAX(d)": "max",
    "MIN(ts)": "min",
    "COUNT(x)": "count",
    "SUM(x)": "sum",
    "SUM(CAST(x AS FLOAT))": "sum",
    "SUM(x) FILTER (WHERE f)": "sum",
    "AVG(x)": "mean",
    "MIN(x)": "min",
    "MAX(CAST(x AS FLOAT))": "max",
    "STDDEV_POP(i)": "stddev",
    "STDDEV(x)": "stddev",
    "VAR_POP(x)": "variance",
    "VAR_SAMP(b)": "variance",
}
"""Aggregates that have parts, each with a method of columns that is its twin."""

OF_ALL_VALUES = [
    "COUNT(DISTINCT i)",
    "COUNT(DISTINCT x) FILTER (WHERE f)",
    "COUNT(DISTINCT f)",
    "SUM(DISTINCT b)",
    "SUM(DISTINCT CAST(g AS TINYINT))",
    "SUM(DISTINCT x)",
    "AVG(DISTINCT b)",
    "AVG(DISTINCT i)",
    "STDDEV(DISTINCT x)",
    "LISTAGG(s)",
    "LISTAGG(DISTINCT s)",
    "LISTAGG(s, '; ') FILTER (WHERE f)",
    "ARRAY_AGG(x)",
    "ARRAY_AGG(DISTINCT d)",
    "COLLECT(ts)",
    "MIN(f)",
    "MAX(f)",
]
"""Aggregates of tallies, which are kept value by value."""

OF_DECIMALS = [
    "COUNT(CAST(x AS DECIMAL(30, 3)))",
    "SUM(CAST(b AS DECIMAL(20, 2)))",
    "SUM(CAST(x AS DECIMAL(9, 4))) FILTER (WHERE f)",
    "SUM(CAST(b AS DECIMAL(38, 0)) * 1000000000000)",
    "SUM(CAST(b AS DECIMAL(38, 0)) * 10000000000000000000)",
    "AVG(CAST(i AS DECIMAL(10, 1)))",
    "AVG(CAST(x AS DECIMAL(38, 18)))",
    "MIN(CAST(b AS DECIMAL(38, 0)) * 1000000000000)",
    "MAX(CAST(x AS DECIMAL(20, 3)))",
    "STDDEV(CAST(x AS DECIMAL(9, 4)))",
    "COUNT(DISTINCT CAST(x AS DECIMAL(9, 4)))",
    "SUM(DISTINCT CAST(x AS DECIMAL(9, 4)))",
    "AVG(DISTINCT CAST(b AS DECIMAL(20, 0)))",
    "VAR_POP(DISTINCT CAST(x AS DECIMAL(9, 4)))",
    "ARRAY_AGG(CAST(x AS DECIMAL(9, 4)))",
    "COLLECT(CAST(x AS DECIMAL(9, 4)))",
    "MIN(CAST(s AS BYTES))",
    "COUNT(DISTINCT CAST(s AS BYTES)) FILTER (WHERE f)",
    "MAX(CAST(ts AS TIME))",
    "ARRAY_AGG(CAST(ts AS TIME)) FILTER (WHERE f)",
    "COUNT(ARRAY[i])",
]
"""Aggregates of decimals, which have their precision and scale as columns, of bytes and times of day, and of what is counted only."""

OF_ALL_VALUES += OF_DECIMALS


class Seen(AggregateFunction):
    """The texts of all arguments of the rows that are there, in order of arrival."""

    def create_accumulator(self) -> Any:
        return []

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        accumulator.append(repr(args))

    def retract(self, accumulator: Any, *args: Any) -> None:
        accumulator.remove(repr(args))

    def get_value(self, accumulator: Any) -> Any:
        return " ".join(accumulator)


class Sorted(Seen):
    """The texts of all arguments of the rows that are there, in their order."""

    def get_value(self, accumulator: Any) -> Any:
        return " ".join(sorted(accumulator))


class Most(Seen):
    """The greatest number of rows that were there at once."""

    def create_accumulator(self) -> Any:
        return [0, 0]

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        accumulator[0] += len(args)
        accumulator[1] = max(accumulator)

    def retract(self, accumulator: Any, *args: Any) -> None:
        accumulator[0] -= len(args)

    def get_value(self, accumulator: Any) -> Any:
        return accumulator[1]


INNER = "(SELECT k, g, COUNT(*) AS c, SUM(i) AS i, SUM(b) FILTER (WHERE i = 3) AS b, MAX(s) AS s, SUM(x) AS x FROM t GROUP BY k, g HAVING COUNT(*) <> 3)"
"""Groups that change, and go when they have three rows."""

OF_USER = [
    "seen(i, s)",
    "seen(CAST(x AS DECIMAL(9, 2)), f) FILTER (WHERE f)",
    "SUM(i), seen(ts), most(b)",
    "COUNT(DISTINCT i), seen(ARRAY[i])",
]
"""Functions of the user, beside others."""

OF_ARRIVAL = f"SELECT k, seen(c), most(i), SUM(x), MAX(b) FROM {INNER} GROUP BY k"
"""Results that depend on the order of rows of several inner groups, which parallel tasks send: compared at parallelism 1."""

OF_ANY_ORDER = f"SELECT k, sorted_seen(c, s), SUM(x), MAX(b) FROM {INNER} GROUP BY k"
"""The same of a function whose value depends on the rows alone: compared at any parallelism."""

QUERIES = [
    *(f"SELECT k, {each} AS a FROM t GROUP BY k" for each in AGGREGATES),
    f"SELECT {', '.join(f'{each} AS a{at}' for at, each in enumerate(AGGREGATES))} FROM t",
    *(f"SELECT k, {each} FROM t GROUP BY k" for each in OF_USER),
    OF_ARRIVAL,
    OF_ANY_ORDER,
    *(f"SELECT k, {each} AS a FROM t GROUP BY k" for each in OF_ALL_VALUES),
    f"SELECT {', '.join(f'{each} AS a{at}' for at, each in enumerate(OF_ALL_VALUES))} FROM t",
    "SELECT k, g, COUNT(*) AS c, SUM(b) AS s FROM t WHERE i > 1 GROUP BY k, g",
    "SELECT f, d, AVG(b) AS s FROM t GROUP BY f, d",
    "SELECT k, SUM(b) + COUNT(*) AS c FROM t GROUP BY k HAVING COUNT(*) > 2",
    "SELECT DISTINCT k FROM t",
    "SELECT x, COUNT(*) AS c FROM t GROUP BY x",
    "SELECT CAST(x AS FLOAT) AS x, SUM(i) AS c FROM t GROUP BY CAST(x AS FLOAT)",
    "SELECT d, MAX(s) AS c FROM (SELECT CAST(x AS DECIMAL(30, 2)) AS d, s FROM t) GROUP BY d",
    "SELECT CAST(b AS DECIMAL(38, 0)) * 1000000000000 AS d, COUNT(*) AS c FROM t GROUP BY CAST(b AS DECIMAL(38, 0)) * 1000000000000",
    "SELECT y, h, COUNT(DISTINCT i) AS c FROM (SELECT CAST(s AS BYTES) AS y, CAST(ts AS TIME) AS h, i FROM t) GROUP BY y, h",
    "SELECT DISTINCT f, g FROM t",
    "SELECT g, COUNT(*) AS c, SUM(n) AS s FROM (SELECT DISTINCT g, k, 2 AS n FROM t) GROUP BY g",
    "SELECT k, g, COUNT(*) AS c FROM t GROUP BY ROLLUP (k, g)",
    "SELECT n, COUNT(*) AS c FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k) GROUP BY n",
    "SELECT k, MAX(n) AS m, LISTAGG(l) AS l FROM (SELECT k, g, COUNT(*) AS n, MIN(s) AS l FROM t GROUP BY k, g) GROUP BY k",
]


OF_CHANGES = [
    "COUNT(*)",
    "COUNT(*) FILTER (WHERE g = 0)",
    "COUNT(b)",
    "COUNT(s)",
    "SUM(c)",
    "SUM(b)",
    "SUM(CAST(g AS TINYINT))",
    "SUM(i) FILTER (WHERE c > 2)",
    "AVG(i)",
    "AVG(b)",
    "AVG(CAST(g AS INT))",
    "SUM(x)",
    "SUM(CAST(x AS FLOAT)) FILTER (WHERE c > 1)",
    "AVG(x)",
    "STDDEV(x)",
    "VAR_POP(c)",
]
"""Aggregates of rows that are taken back which have parts."""

OF_CHANGES += [
    *(
        "MIN(c)",
        "MAX(s)",
        "MAX(x)",
        "MIN(CAST(x AS FLOAT))",
        "COUNT(DISTINCT c)",
        "LISTAGG(s)",
        "COLLECT(c)",
    ),
    *(
        "SUM(DISTINCT b)",
        "AVG(DISTINCT c) FILTER (WHERE c > 1)",
        "SUM(DISTINCT x)",
        "VAR_POP(DISTINCT i)",
    ),
    *("ARRAY_AGG(x)", "LISTAGG(DISTINCT s)", "MAX(c > 2)"),
    *(
        "SUM(CAST(c AS DECIMAL(20, 2)))",
        "AVG(CAST(x AS DECIMAL(20, 2)))",
        "MIN(CAST(b AS DECIMAL(38, 0)) * 1000000000000)",
    ),
    *("MAX(CAST(s AS BYTES))", "SUM(DISTINCT CAST(x AS DECIMAL(9, 4)))", "COUNT(ARRAY[i])"),
]

QUERIES += [
    *(f"SELECT k, {each} AS a FROM {INNER} GROUP BY k" for each in OF_CHANGES),
    f"SELECT {', '.join(f'{each} AS a{at}' for at, each in enumerate(OF_CHANGES))} FROM {INNER}",
    f"SELECT s, SUM(b) AS b FROM {INNER} GROUP BY s",
    f"SELECT DISTINCT c, s FROM {INNER} WHERE c > 1",
    f"SELECT n, COUNT(*) AS m FROM (SELECT s, SUM(c) AS n FROM {INNER} GROUP BY s) GROUP BY n HAVING COUNT(*) < 3",
]


def rows_of_seed(seed: int, count: int = 60) -> list[Row]:
    rng = random.Random(seed)  # noqa: S311 - examples, not secrets

    def one(*values: Any) -> Any:
        return rng.choice((*values, None))

    start = datetime(2024, 1, 1)  # noqa: DTZ001 - a TIMESTAMP has no zone
    return [
        Row(
            one("", "p", "q"),
            one(0, 1),
            one(-7, 0, 3, 2147483647),
            one(-5, 1, SUM_LIMIT - 1, -SUM_LIMIT, 10_000_000_000),
            one("", "ä", "Z", "pq"),
            one(date(2024, 2, 29), date(1969, 12, 31)),
            one(start, start + timedelta(microseconds=1)),
            one(True, False),
            one(-1.5, 0.0, 0.1, 1e16, -1e-300),
        )
        for _ in range(count)
    ]


def stream_of(rows: list[Row], mode: str, options: dict[str, Any]) -> tuple[Any, Schedule]:
    runtime, schedule = MODES[mode]
    given = {
        "execution.runtime-mode": "STREAMING" if runtime == "MIXED" else runtime,
        "execution.checkpointing.interval-during-backlog": "0",  # history is a batch run
        **options,
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(given))
    source: Any = CollectionSource.of(rows, T)
    if runtime == "MIXED":
        half = len(rows) // 2
        past, live = (CollectionSource.of(part, T) for part in (rows[:half], rows[half:]))
        source = HybridSource.builder(past).add_source(live).build()
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "t"), schedule


def hashable(value: Any) -> Any:
    """Return a value of a changelog, which may be a list or a map."""
    return (
        repr(sorted(value.items(), key=repr) if isinstance(value, dict) else value)
        if isinstance(value, list | dict)
        else value
    )


def changes_of(query: str, rows: list[Row], mode: str, **options: Any) -> Counter[Any]:
    """Return the changes that a query emits, with how often each came; the error's class if it fails."""
    stream, schedule = stream_of(rows, mode, options)
    env = stream.get_execution_environment()
    env.create_function("seen", udaf(Seen(), result_type="STRING"))
    env.create_function("sorted_seen", udaf(Sorted(), result_type="STRING"))
    env.create_function("most", udaf(Most(), result_type="INT"))
    made = env.sql(query, {"t": stream})
    try:
        return Counter(
            (str(row.get_row_kind()), *map(hashable, row)) for row in collect(made, schedule)
        )
    except ExpressionError as refused:
        return Counter({type(refused).__name__: 1})


@pytest.mark.parametrize("query", QUERIES)
def test_changes_are_those_of_accumulators(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for at, mode in enumerate(MODES):
        rows = rows_of_seed(at, count=400 if mode == "streaming" else 60)
        with on_accumulators(monkeypatch):
            wanted = changes_of(query, rows, mode)
        assert wanted
        assert changes_of(query, rows, mode) == wanted, mode
        if mode == "hand-over" and query != OF_ARRIVAL:
            assert changes_of(query, rows, mode, **{"parallelism.default": 3}) == wanted


def kinds_of(stream: Any) -> list[Any]:
    found = {KEYED_AGGREGATE, KEYED_CHANGES}
    return [
        each.kind for each in stream.get_execution_environment().graph.nodes() if each.kind in found
    ]


@pytest.mark.parametrize("aggregate", [*AGGREGATES, *OF_ALL_VALUES])
def test_the_operator_is_that_of_columns(aggregate: str) -> None:
    stream, _ = stream_of([], "streaming", {})
    env = stream.get_execution_environment()
    env.sql(f"SELECT k, {aggregate} AS a FROM t GROUP BY k", {"t": stream})
    assert kinds_of(stream) == [KEYED_AGGREGATE]


@pytest.mark.parametrize("aggregate", OF_CHANGES)
def test_the_operator_of_changes_is_that_of_columns(
    aggregate: str,
) -> None:
    stream, _ = stream_of([], "streaming", {})
    env = stream.get_execution_environment()
    env.sql(f"SELECT k, {aggregate} AS a FROM {INNER} GROUP BY k", {"t": stream})
    assert kinds_of(stream) == [KEYED_AGGREGATE] * 2


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k, SUM(b) AS s, AVG(i) AS a, COUNT(*) FILTER (WHERE f) AS c FROM t WHERE i > 0 GROUP BY k",
        "SELECT COUNT(*) AS c, MAX(s) AS m FROM t",
        "SELECT DISTINCT k, f FROM t",
    ],
)
def test_history_that_hands_over_is_merged_by_spark_sql(query: str, tmp_path: Any) -> None:
    columns = [name for name in T.field_names if name not in {"d", "ts"}]
    kinds = [
        kind for name, kind in zip(T.field_names, T.field_types, strict=True) if name in columns
    ]
    declared = Types.ROW_NAMED(columns, kinds)
    arrow = dict(
        zip(
            columns,
            (
                pa.string(),
                pa.int32(),
                pa.int32(),
                pa.int64(),
                pa.string(),
                pa.bool_(),
                pa.float64(),
            ),
            strict=True,
        )
    )
    pq.write_table(
        pa.table({name: pa.array([], kind) for name, kind in arrow.items()}), tmp_path / "a.parquet"
    )
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"execution.checkpointing.interval-during-backlog": "0"})
    )
    source = HybridSource.builder(FileSource.parquet(tmp_path, declared)).add_source(
        CollectionSource.of([], declared)
    )
    stream = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "t")
    env.sql(query, {"t": stream}).print()
    plan = env.explain()
    assert "one projection of Spark SQL, merged by key" in plan
    assert "folded as columns" in plan


def calls_of(run: Callable[[], Any]) -> int:
    """Return how many functions of this package a run calls, as a profiler sees them."""
    count = 0

    def seen(frame: Any, event: str, _: Any) -> None:
        nonlocal count
        if event == "call" and "penstock" in frame.f_code.co_filename:
            count += 1

    sys.setprofile(seen)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    ("aggregate", "changelog"),
    [
        *((each, Changelog.INSERT_ONLY) for each in AGGREGATES if "FLOAT" not in each),
        *(
            (each, Changelog.RETRACT)
            for each in AGGREGATES
            if each[:3] in {"COU", "SUM", "AVG", "STD", "VAR"} and "FLOAT" not in each
        ),
    ],
)
def test_a_record_costs_at_most_twice_what_it_costs_in_columns(
    aggregate: str, changelog: Changelog
) -> None:
    """Calls are counted for many records and for few: the difference is that of records."""
    field = {"*": "b"}.get(aggregate.partition("(")[2][0], aggregate.partition("(")[2][0])
    how = AGGREGATES[aggregate]
    field = "d" if "(d)" in aggregate else "ts" if "(ts)" in aggregate else field
    is_refused = field == "x" and how in {"stddev", "variance"}
    argument = col.i if field not in T.field_names or is_refused else col[field]

    def calls(count: int, *, of_sql: bool) -> int:
        rows = rows_of_seed(1, count)
        for row in rows:
            row[0], row[2], row[3] = row[0] or "", (row[2] or 0) % 9, (row[3] or 0) % 9
        stream, _ = stream_of(rows, "streaming", {})
        env = stream.get_execution_environment()
        if of_sql:
            table = StreamTable(stream, changelog)
            made = env.sql(f"SELECT k, {aggregate} AS a FROM t GROUP BY k", {"t": table})
        else:
            made = stream.key_by(col.k).aggregate(a=getattr(argument, how)())
        return calls_of(lambda: collect(made, Schedule(batch_sizes=(500,))))

    sql, columns = (calls(2500, of_sql=each) - calls(500, of_sql=each) for each in (True, False))
    assert sql <= 2 * columns, (sql / 2000, columns / 2000)


HALF = SUM_LIMIT // 2


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "order", [(HALF, HALF, -HALF), (HALF, -HALF, HALF), (-HALF, -HALF, -HALF, HALF)]
)
def test_a_sum_may_leave_bigint_on_its_way(mode: str, order: tuple[int, ...]) -> None:
    rows = [Row("a", 0, 1, value, "", None, None, True, 0.0) for value in order]
    query = "SELECT k, SUM(b) AS s, AVG(b) AS a FROM t GROUP BY k"
    stream, _ = stream_of(rows, mode, {})
    made = stream.get_execution_environment().sql(query, {"t": stream})
    total = sum(order)
    last = collect(made, Schedule(batch_sizes=(len(order),)))[-1]
    assert tuple(last) == ("a", total, abs(total) // len(order) * (1 if total > 0 else -1))


@pytest.mark.parametrize("mode", MODES)
def test_a_sum_that_is_no_bigint_is_an_error_that_names_the_group(mode: str) -> None:
    rows = [Row("a", 0, 1, HALF, "", None, None, True, 0.0)] * 2
    stream, _ = stream_of(rows, mode, {})
    made = stream.get_execution_environment().sql(
        "SELECT k, SUM(b) AS s FROM t GROUP BY k", {"t": stream}
    )
    with pytest.raises(ExpressionError) as refused:
        collect(made, Schedule(batch_sizes=(2,)))
    assert (
        f"'group by' failed on key ('a',): the sum is {SUM_LIMIT}, which does not fit LONG"
        in str(refused.value)
    )


def test_an_average_of_great_numbers_is_exact() -> None:
    rows = [
        Row("a", 0, 1, value, "", None, None, True, 0.0) for value in (SUM_LIMIT - 1, SUM_LIMIT - 3)
    ]
    assert changes_of("SELECT AVG(b) AS a FROM t", rows, "batch") == Counter(
        {("+I", SUM_LIMIT - 2): 1}
    )
    rows = [Row("a", 0, 1, value, "", None, None, True, 0.0) for value in (-3, -4)]
    assert changes_of("SELECT AVG(b) AS a, AVG(i) AS c FROM t", rows, "batch") == Counter(
        {("+I", -3, 1): 1}
    )


def test_an_update_is_a_pair_in_order_and_equal_results_are_none() -> None:
    with query_harness("SELECT k, MAX(i) AS m FROM t GROUP BY k", {"t": (T, {})}) as harness:
        for value in (1, 1, 3, 2):
            harness.push(Row("a", 0, value, 0, "", None, None, True, 0.0))
        assert [(str(row.get_row_kind()), row.m) for row in harness.output()] == [
            *(("+I", 1), ("-U", 1), ("+U", 3)),
        ]


def test_state_of_rows_that_are_gone_is_empty() -> None:
    query = "SELECT k, SUM(i) AS s, AVG(b) AS a, COUNT(f) AS c FROM t GROUP BY k"
    with query_harness(query, {"t": (T, {"changelog": Changelog.RETRACT})}) as harness:
        empty = state_bytes(harness)
        row = ("a", 0, 1, 2, "", None, None, True, 0.0)
        assert shown(harness.push(Row(*row))) == [("+I", "a", 1, 2, 1)]
        without = Row(*("a", 0, None, None, "", None, None, None, 0.0))
        assert shown(harness.push(without)) == []
        back = Row(*row)
        back.set_row_kind(RowKind.DELETE)
        assert shown(harness.push(back)) == [("+U", "a", None, None, 0), ("-U", "a", 1, 2, 1)]
        without.set_row_kind(RowKind.UPDATE_BEFORE)
        assert state_bytes(harness) > empty
        assert shown(harness.push(without)) == [("-D", "a", None, None, 0)]
        assert state_bytes(harness) == empty


def test_state_of_a_group_has_one_part_per_argument() -> None:
    def size(aggregates: str) -> int:
        with query_harness(f"SELECT k, {aggregates} FROM t GROUP BY k", {"t": (T, {})}) as harness:
            assert shown(harness.push(Row("a", 0, 1, 2, "", None, None, True, 0.0)))
            return state_bytes(harness)

    assert size("SUM(i) AS s, COUNT(i) AS c") == size("SUM(i) AS s, COUNT(i) AS c, AVG(i) AS a")
