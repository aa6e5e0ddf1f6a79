"""Latency markers: where they go, what is noted, and that nobody else sees them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Configuration
from penstock.connectors.python.collection import CollectionSource
from penstock.connectors.python.data_generator import NumberSequenceSource
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
    WatermarkStrategy,
)
from penstock.errors import ConfigError
from penstock.metrics import HistogramValue
from penstock.metrics.histogram import LatestValues
from penstock.plan.physical import HandOver
from penstock.plan.programs import programs_of
from penstock.program.run_settings import LatencyMarker, LatencyMarkerEvent, OperatorId, RunKind
from penstock.runtime.exchange.channel_writer import FrameSequence
from penstock.runtime.exchange.local_channel import make_channel_writer
from penstock.runtime.task.latency import LatencyTracker, SourceLatency, SourceMarker
from penstock.testing import Schedule, WayMode, run_in_process
from penstock.wire.frame import FrameKind, load_payload, read_header
from tests.log_world import WorldLog
from tests.runtime.jobs import BATCH, MIXED, STREAMING
from tests.testing.strategies import in_time, ways_of
from tests.testing.strategies import programs as programs_with
from tests.testing.test_law import checked

INTERVAL = "metrics.latency.interval"
TAG = OutputTag("aside")


class Passes(KeyedProcessFunction):
    """Emits what it gets."""

    def process_element(self, value, ctx):
        yield value


def environment(settings_, parallelism=2):
    values = {"parallelism.default": str(parallelism), INTERVAL: "1 ms", **settings_}
    return StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(values))


def stream_of(env, records=range(40)):
    source = CollectionSource.of(list(records))
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")


def latencies(report):
    return {
        name: value for name, value in report.metrics.items() if isinstance(value, HistogramValue)
    }


def linear(settings_):
    env = environment(settings_)
    moved = stream_of(env).map(lambda v: v).uid("first").key_by(lambda v: v % 3).sum().uid("sum")
    moved.rebalance().map(lambda v: v).uid("last").sink_to(DiscardingSink()).uid("out")
    return run_in_process(env, Schedule(batch_sizes=(5,))).report


@pytest.mark.parametrize("force", ["true", "false"])
def test_operators_and_sinks_of_a_live_run_note_every_marker(force):
    off = {"pipeline.force-timestamp-support": force, "pipeline.auto-watermark-interval": "0"}
    report = linear(STREAMING | off)
    found = latencies(report)
    assert set(found) == {f"{uid}.latency.numbers-1" for uid in ("first", "sum", "last", "out")}
    counts = {value.count for value in found.values()}
    assert len(counts) == 1
    assert 1 <= counts.pop() <= 9
    assert all(0 <= value.min <= value.max < 60_000 for value in found.values())
    assert report.operator_records == {"first": 40, "sum": 40, "last": 40}


@pytest.mark.parametrize(
    ("granularity", "suffixes"),
    [
        ("single", [""]),
        ("OPERATOR", [".numbers-1"]),
        ("subtask", [".numbers-1.0", ".numbers-1.1"]),
    ],
)
def test_the_granularity_says_what_latencies_are_told_apart_by(granularity, suffixes):
    env = environment(STREAMING | {"metrics.latency.granularity": granularity})
    numbers = env.from_source(
        NumberSequenceSource(1, 40), WatermarkStrategy.no_watermarks(), "numbers"
    )
    moved = numbers.map(abs).uid("first").key_by(lambda v: v % 3).sum().uid("sum")
    moved.sink_to(DiscardingSink()).uid("out")
    found = latencies(run_in_process(env, Schedule(batch_sizes=(5,))).report)
    assert set(found) == {f"{uid}.latency{s}" for uid in ("first", "sum", "out") for s in suffixes}


def test_every_subtask_of_a_log_sends_markers_and_so_does_a_split_that_appears():
    def appears(world):
        world.splits["b"] = {at: ("y", at, at) for at in range(0, 40, 3)}

    log = WorldLog.of({"a": {at: ("x", at, at) for at in range(0, 40, 2)}})
    log.world.script = [lambda _: None, lambda _: None, lambda _: None, appears]
    env = environment(STREAMING | {"metrics.latency.granularity": "subtask"})
    records = env.from_source(log, WatermarkStrategy.no_watermarks(), "log").uid("log")
    keyed = (
        records.map(lambda v: v).uid("first").key_by(lambda v: v[0]).process(Passes()).uid("sum")
    )
    keyed.sink_to(DiscardingSink()).uid("out")
    results = run_in_process(env, Schedule(batch_sizes=(5,)))
    assert len(results.of(0)) == 34
    found = latencies(results.report)
    assert set(found) == {
        f"{uid}.latency.log.{subtask}" for uid in ("first", "sum", "out") for subtask in (0, 1)
    }
    counts = {
        subtask: {found[f"{uid}.latency.log.{subtask}"].count for uid in ("first", "sum", "out")}
        for subtask in (0, 1)
    }
    assert all(len(each) == 1 and min(each) >= 1 for each in counts.values())


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_the_history_size_is_the_number_of_latencies_of_an_operator(size):
    whole = latencies(linear(STREAMING))
    some = latencies(linear(STREAMING | {"metrics.latency.history-size": str(size)}))
    assert set(some) == set(whole)
    for value in some.values():
        assert value.count == len(value.numbers) <= size
        assert value.count == 1 or size > 1
        assert (value.min, value.max) == (min(value.numbers), max(value.numbers))


@pytest.mark.parametrize(
    ("key", "value"),
    [("metrics.latency.granularity", "task"), ("metrics.latency.history-size", "0")],
)
def test_other_values_are_refused(key, value):
    with pytest.raises(ConfigError, match=key):
        linear(STREAMING | {key: value})


@pytest.mark.parametrize(
    "settings_", [BATCH, STREAMING | {INTERVAL: "0"}, {**MIXED, INTERVAL: "0"}]
)
def test_batch_runs_and_interval_0_send_none(settings_):
    assert latencies(linear(settings_)) == {}


@pytest.mark.parametrize("mode", WayMode)
@settings(max_examples=40)
@given(program=programs_with(max_sinks=2), found=in_time, data=st.data())
def test_markers_change_no_answer_and_are_no_records(mode, program, found, data):
    way = data.draw(ways_of(mode))
    made, inputs = checked(program, found)

    def run(interval):
        results = made.with_settings({INTERVAL: interval}).results(inputs, way)
        counted = {
            name: value.result
            for name, value in results.report.metrics.items()
            if name.endswith(("numRecordsIn", "numRecordsOut"))
        }
        return list(map(sorted, results.records)), results.report.operator_records, counted

    assert run("1 ms") == run("0")


def programs(then, parallelism=4):
    env = environment(STREAMING, parallelism)
    then(stream_of(env))
    plan = env.plan()
    (live,) = plan.runs
    assert live.kind is RunKind.LIVE
    return programs_of(
        plan, live, tasks=1, max_frame_records=8, handed=HandOver(), job_parameters={}
    )


MARKER = SourceMarker("numbers-1", LatencyMarker(1_000, OperatorId.of_uid("numbers-1"), 2))


def tracked(program):
    sent = []
    writers = {
        spec.id: make_channel_writer(
            spec,
            program.settings,
            FrameSequence(0),
            lambda route, frame: sent.append((route, frame)),
        )
        for spec in program.outputs
    }
    specs = {spec.id: spec for spec in program.operators}
    return LatencyTracker(specs, writers, {}, 0), specs, sent


# FLIP-330, rule 3.
def test_a_marker_goes_through_an_exchange_as_an_event_to_one_subtask_at_random():
    zero, *_ = programs(lambda s: s.map(abs).rebalance().map(abs).sink_to(DiscardingSink()))
    tracker, specs, sent = tracked(zero)
    (operator,) = specs
    for _ in range(200):
        tracker.arrive(operator, MARKER, 1_007)
    assert len(sent) == 200
    routes = Counter(route for route, _ in sent)
    assert set(routes) == set(zero.settings.routes)
    assert min(routes.values()) > 20
    header = read_header(sent[0][1])
    assert header.kind is FrameKind.LATENCY
    source, event = load_payload(sent[0][1])
    assert source == "numbers-1"
    assert event == LatencyMarkerEvent(1_000, OperatorId.of_uid("numbers-1"), 2)
    assert event.get_marked_time() == 1_000
    assert event.get_operator_id() == OperatorId.of_uid("numbers-1")
    assert event.get_subtask_index() == 2
    assert SourceMarker.of_frame(sent[0][1]) == MARKER
    (found,) = tracker.take().values()
    assert (found.count, found.min, found.max) == (200, 7, 7)
    assert tracker.take() == {}


def test_a_marker_takes_one_of_several_ways():
    def then(stream):
        moved = stream.map(abs).uid("fork")
        moved.map(abs).uid("left").sink_to(DiscardingSink())
        moved.map(abs).uid("right").sink_to(DiscardingSink())
        moved.rebalance().map(abs).uid("far").sink_to(DiscardingSink())

    zero, *_ = programs(then)
    tracker, specs, sent = tracked(zero)
    fork = next(key for key, spec in specs.items() if spec.uid == "fork")
    for _ in range(300):
        tracker.arrive(fork, MARKER, 1_000)
    counts = {name.split(".")[0]: value.count for name, value in tracker.take().items()}
    far = sum(read_header(frame).target_level == 1 for _, frame in sent)
    assert counts["fork"] == 300
    assert counts["left"] + counts["right"] + far == 300
    assert min(counts["left"], counts["right"], far) > 50


def test_a_limited_history_goes_through_an_exchange():
    marker = replace(MARKER, history_size=2)
    zero, *_ = programs(lambda s: s.map(abs).rebalance().map(abs).sink_to(DiscardingSink()))
    tracker, (operator, *_), sent = tracked(zero)
    for now_ms in (1_005, 1_006, 1_007):
        tracker.arrive(operator, marker, now_ms)
    assert SourceMarker.of_frame(sent[0][1]) == marker
    (found,) = tracker.take().values()
    assert found == LatestValues.of_latest((6, 7), 2)


def test_a_marker_from_the_future_took_no_time():
    (found,) = MARKER.measured("x", 900).values()
    assert found == HistogramValue.of(0)


def test_a_source_sends_one_marker_per_interval_and_only_with_records():
    zero, *_ = programs(lambda s: s.map(abs).sink_to(DiscardingSink()))
    latency = replace(zero.settings.latency, interval_ms=100)
    zero = replace(zero, settings=replace(zero.settings, latency=latency))
    (source,) = zero.source_operators
    clock = [0]
    made = SourceLatency(source, zero, 3, lambda: clock[0])
    assert made.take() is None
    times = []
    for clock[0] in (5, 10, 104, 105, 110, 300):
        made.record()
        made.record()
        marker = made.take()
        times += [marker.marker.marked_time] if marker else []
    assert times == [5, 105, 300]


def test_ids_of_operators_are_the_same_in_every_process():
    assert repr(OperatorId.of_uid("numbers-1")) == "4c03aac0487842034119c259f3d27228"
    assert OperatorId.of_uid("a") != OperatorId.of_uid("b")


class Aside(ProcessFunction):
    def process_element(self, value, ctx):
        yield TAG, value


def test_side_outputs_are_ways_too():
    env = environment(STREAMING)
    made = stream_of(env).process(Aside()).uid("only")
    made.get_side_output(TAG).sink_to(DiscardingSink()).uid("out")
    found = latencies(run_in_process(env, Schedule(batch_sizes=(5,))).report)
    assert set(found) == {"only.latency.numbers-1", "out.latency.numbers-1"}
