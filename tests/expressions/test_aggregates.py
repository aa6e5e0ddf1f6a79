"""Aggregates of columns: the last result of a key is that of an obvious reference, in every mode and at every place.

Catches: a NULL that is counted or summed, a NaN that depends on the order, a part that is merged twice after a
failure, state that is not handed over, a place that gives other results than state.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import product
from operator import attrgetter, itemgetter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Configuration, Row, RowKind, Types, WatermarkStrategy
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import StreamExecutionEnvironment, col, when
from penstock.datastream.connectors import CollectionSource, HybridSource
from penstock.datastream.functions import CoMapFunction
from penstock.errors import ArgumentError, ExpressionError, PenstockError, UnknownFieldError
from penstock.expressions.aggregates import AGGREGATES, AggregateExpression
from penstock.plan.folding.choice import legal_places
from penstock.program.fold import Place
from penstock.runtime.exchange import buckets
from penstock.runtime.fold import fold_table
from penstock.runtime.operators import keyed_aggregate
from penstock.testing import Schedule, collect, run_in_process
from tests.expressions.generated import same
from tests.runtime.jobs import BATCH, MIXED, STREAMING

LATEST = MIXED | {"pipeline.backlog.output": "latest"}
MODES = {"batch": BATCH, "streaming": STREAMING, "mixed": MIXED, "latest": LATEST}

COLUMNS = {
    "k": Types.STRING(),
    "small": Types.BYTE(),
    "whole": Types.LONG(),
    "real": Types.DOUBLE(),
    "money": Types.BIG_DEC(),
    "text": Types.STRING(),
    "day": Types.SQL_DATE(),
    "at": Types.SQL_TIMESTAMP(),
}
ROW = Types.ROW_NAMED(list(COLUMNS), list(COLUMNS.values()))
VALUES = {
    "small": st.integers(-128, 127),
    "whole": st.integers(-(2**40), 2**40),
    # Their sums are exact, so their order does not matter.
    "real": st.integers(-1000, 1000).map(lambda n: n / 4) | st.just(math.nan) | st.just(math.inf),
    "money": st.decimals(-1000, 1000, places=2),
    "text": st.text("aZé😀", max_size=3),
    "day": st.dates(date(1960, 1, 1), date(2040, 1, 1)),
    "at": st.datetimes(datetime(1960, 1, 1), datetime(2040, 1, 1)),  # noqa: DTZ001 - without a zone
}
RECORDS = st.lists(
    st.builds(
        Row,
        k=st.none() | st.sampled_from("abc"),
        **{name: st.none() | values for name, values in VALUES.items()},
    ),
    max_size=12,
)

NUMBERS = ("small", "whole", "real", "money")
AGGREGATED = {
    "n": col.count(),
    **{f"count_{name}": col[name].count() for name in VALUES},
    **{f"sum_{name}": col[name].sum() for name in NUMBERS},
    **{f"mean_{name}": col[name].mean() for name in NUMBERS if name != "money"},
    **{f"min_{name}": col[name].min() for name in VALUES},
    **{f"max_{name}": col[name].max() for name in VALUES},
    **{
        f"q{n}_{name}": col[name].approx_quantile(n / 100)
        for name in ("small", "whole", "real")
        for n in (0, 50, 90)
    },
    **{f"distinct_{name}": col[name].count_distinct() for name in VALUES if name != "real"},
    **{
        f"{short}_{name}": AggregateExpression(how, col[name].tree)
        for name in ("small", "whole")
        for short, how in (
            ("wide", "wide_sum"),
            ("truncated", "whole_mean"),
            ("left", "net_count"),
            ("net", "net_sum"),
        )
    },
    "exact_real": AggregateExpression("exact_sum", col.real.tree),
    "centre_real": AggregateExpression("exact_mean", col.real.tree),
    "first_real": AggregateExpression("first_float", col.real.tree),
    "last_real": AggregateExpression("last_float", col.real.tree),
    "spread_whole": AggregateExpression("exact_variance", col.whole.tree, (1,)),
    "root_small": AggregateExpression("exact_stddev", col.small.tree, (1,)),
    **{
        f"different_{name}": AggregateExpression("distinct", col[name].tree, ("net_sum",))
        for name in ("small", "whole")
    },
    **{
        f"least_{name}": AggregateExpression("of_values", col[name].tree, ("min",))
        for name in ("whole", "money", "text", "day", "at")
    },
    "joined_text": AggregateExpression("of_values", col.text.tree, ("join", "-")),
    "variance_small": col.small.variance(),
    "stddev_small": col.small.stddev(),
}
EXACT = {name: each for name, each in AGGREGATED.items() if not name.endswith("_real")}


def extreme(how: Any, values: list[Any]) -> Any:
    if not values:
        return None
    known = [each for each in values if each == each]  # noqa: PLR0124 - NaN is greater than any number
    is_lost = not known or (how is max and len(known) < len(values))
    return math.nan if is_lost else how(known)


def total(values: list[Any]) -> Any:
    if not values:
        return None
    return sum(values[1:], start=values[0])


def mean(values: list[Any]) -> Any:
    return total(values) / len(values) if values else None


def quantile(values: list[Any], share: float) -> Any:
    if not values:
        return None
    if any(value != value for value in values):  # noqa: PLR0124 - NaN
        return math.nan
    value = float(sorted(values)[max(math.ceil(share * len(values)), 1) - 1])
    if value == 0 or math.isinf(value):
        return value
    mantissa, exponent = math.frexp(value)  # a half to one
    return math.ldexp(math.trunc(mantissa * 256) / 256, exponent)


def variance(values: list[Any]) -> Any:
    return statistics.variance(map(Fraction, values)) if len(values) > 1 else None


REFERENCE = {
    "q0": lambda values: quantile(values, 0),
    "q50": lambda values: quantile(values, 0.5),
    "q90": lambda values: quantile(values, 0.9),
    "distinct": lambda values: len(set(values)),
    "variance": lambda values: None if len(values) < 2 else float(variance(values)),
    "stddev": lambda values: None if len(values) < 2 else float(variance(values)) ** 0.5,
    "count": len,
    "sum": total,
    "wide": total,
    "left": len,
    "net": total,
    "exact": total,
    "centre": mean,
    "first": lambda values: extreme(min, values),
    "last": lambda values: extreme(max, values),
    "spread": lambda values: None if len(values) < 2 else float(variance(values)),
    "root": lambda values: None if len(values) < 2 else float(variance(values)) ** 0.5,
    "mean": mean,
    "truncated": lambda values: (
        math.trunc(Fraction(total(values), len(values))) if values else None
    ),
    "different": lambda values: total(list(set(values))),
    "least": lambda values: extreme(min, values),
    "joined": lambda values: "-".join(sorted(values)) if values else None,
    "min": lambda values: extreme(min, values),
    "max": lambda values: extreme(max, values),
}


def expected(rows: list[Row], names: Any) -> dict[Any, dict[str, Any]]:
    groups = defaultdict(list)
    for row in rows:
        groups[row.k].append(row)

    def of(name: str, group: list[Row]) -> Any:
        how, _, column = name.partition("_")
        if how == "n":
            return len(group)
        return REFERENCE[how]([row[column] for row in group if row[column] is not None])

    return {key: {name: of(name, group) for name in names} for key, group in groups.items()}


def program(
    mode: dict[str, str],
    history: list[Row],
    live: list[Row],
    aggregates: dict[str, Any],
    select: Callable[[Any], Any] = lambda results: results,
) -> StreamExecutionEnvironment:
    configuration = Configuration.from_dict(mode | {"parallelism.default": 2})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    before = CollectionSource(tuple(history), ROW)
    source = HybridSource.builder(before).add_source(CollectionSource(tuple(live), ROW)).build()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "records")
    select(stream.key_by(col.k).aggregate(**aggregates)).sink_to(DiscardingSink())
    return env


def last_of_keys(results: list[Row]) -> dict[Any, dict[str, Any]]:
    return {row.k: {k: v for k, v in row.as_dict().items() if k != "k"} for row in results}


def check(found: dict[Any, dict[str, Any]], wanted: dict[Any, dict[str, Any]]) -> None:
    assert found.keys() == wanted.keys()
    for key, of_key in wanted.items():
        for name, value in of_key.items():
            assert same(found[key][name], value), (key, name, found[key][name], value)


SCHEDULES = st.builds(
    Schedule,
    tasks=st.integers(1, 3),
    frame_records=st.integers(1, 7),
    batch_sizes=st.sampled_from([(1,), (3,), (100,)]),
    restart_every=st.sampled_from([None, 1]),
    fail_every=st.sampled_from([None, 2]),
    workers=st.integers(1, 2),
    backend=st.sampled_from(["hashmap", "lmdb"]),
)


@contextmanager
def forced(few: int, first_merge: int) -> Iterator[None]:
    """Let kernels merge micro-batches of at least `few` records, and senders merge as soon as that many wait."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keyed_aggregate, "FEW_RECORDS", few)
        patch.setattr(buckets, "FIRST_MERGE", first_merge)
        yield


FORCED = st.builds(forced, st.sampled_from([0, 4, 128]), st.sampled_from([2, 1 << 16]))


def test_the_reference_has_every_aggregate() -> None:
    of_sql = {"user"}  # compared by tests/sql/test_group_parts.py
    assert set(AGGREGATES) - of_sql == {each.how for each in AGGREGATED.values()}
    assert {name.partition("_")[0] for name in AGGREGATED} == {"n", *REFERENCE}


@pytest.mark.parametrize("mode", MODES)
@given(history=RECORDS, live=RECORDS, schedule=SCHEDULES, coded=st.booleans(), force=FORCED)
@settings(max_examples=15, deadline=None)
def test_the_last_results_are_those_of_the_reference(
    mode: str,
    history: list[Row],
    live: list[Row],
    schedule: Schedule,
    coded: bool,
    force: AbstractContextManager[None],
) -> None:
    form = {"table.exec.enable-coded-rowdata": str(coded).lower()}
    env = program(MODES[mode] | form, history, live, AGGREGATED)
    with force:
        found = last_of_keys(run_in_process(env, schedule).of())
    check(found, expected(history + live, AGGREGATED))


@pytest.mark.parametrize("aggregates", [EXACT, AGGREGATED], ids=["exact", "floats"])
@pytest.mark.parametrize("mode", ["batch", "mixed", "latest"])
@given(history=RECORDS, live=RECORDS, schedule=SCHEDULES, small=st.booleans(), force=FORCED)
@settings(max_examples=4, deadline=None)
def test_every_legal_place_gives_what_state_gives(
    mode: str,
    aggregates: dict[str, Any],
    history: list[Row],
    live: list[Row],
    schedule: Schedule,
    small: bool,
    force: AbstractContextManager[None],
) -> None:
    memory = {"execution.sorted-inputs.memory": "600"} if small else {}
    plan = program(MODES[mode] | memory, history, live, aggregates).plan()
    choices = [legal_places(plan, plan.runs[fold.run], fold.operator) for fold in plan.folds]
    wanted = expected(history + live, aggregates)
    with pytest.MonkeyPatch.context() as patch, force:
        patch.setattr(fold_table, "_FIRST_LOOK", 2 if small else 4096)  # tables fill at once
        for choice in product(*choices):
            folds = tuple(
                replace(fold, plan=replace(fold.plan, places=places))
                for fold, places in zip(plan.folds, choice, strict=True)
            )
            found = run_in_process(replace(plan, folds=folds), schedule).of()
            check(last_of_keys(found), wanted)


def test_exact_aggregates_are_merged_before_they_are_sent() -> None:
    places = {
        name: program(BATCH, [], [], each).plan().folds[0].plan.places
        for name, each in (("exact", EXACT), ("floats", AGGREGATED))
    }
    assert Place.SENDER in places["exact"]
    assert Place.SENDER not in places["floats"]


def test_a_micro_batch_emits_each_of_its_keys_once() -> None:
    rows = [Row(k=key, whole=1) for key in "aabab"]
    kinds = Types.ROW_NAMED(["k", "whole"], [Types.STRING(), Types.LONG()])
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection(rows, kinds).key_by(col.k).aggregate(n=col.whole.sum())
    stream.set_parallelism(1).print()
    found = run_in_process(env, Schedule(batch_sizes=(3, 2))).of()
    assert found == [Row(k="a", n=2), Row(k="b", n=1), Row(k="a", n=3), Row(k="b", n=2)]


class Both(CoMapFunction):
    """Passes the records of two inputs on."""

    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        return value


@pytest.mark.parametrize("kind", [Types.LONG(), Types.DOUBLE()], ids=["exact", "floats"])
@pytest.mark.parametrize("mode", MODES)
def test_some_records_have_timestamps_and_others_none(mode: str, kind: Any) -> None:
    rows = [Row(k=key, x=number) for number, key in enumerate("abacab")]
    in_time = WatermarkStrategy.for_monotonous_timestamps()
    in_time = in_time.with_timestamp_assigner(lambda row, _: int(row.x))
    kinds = Types.ROW_NAMED(["k", "x"], [Types.STRING(), kind])
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict(MODES[mode] | {"parallelism.default": 1})
    )
    timed, untimed = (env.from_collection(rows, kinds) for _ in range(2))
    timed = timed.assign_timestamps_and_watermarks(in_time)
    keyed = (stream.key_by(lambda row: row.k) for stream in (timed, untimed))
    both = next(keyed).connect(next(keyed)).map(Both(), kinds)
    both.key_by(col.k).aggregate(n=col.count(), total=col.x.sum()).sink_to(DiscardingSink())
    assert last_of_keys(run_in_process(env).of()) == {
        "a": {"n": 6, "total": 12},
        "b": {"n": 4, "total": 12},
        "c": {"n": 2, "total": 6},
    }


def test_keys_are_several_columns_and_arguments_are_expressions() -> None:
    kinds = Types.TUPLE([Types.STRING(), Types.INT(), Types.INT()])
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([("a", 1, 5), ("a", 1, 7), ("a", 2, 2)], kinds)
    found = (
        stream.where(col.f0 == "a")
        .key_by(col.f1, col.f0)
        .aggregate(
            n=col.count(),
            late=when(col.f2 > 6, col.f1).otherwise(None).count(),
            f2=(col.f2 * 2).sum(),
        )
    )
    found.print()
    names = [node.kind.name for node in env.plan().graph.nodes]
    assert names.count("EXPRESSIONS") == 1, "where and parts are one operator"
    assert last_by(run_in_process(env).of(), 2) == [
        Row(f1=1, f0="a", n=2, late=1, f2=24),
        Row(f1=2, f0="a", n=1, late=0, f2=4),
    ]


def last_by(rows: list[Row], width: int) -> list[Row]:
    return list({tuple(row)[:width]: row for row in rows}.values())


@pytest.mark.parametrize(
    "selector", [lambda row: row.k, lambda row: row["k"], itemgetter("k"), attrgetter("k")]
)
def test_a_selector_of_one_field_is_its_column(selector: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    two = Types.ROW_NAMED(["k", "x"], [Types.STRING(), Types.INT()])
    rows = env.from_collection([Row(k="a", x=1), Row(k="a", x=2)], two)
    found = collect(rows.key_by(selector).aggregate(n=col.count(), total=col.x.sum()))
    assert found == [Row(k="a", n=2, total=3)]


def test_a_column_may_be_called_count() -> None:
    kinds = Types.ROW_NAMED(["k", "count"], [Types.STRING(), Types.INT()])
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([Row(k="a", count=3), Row(k="a", count=None)], kinds)
    keyed = stream.where(col.count.is_null() | (col.count > 1)).key_by(col.k)
    keyed.aggregate(n=col.count(), known=col.count.count(), most=col["count"].max()).print()
    assert run_in_process(env).of() == [Row(k="a", n=2, known=1, most=3)]


def two_columns(rows: list[Any], kind: Any) -> Any:
    kinds = Types.ROW_NAMED(["k", "x"], [Types.STRING(), kind])
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.from_collection(rows, kinds)


@pytest.mark.parametrize(
    ("kind", "value", "limit"),
    [
        (Types.LONG(), 2**62, "LONG"),
        (Types.BIG_DEC(), Decimal(10) ** 20 - 1, "20 digits"),
    ],
    ids=["long", "decimal"],
)
def test_a_sum_that_leaves_its_type_is_an_error_with_its_key(
    kind: Any, value: Any, limit: str
) -> None:
    stream = two_columns([Row(k="a", x=value)] * 3, kind)
    stream.key_by(col.k).aggregate(total=col.x.sum()).print()
    with pytest.raises(ExpressionError, match=limit) as failed:
        run_in_process(stream.get_execution_environment())
    assert "aggregate" in failed.value.problem
    assert "'a'" in failed.value.problem


def test_a_change_that_removes_a_row_is_refused() -> None:
    removed = Row(k="a", x=1)
    removed.set_row_kind(RowKind.DELETE)
    stream = two_columns([Row(k="a", x=1), removed], Types.INT())
    stream.key_by(col.k).aggregate(total=col.x.sum()).print()
    with pytest.raises(ExpressionError, match="-D"):
        run_in_process(stream.get_execution_environment())


def mistakes() -> dict[str, tuple[Any, type[PenstockError], str]]:
    def of(*keys: Any, **aggregates: Any) -> Any:
        return lambda stream: stream.key_by(*keys).aggregate(**aggregates)

    return {
        "none": (of(col.k), ArgumentError, "no aggregates"),
        "no aggregate": (of(col.k, x=col.x), ArgumentError, "is not an aggregate"),
        "constant": (of(col.k, x=3), ArgumentError, "is not an aggregate"),
        "key": (of(col.k, k=col.x.sum()), ArgumentError, "column of the key"),
        "function": (of(lambda row: row.k * 2, n=col.count()), ArgumentError, "no column"),
        "typo": (of(col.k, n=col.y.sum()), UnknownFieldError, "'y'"),
        "text": (of(col.k, n=col.k.sum()), ArgumentError, "needs numbers"),
        "floats": (
            of(col.k, n=col.x.cast(Types.DOUBLE()).count_distinct()),
            ArgumentError,
            "floats|Double",
        ),
        "share": (lambda _: col.x.approx_quantile(1.5), ArgumentError, "1.5"),
        "spread": (of(col.k, n=(col.x / 2).stddev()), ArgumentError, "exact"),
        "truth": (of(col.k, n=(col.x > 1).max()), ArgumentError, "order"),
    }


@pytest.mark.parametrize("name", mistakes())
def test_mistakes_are_told_where_the_program_is_written(name: str) -> None:
    then, error, said = mistakes()[name]
    with pytest.raises(error, match=said) as refused:
        then(two_columns([], Types.INT()))
    assert refused.value.origin is not None
    assert refused.value.origin.filename == __file__


def test_a_mean_of_decimals_is_refused() -> None:
    with pytest.raises(ArgumentError, match="DOUBLE"):
        two_columns([], Types.BIG_DEC()).key_by(col.k).aggregate(m=col.x.mean())
