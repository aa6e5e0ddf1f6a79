"""Of which sources Spark SQL leaves the first rows of each key, and what the plan shows of it.

Catches: operators whose state is more than first rows, orders that leave ties open, types with another order, other readers of a source,
keys that are computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.common import Configuration, Duration, Types, WatermarkStrategy
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import StreamExecutionEnvironment, col
from penstock.datastream.connectors import CollectionSource, FileSource, HybridSource
from penstock.plan.physical import PhysicalPlan, PlannedFirstRows
from penstock.sql.streams import StreamTable

HISTORY = {"execution.checkpointing.interval-during-backlog": "0"}
RECORD = Types.ROW_NAMED(
    ["k", "n", "at", "real", "price", "tags"],
    [
        Types.STRING(),
        Types.LONG(),
        Types.LONG(),
        Types.DOUBLE(),
        Types.BIG_DEC(),
        Types.LIST(Types.STRING()),
    ],
)
TIMED = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(col.at)
UNTIMED = WatermarkStrategy.no_watermarks()


def files(env: Any, strategy: WatermarkStrategy = UNTIMED) -> Any:
    past, live = (FileSource.parquet(path, RECORD) for path in ("past", "live"))
    return env.from_source(HybridSource.builder(past).add_source(live).build(), strategy, "files")


def plain(env: Any, strategy: WatermarkStrategy = UNTIMED) -> Any:
    return files(env, strategy).select(col.k, col.n, col.at, col.real)


def first(stream: Any, **settings: Any) -> Any:
    return stream.key_by(col.k).top_n(3, by=col.n, **settings)


def ranked(env: Any, order: str = "n DESC") -> Any:
    number = f"ROW_NUMBER() OVER (PARTITION BY k ORDER BY {order}) AS r"
    query = f"SELECT k, n FROM (SELECT k, n, real, {number} FROM t) WHERE r <= 2"
    return env.sql(query, {"t": StreamTable(plain(env))})


def planned(program: Callable[[Any], Any], **settings: str) -> PhysicalPlan:
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict(HISTORY | settings)
    )
    program(env).sink_to(DiscardingSink())
    return env.plan()


def shown(plan: PhysicalPlan) -> list[tuple[str, str]]:
    """Return choice and reason of operators of first rows."""
    return [(each.choice, each.reason) for each in plan.decisions if "rows of '" in each.subject]


@pytest.mark.parametrize(
    ("program", "keys", "before"),
    [
        (lambda env: first(plain(env)), (0,), 0),
        (lambda env: first(plain(env).where(col.n > 1)), (0,), 0),
        (lambda env: plain(env).key_by(col.n, col.k).top_n(1, by=col.at), (1, 0), 0),
        (lambda env: plain(env).key_by(lambda row: row.k).top_n(1, by=col.at), (0,), 0),
        (lambda env: first(plain(env, TIMED)), (0,), 2),
        (lambda env: first(plain(env, TIMED).where(col.n > 1)), (0,), 2),
    ],
)
def test_spark_sql_leaves_first_rows_behind_a_source_of_columns(
    program: Callable[[Any], Any], keys: tuple[int, ...], before: int
) -> None:
    (found,) = planned(program).first_rows
    assert found.keys == keys
    assert sum(each is not None for each in (found.timestamps, found.expressions)) == before


def test_rows_of_a_source_without_a_selection() -> None:
    kinds = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.LONG()])

    def program(strategy: WatermarkStrategy) -> Callable[[Any], Any]:
        return lambda env: first(env.from_source(FileSource.parquet("p", kinds), strategy, "p"))

    batch = {"execution.runtime-mode": "BATCH"}
    by_n = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(col.n)
    assert planned(program(UNTIMED), **batch).first_rows == (PlannedFirstRows(0, 0, 2, (0,)),)
    assert planned(program(by_n), **batch).first_rows == (PlannedFirstRows(0, 0, 3, (0,), 1),)


def test_the_plan_shows_it() -> None:
    plan = planned(lambda env: first(plain(env)))
    (subject,) = [each.subject for each in plan.decisions if "rows of '" in each.subject]
    assert subject == "rows of 'top_n' in run 0 (history)"
    wanted = "the first 3 of each key, by Spark SQL"
    assert shown(plan) == [(wanted, "the rows of 'files' are columns, and have one order")]


def with_ids(env: Any) -> Any:
    return first(plain(env), key=col.at)


def by_a_function(env: Any) -> Any:
    return plain(env).key_by(lambda row: row.k.upper()).top_n(3, by=col.n)


def by_a_float(env: Any) -> Any:
    return plain(env).key_by(col.real).top_n(3, by=col.n)


def of_lists(env: Any) -> Any:
    return first(files(env).select(col.k, col.n, col.tags))


def of_decimals(env: Any) -> Any:
    return first(files(env).select(col.k, col.n, col.price))


def of_two_readers(env: Any) -> Any:
    rows = files(env)
    rows.select(col.k).sink_to(DiscardingSink())
    return first(rows.select(col.k, col.n))


def of_a_shared_selection(env: Any) -> Any:
    rows = plain(env)
    rows.map(lambda row: row).sink_to(DiscardingSink())
    return first(rows)


def behind_a_function(env: Any) -> Any:
    return first(plain(env).filter(lambda row: row.n > 1))


def of_idle_times(env: Any) -> Any:
    return first(plain(env, TIMED.with_idleness(Duration.of_seconds(1))))


def of_a_collection(env: Any) -> Any:
    kind = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.LONG()])
    parts = CollectionSource.of([], kind), FileSource.parquet("live", kind)
    source = HybridSource.builder(parts[0]).add_source(parts[1]).build()
    return first(env.from_source(source, UNTIMED, "some"))


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (with_ids, "its rows change"),
        (by_a_function, "its key is no columns"),
        (by_a_float, "the column 'real' is DOUBLE"),
        (of_lists, "the column 'tags' has no order"),
        (of_decimals, "the column 'price' is DECIMAL(38, 18)"),
        (of_two_readers, "'files' has other readers"),
        (of_a_shared_selection, "'select' before it has other readers"),
        (behind_a_function, "'filter' comes before it"),
        (of_idle_times, "'timestamps' comes before it"),
        (of_a_collection, "Spark does not read it as columns"),
        (ranked, None),
        (lambda env: ranked(env, "UPPER(k)"), "comes before it"),
    ],
)
def test_why_workers_reduce_all_rows(program: Callable[[Any], Any], reason: str | None) -> None:
    plan = planned(program)
    ((choice, shown_reason),) = shown(plan)
    assert bool(plan.first_rows) is (reason is None)
    assert choice == (
        "the first 2 of each key, by Spark SQL" if reason is None else "all of them, in workers"
    )
    assert reason is None or reason in shown_reason


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"execution.batch.expressions": "false"}, "execution.batch.expressions is false"),
        ({"table.exec.state.ttl": "1 h"}, "state is forgotten after a time"),
    ],
)
def test_settings_that_leave_it_to_workers(settings: dict[str, str], reason: str) -> None:
    plan = planned(ranked, **settings)
    assert not plan.first_rows
    assert [each for _, each in shown(plan)] == [reason]


def test_a_live_run_has_no_history_to_reduce() -> None:
    settings = {"execution.checkpointing.interval-during-backlog": "30 s"}
    plan = planned(lambda env: first(plain(env)), **settings)
    assert (plan.first_rows, shown(plan)) == ((), [])
