"""Event time: windows of table functions, and joins with versions. The answer is the same in every mode."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from penstock.common import Configuration, Duration, Row, RowKind, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import CollectionSource
from penstock.errors import SqlError
from penstock.expressions.python.times import millis_of
from penstock.relation.tree import Changelog
from penstock.sql.streams import StreamTable
from penstock.testing import Schedule, collect
from tests.sql.generated import materialized

START = datetime(2024, 1, 1)  # noqa: DTZ001 - a TIMESTAMP has no zone
BIDS = Types.ROW_NAMED(
    ["who", "n", "ts", "tags"],
    [Types.STRING(), Types.INT(), Types.SQL_TIMESTAMP(), Types.LIST(Types.STRING())],
)
RATES = Types.ROW_NAMED(
    ["who", "rate", "since"], [Types.STRING(), Types.INT(), Types.SQL_TIMESTAMP()]
)
MODES = [
    ("BATCH", Schedule()),
    ("STREAMING", Schedule(batch_sizes=(1,))),
    ("STREAMING", Schedule(batch_sizes=(2,), restart_every=2)),
]


def at(seconds):
    return START + timedelta(seconds=seconds)


def bid(who, n, seconds, tags=()):
    return Row(who=who, n=n, ts=at(seconds), tags=list(tags))


BID_ROWS = [
    bid("ann", 5, 4, "ab"),
    bid("bob", 3, 1),
    bid("ann", 7, 9, "c"),
    bid("ann", 1, 12, "d"),
    bid("bob", 2, 31, "e"),
]


def rate(who, value, seconds, kind=RowKind.INSERT):
    row = Row(who=who, rate=value, since=at(seconds))
    row.set_row_kind(kind)
    return row


RATE_ROWS = [
    rate("ann", 10, 0),
    rate("bob", 20, 3),
    rate("ann", 11, 9, RowKind.UPDATE_AFTER),
    rate("ann", 11, 11, RowKind.DELETE),
]


def answer(query, mode, schedule, rates=RATE_ROWS, changelog=Changelog.UPSERT):
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"execution.runtime-mode": mode, "parallelism.default": 2})
    )

    def table(rows, kind, column, **facts):
        bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(4))
        strategy = bounded.with_timestamp_assigner(lambda row, _: millis_of(row[column]))
        stream = env.from_source(CollectionSource.of(rows, kind), strategy, "rows")
        return StreamTable(stream, time=column, **facts)

    tables = {
        "bids": table(BID_ROWS, BIDS, "ts"),
        "rates": table(rates, RATES, "since", changelog=changelog, primary_key=("who",)),
    }
    found = materialized(collect(env.sql(query, tables), schedule))
    return sorted((tuple(map(seconds_of, row)) for row in found), key=repr)


def seconds_of(value):
    return (value - START).total_seconds() if isinstance(value, datetime) else value


WINDOWED = "SELECT window_start, window_end, {} FROM TABLE({}) GROUP BY window_start, window_end{}"
QUERIES = {
    "tumble": (
        WINDOWED.format(
            "who, SUM(n)", "TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' SECOND)", ", who"
        ),
        [(0, 10, "ann", 12), (0, 10, "bob", 3), (10, 20, "ann", 1), (30, 40, "bob", 2)],
    ),
    "tumble with an offset": (
        WINDOWED.format(
            "COUNT(*)",
            "TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '2' SECOND)",
            "",
        ),
        [(-8, 2, 1), (12, 22, 1), (2, 12, 2), (22, 32, 1)],
    ),
    "hop": (
        WINDOWED.format(
            "MAX(n)",
            "HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)",
            "",
        ),
        [(-5, 5, 5), (0, 10, 7), (10, 20, 1), (25, 35, 2), (30, 40, 2), (5, 15, 7)],
    ),
    "cumulate": (
        WINDOWED.format(
            "COUNT(DISTINCT who)",
            "CUMULATE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '20' SECOND)",
            "",
        ),
        [(0, 10, 2), (0, 20, 2), (20, 40, 1)],
    ),
    "session": (
        (
            "SELECT who, window_start, window_end, SUM(n) FROM TABLE(SESSION(TABLE bids PARTITION BY who,"
            " DESCRIPTOR(ts), INTERVAL '6' SECOND)) GROUP BY who, window_start, window_end"
        ),
        [("ann", 4, 18, 13), ("bob", 1, 7, 3), ("bob", 31, 37, 2)],
    ),
    "windows of windows": (
        (
            "SELECT window_end, MAX(c) FROM (SELECT window_start, window_end, who, COUNT(*) AS c FROM"
            " TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
            " GROUP BY window_start, window_end, who) GROUP BY window_start, window_end"
        ),
        [(10, 2), (20, 1), (40, 1)],
    ),
    "first rows of windows, counted by windows": (
        (
            "SELECT window_end, COUNT(*) AS c, MAX(n) AS m FROM (SELECT * FROM (SELECT window_start, window_end,"
            " window_time, n, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY n DESC) AS r FROM ("
            "SELECT n, window_start, window_end, window_time FROM"
            " TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' SECOND)))) WHERE r <= 2)"
            " GROUP BY window_start, window_end"
        ),
        [(10, 2, 7), (20, 1, 1), (40, 1, 2)],
    ),
    "unnest": (
        "SELECT who, tag FROM bids CROSS JOIN UNNEST(tags) AS t (tag) WHERE tag <> 'b'",
        [("ann", "a"), ("ann", "c"), ("ann", "d"), ("bob", "e")],
    ),
    "left unnest": (
        "SELECT n, tag FROM bids LEFT JOIN UNNEST(tags) AS t (tag) ON TRUE WHERE who = 'bob'",
        [(2, "e"), (3, None)],
    ),
    "temporal": (
        (
            "SELECT n, rate FROM bids JOIN rates FOR SYSTEM_TIME AS OF bids.ts AS r ON bids.who = r.who"
        ),
        [(2, 20), (5, 10), (7, 11)],
    ),
    "left temporal": (
        (
            "SELECT n, rate FROM bids LEFT JOIN rates FOR SYSTEM_TIME AS OF bids.ts AS r"
            " ON bids.who = r.who AND rate > 10"
        ),
        [(1, None), (2, 20), (3, None), (5, None), (7, 11)],
    ),
    "interval": (
        (
            "SELECT a.n, b.n FROM bids a JOIN bids b ON a.who = b.who"
            " AND b.ts BETWEEN a.ts + INTERVAL '1' SECOND AND a.ts + INTERVAL '5' SECOND"
        ),
        [(5, 7), (7, 1)],
    ),
}


@pytest.mark.parametrize(("mode", "schedule"), MODES, ids=["batch", "streaming", "restart"])
@pytest.mark.parametrize("name", QUERIES)
def test_answers_are_the_same_in_every_mode(name, mode, schedule):
    query, wanted = QUERIES[name]
    assert answer(query, mode, schedule) == wanted


def test_the_newest_row_of_a_key_is_a_versioned_table():
    query = (
        "WITH r AS (SELECT who, rate, since FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY who"
        " ORDER BY since DESC) AS rn FROM rates) WHERE rn = 1)"
        " SELECT n, rate FROM bids JOIN r FOR SYSTEM_TIME AS OF bids.ts AS r ON bids.who = r.who"
    )
    rates = [rate("ann", 10, 0), rate("bob", 20, 3), rate("ann", 11, 9)]
    for mode, schedule in MODES:
        found = answer(query, mode, schedule, rates, Changelog.INSERT_ONLY)
        assert found == [(1, 11), (2, 20), (5, 10), (7, 11)]


def test_null_has_no_version():
    query = (
        "SELECT n, rate FROM (SELECT NULLIF(who, 'ann') AS who, n, ts FROM bids) AS b"
        " LEFT JOIN rates FOR SYSTEM_TIME AS OF b.ts AS r ON b.who = r.who"
    )
    rates = [rate(None, 1, 0), rate("bob", 20, 3)]
    for mode, schedule in MODES:
        found = answer(query, mode, schedule, rates)
        assert found == [(1, None), (2, 20), (3, None), (5, None), (7, None)]


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        (
            "SELECT * FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(n), INTERVAL '1' HOUR))",
            "the column 'n' is no event time",
        ),
        (
            "SELECT * FROM TABLE(CUMULATE(TABLE bids, DESCRIPTOR(ts), INTERVAL '2' HOUR, INTERVAL '3' HOUR))",
            "a size of 10800000 ms and a step of 7200000 ms",
        ),
        (
            "SELECT * FROM bids JOIN bids FOR SYSTEM_TIME AS OF bids.ts AS r ON bids.who = r.who",
            "has no versions",
        ),
        (
            "SELECT * FROM bids JOIN rates FOR SYSTEM_TIME AS OF bids.ts AS r ON bids.n = r.rate",
            "compares other columns than the key who",
        ),
        ("SELECT * FROM bids CROSS JOIN UNNEST(n) AS t (tag)", "UNNEST got INT"),
    ],
)
def test_errors_name_what_is_wrong(query, problem):
    with pytest.raises(SqlError) as refused:
        answer(query, "BATCH", Schedule())
    assert problem in refused.value.problem
