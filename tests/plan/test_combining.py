"""Which channels of a batch run carry combined records, and what the plan says of the others."""

from __future__ import annotations

import pytest

from penstock.common import Configuration, Time, Types
from penstock.connectors.python.discard import DiscardingSink
from penstock.connectors.python.recorded import RecordedSource
from penstock.datastream import (
    AggregateFunction,
    ReduceFunction,
    StreamExecutionEnvironment,
    WatermarkStrategy,
)
from penstock.datastream.connectors import HybridSource
from penstock.datastream.window import EndOfStreamWindows, TumblingEventTimeWindows
from penstock.errors import ArgumentError
from penstock.graph.endpoints import Source
from penstock.plan.hand_over import HandOver
from penstock.plan.phases.combining import paired_in
from penstock.plan.programs import programs_of

BATCH = {"execution.runtime-mode": "BATCH"}
MIXED = {
    "execution.runtime-mode": "STREAMING",
    "execution.checkpointing.interval-during-backlog": "0",
}
LATEST = MIXED | {"pipeline.backlog.output": "latest"}
RECORDS = [(1, 2, 0.5, "a"), (1, 4, 1.5, "b")]
FIELDS = Types.TUPLE([Types.INT(), Types.LONG(), Types.DOUBLE(), Types.STRING()])


def key_of(record):
    return record[0]


def pick(a, b):
    return max(a, b)


class Pick(ReduceFunction):
    def reduce(self, value1, value2):
        return max(value1, value2)


class Promised(Pick):
    def is_associative(self):
        return True


class Opened(Promised):
    def open(self, runtime_context):
        self.seen = 0


class Count(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + 1

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


def plan_of(then, settings, *, stamped=False, hybrid=False):
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"parallelism.default": "2", **settings})
    )
    times = [record[1] for record in RECORDS] if stamped else None
    source: Source = RecordedSource.of(RECORDS, times, Types.PICKLED_BYTE_ARRAY())
    if hybrid:
        source = HybridSource.builder(source).add_source(source).build()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    then(stream).sink_to(DiscardingSink()).name("out")
    return env.plan()


def said(plan):
    return [d for d in plan.decisions if "before they are sent" in d.choice]


def keyed(s):
    return s.key_by(key_of)


def typed(s):
    return s.map(lambda r: r, FIELDS).key_by(key_of)


COMBINED = {
    "promised": lambda s: keyed(s).reduce(pick, associative=True),
    "function": lambda s: keyed(s).reduce(Promised()),
    "sum of integers": lambda s: typed(s).sum(1),
    "min of strings": lambda s: typed(s).min(3),
    "record of max": lambda s: typed(s).max_by(1),
    "window": lambda s: keyed(s).window(EndOfStreamWindows.get()).reduce(pick, associative=True),
}

OTHERS = {
    "nobody": (lambda s: keyed(s).reduce(pick), "nobody promises"),
    "function": (lambda s: keyed(s).reduce(Pick()), "nobody promises"),
    "opened": (lambda s: keyed(s).reduce(Opened()), "Opened has an open or close"),
    "sum of floats": (lambda s: typed(s).sum(2), "nobody promises"),
    "max of floats": (lambda s: typed(s).max(2), "nobody promises"),
    "undeclared": (lambda s: keyed(s).sum(1), "nobody promises"),
    "number by itself": (
        lambda s: s.map(lambda r: r[1], Types.LONG()).key_by(abs).sum(),
        "nobody promises",
    ),
}

UNMENTIONED = {
    "tumbling": lambda s: (
        keyed(s).window(TumblingEventTimeWindows.of(Time.seconds(1))).reduce(pick, associative=True)
    ),
    "aggregate": lambda s: keyed(s).window(EndOfStreamWindows.get()).aggregate(Count()),
    "map": lambda s: keyed(s).map(key_of),
}


@pytest.mark.parametrize("then", COMBINED.values(), ids=COMBINED)
def test_a_promised_or_proven_function_is_combined(then):
    plan = plan_of(then, BATCH)
    (decision,) = said(plan)
    assert decision.choice == "combined by key before they are sent"
    assert "because" not in decision.reason
    assert len(paired_in(plan, plan.runs[0])) == 1


@pytest.mark.parametrize(("then", "why"), OTHERS.values(), ids=OTHERS)
def test_another_function_is_not_and_the_plan_says_why(then, why):
    plan = plan_of(then, BATCH)
    (decision,) = said(plan)
    assert decision.choice == "not combined before they are sent"
    assert why in decision.reason
    assert not any(channel.combine.regroups for channel in plan.channels if channel.combine)
    # In order, with their keys: that needs no promise.
    assert bool(paired_in(plan, plan.runs[0])) is (why == "nobody promises")


@pytest.mark.parametrize("then", UNMENTIONED.values(), ids=UNMENTIONED)
def test_nothing_is_said_of_operators_that_do_not_reduce_to_one_result(then):
    assert said(plan_of(then, BATCH)) == []


def test_records_with_timestamps_are_reduced_in_their_order():
    plan = plan_of(COMBINED["promised"], BATCH, stamped=True)
    (decision,) = said(plan)
    assert "in order of their timestamps" in decision.reason
    assert not paired_in(plan, plan.runs[0])


def test_a_setting_turns_it_off():
    plan = plan_of(COMBINED["promised"], BATCH | {"execution.batch.combine": "false"})
    (decision,) = said(plan)
    assert decision.reason == "execution.batch.combine is false"
    assert not paired_in(plan, plan.runs[0])


@pytest.mark.parametrize(
    ("settings", "combining"),
    [
        ({"execution.runtime-mode": "STREAMING"}, [False, False]),
        (MIXED, [False, False]),
        (LATEST, [True, False]),
    ],
)
def test_only_runs_that_give_last_results_combine(settings, combining):
    plan = plan_of(COMBINED["promised"], settings, hybrid=True)
    assert [bool(paired_in(plan, run)) for run in plan.runs] == combining
    assert len(said(plan)) == any(combining)
    for run, combines in zip(plan.runs, combining, strict=True):
        programs = programs_of(
            plan, run, tasks=2, max_frame_records=9, handed=HandOver(), job_parameters={}
        )
        (channel,) = programs[0].outputs
        (operator,) = programs[1].operators
        assert (channel.combine is not None) is combines
        assert operator.takes_pairs is combines
        assert (operator.key_selectors == (key_of,)) is not combines


def test_channels_of_a_level_share_the_memory():
    def then(s):
        first = keyed(s).reduce(pick, associative=True)
        return keyed(s).reduce(Promised()).union(first)

    plan = plan_of(then, BATCH | {"execution.sorted-inputs.memory": "1000"})
    programs = programs_of(
        plan, plan.runs[0], tasks=2, max_frame_records=9, handed=HandOver(), job_parameters={}
    )
    shares = [channel.combine and channel.combine.memory_bytes for channel in programs[0].outputs]
    assert shares == [500, 500]


@pytest.mark.parametrize("windowed", [False, True])
def test_a_promise_is_a_bool(windowed):
    def then(s):
        stream = keyed(s).window(EndOfStreamWindows.get()) if windowed else keyed(s)
        return stream.reduce(pick, associative="yes")

    with pytest.raises(ArgumentError):
        plan_of(then, BATCH)
