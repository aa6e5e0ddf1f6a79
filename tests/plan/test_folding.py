"""Where a batch run folds the records of a key, and what the plan says of it."""

from __future__ import annotations

import pytest

from penstock.common import Configuration, Time, Types
from penstock.connectors.python.collection import RecordedSource
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    AggregateFunction,
    ReduceFunction,
    StreamExecutionEnvironment,
    WatermarkStrategy,
)
from penstock.datastream.connectors import HybridSource
from penstock.datastream.window import (
    EndOfStreamWindows,
    EventTimeSessionWindows,
    TumblingEventTimeWindows,
)
from penstock.errors import ArgumentError
from penstock.graph.endpoints import Source
from penstock.plan.physical import HandOver
from penstock.plan.programs import programs_of
from penstock.program.fold import Place

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
    """Nobody promises anything."""

    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + 1

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


class PromisedCount(Count):
    def is_associative(self):
        return True


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
    """Return what the plan says of the first run."""
    return [
        d for d in plan.decisions if d.subject.startswith("records of ") and "run 0" in d.subject
    ]


def places(plan, run=0):
    return next(fold.plan.places for fold in plan.folds if fold.run == run)


def sends_keys(plan, run=0):
    return next(fold.plan.takes_keys for fold in plan.folds if fold.run == run)


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
    "aggregate": lambda s: keyed(s).window(EndOfStreamWindows.get()).aggregate(PromisedCount()),
}

OTHERS = {
    "nobody": (lambda s: keyed(s).reduce(pick), "not declared"),
    "function": (lambda s: keyed(s).reduce(Pick()), "not declared"),
    "opened": (lambda s: keyed(s).reduce(Opened()), "Opened has an open or close"),
    "sum of floats": (lambda s: typed(s).sum(2), "not declared"),
    "max of floats": (lambda s: typed(s).max(2), "not declared"),
    "undeclared": (lambda s: keyed(s).sum(1), "not declared"),
    "number by itself": (
        lambda s: s.map(lambda r: r[1], Types.LONG()).key_by(abs).sum(),
        "not declared",
    ),
}

ONE_SECOND = TumblingEventTimeWindows.of(Time.seconds(1))

BY_TIME = {
    "promised": (
        lambda s: keyed(s).window(ONE_SECOND).reduce(pick, associative=True, commutative=True),
        set(Place) - {Place.SOURCE_SQL},
    ),
    "in order": (
        lambda s: keyed(s).window(ONE_SECOND).reduce(pick, associative=True),
        {Place.RECEIVER_GROUP, Place.STATE},
    ),
    "nobody": (
        lambda s: keyed(s).window(ONE_SECOND).reduce(pick),
        {Place.RECEIVER_GROUP, Place.STATE},
    ),
    "sessions": (
        lambda s: keyed(s).window(EventTimeSessionWindows.with_gap(Time.seconds(1))).reduce(pick),
        {Place.STATE},
    ),
    "promised sessions": (
        lambda s: (
            keyed(s)
            .window(EventTimeSessionWindows.with_gap(Time.seconds(1)))
            .reduce(pick, associative=True, commutative=True)
        ),
        {Place.SENDER, Place.STATE},
    ),
    "reduce": (
        lambda s: keyed(s).reduce(pick, associative=True, commutative=True),
        {Place.RECEIVER_GROUP, Place.STATE},
    ),
}


@pytest.mark.parametrize("then", COMBINED.values(), ids=COMBINED)
def test_a_promised_or_proven_function_is_folded_before_the_exchange(then):
    plan = plan_of(then, BATCH)
    (decision,) = said(plan)
    assert "before they are sent" in decision.choice
    assert "because" not in decision.reason
    assert places(plan) == set(Place) - {Place.SOURCE_SQL}


@pytest.mark.parametrize(("then", "why"), OTHERS.values(), ids=OTHERS)
def test_another_function_is_not_and_the_plan_says_why(then, why):
    plan = plan_of(then, BATCH)
    (decision,) = said(plan)
    assert "before they are sent" not in decision.choice
    assert why in decision.reason
    assert Place.SENDER not in places(plan)
    # In order, with their keys: that needs no promise.
    assert sends_keys(plan) is (why == "not declared")


@pytest.mark.parametrize(("then", "expected"), BY_TIME.values(), ids=BY_TIME)
def test_records_with_timestamps_are_folded_where_their_order_is_kept_or_does_not_matter(
    then, expected
):
    plan = plan_of(then, BATCH, stamped=True)
    assert places(plan) == expected
    (decision,) = said(plan)
    assert decision.reason


def test_what_does_not_fold_is_not_mentioned():
    assert said(plan_of(lambda s: keyed(s).map(key_of), BATCH)) == []


def test_a_setting_turns_it_off():
    plan = plan_of(COMBINED["promised"], BATCH | {"execution.batch.combine": "false"})
    (decision,) = said(plan)
    assert decision.reason == "execution.batch.combine is false"
    assert places(plan) == {Place.RECEIVER_GROUP, Place.STATE}


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
    assert [sends_keys(plan, run.index) for run in plan.runs] == combining
    assert [Place.SENDER in places(plan, run.index) for run in plan.runs] == combining
    for run, combines in zip(plan.runs, combining, strict=True):
        programs = programs_of(
            plan, run, tasks=2, max_frame_records=9, handed=HandOver(), job_parameters={}
        )
        (channel,) = programs[0].outputs
        (operator,) = programs[1].operators
        assert (channel.fold is not None) is combines
        assert operator.takes_keys is combines
        assert (operator.key_selectors == (key_of,)) is not combines


def test_channels_of_a_level_share_the_memory():
    def then(s):
        first = keyed(s).reduce(pick, associative=True)
        return keyed(s).reduce(Promised()).union(first)

    plan = plan_of(then, BATCH | {"execution.sorted-inputs.memory": "1000"})
    programs = programs_of(
        plan, plan.runs[0], tasks=2, max_frame_records=9, handed=HandOver(), job_parameters={}
    )
    shares = [channel.fold and channel.fold.memory_bytes for channel in programs[0].outputs]
    assert shares == [500, 500]


@pytest.mark.parametrize("law", ["associative", "commutative"])
@pytest.mark.parametrize("windowed", [False, True])
def test_a_promise_is_a_bool(windowed, law):
    def then(s):
        stream = keyed(s).window(EndOfStreamWindows.get()) if windowed else keyed(s)
        return stream.reduce(pick, **{law: "yes"})

    with pytest.raises(ArgumentError):
        plan_of(then, BATCH)
