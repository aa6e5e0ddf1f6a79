"""Sessions that Spark SQL merges in history: those of an obvious reference, and one answer of a job wherever history ends.

Rows of a key touch, come at the same time, and have no key or value. Catches: a session in two rows, two in one, a time of a dropped
row or of none that nobody sees, a session that live rows do not extend.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.common import Configuration, Duration, Row, Time, Types, WatermarkStrategy
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import StreamExecutionEnvironment, col
from penstock.datastream.connectors import CollectionSource, FileSource, HybridSource
from penstock.datastream.window import EndOfStreamWindows, EventTimeSessionWindows
from penstock.errors import TypeMismatchError
from penstock.expressions.keyed_aggregate import keyed_aggregate
from penstock.expressions.paned import FIRST, KEPT, PANE, TIME, by_piece
from penstock.expressions.steps import ExpressionChain, SelectStep, WhereStep
from penstock.expressions.typing import typed
from penstock.spark.expressions.aggregates import merged
from penstock.spark.expressions.projection import projected
from penstock.sql.streams import StreamTable
from penstock.testing import Schedule, collect
from penstock.types.arrow import arrow_columns, arrow_schema
from tests.spark.conftest import Environment
from tests.sql.harness import at
from tests.sql.test_group_parts import hashable

GAP_MS = 5
VALUES = Types.ROW_NAMED(["k", "n", "at"], [Types.STRING(), Types.LONG(), Types.LONG()])
Values = tuple[str | None, int | None, int | None]


def drawn_values() -> list[Values]:
    """Return rows of many keys, each a case of its own."""
    rng = random.Random(7)  # noqa: S311 - examples, not secrets
    rows: list[Values] = [
        (None if key == 0 else f"k{key}", rng.choice((None, -1, 0, 2)), rng.randrange(-30, 30))
        for key in range(150)
        for _ in range(rng.randrange(1, 12))
    ]
    far: list[Values] = [
        ("far", 1, stamp) for stamp in (-(1 << 62), 0, 5, (1 << 63) - 7, (1 << 63) - 2)
    ]
    return rng.sample(rows + far, len(rows) + len(far))


def sessions_of(rows: list[Values], least: int | None = None) -> Counter[Any]:
    """Return (key, first time, last time, rows, different values, sum), of the rows whose value is not less than one."""
    times: dict[str | None, list[int]] = {}
    for key, n, stamp in rows:
        if stamp is not None and (least is None or (n is not None and n >= least)):
            times.setdefault(key, []).append(stamp)
    found: Counter[Any] = Counter()
    for key, stamps in times.items():
        ordered = sorted(stamps)
        begins = [
            stamp
            for before, stamp in zip([None, *ordered], ordered, strict=False)
            if before is None or stamp - before > GAP_MS
        ]
        for begin, end in zip(begins, [*begins[1:], 1 << 64], strict=True):
            own = [
                n for k, n, stamp in rows if k == key and stamp is not None and begin <= stamp < end
            ]
            if least is not None:
                own = [n for n in own if n is not None and n >= least]
            known = [n for n in own if n is not None]
            last = max(stamp for stamp in ordered if stamp < end)
            total = sum(known) if known else None
            found[key, begin, last, len(own), total] += 1
    return found


def merged_by_spark(
    session: SparkSession, directory: Path, rows: list[Values], *steps: WhereStep, tally: bool
) -> list[dict[str, Any]]:
    """Return what Spark SQL merges, row by row."""
    table = pa.Table.from_arrays(
        arrow_columns(VALUES, list(map(list, rows))), schema=arrow_schema(VALUES)
    )
    pq.write_table(table, directory / "rows.parquet")
    aggregates = {"c": col.count(), "s": col.n.sum()}
    if tally:
        aggregates["d"] = col.n.count_distinct()
    fields = ((name, typed(getattr(col, name).tree, VALUES, "test")) for name in ("k", "n"))
    before = ExpressionChain(VALUES, (*steps, SelectStep(tuple(fields))))
    chain, aggregate = keyed_aggregate(before.type_info, ("k",), aggregates)
    chain, aggregate = by_piece(before.followed_by(chain), aggregate, "at", GAP_MS)
    assert chain.unprojected_because is None
    parts = projected(session.read.parquet(str(directory)), chain, None)
    found = merged(parts, aggregate, 2, session_gap_ms=GAP_MS)
    assert FIRST not in found.columns
    assert found.columns[-1] == TIME
    made: list[dict[str, Any]] = found.toArrow().to_pylist()
    return made


def counted(rows: list[dict[str, Any]]) -> Counter[Any]:
    return Counter(
        (row["k"], row[PANE], row[TIME], row["count()"], row["sum(n)"])
        for row in rows
        if row.get(KEPT, True)
    )


def test_a_session_is_one_row(session: SparkSession, tmp_path: Path) -> None:
    rows = drawn_values()
    found = merged_by_spark(session, tmp_path, rows, tally=False)
    assert counted(found) == sessions_of(rows)
    assert any(row[TIME] - row[PANE] > GAP_MS for row in found), "some have several pieces"


def test_dropped_rows_leave_their_greatest_time(session: SparkSession, tmp_path: Path) -> None:
    rows = drawn_values()
    condition = typed((col.n >= 0).tree, VALUES, "test")
    found = merged_by_spark(session, tmp_path, rows, WhereStep(condition), tally=False)
    assert counted(found) == sessions_of(rows, least=0)
    dropped = [row for row in found if not row[KEPT]]
    assert [row[TIME] for row in dropped] == [
        max(stamp for _, n, stamp in rows if stamp is not None and (n is None or n < 0))
    ]


def test_a_row_without_a_time_is_in_no_session(session: SparkSession, tmp_path: Path) -> None:
    rows = [*drawn_values(), ("k1", 1, None), ("k2", 1, None), (None, 1, None)]
    found = merged_by_spark(session, tmp_path, rows, tally=False)
    untimed = [row for row in found if row[TIME] is None]
    assert {row["k"] for row in untimed} == {"k1", "k2", None}
    assert counted([row for row in found if row[TIME] is not None]) == sessions_of(rows)


def test_counted_values_are_merged_in_pieces(session: SparkSession, tmp_path: Path) -> None:
    rows = drawn_values()
    found = merged_by_spark(session, tmp_path, rows, tally=True)
    whole = sessions_of(rows)
    assert all(row[TIME] - row[PANE] < GAP_MS for row in found)
    counts: Counter[Any] = Counter()
    for row in found:
        (in_session,) = [
            each for each in whole if each[0] == row["k"] and each[1] <= row[PANE] <= each[2]
        ]
        counts[in_session] += row["count()"]
        assert row[TIME] <= in_session[2]
    assert counts == Counter({each: each[3] for each in whole})


T = Types.ROW_NAMED(
    ["k", "i", "b", "s", "f", "ts"],
    [
        *(Types.STRING(), Types.INT(), Types.LONG(), Types.STRING(), Types.BOOLEAN()),
        Types.SQL_TIMESTAMP(),
    ],
)
BOUND_SECONDS = 3
STRATEGY = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(BOUND_SECONDS))
STRATEGY = STRATEGY.with_timestamp_assigner(col.ts)
OF_SESSIONS = "FROM TABLE(SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '2' SECOND)) {} GROUP BY k, window_start, window_end"
ALL = (
    "SELECT k, window_start, window_end, COUNT(*) AS c, COUNT(s) AS cs, SUM(i) AS si, SUM(b) AS sb, AVG(b) AS ab, MIN(s) AS ms,"
    f" MAX(ts) AS mt, SUM(b) FILTER (WHERE f) AS sf {OF_SESSIONS}"
)
QUERIES = {
    "all": ALL.format(""),
    "condition": ALL.format("WHERE i > 0"),
    "tally": f"SELECT k, window_end, COUNT(DISTINCT i) AS d, COUNT(*) AS c {OF_SESSIONS}".format(
        ""
    ),
    "no partition": (
        "SELECT window_start, COUNT(*) AS c, MAX(s) AS m FROM TABLE(SESSION(TABLE t, DESCRIPTOR(ts), INTERVAL '1' SECOND))"
        " GROUP BY window_start, window_end"
    ),
}


def drawn_rows(count: int) -> list[Row]:
    """Return rows in an order in which some are late, of some cuts between history and live."""
    rng = random.Random(3)  # noqa: S311 - examples, not secrets
    return [
        Row(
            rng.choice(("p", "q", "r", None)),
            rng.choice((-7, 0, 3, None)),
            rng.choice((-5, 1, 1 << 50, None)),
            rng.choice(("", "ä", "Z", None)),
            rng.choice((True, False, None)),
            at(max(0, number // 2 - rng.randrange(7)) + rng.choice((0, 0.5, 0.501))),
        )
        for number in range(count)
    ]


def written(rows: Sequence[Row], directory: Path, type_info: Any = T) -> FileSource:
    """Return a source of two files of rows."""
    directory.mkdir()
    for part in range(2):
        columns = arrow_columns(type_info, list(map(list, rows[part::2])))
        table = pa.Table.from_arrays(columns, schema=arrow_schema(type_info))
        pq.write_table(table, directory / f"{part}.parquet")
    return FileSource.parquet(str(directory), type_info)


def changes(made: Any) -> Counter[Any]:
    return Counter((str(row.get_row_kind()), *map(hashable, row)) for row in made)


def of_sources(env: StreamExecutionEnvironment, query: str, past: Any, live: Any) -> Any:
    source = HybridSource.builder(past).add_source(live).build()
    table = StreamTable(env.from_source(source, STRATEGY, "t"), time="ts")
    return env.sql(query, {"t": table})


def plan_of(made: Any) -> str:
    """Return the decisions about a program, which stays without a sink."""
    env = made.get_execution_environment()
    sink = made.sink_to(DiscardingSink()).node_id
    try:
        return str(env.explain())
    finally:
        env.graph.remove(sink)


def in_process(query: str, rows: list[Row], cut: int, mode: str) -> Counter[Any]:
    """Return the changes of a job without Spark SQL; live rows are one micro-batch."""
    options = {
        "execution.checkpointing.interval-during-backlog": "0",
        "execution.runtime-mode": mode,
        "parallelism.default": "2",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
    past, live = (CollectionSource.of(part, T) for part in (rows[:cut], rows[cut:]))
    return changes(collect(of_sources(env, query, past, live), Schedule(batch_sizes=(10_000,))))


@pytest.mark.parametrize(
    ("name", "cut", "mode"),
    [
        *(("all", cut, "mixed") for cut in (0, 40, 99)),
        ("condition", 60, "mixed"),
        ("tally", 50, "mixed"),
        ("no partition", 30, "mixed"),
        ("all", 40, "batch"),
    ],
)
def test_history_and_live_are_one_answer(
    name: str, cut: int, mode: str, environment: Environment, tmp_path: Path
) -> None:
    rows, query = drawn_rows(100), QUERIES[name]
    env = environment(mode, **{"execution.batch.queries": "false"})
    past, live = (
        written(part, tmp_path / which)
        for which, part in (("past", rows[:cut]), ("live", rows[cut:]))
    )
    made = of_sources(env, query, past, live)
    assert "one projection of Spark SQL, merged by key and session" in plan_of(made)
    with made.execute_and_collect() as found:
        answer = changes(found)
    assert answer == in_process(query, rows, cut, "BATCH" if mode == "batch" else "STREAMING")
    assert len(answer) > 5


def test_sessions_of_columns_are_merged_too(environment: Environment, tmp_path: Path) -> None:
    rows = drawn_rows(100)
    found = []
    for place in ("true", "false"):
        env = environment(
            "mixed",
            **{
                "execution.batch.expressions": place,
                "execution.checkpointing.dir": str(tmp_path / place),
            },
        )
        (tmp_path / f"in {place}").mkdir()
        past, live = (
            written(part, tmp_path / f"in {place}" / which)
            for which, part in (("past", rows[:70]), ("live", rows[70:]))
        )
        source = HybridSource.builder(past).add_source(live).build()
        stream = env.from_source(source, STRATEGY, "t").where(col.i.is_not_null())
        windows = stream.key_by(col.k, col.f).window(
            EventTimeSessionWindows.with_gap(Time.seconds(2))
        )
        made = windows.aggregate(col.window_end, n=col.count(), total=col.i.sum(), last=col.s.max())
        assert ("merged by key and session" in plan_of(made)) is (place == "true")
        with made.execute_and_collect() as results:
            found.append(changes(results))
    assert found[0] == found[1]
    assert len(found[0]) > 9


def test_a_time_of_history_is_not_null(environment: Environment, tmp_path: Path) -> None:
    rows = [*drawn_rows(20), Row("p", 1, 1, "", True, None)]
    env = environment("mixed")
    past, live = written(rows, tmp_path / "past"), written([], tmp_path / "live")
    made = of_sources(env, QUERIES["all"], past, live)
    with pytest.raises(TypeMismatchError, match="is NULL"), made.execute_and_collect() as found:
        list(found)


@pytest.mark.parametrize("place", ["true", "false"])
def test_python_gets_a_row_per_session(
    place: str, environment: Environment, tmp_path: Path
) -> None:
    rows, query = drawn_rows(100), QUERIES["all"]
    env = environment("mixed", **{"execution.batch.expressions": place})
    past, live = written(rows, tmp_path / "past"), written([], tmp_path / "live")
    of_sources(env, query, past, live).sink_to(DiscardingSink())
    received = env.execute("sessions").operator_records
    (count,) = [each for uid, each in received.items() if uid.startswith("timestamps")]
    sessions = in_process(query, rows, len(rows), "STREAMING").total()
    assert count == (sessions if place == "true" else len(rows))


def test_a_window_of_all_time_is_left_to_workers(environment: Environment, tmp_path: Path) -> None:
    rows = drawn_rows(20)
    env = environment("batch")
    stream = env.from_source(written(rows, tmp_path / "past"), STRATEGY, "t")
    made = stream.key_by(col.k).window(EndOfStreamWindows.get()).aggregate(n=col.count())
    with made.execute_and_collect() as found:
        counts = {row.k: row.n for row in found}
    assert counts == Counter(row[0] for row in rows)
