"""Metrics of operators and functions: what is counted, under which name, and how often."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import KeyedProcessFunction, MapFunction, ProcessFunction
from penstock.errors import ArgumentError, TypeMismatchError, UserFunctionError
from penstock.metrics import Counter, Distribution, DistributionValue, Meter, MetricGroup
from penstock.metrics.job_metrics import JobMetrics, result_named
from penstock.metrics.metric_group import MetricRegistry
from penstock.metrics.values import (
    CounterValue,
    GaugeValue,
    MeterValue,
    merge_metrics,
    metric_results,
)
from penstock.testing import OperatorHarness, Schedule, run_in_process
from tests.runtime.jobs import BATCH, MIXED, MODE_IDS, MODES, STREAMING, environment


class Measured(KeyedProcessFunction):
    """Uses every kind of metric."""

    def open(self, runtime_context):
        group = runtime_context.get_metrics_group().add_group("mine")
        self.seen = group.counter("seen")
        self.values = group.distribution("values")
        self.events = group.meter("events")
        self.last = None
        group.gauge("last", lambda: self.last)

    def process_element(self, value, ctx):
        self.seen.inc()
        self.values.update(value)
        self.events.mark_event(2)
        self.last = value
        yield value


def measured(mode, numbers, schedule, parallelism=2):
    env = environment(mode, parallelism)
    stream = env.from_collection(numbers).filter(lambda n: n >= 0).uid("kept")
    stream.key_by(lambda n: n % 5).process(Measured()).uid("m").sink_to(DiscardingSink())
    return run_in_process(env, schedule).report


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_results_of_all_kinds(mode):
    report = measured(mode, [-1, *range(10)], Schedule(batch_sizes=(3,)))
    results = metric_results(report.metrics)
    assert results["m.mine.seen"] == 10
    assert results["m.mine.values"] == DistributionValue(10, 45, 0, 9)
    assert results["m.mine.events"] == 20
    assert results["m.mine.last"] in range(5, 10)
    assert results["kept.numRecordsIn"] == 11
    assert results["kept.numRecordsOut"] == results["m.numRecordsIn"] == 10
    assert results["m.numRecordsOut"] == 10
    assert results["m.currentInputWatermark"] == 2**63 - 1


@settings(max_examples=40, deadline=None)
@given(
    mode=st.sampled_from([BATCH, STREAMING, MIXED]),
    numbers=st.lists(st.integers(0, 100), max_size=30),
    schedule=st.builds(
        Schedule,
        batch_sizes=st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple),
        restart_every=st.none() | st.integers(1, 3),
        fail_every=st.none() | st.integers(1, 3),
        workers=st.integers(1, 3),
    ),
)
def test_each_record_counts_once_whatever_goes_wrong(mode, numbers, schedule):
    results = metric_results(measured(mode, numbers, schedule).metrics)
    assert results.get("m.mine.seen", 0) == len(numbers)
    assert results.get("m.mine.events", 0) == 2 * len(numbers)
    assert results.get("m.numRecordsIn", 0) == len(numbers)
    assert results.get("m.numRecordsOut", 0) == len(numbers)
    if numbers:
        found = results["m.mine.values"]
        assert found == DistributionValue(len(numbers), sum(numbers), min(numbers), max(numbers))


class CountsBeforeItFails(MapFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_metrics_group().counter("seen")

    def map(self, value):
        self.seen.inc()
        return 1 // value


def test_a_failed_push_is_not_counted():
    harness = OperatorHarness.of(CountsBeforeItFails())
    harness.push(1)
    with pytest.raises(UserFunctionError):
        harness.push_all([1, 1, 0])
    harness.push(1)
    assert harness.metric("seen") == 2


def test_a_counter_counts_down_and_knows_its_count():
    counter = Counter()
    counter.inc(5)
    counter.dec()
    counter.dec(2)
    assert counter.get_count() == 2
    assert counter.take() == CounterValue(2)
    assert counter.take() is None
    counter.dec(3)
    assert (counter.take(), counter.get_count()) == (CounterValue(-3), -1)


def test_a_counter_that_was_not_used_is_reported_as_zero():
    assert Counter().take() == CounterValue(0)
    assert Distribution().take() == DistributionValue()


def test_a_meter_measures_the_rate_over_its_time_span():
    now = [0.0]
    meter = Meter(3, 10, lambda: now[0])
    meter.mark_event()
    now[0] = 5.0
    meter.mark_event(19)
    assert meter.take() == MeterValue(20, {3: 2.0})
    now[0] = 12.0
    assert meter.take() == MeterValue(0, {3: 1.9})
    now[0] = 20.0
    assert meter.take() == MeterValue(0, {3: 0.0})
    assert meter.get_count() == 20


def test_a_meter_that_has_come_to_rest_is_reported_once_more():
    now = [0.0]
    meter = Meter(0, 1, lambda: now[0])
    meter.mark_event()
    assert meter.take() == MeterValue(1, {0: 1.0})
    now[0] = 9.0
    assert meter.take() == MeterValue(0, {0: 0.0})
    assert meter.take() is None


def test_values_merge():
    known: dict[str, Any] = {
        "c": CounterValue(1),
        "g": GaugeValue("old"),
        "m": MeterValue(1, {0: 1.0, 1: 1.0}),
    }
    merge_metrics(
        known,
        {"c": CounterValue(2), "g": GaugeValue("new"), "m": MeterValue(1, {1: 3.0}), "x": SMALL},
    )
    merge_metrics(known, {"x": DistributionValue(1, 9, 9, 9)})
    assert known["c"] == CounterValue(3)
    assert known["g"] == GaugeValue("new")
    assert known["m"].rate == 4.0
    assert known["x"] == DistributionValue(2, 10, 1, 9)
    assert known["x"].mean == 5.0
    merge_metrics(known, {"c": GaugeValue(7)})
    assert known["c"] == GaugeValue(7)


SMALL = DistributionValue(1, 1, 1, 1)


def group():
    return MetricGroup(MetricRegistry("op", 0), ())


def test_names():
    nested = group().add_group("a").add_group("key", "value")
    assert nested.get_metric_identifier("n") == "op.a.key.value.n"


def test_the_same_name_is_the_same_metric():
    one = group()
    assert one.add_group("g").counter("n") is one.add_group("g").counter("n")
    assert one.counter("n") is not one.add_group("g").counter("n")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda g: (g.counter("n"), g.meter("n")),
        lambda g: (g.counter("n"), g.gauge("n", int)),
        lambda g: g.counter(""),
        lambda g: g.counter(3),
        lambda g: g.add_group("a", ""),
        lambda g: g.gauge("n", 3),
        lambda g: g.meter("n", 0),
    ],
)
def test_wrong_arguments(wrong):
    with pytest.raises(ArgumentError):
        wrong(group())


class Shows(ProcessFunction):
    def __init__(self, read):
        self.read = read

    def open(self, runtime_context):
        runtime_context.get_metrics_group().gauge("shown", self.read)

    def process_element(self, value, ctx):
        return None


def test_a_gauge_that_fails_names_the_operator():
    with pytest.raises(UserFunctionError, match="Shows"):
        OperatorHarness.of(Shows(lambda: 1 // 0))


def test_a_gauge_that_shows_something_else():
    with pytest.raises(TypeMismatchError, match="shown"):
        OperatorHarness.of(Shows(lambda: [1]))


def test_a_gauge_without_a_reading_shows_nothing():
    found = OperatorHarness.of(Shows(lambda: None)).metrics()
    assert found
    assert not [name for name in found if name.endswith("shown")]


def test_the_attempt_number_begins_at_zero():
    class Attempt(MapFunction):
        def open(self, runtime_context):
            self.attempt = runtime_context.get_attempt_number()

        def map(self, value):
            return self.attempt

    assert OperatorHarness.of(Attempt()).push(1) == [0]


def test_what_keeping_state_cost_is_among_the_results():
    harness = OperatorHarness.of(lambda s: s.key_by(lambda n: n).sum())
    harness.push(1)
    harness.push(1)
    assert harness.metric("state.log_bytes") > 0
    assert harness.metric("copy_hits") >= 1


def test_a_result_is_found_by_the_end_of_its_name():
    results = {"a.x.n": 1, "b.n": 2, "b.x.m": 3}
    assert result_named(results, "x.n") == 1
    assert result_named(results, "m") == 3
    for name in ("n", "y", "x"):
        with pytest.raises(ArgumentError):
            result_named(results, name)


def test_job_metrics_add_up():
    job = JobMetrics()
    job.add({"c": CounterValue(1)}, {"log_bytes": 5}, {"level-0.read": 1_500_000_000})
    job.add({"c": CounterValue(2)}, {"log_bytes": 6, "copy_hits": 1}, {"level-0.read": 500_000_000})
    assert job.results() == {
        "c": 3,
        "state.copy_hits": 1,
        "state.log_bytes": 11,
        "seconds.level-0.read": 2.0,
    }
