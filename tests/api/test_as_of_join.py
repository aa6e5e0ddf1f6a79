"""As-of joins give what `pandas.merge_asof` and DuckDB give of everything at once, in every mode.

Catches: a record joined with one from its future, an answer that is given too early, a tie that depends on the order of
arrival, records that wait for ever, state that is lost at the switch or after a failure.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Configuration, Row, Time, Types, WatermarkStrategy
from penstock.datastream import ProcessFunction, StreamExecutionEnvironment, col
from penstock.datastream.connectors import CollectionSource, HybridSource
from penstock.errors import ArgumentError, PenstockError, UnknownFieldError
from penstock.testing import Schedule, run_in_process
from penstock.testing.law.sql_script import duckdb_rows
from tests.runtime.jobs import BATCH, MIXED, STREAMING, by_time

MODES = {"batch": BATCH, "streaming": STREAMING, "mixed": MIXED}
ORDER = Types.ROW_NAMED(["k", "at", "amount"], [Types.STRING(), Types.LONG(), Types.INT()])
PRICE = Types.ROW_NAMED(["k", "since", "price"], [Types.STRING(), Types.LONG(), Types.INT()])
OPTIONS = [
    {"direction": direction, "tolerance": tolerance, "allow_exact_matches": exact}
    for direction in ("backward", "forward", "nearest")
    for tolerance in (None, 0, 4)
    for exact in (True, False)
    if exact or tolerance != 0
]

# Times of one side are unique per key: which of several rows of one time is the last depends on the order of arrival.
TIMES = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 25)), max_size=12, unique=True)
SCHEDULES = st.builds(
    Schedule,
    batch_sizes=st.sampled_from([(1,), (3, 0), (100,)]),
    tasks=st.integers(1, 3),
    restart_every=st.sampled_from([None, 1]),
    fail_every=st.sampled_from([None, 2]),
)


def rows(kind: Any, times: list[tuple[str, int]]) -> list[Row]:
    names = kind.get_field_names()
    values = [(key, at, number) for number, (key, at) in enumerate(times)]
    return [Row(**dict(zip(names, value, strict=True))) for value in values]


def stream(env: Any, kind: Any, history: list[Row], live: list[Row]) -> Any:
    source = (
        HybridSource.builder(CollectionSource(tuple(history), kind))
        .add_source(CollectionSource(tuple(live), kind))
        .build()
    )
    # The bound is as long as all times, so no record is late in any order.
    return env.from_source(source, by_time(100), kind.get_field_names()[2])


def answer(
    mode: dict[str, str], sides: list[list[Row]], schedule: Schedule, options: dict[str, Any]
) -> list[tuple[Any, ...]]:
    configuration = Configuration.from_dict(mode | {"parallelism.default": 2})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    streams = []
    for kind, side in zip((ORDER, PRICE), sides, strict=True):
        cut = len(side) // 2
        streams.append(stream(env, kind, side[:cut], side[cut:]))
    streams[0].as_of_join(streams[1], by=col.k, **options).print()
    return sorted(map(tuple, run_in_process(env, schedule).of()), key=str)


def merged(sides: list[list[Row]], options: dict[str, Any]) -> list[tuple[Any, ...]]:
    def frame(kind: Any, side: list[Row], on: str) -> pd.DataFrame:
        made = pd.DataFrame([tuple(row) for row in side], columns=kind.get_field_names())
        return made.astype({on: "int64"}).sort_values(on, kind="stable")

    left, right = frame(ORDER, sides[0], "at"), frame(PRICE, sides[1], "since")
    found = pd.merge_asof(left, right, left_on="at", right_on="since", by="k", **options)
    nullable = found.astype({"since": "Int64", "price": "Int64"}).astype(object)
    values = nullable.where(nullable.notna(), None).itertuples(index=False, name=None)
    return sorted(values, key=str)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "options", OPTIONS, ids=["-".join(map(str, each.values())) for each in OPTIONS]
)
@given(orders=TIMES, prices=TIMES, schedule=SCHEDULES)
@settings(max_examples=8, deadline=None)
def test_the_answer_is_that_of_pandas(
    mode: str, options: dict[str, Any], orders: Any, prices: Any, schedule: Schedule
) -> None:
    sides = [rows(ORDER, orders), rows(PRICE, prices)]
    assert answer(MODES[mode], sides, schedule, options) == merged(sides, options)


def in_duckdb(sides: list[list[Row]], options: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return the rows of `ASOF JOIN`, which has no tolerance: the nearest row is there or is too far."""
    tables = {}
    for name, kind, side in zip(("orders", "prices"), (ORDER, PRICE), sides, strict=True):
        names = kind.get_field_names()
        types = (pa.string(), pa.int64(), pa.int32())
        columns = [
            pa.array([row[field] for row in side], type_)
            for field, type_ in zip(names, types, strict=True)
        ]
        tables[name] = pa.table(columns, names=names)
    sign = {"backward": ">", "forward": "<"}[options["direction"]]
    equal = "=" if options["allow_exact_matches"] else ""
    near = (
        "true" if options["tolerance"] is None else f'abs(o."at" - since) <= {options["tolerance"]}'
    )
    query = f"""SELECT o.k, o."at", amount, CASE WHEN {near} THEN since END, CASE WHEN {near} THEN price END
        FROM orders o ASOF LEFT JOIN prices p ON o.k = p.k AND o."at" {sign}{equal} p.since"""
    return sorted(duckdb_rows(query, tables), key=str)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "options", [each for each in OPTIONS if each["direction"] != "nearest"], ids=str
)
@given(orders=TIMES, prices=TIMES, schedule=SCHEDULES)
@settings(max_examples=3, deadline=None)
def test_the_answer_is_that_of_duckdb(
    mode: str, options: dict[str, Any], orders: Any, prices: Any, schedule: Schedule
) -> None:
    sides = [rows(ORDER, orders), rows(PRICE, prices)]
    assert answer(MODES[mode], sides, schedule, options) == in_duckdb(sides, options)


def joined(env: Any, left: Any, right: Any, **options: Any) -> Any:
    sides = [
        env.from_source(CollectionSource(tuple(side), kind), by_time(), kind.get_field_names()[2])
        for kind, side in ((ORDER, left), (PRICE, right))
    ]
    return sides[0].as_of_join(sides[1], **options)


def test_of_equal_times_the_last_that_arrived() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    prices = rows(PRICE, [("a", 5), ("a", 5)])
    joined(env, rows(ORDER, [("a", 5)]), prices, by=col.k).print()
    assert [row.price for row in run_in_process(env).of()] == [1]


def test_an_answer_is_given_when_it_is_certain_and_has_that_time() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    found = joined(
        env,
        rows(ORDER, [("a", 5), ("a", 7), ("a", 20)]),
        rows(PRICE, [("a", 1), ("a", 9)]),
        by=(col.k,),
        direction="nearest",
        tolerance=Time.milliseconds(6),
    )

    class WithTime(ProcessFunction):
        def process_element(self, value: Row, ctx: Any) -> Any:
            yield value.at, value.price, ctx.timestamp()

    found.process(WithTime()).print()
    # 5 is as near to 1 as to 9, which is certain at 9; 7 is nearer to 9; 20 has no price before 26.
    assert run_in_process(env).of() == [(5, 0, 9), (7, 1, 9), (20, None, 26)]


def test_late_records_are_dropped_and_counted() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    late = rows(ORDER, [("a", 50), ("a", 10)])
    joined(env, late, rows(PRICE, [("a", 60)]), by=col.k).print()
    found = run_in_process(env, Schedule(batch_sizes=(1,)))
    assert [row.at for row in found.of()] == [50]


def test_a_record_of_a_time_that_the_watermark_has_reached_is_late() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    # After the first micro-batch the watermark is 49: below 50 by one, as times may come again.
    orders = rows(ORDER, [("a", 50), ("a", 49), ("a", 50)])
    joined(env, orders, rows(PRICE, [("a", 60)]), by=col.k).print()
    found = run_in_process(env, Schedule(batch_sizes=(1,)))
    assert [(row.at, row.amount) for row in found.of()] == [(50, 0), (50, 2)]


def test_rows_without_timestamps_are_an_error() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.no_watermarks()
    sides = [
        env.from_source(CollectionSource(tuple(rows(kind, [("a", 1)])), kind), strategy, name)
        for kind, name in ((ORDER, "orders"), (PRICE, "prices"))
    ]
    sides[0].as_of_join(sides[1], by=col.k).print()
    with pytest.raises(PenstockError, match="timestamp"):
        run_in_process(env)


def mistakes() -> dict[str, tuple[dict[str, Any], type[PenstockError], str]]:
    return {
        "direction": ({"by": col.k, "direction": "sideways"}, ArgumentError, "sideways"),
        "tolerance": ({"by": col.k, "tolerance": -1}, ArgumentError, "-1"),
        "typo": ({"by": col.key}, UnknownFieldError, "'key'"),
        "expression": ({"by": col.at + 1}, ArgumentError, "not a column"),
        "one side": ({"by": col.amount}, UnknownFieldError, "amount"),
    }


@pytest.mark.parametrize("name", mistakes())
def test_mistakes_are_told_where_the_program_is_written(name: str) -> None:
    options, error, said = mistakes()[name]
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(error, match=said) as refused:
        joined(env, [], [], **options)
    assert refused.value.origin is not None
    assert refused.value.origin.filename == __file__


def test_a_column_on_both_sides_is_refused() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    orders = env.from_source(CollectionSource((), ORDER), by_time(), "orders")
    with pytest.raises(ArgumentError, match="'amount' on both sides"):
        orders.as_of_join(orders, by=(col.k, col.at))


def test_types_of_keys_must_be_equal() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    orders = env.from_source(CollectionSource((), ORDER), by_time(), "orders")
    prices = orders.select(k=col.at, price=col.amount)
    with pytest.raises(ArgumentError, match="on the right"):
        orders.as_of_join(prices, by=col.k)
