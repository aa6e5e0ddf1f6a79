"""The law of event time in SQL: windows, sessions and interval joins have one answer in every mode, that of DuckDB.

Rows that are out of order but not late are compared in every mode; late ones in a harness, in which the test says when the watermark
comes, so it knows which rows are late.
"""

from __future__ import annotations

import os
import random
import time
from dataclasses import replace

import pytest

from penstock.common import Duration, WatermarkStrategy
from penstock.expressions.python.times import millis_of
from tests.sql.generated import materialized
from tests.sql.harness import query_harness
from tests.sql.timed import BOUND_SECONDS, KIND, TimedMaker, duckdb_answer, events, on_time
from tests.sql.ways import FORMS, WAYS, GivenTable, final_rows

STRATEGY = WatermarkStrategy.for_bounded_out_of_orderness(
    Duration.of_seconds(BOUND_SECONDS)
).with_timestamp_assigner(lambda row, _: millis_of(row.ts))


def answer(query, arrived, way):
    given = {
        name: GivenTable(KIND, [each.row for each in arrived if each.table == name], STRATEGY, "ts")
        for name in ("e", "f")
    }
    return final_rows(query.for_penstock(), given, way)


def check(seed, names, draw=TimedMaker.timed):
    rng = random.Random(seed)  # noqa: S311 - examples, not secrets
    arrived = events(rng, is_late=False)
    query = draw(TimedMaker(rng))
    # No table may have late rows when the other one is behind: then its watermark is, too.
    wanted = sorted(duckdb_answer(query, [on_time(each) for each in arrived]), key=repr)
    # History is read as a stream, and as a batch that hands over.
    behind = ("hand-over",) if "mixed" in names else ()
    for name in dict.fromkeys((*names, *behind)):
        way = replace(WAYS[name], **FORMS[seed % len(FORMS)])
        found = sorted(answer(query, arrived, way), key=repr)
        assert found == wanted, (seed, way, query.for_penstock())


def check_late(seed, draw=TimedMaker.timed):
    rng = random.Random(seed)  # noqa: S311
    arrived = events(rng, is_late=True)
    query = draw(TimedMaker(rng))
    wanted = sorted(duckdb_answer(query, arrived), key=repr)
    tables = {name: (KIND, {"time": "ts"}) for name in query.tables}
    backend = rng.choice(("hashmap", "lmdb"))
    n_late = sum(each.second <= each.watermark for each in arrived)
    with query_harness(query.for_penstock(), tables, backend=backend) as harness:
        watermark = None
        for each in arrived:
            if each.watermark != watermark:
                watermark = each.watermark
                harness.advance_watermark(watermark * 1000)
            if each.table not in query.tables:
                continue
            harness.push(each.row, each.second * 1000, input="ef".index(each.table))
        harness.advance_watermark(10_000_000)
        found = sorted(materialized(harness.output()), key=repr)
    assert found == wanted, (seed, backend, query.for_penstock())
    return n_late


@pytest.mark.parametrize("seed", range(18))
def test_windows_and_interval_joins_are_equal(seed):
    check(seed, ("batch", tuple(WAYS)[1 + seed % 3]))


def test_late_rows_are_in_no_window_that_is_over():
    assert sum(check_late(seed) for seed in range(10)) > 10


@pytest.mark.parametrize("seed", range(6))
def test_sessions_are_equal_with_exact_gaps_and_late_rows(seed):
    check(seed, ("batch", tuple(WAYS)[1 + seed % 3]), TimedMaker.session)
    check_late(seed, TimedMaker.session)


def test_windows_of_joined_rows_are_equal():
    """Rows of an interval join come behind the watermark of its inputs: none of them may be late in a window."""
    for seed in range(8):
        check(seed, ("batch", tuple(WAYS)[1 + seed % 3]), TimedMaker.windows_of_joins)
        check_late(seed, TimedMaker.windows_of_join)


@pytest.mark.fuzz
def test_new_queries_of_event_time_are_equal():
    rng = random.Random(os.environ.get("PENSTOCK_FUZZ_SEED", "0"))  # noqa: S311
    end = time.monotonic() + 60
    while time.monotonic() < end:
        check(rng.randrange(1 << 32), tuple(WAYS))
        check_late(rng.randrange(1 << 32))
        check(rng.randrange(1 << 32), tuple(WAYS), TimedMaker.windows_of_joins)
        check_late(rng.randrange(1 << 32), TimedMaker.windows_of_join)
        check(rng.randrange(1 << 32), tuple(WAYS), TimedMaker.session)
        check_late(rng.randrange(1 << 32), TimedMaker.session)
