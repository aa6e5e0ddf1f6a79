"""The first rows of a key, and its newest one, are those of all rows sorted at once, in every mode.

Catches: a tie that depends on the order of arrival, a row that is not put back when a better one goes, a change that
names a row that is not there, state that is lost at the switch or after a failure.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Configuration, Row, RowKind, Types
from penstock.datastream import DataStream, StreamExecutionEnvironment, col
from penstock.datastream.connectors import CollectionSource, HybridSource
from penstock.errors import ArgumentError, PenstockError, UnknownFieldError
from penstock.testing import Schedule, run_in_process
from tests.runtime.jobs import BATCH, MIXED, STREAMING, by_time

MODES = {"batch": BATCH, "streaming": STREAMING, "mixed": MIXED}
NAMES = ["k", "at", "item", "x"]
SALE = Types.ROW_NAMED(NAMES, [Types.STRING(), Types.LONG(), Types.STRING(), Types.DOUBLE()])
REMOVES = {RowKind.DELETE, RowKind.UPDATE_BEFORE}

X = st.sampled_from([None, -1.5, 0.0, 2.0, 2.5, math.inf])
VALUES = st.tuples(st.sampled_from("ab"), st.integers(0, 20), st.sampled_from("pqrst"), X)
SCHEDULES = st.builds(
    Schedule,
    batch_sizes=st.sampled_from([(1,), (3, 0), (100,)]),
    tasks=st.integers(1, 3),
    restart_every=st.sampled_from([None, 1]),
    fail_every=st.sampled_from([None, 2]),
)


def sales(env: StreamExecutionEnvironment, rows: list[Row], cut: int | None = None) -> Any:
    at = len(rows) // 2 if cut is None else cut
    history, live = (CollectionSource(tuple(part), SALE) for part in (rows[:at], rows[at:]))
    source = HybridSource.builder(history).add_source(live).build()
    return env.from_source(source, by_time(100), "sales")


def environment(mode: dict[str, str]) -> StreamExecutionEnvironment:
    configuration = Configuration.from_dict(mode | {"parallelism.default": 2})
    return StreamExecutionEnvironment.get_execution_environment(configuration)


def held(env: StreamExecutionEnvironment, stream: DataStream[Row], schedule: Schedule) -> Any:
    """Return the rows that a changelog leaves; a change must name a row that is there."""
    stream.print()
    found: Counter[tuple[Any, ...]] = Counter()
    for row in run_in_process(env, schedule).of():
        found[tuple(row)] += -1 if row.get_row_kind() in REMOVES else 1
        assert found[tuple(row)] >= 0, f"{row.get_row_kind()} {row}"
    return sorted(found.elements(), key=str)


def rank(values: tuple[Any, ...], *, descending: bool) -> tuple[Any, ...]:
    """Return what sorts rows by x, then by the other columns."""
    x = values[3]
    signed = 0.0 if x is None else -x if descending else x
    return (x is None, signed, *values[:3])


def first(rows: list[tuple[Any, ...]], n: int, *, descending: bool) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for key in {row[0] for row in rows}:
        of_key = [row for row in rows if row[0] == key]
        found += sorted(of_key, key=lambda row: rank(row, descending=descending))[:n]
    return sorted(found, key=str)


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("mode", MODES)
@given(values=st.lists(VALUES, max_size=25), n=st.integers(1, 4), schedule=SCHEDULES)
@settings(max_examples=25, deadline=None)
def test_the_first_rows_are_those_of_all_sorted(
    mode: str, values: Any, n: int, schedule: Schedule, descending: bool
) -> None:
    env = environment(MODES[mode])
    rows = [Row(**dict(zip(NAMES, each, strict=True))) for each in values]
    top = sales(env, rows).key_by(col.k).top_n(n, by=col.x, descending=descending)
    assert held(env, top, schedule) == first(values, n, descending=descending)


@pytest.mark.parametrize("mode", MODES)
@given(
    values=st.lists(st.tuples(VALUES, st.booleans()), max_size=25),
    n=st.integers(1, 3),
    schedule=SCHEDULES,
)
@settings(max_examples=40, deadline=None)
def test_a_row_replaces_and_removes_that_of_its_key(
    mode: str, values: Any, n: int, schedule: Schedule
) -> None:
    env = environment(MODES[mode])
    rows, table = [], {}
    for at, ((k, _, item, x), is_removed) in enumerate(values):  # times rise: the last one is known
        kind = RowKind.DELETE if is_removed else RowKind.UPDATE_AFTER
        rows.append(Row.of_kind(kind, k=k, at=at, item=item, x=x))
        table[k, item] = None if is_removed else (k, at, item, x)
    left = [row for row in table.values() if row is not None]
    by_x_then_item: list[tuple[Any, ...]] = []
    for key in "ab":
        of_key = [row for row in left if row[0] == key]
        order = sorted(of_key, key=lambda row: (*rank(row, descending=True)[:2], row[2]))
        by_x_then_item += order[:n]
    # One subtask, so that the order of arrival is that of time.
    env.set_parallelism(1)
    schedule = Schedule(
        batch_sizes=schedule.batch_sizes,
        tasks=1,
        restart_every=schedule.restart_every,
        fail_every=schedule.fail_every,
    )
    top = sales(env, rows).key_by(col.k).top_n(n, by=col.x, key=col.item)
    assert held(env, top, schedule) == sorted(by_x_then_item, key=str)


@pytest.mark.parametrize("mode", MODES)
@given(values=st.lists(VALUES, max_size=25), schedule=SCHEDULES)
@settings(max_examples=25, deadline=None)
def test_the_last_value_is_the_newest_in_whatever_order(
    mode: str, values: Any, schedule: Schedule
) -> None:
    env = environment(MODES[mode])
    rows = [Row(**dict(zip(NAMES, each, strict=True))) for each in values]
    sales(env, rows).key_by(col.k).last_value(by=col.at).print()
    newest = {row.k: tuple(row) for row in run_in_process(env, schedule).of()}
    expected: dict[str, tuple[Any, ...]] = {}
    for k, at, item, x in sorted(values, key=lambda row: (-row[1], row[2], row[3] is None, row[3])):
        expected.setdefault(k, (k, at, item, x))
    assert newest == expected


ONE_BY_ONE = Schedule(batch_sizes=(1,))


def changes(
    stream: DataStream[Row], env: StreamExecutionEnvironment, schedule: Schedule = ONE_BY_ONE
) -> list[str]:
    stream.print()
    return [
        f"{row.get_row_kind()} {row[2]}{row[3]:g}" for row in run_in_process(env, schedule).of()
    ]


def sold(*items: str) -> list[Row]:
    return [Row(k="a", at=at, item=item[0], x=float(item[1:])) for at, item in enumerate(items)]


def test_a_row_that_enters_puts_the_last_one_out() -> None:
    env = environment(STREAMING)
    top = sales(env, sold("p1", "q3", "r2", "s1")).key_by(col.k).top_n(2, by=col.x)
    assert changes(top, env) == ["+I p1", "+I q3", "-D p1", "+I r2"]


def test_a_micro_batch_emits_the_difference_that_its_rows_make() -> None:
    rows = sold("p5", "q4", "r3", "p4.5", "p1", "r3")
    for key, wanted in (
        ((), ["+I p5", "+I p4.5"]),
        (col.item, ["+I q4", "+I r3"]),
    ):
        env = environment(STREAMING)
        top = sales(env, rows, cut=0).key_by(col.k).top_n(2, by=col.x, key=key)
        assert changes(top, env, Schedule(batch_sizes=(100,))) == wanted


def test_a_row_that_gets_worse_makes_room_for_one_that_was_out() -> None:
    env = environment(STREAMING)
    rows = sold("p5", "q4", "r3", "p4.5", "p1")
    top = sales(env, rows).key_by(col.k).top_n(2, by=col.x, key=col.item)
    assert changes(top, env) == ["+I p5", "+I q4", "-U p5", "+U p4.5", "-D p4.5", "+I r3"]


def test_the_first_of_aggregates() -> None:
    env = environment(STREAMING)
    totals = sales(env, sold("p5", "q4", "q4", "r7")).key_by(col.item).aggregate(total=col.x.sum())
    top = totals.with_columns(all=1).key_by(col.all).top_n(2, by=col.total, key=col.item)
    assert held(env, top, Schedule(batch_sizes=(1,))) == [("q", 8.0, 1), ("r", 7.0, 1)]


def test_nan_is_the_greatest_and_columns_decide_in_turn() -> None:
    env = environment(BATCH)
    rows = sold("p1", "q1", "rnan")
    both = (col.x, col.item)
    top = sales(env, rows).key_by(col.k).top_n(1, by=both, descending=(False, True))
    assert changes(top, env) == ["+I q1"]
    env = environment(BATCH)
    most = sales(env, rows).key_by(col.k).top_n(1, by=col.x)
    assert changes(most, env) == ["+I rnan"]


LATEST = MIXED | {"pipeline.backlog.output": "latest"}


@pytest.mark.parametrize("key", [(), col.item], ids=["rows", "by key"])
def test_a_batch_job_gives_the_last_rows_only(key: Any) -> None:
    env = environment(BATCH)
    rows = sold("p1", "q3", "r2", "s1", "t9")
    top = sales(env, rows).key_by(col.k).top_n(2, by=col.x, key=key)
    assert changes(top, env) == ["+I t9", "+I q3"]


def test_history_gives_the_last_rows_and_live_input_changes_them() -> None:
    env = environment(LATEST)
    rows = sold("p1", "q3", "r2", "s1", "t9", "u8")
    top = sales(env, rows, cut=4).key_by(col.k).top_n(2, by=col.x, key=col.item)
    assert changes(top, env) == ["+I q3", "+I r2", "-D r2", "+I t9", "-D q3", "+I u8"]
    env = environment(MIXED | {"execution.checkpointing.interval-during-backlog": "0"})
    handed = sales(env, rows, cut=4).key_by(col.k).top_n(2, by=col.x, key=col.item)
    assert changes(handed, env)[:2] == ["+I q3", "+I r2"]


def test_a_batch_job_gives_the_last_rows_of_keys_that_are_spilled() -> None:
    env = environment(BATCH | {"execution.sorted-inputs.memory": "1"})
    rows = [Row(k="a", at=at, item=f"i{at:03}", x=float(at % 37)) for at in range(300)]
    top = sales(env, rows).key_by(col.k).top_n(2, by=col.x)
    assert changes(top, env) == ["+I i03636", "+I i07336"]


ROLLING: dict[str, Any] = {
    "reduce": lambda keyed: keyed.reduce(lambda left, right: max(left, right, key=lambda r: r.x)),
    "sum": lambda keyed: keyed.sum("x"),
    "min": lambda keyed: keyed.min("x"),
    "max": lambda keyed: keyed.max("x"),
    "min_by": lambda keyed: keyed.min_by("x"),
    "max_by": lambda keyed: keyed.max_by("x"),
    "aggregate": lambda keyed: keyed.aggregate(total=col.x.sum()),
    "last_value": lambda keyed: keyed.last_value(by=col.at),
    "top_n": lambda keyed: keyed.top_n(1, by=col.x),
}


@pytest.mark.parametrize("mode", [BATCH, LATEST], ids=["batch", "history"])
@pytest.mark.parametrize("name", ROLLING)
def test_all_rolling_operators_give_one_result_per_key(name: str, mode: Any) -> None:
    env = environment(mode)
    rows = [Row(k="ab"[at % 2], at=at, item=f"{at}", x=float(at)) for at in range(10)]
    ROLLING[name](sales(env, rows, cut=10).key_by(col.k)).print()
    assert len(run_in_process(env).of()) == 2


def test_changes_need_a_key() -> None:
    env = environment(STREAMING)
    removed = Row.of_kind(RowKind.DELETE, k="a", at=1, item="p", x=1.0)
    sales(env, [removed]).key_by(col.k).top_n(2, by=col.x).print()
    with pytest.raises(PenstockError, match="-D"):
        run_in_process(env)


def mistakes() -> dict[str, tuple[dict[str, Any], type[PenstockError], str]]:
    return {
        "no rows": ({"n": 0, "by": col.x}, ArgumentError, "n=0"),
        "typo": ({"n": 1, "by": col.xx}, UnknownFieldError, "'xx'"),
        "expression": ({"n": 1, "by": col.x + 1}, ArgumentError, "not a column"),
        "no columns": ({"n": 1, "by": ()}, ArgumentError, "no columns"),
        "directions": ({"n": 1, "by": col.x, "descending": (True, False)}, ArgumentError, "1 col"),
        "float": ({"n": 1, "by": col.x, "key": col.x}, ArgumentError, "a float"),
    }


@pytest.mark.parametrize("name", mistakes())
def test_mistakes_are_told_where_the_program_is_written(name: str) -> None:
    options, error, said = mistakes()[name]
    env = environment(BATCH)
    with pytest.raises(error, match=said) as refused:
        sales(env, []).key_by(col.k).top_n(**options)
    assert refused.value.origin is not None
    assert refused.value.origin.filename == __file__


def test_columns_without_an_order_are_refused() -> None:
    env = environment(BATCH)
    kind = Types.ROW_NAMED(["k", "all"], [Types.STRING(), Types.LIST(Types.INT())])
    stream = env.from_collection([Row(k="a", all=[1])], kind)
    with pytest.raises(ArgumentError, match="no order"):
        stream.key_by(col.k).last_value(by=col.all)
