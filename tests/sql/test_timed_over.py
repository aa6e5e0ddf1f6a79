"""OVER in order of an event time: each row is emitted once, when the watermark has reached its time."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.common import Row, RowKind, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import CollectionSource, HybridSource
from penstock.errors import SqlError
from penstock.relation.tree import Changelog
from penstock.sql.streams import StreamTable
from penstock.testing import Schedule, run_in_process
from tests.sql.harness import at, changed, query_harness, shown, state_bytes
from tests.sql.test_timed_law import STRATEGY, check, check_late
from tests.sql.timed import TimedMaker

KIND = Types.ROW_NAMED(["k", "n", "ts"], [Types.STRING(), Types.INT(), Types.SQL_TIMESTAMP()])
ROWS = [Row(k="ab"[n % 2], n=n, ts=at(n)) for n in range(5)]
TABLES = {"t": (KIND, {"time": "ts"})}
CHANGING = {"t": (KIND, {"time": "ts", "changelog": Changelog.RETRACT})}
RANGE = "RANGE BETWEEN INTERVAL '{}' SECOND PRECEDING AND CURRENT ROW"


def over(call: str, more: str = "", by: str = "PARTITION BY k ORDER BY ts") -> str:
    return f"SELECT k, n, {call} OVER ({by} {more}) AS o FROM t"


def row(k: str, n: int | None, second: float) -> Row:
    return Row(k=k, n=n, ts=at(second))


def pushed(harness: Any, *rows: Row) -> None:
    for each in rows:
        harness.push(each, int((each.ts - at(0)).total_seconds() * 1000))


@pytest.mark.parametrize("seed", range(24))
def test_values_are_equal_in_every_mode(seed: int) -> None:
    check(seed, ("batch", ("streaming", "restart", "mixed")[seed % 3]), TimedMaker.over)


def test_late_rows_are_in_no_frame() -> None:
    assert sum(check_late(seed, TimedMaker.over) for seed in range(30)) > 30


def test_a_row_comes_once_when_the_watermark_has_reached_its_time() -> None:
    with query_harness(over("SUM(n)"), TABLES) as harness:
        pushed(harness, row("a", 1, 3), row("a", 2, 1), row("b", 5, 2), row("a", 4, 3))
        assert not harness.output()
        harness.advance_watermark(2_999)
        assert shown(harness.output()) == [("+I", "a", 2, 2), ("+I", "b", 5, 5)]
        harness.advance_watermark(3_000)
        # Rows of one time are peers: each has the value of both.
        assert shown(harness.output()) == [
            ("+I", "a", 1, 7),
            ("+I", "a", 2, 2),
            ("+I", "a", 4, 7),
            ("+I", "b", 5, 5),
        ]


def test_a_late_row_is_dropped_and_counted() -> None:
    with query_harness(over("COUNT(*)"), TABLES) as harness:
        pushed(harness, row("a", 1, 1))
        harness.advance_watermark(2_000)
        pushed(harness, row("a", 2, 2), row("a", 3, 2.001))
        harness.advance_watermark(3_000)
        assert shown(harness.output()) == [("+I", "a", 1, 1), ("+I", "a", 3, 2)]
        assert harness.metric("numLateRecordsDropped") == 1


def test_results_have_the_time_of_their_rows() -> None:
    windows = (
        "SELECT window_end, SUM(o) FROM TABLE(TUMBLE(TABLE v, DESCRIPTOR(ts), INTERVAL '2' SECOND))"
        " GROUP BY window_start, window_end"
    )
    query = f"WITH v AS (SELECT ts, SUM(n) OVER (ORDER BY ts) AS o FROM t) {windows}"
    with query_harness(query, TABLES) as harness:
        pushed(harness, row("a", 1, 3), row("a", 2, 1), row("a", 4, 1.5))
        harness.advance_watermark(10_000)
        assert shown(harness.output()) == [("+I", 2.0, 8), ("+I", 4.0, 7)]


@pytest.mark.parametrize("backend", ["hashmap", "lmdb"])
def test_state_is_what_frames_reach(backend: str) -> None:
    with query_harness(over("SUM(n)", RANGE.format(5)), TABLES, backend=backend) as harness:
        pushed(harness, *(row(f"k{n}", n, n / 10) for n in range(50)))
        harness.advance_watermark(5_000)
        assert state_bytes(harness) > 0
        harness.advance_watermark(4_900 + 5_000)
        assert state_bytes(harness) == 0
        assert len(harness.output()) == 50
    rows = "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"
    sizes = []
    with query_harness(over("SUM(n)", rows), TABLES, backend=backend) as harness:
        for start in range(0, 300, 100):
            pushed(harness, *(row("a", 7, each) for each in range(start, start + 100)))
            harness.advance_watermark((start + 100) * 1000 - 1)
            sizes.append(state_bytes(harness))
    assert max(sizes) - min(sizes) < 20


def test_a_running_function_keeps_no_rows() -> None:
    sizes = []
    with query_harness(over("COUNT(*)"), TABLES) as harness:
        for start in range(0, 300, 100):
            pushed(harness, *(row("a", 7, each) for each in range(start, start + 100)))
            harness.advance_watermark((start + 100) * 1000 - 1)
            sizes.append(state_bytes(harness))
        assert harness.output()[-1].o == 300
    assert max(sizes) - min(sizes) < 20


@pytest.mark.parametrize(
    "query",
    [
        over("SUM(n)"),
        over("COUNT(DISTINCT n)"),
        over("MAX(n)", RANGE.format(4)),
        over("LAG(n, 2)"),
        over("FIRST_VALUE(n)", "ROWS BETWEEN 3 PRECEDING AND CURRENT ROW"),
        over("ROW_NUMBER()"),
        over("DENSE_RANK()"),
    ],
)
def test_a_job_goes_on_behind_a_snapshot(query: str) -> None:
    rows = [row("ab"[n % 2], n * 7 % 5, n * 3 % 8 + n) for n in range(24)]
    found = []
    hows: tuple[dict[str, Any], ...] = ({"backend": "lmdb"}, {"parallelism": 3})
    for step in (100, 4):
        snapshot, made = None, []
        for begin in range(0, len(rows), step):
            with query_harness(
                query, TABLES, snapshot=snapshot, **hows[begin // step % 2]
            ) as harness:
                pushed(harness, *rows[begin : begin + step])
                is_last = begin + step >= len(rows)
                harness.advance_watermark(100_000 if is_last else (begin + step - 1) * 1000)
                made += shown(harness.output())
                snapshot = harness.snapshot()
        found.append(sorted(made, key=repr))
    assert found[0] == found[1]
    assert len(found[0]) == len(rows)


CHANGES = {
    "LEAD": over("LEAD(n)"),
    "descending": over("SUM(n)", by="PARTITION BY k ORDER BY ts DESC"),
    "whole": over("SUM(n)", by="PARTITION BY k"),
    "another order": over("SUM(n)", by="PARTITION BY k ORDER BY n, ts"),
}


def explained(query: str, tables: Any = TABLES) -> str:
    env = StreamExecutionEnvironment.get_execution_environment()
    for name, (kind, facts) in tables.items():
        stream = env.from_collection([], kind)
        env.sql_session.create_view(name, StreamTable(stream, **facts))
    return str(env.execute_sql(f"EXPLAIN {query};").text)


@pytest.mark.parametrize("name", CHANGES)
def test_values_that_a_later_row_changes_are_a_changelog(name: str) -> None:
    assert "OVER [retract, state: all rows of each partition" in explained(CHANGES[name])


def test_rows_that_are_taken_back_make_a_changelog() -> None:
    assert "OVER [retract" in explained(over("SUM(n)"), CHANGING)
    with query_harness(over("SUM(n)"), CHANGING) as harness:
        pushed(harness, row("a", 1, 1), changed(RowKind.DELETE, k="a", n=1, ts=at(1)))
        assert [each[0] for each in shown(harness.output())] == ["+I", "-D"]


@pytest.mark.parametrize(
    ("query", "state"),
    [
        (over("SUM(n)"), "the rows ahead of the watermark, an accumulator per partition, for ever"),
        (
            over("SUM(n)", RANGE.format(5)),
            "the rows ahead of the watermark, those of the last 5000 ms",
        ),
        (
            over("LAG(n, 3)"),
            "the rows ahead of the watermark, the last 3 of each partition, for ever",
        ),
    ],
)
def test_explain_shows_the_mode_and_what_is_kept(query: str, state: str) -> None:
    assert f"OVER [insert-only, state: {state}]" in explained(query)
    number = explained("SELECT k, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts) AS o FROM t")
    assert "Row number by k [insert-only, state: the rows ahead" in number


@pytest.mark.parametrize(
    ("order", "bound", "shown"),
    [
        ("ts", "= 1", "Rank 1 to 1 by k in order of ts [insert-only"),
        ("ts, n DESC", "<= 1", "Rank 1 to 1 by k in order of ts, n DESC [insert-only"),
        ("ts", "<= 2", "Rank 1 to 2 by k in order of ts [retract"),
        ("ts", "= 2", "Rank 2 to 2 by k in order of ts [retract"),
        ("ts DESC", "= 1", "Rank 1 to 1 by k in order of ts DESC [retract"),
        ("n", "= 1", "Rank 1 to 1 by k in order of n [retract"),
    ],
)
def test_a_bound_of_the_number_makes_first_rows(order: str, bound: str, shown: str) -> None:
    numbered = f"SELECT k, n, ROW_NUMBER() OVER (PARTITION BY k ORDER BY {order}) AS r FROM t"
    assert shown in explained(f"SELECT k FROM ({numbered}) WHERE r {bound}")


INTO_FILES = """
SET 'execution.runtime-mode' = '{}';
CREATE TABLE f (k STRING, n INT, o BIGINT, p INT)
WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '/nowhere');
INSERT INTO f SELECT k, n, SUM(n) OVER (PARTITION BY k ORDER BY ts), {}(n) OVER (ORDER BY ts) FROM t;
"""


def written(mode: str, function: str) -> list[tuple[Any, ...]]:
    env = StreamExecutionEnvironment.get_execution_environment()
    rows = [CollectionSource.of(part, KIND) for part in (ROWS[:3], ROWS[3:])]
    is_mixed = mode == "MIXED"
    both = HybridSource.builder(rows[0]).add_source(rows[1]).build()
    source = both if is_mixed else CollectionSource.of(ROWS, KIND)
    stream = env.from_source(source, STRATEGY, "t")
    env.sql_session.create_view("t", StreamTable(stream, time="ts"))
    env.sql_session.add(INTO_FILES.format("STREAMING" if is_mixed else mode, function))
    schedule = Schedule() if mode == "BATCH" else Schedule(batch_sizes=(2,), restart_every=2)
    lines = map(json.loads, run_in_process(env, schedule).of("f"))
    return sorted(tuple(map(each.get, "knop")) for each in lines)


@pytest.mark.parametrize("mode", ["BATCH", "STREAMING", "AUTOMATIC", "MIXED"])
def test_files_take_the_rows_in_every_mode(mode: str) -> None:
    assert written(mode, "LAG") == [
        ("a", 0, 0, None),
        ("a", 2, 2, 1),
        ("a", 4, 6, 3),
        ("b", 1, 1, 0),
        ("b", 3, 4, 2),
    ]


def test_values_that_change_are_refused_by_files() -> None:
    with pytest.raises(SqlError, match="cannot take rows that are retract"):
        written("STREAMING", "LEAD")


def test_a_row_without_a_time_is_in_no_order() -> None:
    with query_harness(over("COUNT(*)"), TABLES) as harness:
        harness.push(Row(k="a", n=1, ts=None), 0)
        pushed(harness, row("a", 2, 1))
        harness.advance_watermark(9_000)
        assert shown(harness.output()) == [("+I", "a", 2, 1)]
