"""Joins by columns: the rows of DuckDB in every mode, once the changelog is applied.

Catches: a lost or doubled pair, a row without a match that stays, NULL that equals NULL, columns in the wrong place.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Configuration, Row, RowKind, Time, Types
from penstock.datastream import ProcessFunction, StreamExecutionEnvironment, col
from penstock.datastream.connectors import CollectionSource, HybridSource
from penstock.errors import ArgumentError, UnknownFieldError
from penstock.testing import Schedule, run_in_process
from penstock.testing.law.sql_script import duckdb_rows
from tests.runtime.jobs import BATCH, MIXED, STREAMING, by_time

MODES = {"batch": BATCH, "streaming": STREAMING, "mixed": MIXED}
# The joined columns stand elsewhere on each side.
ORDER = Types.ROW_NAMED(
    ["shop", "at", "who", "amount"], [Types.INT(), Types.LONG(), Types.STRING(), Types.INT()]
)
CITY = Types.ROW_NAMED(
    ["since", "who", "city", "shop"], [Types.LONG(), Types.STRING(), Types.STRING(), Types.INT()]
)
ARROW = {
    "orders": [
        ("shop", pa.int32()),
        ("at", pa.int64()),
        ("who", pa.string()),
        ("amount", pa.int32()),
    ],
    "cities": [
        ("since", pa.int64()),
        ("who", pa.string()),
        ("city", pa.string()),
        ("shop", pa.int32()),
    ],
}
WHO = st.sampled_from(["a", "b", None])
SHOP = st.sampled_from([1, 2, None])
TIME = st.integers(0, 12)
SIDES = st.tuples(
    st.lists(st.builds(Row, shop=SHOP, at=TIME, who=WHO, amount=st.integers(0, 2)), max_size=8),
    st.lists(
        st.builds(Row, since=TIME, who=WHO, city=st.sampled_from(["x", "y"]), shop=SHOP), max_size=8
    ),
)
SCHEDULES = st.builds(
    Schedule,
    batch_sizes=st.sampled_from([(1,), (3, 0), (100,)]),
    tasks=st.integers(1, 3),
    restart_every=st.sampled_from([None, 1]),
    fail_every=st.sampled_from([None, 2]),
)


def joined(mode: dict[str, str], sides: Any, on: Any, **options: Any) -> Any:
    left, right = streams_of(mode, sides)
    return left.join(right, on=on, **options)


def streams_of(mode: dict[str, str], sides: Any) -> list[Any]:
    configuration = Configuration.from_dict(mode | {"parallelism.default": 2})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    streams = []
    for kind, side, field in zip((ORDER, CITY), sides, (1, 0), strict=True):
        cut = len(side) // 2
        source = (
            HybridSource.builder(CollectionSource(tuple(side[:cut]), kind))
            .add_source(CollectionSource(tuple(side[cut:]), kind))
            .build()
        )
        strategy = by_time(100).with_timestamp_assigner(lambda row, _, field=field: row[field])
        streams.append(env.from_source(source, strategy, f"side {field}"))
    return streams


def rows_of(stream: Any, schedule: Schedule) -> Counter[tuple[Any, ...]]:
    """Return how often each row is there once all changes are applied."""
    stream.print()
    found: Counter[tuple[Any, ...]] = Counter()
    for row in run_in_process(stream.get_execution_environment(), schedule).of():
        found[tuple(row)] += 1 if row.get_row_kind() is RowKind.INSERT else -1
    assert all(count >= 0 for count in found.values())
    return +found


def in_duckdb(sides: Any, query: str) -> Counter[tuple[Any, ...]]:
    tables = {}
    for (name, fields), side in zip(ARROW.items(), sides, strict=True):
        columns = [[row[field] for row in side] for field, _ in fields]
        arrays = [pa.array(c, kind) for c, (_, kind) in zip(columns, fields, strict=True)]
        tables[name] = pa.table(dict(zip([n for n, _ in fields], arrays, strict=True)))
    return Counter(duckdb_rows(query, tables))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
@pytest.mark.parametrize("keys", [("who",), ("who", "shop")])
@given(sides=SIDES, schedule=SCHEDULES)
@settings(max_examples=4, deadline=None)
def test_rows_are_those_of_duckdb(
    mode: str, how: str, keys: tuple[str, ...], sides: Any, schedule: Schedule
) -> None:
    right = [name for name, _ in ARROW["cities"] if name not in keys]
    if len(keys) == 1:  # the other common column would be on both sides
        right.remove("shop")
        kept = [Row(since=row.since, who=row.who, city=row.city, shop=0) for row in sides[1]]
        sides = (sides[0], kept)
    columns = [
        f"coalesce(o.{name}, c.{name})" if name in keys else f"o.{name}"
        for name, _ in ARROW["orders"]
    ] + [f"c.{name}" for name in right]
    condition = " AND ".join(f"o.{name} = c.{name}" for name in keys)
    query = f"SELECT {', '.join(columns)} FROM orders o {how} JOIN cities c ON {condition}"
    on: Any = [col[name] for name in keys]
    if len(keys) > 1:
        found = joined(MODES[mode], sides, on, how=how)
    else:
        left, right_side = streams_of(MODES[mode], sides)
        found = left.join(right_side.select(col.since, col.who, col.city), on=col.who, how=how)
    assert rows_of(found, schedule) == in_duckdb(sides, query)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
@pytest.mark.parametrize(("lower", "upper"), [(0, 0), (-3, 2), (1, 5)])
@given(sides=SIDES, schedule=SCHEDULES)
@settings(max_examples=4, deadline=None)
def test_pairs_within_an_interval_are_those_of_duckdb(
    mode: str, how: str, lower: int, upper: int, sides: Any, schedule: Schedule
) -> None:
    query = f"""SELECT coalesce(o.shop, c.shop), o.at, coalesce(o.who, c.who), o.amount, c.since, c.city
        FROM orders o {how} JOIN cities c
        ON o.who = c.who AND o.shop = c.shop AND c.since - o.at BETWEEN {lower} AND {upper}"""
    found = joined(
        MODES[mode],
        sides,
        (col.who, col.shop),
        how=how,
        between=(lower, Time.milliseconds(upper)),
    )
    assert rows_of(found, schedule) == in_duckdb(sides, query)


def test_the_time_of_a_pair_is_the_later_one() -> None:
    class WithTime(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield tuple(value), ctx.timestamp()

    sides = [Row(shop=1, at=3, who="a", amount=1)], [Row(since=5, who="a", city="x", shop=1)]
    stream = joined(BATCH, sides, (col.who, col.shop), between=(0, 9)).process(WithTime())
    stream.print()
    found = run_in_process(stream.get_execution_environment()).of()
    assert found == [((1, 3, "a", 1, 5, "x"), 5)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"on": col.who}, "the column 'shop' on both sides"),
        ({"on": ()}, "no columns"),
        ({"on": (col.who, col.shop), "how": "outer"}, "how='outer'"),
        ({"on": (col.who, col.shop), "between": 5}, "between=5"),
        ({"on": (col.who, col.shop), "between": (5, 1)}, "bounds 5 and 1"),
        ({"on": None, "how": "left"}, "without on"),
        ({"on": None, "between": (0, 1)}, "without on"),
    ],
)
def test_arguments(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        joined(BATCH, ([], []), options.pop("on"), **options)


def test_a_column_that_is_not_there_names_the_near_one() -> None:
    with pytest.raises(UnknownFieldError, match="did you mean 'who'"):
        joined(BATCH, ([], []), (col.whom, col.shop))


def test_columns_of_two_types_are_refused() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    one = env.from_collection([Row(k=1)], Types.ROW_NAMED(["k"], [Types.INT()]))
    other = env.from_collection([Row(k=1)], Types.ROW_NAMED(["k"], [Types.LONG()]))
    with pytest.raises(ArgumentError, match="Integer on the left"):
        one.join(other, on=col.k)
