"""First rows: one operator of SQL and columns, the changes that it makes, and the first row in order of event time."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from penstock.common import Configuration, Row, RowKind, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import CollectionSource, HybridSource
from penstock.expressions.column import col
from penstock.program.operators import KEYED_CHANGES, KEYED_PROCESS, KEYED_TOP_N
from penstock.relation.tree import Changelog
from penstock.sql.streams import StreamTable
from penstock.testing import Schedule, collect
from tests.sql.harness import at, query_harness, shown, state_bytes
from tests.sql.test_group_parts import calls_of
from tests.sql.test_window_parts import BY_COLUMN

T = Types.ROW_NAMED(
    ["k", "n", "x", "ts"],
    [Types.STRING(), Types.INT(), Types.DOUBLE(), Types.SQL_TIMESTAMP()],
)
MODES = {
    "batch": ("BATCH", Schedule()),
    "streaming": ("STREAMING", Schedule(batch_sizes=(1, 3, 150))),
    "restart": ("STREAMING", Schedule(batch_sizes=(7,), restart_every=2)),
    "hand-over": ("MIXED", Schedule(batch_sizes=(9,))),
}
TABLES = {"t": (T, {"time": "ts"})}
NAN = float("nan")
REST = "x NULLS LAST, ts"
"""Order of the other columns: columns have NULL behind all."""


def rows_of_seed(seed: int, count: int = 60) -> list[Row]:
    rng = random.Random(seed)  # noqa: S311 - examples, not secrets
    return [
        Row(
            rng.choice("abc"),
            rng.choice((None, *range(9))),
            rng.choice((None, -0.0, 0.0, 2.5, NAN)),
            at(number // 2 + rng.randrange(3)),
        )
        for number in range(count)
    ]


def stream_of(rows: list[Row], mode: str, **options: str) -> tuple[Any, Schedule]:
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
    return env.from_source(source, BY_COLUMN, "t"), schedule


def first(bound: str, order: str = "n DESC NULLS LAST", what: str = "k, n, x, ts") -> str:
    number = f"ROW_NUMBER() OVER (PARTITION BY k ORDER BY {order}) AS r"
    return f"SELECT {what} FROM (SELECT *, {number} FROM t) WHERE r {bound}"


def of_sql(stream: Any, query: str) -> Any:
    return stream.get_execution_environment().sql(query, {"t": StreamTable(stream, time="ts")})


def left(changes: list[Row]) -> Counter[str]:
    """Return the rows that changes leave; each must name a row that is there."""
    found = Counter[str]()
    for row in changes:
        is_added = row.get_row_kind() in {RowKind.INSERT, RowKind.UPDATE_AFTER}
        values = repr([each + 0 if isinstance(each, float) else each for each in row])  # no -0.0
        found[values] += 1 if is_added else -1
        assert found[values] >= 0, row
    return +found


def kinds_of(stream: Any) -> list[Any]:
    nodes = stream.get_execution_environment().graph.nodes()
    return [each.kind for each in nodes if each.kind in {KEYED_TOP_N, KEYED_CHANGES, KEYED_PROCESS}]


@pytest.mark.parametrize("query", [first("<= 3"), first("= 1"), "SELECT k FROM t LIMIT 2"])
def test_sql_and_columns_have_one_operator(query: str) -> None:
    stream, _ = stream_of([], "streaming")
    of_sql(stream, query)
    assert kinds_of(stream) == [KEYED_TOP_N]
    stream, _ = stream_of([], "streaming")
    stream.key_by(col.k).top_n(3, by=col.n)
    assert kinds_of(stream) == [KEYED_TOP_N]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n", [1, 3])
def test_sql_and_columns_make_the_same_changes(n: int, mode: str) -> None:
    for seed in range(4):
        found = []
        for way in (
            lambda stream: of_sql(stream, first(f"<= {n}", f"n DESC NULLS LAST, {REST}")),
            lambda stream: stream.key_by(col.k).top_n(n, by=col.n),
        ):
            stream, schedule = stream_of(rows_of_seed(seed), mode)
            found.append(
                Counter(repr((str(r.get_row_kind()), *r)) for r in collect(way(stream), schedule))
            )
        assert found[0] == found[1]
        assert found[0]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("what", ["k, n, m", "k, n, m, r"])
@pytest.mark.parametrize("bound", ["<= 2", "> 1 AND r < 4"])
def test_first_rows_of_rows_that_change(bound: str, what: str, mode: str) -> None:
    groups = "SELECT k, n, MAX(x) AS m FROM t GROUP BY k, n"
    number = "ROW_NUMBER() OVER (PARTITION BY k ORDER BY m DESC, n) AS r"
    query = f"SELECT {what} FROM (SELECT *, {number} FROM ({groups})) WHERE r {bound}"
    for seed in range(4):
        rows = [row for row in rows_of_seed(seed) if row[2] == row[2]]
        stream, schedule = stream_of(rows, mode)
        stream_of_batch, _ = stream_of(rows, "batch", **{"execution.batch.queries": "false"})
        wanted = left(collect(of_sql(stream_of_batch, query)))
        assert left(collect(of_sql(stream, query), schedule)) == wanted
        assert wanted


@pytest.mark.parametrize("mode", ["batch", "streaming"])
@pytest.mark.parametrize("n", [1, 10])
def test_a_record_costs_at_most_twice_as_much_either_way(n: int, mode: str) -> None:
    """Calls are counted for many records and for few: the difference is that of records."""

    def calls(count: int, *, is_sql: bool) -> int:
        rows = rows_of_seed(1, count)
        stream, _ = stream_of(rows, mode)
        made = (
            of_sql(stream, first(f"<= {n}")) if is_sql else stream.key_by(col.k).top_n(n, by=col.n)
        )
        schedule = Schedule() if mode == "batch" else Schedule(batch_sizes=(500,))
        return calls_of(lambda: collect(made, schedule))

    sql, columns = (calls(2500, is_sql=each) - calls(500, is_sql=each) for each in (True, False))
    assert sql <= 2 * columns, (sql / 2000, columns / 2000)
    assert columns <= 2 * sql, (sql / 2000, columns / 2000)


def test_rows_of_a_ranking_expire_one_by_one() -> None:
    changing = {"t": (T, {"changelog": Changelog.RETRACT})}
    hour = 3_600_000
    with query_harness(
        first("= 1", "n", "n"), changing, options={"table.exec.state.ttl": "1 h"}
    ) as harness:
        for n, now in ((1, 1), (2, hour // 2), (3, hour // 2)):
            harness.advance_processing_time(now)
            harness.push(Row(k="a", n=n, x=0.0, ts=at(n)), 0)
        assert shown(harness.output()) == [("+I", 1)]
        harness.advance_processing_time(hour + 2)
        made = harness.push(Row(k="a", n=4, x=0.0, ts=at(4)), 0)
        assert shown(made) == [("+I", 2)]


KEPT_FIRST = first("= 1", "ts")


@pytest.mark.parametrize("mode", MODES)
def test_the_first_row_in_order_of_time_is_never_taken_back(mode: str) -> None:
    for seed in range(4):
        rows = rows_of_seed(seed)
        stream, schedule = stream_of(rows, mode)
        made = collect(of_sql(stream, first("= 1", "ts, n, x", "k, n, ts, r")), schedule)
        assert {row.get_row_kind() for row in made} == {RowKind.INSERT}
        order = lambda row: (row[3], row[1] is not None, row[1] or 0)  # noqa: E731
        wanted = [min((row for row in rows if row[0] == k), key=order) for k in "abc"]
        assert sorted(map(tuple, made)) == [(row[0], row[1], row[3], 1) for row in wanted]


def test_the_first_row_comes_with_the_watermark_and_later_ones_leave_nothing() -> None:
    with query_harness(KEPT_FIRST, TABLES) as harness:
        harness.push(Row(k="a", n=1, x=0.0, ts=at(5)), 5_000)
        harness.push(Row(k="a", n=2, x=0.0, ts=at(3)), 3_000)
        harness.push(Row(k="a", n=9, x=0.0, ts=None), 0)
        harness.advance_watermark(2_999)
        assert not harness.output()
        harness.advance_watermark(3_000)
        assert shown(harness.output()) == [("+I", "a", 2, 0.0, 3.0)]
        kept = state_bytes(harness)
        for n in range(20):
            harness.push(Row(k="a", n=n, x=0.0, ts=at(4 + n)), 4_000 + n)
        harness.push(Row(k="b", n=3, x=0.0, ts=at(3)), 3_000)
        harness.advance_watermark(60_000)
        assert len(harness.output()) == 1
        assert harness.metric("numLateRecordsDropped") == 1
        assert state_bytes(harness) == kept


def test_windows_read_the_first_rows_in_order_of_time() -> None:
    tumble = "TABLE(TUMBLE(TABLE d, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
    query = f"WITH d AS ({KEPT_FIRST}) SELECT window_end, COUNT(*) AS c FROM {tumble} GROUP BY window_start, window_end"
    with query_harness(query, TABLES) as harness:
        for k, second in (("a", 1), ("b", 2), ("a", 3), ("c", 12), ("b", 14)):
            harness.push(Row(k=k, n=1, x=0.0, ts=at(second)), second * 1000)
        harness.advance_watermark(30_000)
        assert shown(harness.output()) == [("+I", 10.0, 2), ("+I", 20.0, 1)]
