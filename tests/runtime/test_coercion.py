"""Declared types hold: what an operator or source gives is brought to its type."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import FlatMapFunction, KeyedProcessFunction, ProcessFunction
from penstock.datastream.connectors import (
    DataGeneratorSource,
    DiscardingSink,
    NumberSequenceSource,
)
from penstock.errors import TypeMismatchError, UserCodeError
from penstock.plan.physical import HandOver
from penstock.plan.programs import programs_of
from penstock.testing import run_in_process
from tests.runtime.jobs import BATCH, MODE_IDS, MODES, environment, history_then_live, job

NAMED = Types.ROW_NAMED(["key", "n"], [Types.STRING(), Types.DOUBLE()])
RECORDS = [("a", 1), ("b", 2), ("a", 3)]


class Same(FlatMapFunction, ProcessFunction):
    def flat_map(self, value):
        return [value]

    def process_element(self, value, ctx):
        yield value


class SameKeyed(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(2**40)
        yield value

    def on_timer(self, timestamp, ctx):
        yield [ctx.get_current_key(), 0]


def said(*_: object) -> Any:
    return "x"


def first(record):
    return record[0]


def same(record):
    return record


OPERATIONS = {
    "map": lambda s, t: s.map(same, t),
    "flat_map": lambda s, t: s.flat_map(Same(), t),
    "process": lambda s, t: s.process(Same(), t),
    "keyed map": lambda s, t: s.key_by(first).map(same, t),
    "keyed flat_map": lambda s, t: s.key_by(first).flat_map(Same(), t),
    "keyed process": lambda s, t: s.key_by(first).process(SameKeyed(), t),
}


@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_results_have_the_declared_form_downstream(operation, settings):
    env = job(
        settings,
        history_then_live(RECORDS[:1], RECORDS[1:]),
        lambda s: operation(s, NAMED).map(lambda row: (row.key, row.n, type(row.n))),
    )
    found = [record for record in run_in_process(env).of("out") if record[1]]
    assert sorted(found, key=str) == [("a", 1.0, float), ("a", 3.0, float), ("b", 2.0, float)]


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_a_result_of_another_type_is_named_with_its_operator(operation):
    wrong = Types.ROW_NAMED(["key", "n"], [Types.STRING(), Types.STRING()])
    env = job(
        BATCH, history_then_live([], RECORDS), lambda s: operation(s, wrong).name("typed").map(same)
    )
    with pytest.raises(TypeMismatchError) as caught:
        run_in_process(env)
    assert "operator 'typed'" in caught.value.problem
    assert "('a', 1)" in caught.value.problem or "('b', 2)" in caught.value.problem
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__


@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
def test_a_reduce_sees_its_own_results_in_the_declared_form(settings):
    records = [("a", 1)] * 4
    env = job(
        settings,
        history_then_live(records[:1], records[1:]),
        lambda s: s.map(same, NAMED).key_by(first).reduce(lambda a, b: (a.key, a.n + b.n)),
    )
    last = run_in_process(env).of("out")[-1]
    assert (last.key, last.n) == ("a", 4.0)


def test_a_reduce_that_gives_another_type_is_named():
    env = job(
        BATCH,
        history_then_live([], [1, 2]),
        lambda s: s.map(same, Types.INT()).key_by(lambda _: 0).reduce(said),
        strategy=WatermarkStrategy.no_watermarks(),
    )
    with pytest.raises(TypeMismatchError, match="operator 'said' gave 'x'"):
        run_in_process(env)


def read(source, type_info=None):
    env = environment(BATCH)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "made", type_info)
    stream.sink_to(DiscardingSink()).name("out")
    return env


def test_records_of_a_generator_are_brought_to_its_type():
    source = DataGeneratorSource(lambda i: (str(i), i), 2, type_info=NAMED)
    assert [row.n for row in run_in_process(read(source)).of("out")] == [0.0, 1.0]


def test_a_type_given_to_from_source_holds():
    found = run_in_process(read(NumberSequenceSource(1, 2), Types.DOUBLE())).of("out")
    assert {type(record) for record in found} == {float}


def test_a_generated_record_of_another_type_names_the_source():
    source = DataGeneratorSource(lambda i: i, 2, type_info=Types.STRING())
    with pytest.raises(TypeMismatchError, match="source 'made' gave 0"):
        run_in_process(read(source))


@pytest.mark.parametrize("type_info", [None, Types.LONG()])
def test_what_needs_no_conversion_is_not_looked_at(type_info):
    env = environment(BATCH)
    source = NumberSequenceSource(1, 2) if type_info else DataGeneratorSource(same, 2)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "made")
    stream.map(same).filter(same).key_by(same).reduce(max).sink_to(DiscardingSink())
    plan = env.plan()
    programs = programs_of(
        plan,
        plan.runs[0],
        tasks=1,
        max_frame_records=10,
        handed=HandOver(),
        job_parameters={},
    )
    assert all(not program.source_types for program in programs)
    assert all(op.result_type is None for program in programs for op in program.operators)


def test_a_record_that_cannot_be_pickled_is_named():
    env = job(
        BATCH,
        history_then_live([], [1]),
        lambda s: s.map(lambda n: (i for i in range(n))),
        strategy=WatermarkStrategy.no_watermarks(),
    )
    with pytest.raises(UserCodeError) as caught:
        run_in_process(env)
    assert "of type generator" in caught.value.problem
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__
