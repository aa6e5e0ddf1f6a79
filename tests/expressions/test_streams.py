"""Operations on columns of streams: chained with Python, in every mode, on rows of every kind."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Row, RowKind, Types, WatermarkStrategy
from penstock.datastream import ProcessFunction, StreamExecutionEnvironment, col, when
from penstock.datastream.connectors import CollectionSource, HybridSource
from penstock.errors import ExpressionError
from penstock.program.operators import EXPRESSIONS
from penstock.testing import run_in_process

FLIGHT = Types.ROW_NAMED(
    ["carrier", "delay", "cancelled"], [Types.STRING(), Types.INT(), Types.BOOLEAN()]
)
FLIGHTS = [
    Row(carrier="AA", delay=5, cancelled=False),
    Row(carrier="UA", delay=None, cancelled=True),
    Row(carrier="AA", delay=None, cancelled=False),
    Row(carrier="UA", delay=7, cancelled=None),
    Row(carrier="DL", delay=-3, cancelled=False),
]
MODES = {
    "batch": {"execution.runtime-mode": "BATCH"},
    "streaming": {"execution.runtime-mode": "STREAMING"},
    "mixed": {
        "execution.runtime-mode": "STREAMING",
        "execution.checkpointing.interval-during-backlog": "0",
    },
}


def flights(settings: dict[str, str]) -> tuple[StreamExecutionEnvironment, Any]:
    env = StreamExecutionEnvironment.get_execution_environment()
    for key, value in settings.items():
        env.get_configuration().set(key, value)
    history = CollectionSource(tuple(FLIGHTS[:3]), FLIGHT)
    live = CollectionSource(tuple(FLIGHTS[3:]), FLIGHT)
    source = HybridSource.builder(history).add_source(live).build()
    return env, env.from_source(source, WatermarkStrategy.no_watermarks(), "flights")


def results(env: StreamExecutionEnvironment, stream: Any) -> list[Any]:
    stream.print()
    return sorted(run_in_process(env).of(), key=repr)


@pytest.mark.parametrize("mode", MODES)
def test_the_answer_is_that_of_lambdas(mode: str) -> None:
    env, stream = flights(MODES[mode])
    by_columns = (
        stream.where(~col.cancelled.fill_null(False))
        .with_columns(delay=col.delay.fill_null(0) * 2)
        .select(col.carrier, late=when(col.delay > 8, "late").otherwise("fine"), d=col.delay)
        .map(lambda row: (row.carrier, row.late, row.d))
    )
    found = results(env, by_columns)
    env, stream = flights(MODES[mode])
    by_lambdas = (
        stream.filter(lambda f: not f.cancelled)
        .map(lambda f: (f.carrier, (f.delay or 0) * 2))
        .map(lambda f: (f[0], "late" if f[1] > 8 else "fine", f[1]))
    )
    assert found == results(env, by_lambdas)
    assert len(found) == 4


@pytest.mark.parametrize("mode", MODES)
def test_beside_python_operators_and_keys(mode: str) -> None:
    env, stream = flights(MODES[mode])
    totals = (
        stream.map(
            lambda f: Row(f.carrier, f.delay),
            Types.ROW_NAMED(["c", "d"], FLIGHT.get_field_types()[:2]),
        )
        .where(col.d.is_not_null())
        .select(col.c, n=1, d=col.d)
        .key_by(col.c)
        .reduce(lambda a, b: Row(c=a.c, n=a.n + b.n, d=a.d + b.d))
    )
    last = {row.c: (row.n, row.d) for row in results(env, totals)}
    assert last == {"AA": (1, 5), "UA": (1, 7), "DL": (1, -3)}


def test_a_key_of_several_columns_is_a_tuple() -> None:
    env, stream = flights(MODES["batch"])
    keyed = stream.key_by(col.carrier, col.cancelled).reduce(lambda _, last: last)
    assert len(results(env, keyed)) == 4


def test_operations_that_follow_each_other_are_one_operator() -> None:
    env, stream = flights(MODES["batch"])
    first = stream.where(col.delay > 0)
    first.select(col.carrier).with_columns(n=1).print()
    (op,) = [each for level in env.plan().levels for each in level.operators]
    assert (op.kind, op.name) == (EXPRESSIONS, "where, select, with_columns")
    assert str(op.function) == "where greater(delay, 0), select carrier, select carrier, n=1"


def test_an_operator_with_settings_of_its_own_stays() -> None:
    env, stream = flights(MODES["batch"])
    stream.where(col.delay > 0).uid("mine").select(col.carrier).print()
    assert next(op.uid for level in env.plan().levels for op in level.operators) == "mine"
    assert run_in_process(env).of() == [Row(carrier="AA"), Row(carrier="UA")]


def test_what_nothing_reads_is_not_computed() -> None:
    env, stream = flights(MODES["batch"])
    assert results(env, stream.select(col.carrier, x=col.delay / 0).select(col.carrier)) == sorted(
        [Row(carrier=f.carrier) for f in FLIGHTS], key=repr
    )


def test_a_failure_names_the_record_and_the_line() -> None:
    env, stream = flights(MODES["batch"])
    stream.where(col.delay > -10).select(x=100 % (col.delay - 7)).print()
    with pytest.raises(ExpressionError, match="divide by zero") as failed:
        run_in_process(env)
    assert "carrier='UA', delay=7" in str(failed.value)
    assert failed.value.origin is not None
    assert failed.value.origin.filename == __file__


def test_a_condition_before_protects_what_follows() -> None:
    env, stream = flights(MODES["batch"])
    shares = stream.where(col.delay != 7, 1 / (col.delay - 7) < 1).select(
        x=when(col.delay > 0, 10 / col.delay).otherwise(-1.0)
    )
    assert results(env, shares) == [Row(x=-1.0), Row(x=2.0)]


def test_kinds_of_rows_are_kept() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    kind = Types.ROW_NAMED(["a"], [Types.INT()])
    rows = [Row(a=1), Row.of_kind(RowKind.DELETE, a=2), Row.of_kind(RowKind.UPDATE_AFTER, a=3)]
    env.from_collection(rows, kind).where(col.a > 1).select(b=col.a).print()
    found = run_in_process(env).of()
    assert [(row.get_row_kind(), row.b) for row in found] == [
        (RowKind.DELETE, 2),
        (RowKind.UPDATE_AFTER, 3),
    ]


def test_timestamps_stay() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, _: value[1]
    )
    pairs = env.from_collection(
        [("a", 1), ("b", 2), ("c", 3)], Types.TUPLE([Types.STRING(), Types.LONG()])
    )
    timed = pairs.assign_timestamps_and_watermarks(strategy).where(col.f0 != "b")

    class Stamp(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield value.x, ctx.timestamp()

    timed.select(x=col.f0 + "!").process(Stamp()).print()
    assert run_in_process(env).of() == [("a!", 1), ("c!", 3)]


def test_two_readers_of_one_operation() -> None:
    env, stream = flights(MODES["streaming"])
    late = stream.where(col.delay > 0)
    late.select(a=col.carrier).union(late.select(a=col.carrier + "2")).print()
    assert sorted(row.a for row in run_in_process(env).of()) == ["AA", "AA2", "UA", "UA2"]
