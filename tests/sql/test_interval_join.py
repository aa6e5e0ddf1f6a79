"""Interval joins: the answer is that of a join of all rows, and state is bounded by the watermark.

The answers are compared with a join in a few lines of Python, in every mode; late rows and what is kept are seen in a harness.
"""

from __future__ import annotations

import random

import pytest

from penstock.common import Configuration, Duration, Row, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import CollectionSource
from penstock.errors import SqlError
from penstock.sql.scalars.times import millis_of
from penstock.sql.streams import StreamTable
from penstock.testing import Schedule, collect
from tests.sql.generated import materialized
from tests.sql.harness import at, query_harness, shown, state_bytes

ROW = Types.ROW_NAMED(["k", "n", "ts"], [Types.STRING(), Types.INT(), Types.SQL_TIMESTAMP()])
TABLES = {"l": (ROW, {"time": "ts"}), "r": (ROW, {"time": "ts"})}
MODES = {
    "batch": ("BATCH", Schedule()),
    "streaming": ("STREAMING", Schedule(batch_sizes=(1, 3))),
    "restart": ("STREAMING", Schedule(batch_sizes=(2,), restart_every=1)),
}
BETWEEN = "r.ts BETWEEN l.ts - INTERVAL '2' SECOND AND l.ts + INTERVAL '3' SECOND"
BOUNDS = {
    BETWEEN: (-2, 3),
    "r.ts >= l.ts AND r.ts - INTERVAL '4' SECOND < l.ts": (0, 3.999),
    "l.ts BETWEEN r.ts + INTERVAL '1' SECOND AND r.ts + INTERVAL '2' SECOND": (-2, -1),
    "l.ts = r.ts": (0, 0),
    "r.ts > l.ts + INTERVAL '1' SECOND AND l.ts > r.ts - INTERVAL '3' SECOND AND l.n <> r.n": (
        1.001,
        2.999,
    ),
}


def row(k, n, seconds):
    return Row(k=k, n=n, ts=at(seconds))


def rows(seed):
    rng = random.Random(seed)  # noqa: S311 - examples, not secrets
    times = sorted(rng.randrange(20) for _ in range(25))
    # Out of order by less than the four seconds that the watermark is behind.
    order = sorted(range(25), key=lambda each: times[each] + rng.random() * 3)
    return [row(rng.choice(("a", "b", None)), rng.randrange(4), times[each]) for each in order]


def table(env, name, given):
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(4))
    strategy = bounded.with_timestamp_assigner(lambda each, _: millis_of(each.ts))
    return StreamTable(env.from_source(CollectionSource.of(given, ROW), strategy, name), time="ts")


def answer(query, mode, lefts, rights):
    runtime, schedule = MODES[mode]
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"execution.runtime-mode": runtime, "parallelism.default": 2})
    )
    tables = {"l": table(env, "l", lefts), "r": table(env, "r", rights)}
    return sorted(materialized(collect(env.sql(query, tables), schedule)), key=repr)


def expected(kind, low, high, lefts, rights, *, differ):
    def match(one, two):
        distance = (two.ts - one.ts).total_seconds()
        is_near = low <= distance <= high
        return one.k is not None and one.k == two.k and is_near and (not differ or one.n != two.n)

    pairs = [(one, two) for one in lefts for two in rights if match(one, two)]
    alone = [one for one in lefts if not any(match(one, two) for two in rights)]
    others = [two for two in rights if not any(match(one, two) for one in lefts)]
    if kind in {"EXISTS", "NOT EXISTS"}:
        wanted = alone if kind != "EXISTS" else [one for one in lefts if one not in alone]
        return sorted([(one.n,) for one in wanted], key=repr)
    made = [(one.n, two.n) for one, two in pairs]
    made += [(one.n, None) for one in alone] if kind in {"LEFT JOIN", "FULL JOIN"} else []
    made += [(None, two.n) for two in others] if kind in {"RIGHT JOIN", "FULL JOIN"} else []
    return sorted(made, key=repr)


def text_of(kind, bound):
    if "EXISTS" in kind:
        return f"SELECT l.n FROM l WHERE {kind} (SELECT 1 FROM r WHERE l.k = r.k AND {bound})"
    return f"SELECT l.n, r.n FROM l {kind} r ON l.k = r.k AND {bound}"


KINDS = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "EXISTS", "NOT EXISTS"]


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_those_of_a_join_of_all_rows(kind):
    """The random law has all of them in all modes."""
    for seed, (bound, (low, high)) in enumerate(BOUNDS.items()):
        mode = tuple(MODES)[(seed + KINDS.index(kind)) % 3]
        lefts, rights = rows(seed), rows(seed + 100)
        wanted = expected(kind, low, high, lefts, rights, differ="<>" in bound)
        assert len(wanted) > 3, bound
        assert answer(text_of(kind, bound), mode, lefts, rights) == wanted, bound


CREATED = """CREATE TABLE {} (k STRING, n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
WITH ('connector' = 'datagen', 'number-of-rows' = '1');"""


def explained(query):
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.execute_sql(f"{CREATED.format('l')}{CREATED.format('r')} EXPLAIN {query}").text


WINDOWS = "(SELECT * FROM TABLE(TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL '5' SECOND)))"
WINDOW_JOIN = (
    f"SELECT l.n, r.n FROM {WINDOWS.format('l')} l JOIN {WINDOWS.format('r')} r"
    " ON l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end"
)


def test_explain_shows_how_long_rows_are_kept():
    found = explained(text_of("LEFT JOIN", BETWEEN))
    assert "Interval left join on k = k where " in found
    assert "rows until the watermark is 3000 ms (left) or 2000 ms (right) behind them" in found
    assert "[insert-only, state: rows until" in found
    of_windows = explained(WINDOW_JOIN)
    assert "rows until the watermark is 0 ms (left) or 0 ms (right) behind them" in of_windows


@pytest.mark.parametrize(
    "condition",
    [
        "r.ts >= l.ts",  # one bound
        "r.ts > l.ts + INTERVAL '1' SECOND AND r.ts < l.ts",  # no distance
        f"{BETWEEN} OR l.n = 1",
    ],
)
def test_what_bounds_no_distance_keeps_all_rows(condition):
    assert "all rows of both sides" in explained(text_of("JOIN", condition))


def test_a_hint_of_a_time_to_live_asks_for_a_join_of_all_rows():
    query = text_of("JOIN", BETWEEN).replace("SELECT", "SELECT /*+ STATE_TTL('l' = '1d') */", 1)
    assert "all rows of both sides" in explained(query)


@pytest.mark.parametrize("mode", MODES)
def test_windows_are_joined(mode):
    lefts = [row("a", 1, 1), row("a", 2, 7), row("b", 3, 2)]
    rights = [row("a", 10, 4), row("a", 11, 3), row("b", 12, 9)]
    assert answer(WINDOW_JOIN, mode, lefts, rights) == [(1, 10), (1, 11)]


TUMBLED = (
    "WITH j AS (SELECT l.ts AS lt, r.ts AS rt FROM l {} r ON l.k = r.k AND "
    + BETWEEN
    + ") SELECT window_end, COUNT(*) FROM TABLE(TUMBLE(TABLE j, DESCRIPTOR({}), INTERVAL '5' SECOND))"
    " GROUP BY window_start, window_end"
)


@pytest.mark.parametrize(
    ("kind", "time", "lag_ms"),
    # Left rows are kept for 3 s, right ones for 2 s; what is padded comes when a bucket of 5.001 s is over.
    [
        ("JOIN", "lt", 3000),
        ("JOIN", "rt", 3000),
        ("LEFT JOIN", "lt", 8000),
        ("RIGHT JOIN", "rt", 7000),
    ],
)
def test_explain_shows_how_far_the_watermark_stays_behind(kind, time, lag_ms):
    assert f"Watermark {lag_ms} ms behind [insert-only]" in explained(TUMBLED.format(kind, time))


@pytest.mark.parametrize(("kind", "time"), [("LEFT JOIN", "rt"), ("FULL JOIN", "lt")])
def test_the_time_of_a_padded_side_is_none(kind, time):
    with pytest.raises(SqlError, match=f"the column '{time}' is no event time"):
        explained(TUMBLED.format(kind, time))


@pytest.mark.parametrize("backend", ["hashmap", "lmdb"])
def test_rows_are_forgotten_and_late_ones_dropped(backend):
    with query_harness(text_of("FULL JOIN", BETWEEN), TABLES, backend=backend) as harness:
        harness.push(row("a", 1, 10), 10_000, input=0)
        assert shown(harness.push(row("a", 2, 12), 12_000, input=1)) == [("+I", 1, 2)]
        assert harness.push(row("a", 3, 20), 20_000, input=1) == []
        full = state_bytes(harness)
        assert harness.advance_watermark(15_000) == []
        # Neither row of 10 or 12 is found any more; one behind the watermark is late.
        assert harness.push(row("a", 4, 13), 13_000, input=0) == []
        assert harness.push(row("a", 5, 15), 15_000, input=1) == []
        assert shown(harness.push(row("a", 6, 16), 16_000, input=0)) == []
        assert shown(harness.push(row("a", 7, 17), 17_000, input=1)) == [("+I", 6, 7)]
        # What nothing has matched is padded when nothing can match it any more.
        assert shown(harness.advance_watermark(60_000)) == [("+I", None, 3)]
        assert harness.metric("numLateRecordsDropped") == 2
        assert state_bytes(harness) < full / 2


def test_state_does_not_grow_with_the_stream():
    with query_harness(text_of("LEFT JOIN", BETWEEN), TABLES) as harness:
        sizes = []
        for second in range(0, 160, 2):
            for side in (0, 1):
                harness.push(row("a", second, second), second * 1000, input=side)
            harness.advance_watermark(second * 1000 - 1)
            sizes.append(state_bytes(harness))
        assert max(sizes[40:]) <= max(sizes[10:40]) * 1.1
