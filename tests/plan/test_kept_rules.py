"""The plan names every rule that a run does not keep, where it applies and only there."""

from __future__ import annotations

import pytest

from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    KeyedProcessFunction,
    OneInputStreamOperator,
    SimpleOperatorFactory,
    WatermarkStrategy,
)
from penstock.datastream.connectors import CollectionSource
from tests.runtime.jobs import BATCH, MIXED, STREAMING, by_time, environment, history_then_live

UNTIMED = WatermarkStrategy.no_watermarks()
HISTORY = history_then_live([("a", 1)], [("a", 2)])
LIVE = CollectionSource.of([("b", 1)])
LAG = MIXED | {"pipeline.backlog.watermark-lag-threshold": "1 h"}


def said(env, word):
    return [(d.subject, d.choice) for d in env.plan().decisions if word in d.choice]


def beside(settings, other=LIVE):
    """Return a job in which a keyed operator of a source with history meets another source."""
    env = environment(settings)
    totals = env.from_source(HISTORY, UNTIMED, "orders").key_by(lambda r: r[0]).reduce(max)
    totals.union(env.from_source(other, UNTIMED, "clicks")).sink_to(DiscardingSink())
    return env


# FLIP-327, rule 8.
def test_history_beside_live_input_has_checkpoints_and_is_not_sorted():
    env = beside(MIXED)
    assert said(env, "not off during") == [
        ("checkpoints of run 0 (live)", "not off during backlog")
    ]
    assert said(env, "not grouped by key") == [("'max' in run 0 (live)", "not grouped by key")]


@pytest.mark.parametrize(
    "env",
    [beside(STREAMING), beside(BATCH), beside(MIXED, HISTORY)],
    ids=["interval above 0", "batch", "only history"],
)
def test_nothing_is_said_where_the_rules_are_kept(env):
    assert said(env, "not ") == []


@pytest.mark.parametrize(("settings", "count"), [(LAG, 1), (MIXED, 0)])
def test_a_lag_cannot_turn_checkpoints_off(settings, count):
    env = environment(settings)
    env.from_source(LIVE, by_time(), "clicks").sink_to(DiscardingSink())
    assert len(said(env, "not off while a watermark lags")) == count


class Waits(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_processing_time_timer(1)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key()


class Counts(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value


@pytest.mark.parametrize(
    ("settings", "function", "count"),
    [(MIXED, Waits, 1), (MIXED, Counts, 0), (BATCH, Waits, 0), (STREAMING, Waits, 0)],
)
def test_timers_of_the_clock_in_history_may_wait(settings, function, count):
    env = environment(settings)
    keyed = env.from_source(HISTORY, UNTIMED, "orders").key_by(lambda r: r[0])
    keyed.process(function()).sink_to(DiscardingSink())
    assert len(said(env, "may wait for the live run")) == count


class Passes(OneInputStreamOperator):
    """Sees no attributes; what it emits of its own is not known."""

    def process_element(self, value, ctx):
        self.output.collect(value)


class Hears(Passes):
    def process_record_attributes(self, record_attributes):
        self.output.collect(record_attributes.is_backlog())


def by_key(stream):
    return stream.key_by(lambda r: r[0])


@pytest.mark.parametrize(
    ("settings", "between", "operator", "named"),
    [
        (BATCH, by_key, Hears(), ["run 0 (batch)"]),
        (MIXED, lambda s: by_key(s).map(lambda r: r).filter(bool), Hears(), ["run 0 (history)"]),
        (BATCH, by_key, SimpleOperatorFactory.of(Hears()), ["run 0 (batch)"]),
        (STREAMING, by_key, Hears(), []),
        (BATCH, by_key, Passes(), []),
        (BATCH, lambda s: s.rebalance(), Hears(), []),
    ],
)
def test_attributes_behind_a_key_are_not_between_the_records_of_a_batch_run(
    settings, between, operator, named
):
    env = environment(settings)
    made = env.from_source(HISTORY, UNTIMED, "orders").transform("emits", None, Passes())
    between(made).transform("hears", None, operator).sink_to(DiscardingSink())
    assert said(env, "not between") == [
        (f"record attributes of 'hears' in {run}", "not between records") for run in named
    ]


def test_attributes_of_sources_alone_keep_their_place_behind_a_key():
    env = environment(BATCH)
    keyed = by_key(env.from_source(HISTORY, UNTIMED, "orders"))
    keyed.transform("hears", None, Hears()).sink_to(DiscardingSink())
    assert said(env, "not between") == []


@pytest.mark.parametrize("settings", [BATCH, STREAMING])
def test_a_partitioner_before_a_sink_is_not_called(settings):
    env = environment(settings)
    orders = env.from_source(LIVE, UNTIMED, "orders").partition_custom(min, lambda r: r[1])
    orders.sink_to(DiscardingSink()).name("out")
    orders.map(lambda r: r).sink_to(DiscardingSink()).name("behind a map")
    assert said(env, "not called") == [("partition_custom before sink 'out'", "not called")]
