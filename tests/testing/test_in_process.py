"""The harness itself: what it refuses, and that its accidents really happen."""

from __future__ import annotations

from typing import ClassVar

import pytest

from penstock.common import Configuration
from penstock.connectors.python.collection import CollectionSource
from penstock.connectors.python.data_generator import DataGeneratorSource
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    KeyedProcessFunction,
    MapFunction,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from penstock.errors import ArgumentError, SourceError, UserFunctionError
from penstock.graph.endpoints import Source
from penstock.testing import Schedule, run_in_process
from penstock.testing.logs import Piece, cut_evenly
from penstock.types import Types


class Elsewhere(Source):
    kind: ClassVar[str] = "elsewhere"

    @property
    def is_bounded(self):
        return True

    def get_produced_type(self):
        return Types.PICKLED_BYTE_ARRAY()


def environment(**settings):
    values = {"parallelism.default": 2, "execution.runtime-mode": "STREAMING"} | settings
    return StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(values))


def of_source(source, **settings):
    env = environment(**settings)
    env.from_source(source, WatermarkStrategy.no_watermarks(), "it").sink_to(DiscardingSink())
    return env


@pytest.mark.parametrize("mode", ["BATCH", "STREAMING"])
def test_a_source_without_splits_is_refused_by_name(mode):
    env = of_source(Elsewhere(), **{"execution.runtime-mode": mode})
    with pytest.raises(SourceError) as caught:
        run_in_process(env)
    assert caught.value.code == "SOURCE"
    assert "'it'" in caught.value.problem
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__


def test_an_endless_source_needs_an_end():
    env = of_source(DataGeneratorSource(lambda i: i))
    with pytest.raises(SourceError, match="never ends"):
        run_in_process(env)
    results = run_in_process(env, Schedule(batch_sizes=(3,), stop_after=4))
    assert results.of() == list(range(12))
    assert results.micro_batches == 4


@pytest.mark.parametrize(
    "wrong",
    [
        {"tasks": 0},
        {"batch_sizes": ()},
        {"batch_sizes": (0, 0)},
        {"batch_sizes": (-1, 2)},
        {"frame_records": 0},
        {"restart_every": 0},
        {"workers": 0},
        {"fail_every": 0},
        {"stop_after": 0},
    ],
    ids=repr,
)
def test_a_schedule_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ArgumentError) as caught:
        Schedule(**wrong)
    assert next(iter(wrong)) in caught.value.problem


def test_results_are_found_by_name_and_position():
    env = environment()
    stream = env.from_collection([1])
    stream.sink_to(DiscardingSink()).name("one")
    stream.sink_to(DiscardingSink()).name("two")
    stream.sink_to(DiscardingSink()).name("two")
    results = run_in_process(env)
    assert results.of("one") == results.of(0) == results.of(2) == [1]
    for unknown in ("three", 3, "two"):
        with pytest.raises(ArgumentError):
            results.of(unknown)


def test_a_program_can_be_run_again():
    env = of_source(CollectionSource.of([1, 2]))
    assert run_in_process(env).of() == run_in_process(env).of() == [1, 2]
    assert run_in_process(env.plan()).of() == [1, 2]


class Parameter(MapFunction):
    def open(self, runtime_context):
        self.found = runtime_context.get_job_parameter("factor", "none")

    def map(self, value):
        return self.found


def test_job_parameters_reach_functions():
    env = environment(**{"pipeline.global-job-parameters.factor": "7"})
    env.from_collection([1]).map(Parameter()).sink_to(DiscardingSink())
    assert run_in_process(env).of() == ["7"]


class Opened(MapFunction):
    count: ClassVar[int] = 0

    def open(self, runtime_context):
        Opened.count += 1
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))

    def map(self, value):
        self.last.update(value)
        return value


@pytest.mark.parametrize(
    ("schedule", "opened"),
    [
        (Schedule(batch_sizes=(1,)), 1),
        (Schedule(batch_sizes=(1,), workers=3), 3),
        (Schedule(batch_sizes=(1,), restart_every=1), 7),
        (Schedule(batch_sizes=(1,), restart_every=3), 3),
        # Six records and the end of input: in every attempt something is written, so the
        # retry needs a new level.
        (Schedule(batch_sizes=(1,), fail_every=1), 8),
    ],
    ids=["quiet", "workers", "every restart", "some restarts", "failures"],
)
def test_accidents_happen(schedule, opened):
    Opened.count = 0
    env = environment(**{"parallelism.default": 1})
    env.from_collection(range(6)).key_by(lambda v: v).map(Opened()).sink_to(DiscardingSink())
    assert len(run_in_process(env, schedule).of()) == 6
    assert Opened.count == opened


class AtTheEnd(KeyedProcessFunction):
    def process_element(self, value, ctx):
        assert ctx.timer_service().current_watermark() < ctx.timestamp() == value
        ctx.timer_service().register_event_time_timer(1000)

    def on_timer(self, timestamp, ctx):
        return [ctx.get_current_key()]


@pytest.mark.parametrize("restart_every", [None, 1])
def test_timestamps_assigned_behind_an_exchange_survive_restarts(restart_every):
    env = environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v, _: v)
    short = env.from_collection([1]).key_by(lambda v: v).map(lambda v: v).map(lambda v: v)
    long = env.from_collection(range(10, 20)).key_by(lambda v: v).map(lambda v: v)
    stamped = short.assign_timestamps_and_watermarks(strategy).union(
        long.assign_timestamps_and_watermarks(strategy)
    )
    stamped.map(lambda v: v).key_by(lambda v: v % 2).process(AtTheEnd()).sink_to(DiscardingSink())
    schedule = Schedule(batch_sizes=(1,), restart_every=restart_every)
    assert sorted(run_in_process(env, schedule).of()) == [0, 1]


@pytest.mark.parametrize("tasks", range(1, 8))
@pytest.mark.parametrize("sizes", [[5], [0], [], [3, 0, 4], [1, 1, 1, 1, 1], [10, 1]])
def test_shares_cover_every_position_once_in_order(sizes, tasks):
    part = CollectionSource.of(range(20))
    pieces = [Piece(0, part, split, 2, 2 + size) for split, size in enumerate(sizes)]
    shares = cut_evenly(pieces, tasks)
    assert len(shares) == tasks
    read = [(p.split, at) for share in shares for p in share for at in range(p.start, p.end or 0)]
    assert read == [(p.split, at) for p in pieces for at in range(p.start, p.end or 0)]
    assert all(p.finished for share in shares for p in share), "order of shares must not matter"


class FailsWhenClosed(MapFunction):
    def map(self, value):
        return value

    def close(self):
        raise ValueError("closed")


@pytest.mark.parametrize("function", [lambda n: 1 // (n - 9), FailsWhenClosed()])
def test_a_run_that_fails_leaves_no_files(tmp_path, monkeypatch, function):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    env = environment()
    numbers = env.from_collection(range(20)).key_by(lambda n: n % 4)
    numbers.reduce(max).key_by(lambda n: n % 4).map(function).sink_to(DiscardingSink())
    with pytest.raises(UserFunctionError) as caught:  # its frames live on
        run_in_process(env, Schedule(batch_sizes=(3,), backend="lmdb"))
    assert list(tmp_path.iterdir()) == [], caught
