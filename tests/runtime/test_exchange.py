"""Exchanges: per-key order, equality of keys, watermarks of splits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.datastream import (
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from penstock.program.routing import live_routes, spark_partition
from penstock.testing import Schedule, run_in_process
from tests.runtime.jobs import (
    BATCH,
    MIN,
    MIXED,
    MODE_IDS,
    MODES,
    STREAMING,
    Splits,
    by_time,
    history_then_live,
    job,
)
from tests.testing.strategies import schedules


class Journal(MapFunction):
    """Returns everything seen of the key so far."""

    def open(self, runtime_context):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def map(self, value):
        seen = (*(self.seen.value() or ()), value[1])
        self.seen.update(seen)
        return (value[0], seen)


@pytest.mark.parametrize("settings_", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("chaining", ["true", "false"])
@settings(max_examples=20)
@given(
    keys=st.lists(st.integers(0, 3), max_size=30),
    cut=st.integers(0, 30),
    schedule=schedules,
    parallelism=st.integers(1, 3),
)
def test_records_of_a_key_stay_in_order(settings_, chaining, keys, cut, schedule, parallelism):
    records = [(key, number) for number, key in enumerate(keys)]
    env = job(
        settings_ | {"pipeline.operator-chaining.enabled": chaining},
        history_then_live(records[:cut], records[cut:]),
        lambda stream: (
            stream.map(lambda r: r)
            .filter(lambda _: True)
            .key_by(lambda r: r[0])
            .map(lambda r: r)
            .map(lambda r: r)
            .key_by(lambda r: r[0])
            .map(Journal())
        ),
        strategy=WatermarkStrategy.no_watermarks(),
        parallelism=parallelism,
    )
    found = dict(run_in_process(env, schedule).of("out"))
    for key in set(keys):
        assert found[key] == tuple(number for k, number in records if k == key)


@pytest.mark.parametrize("settings_", MODES, ids=MODE_IDS)
def test_equal_numbers_are_one_key(settings_):
    records = [(1, 1), (1.0, 10), (True, 100), ((-5,), 1), ((-5.0,), 10)]
    env = job(
        settings_,
        history_then_live(records[:2], records[2:]),
        lambda stream: stream.key_by(lambda r: r[0]).reduce(lambda a, b: (a[0], a[1] + b[1])),
        strategy=WatermarkStrategy.no_watermarks(),
        parallelism=3,
    )
    found = run_in_process(env, Schedule(batch_sizes=(1,), restart_every=1)).of("out")
    assert {total for _, total in found} >= {111, 11}
    assert dict(found) == {1: 111, (-5,): 11}


class Watermarks(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield (value[1], ctx.timer_service().current_watermark())


@pytest.mark.parametrize("parallelism", [1, 2])
def test_watermark_is_the_least_of_the_splits(parallelism):
    source = Splits(
        (
            tuple(("fast", time) for time in range(100, 106)),
            tuple(("slow", time) for time in range(1, 7)),
            tuple(("short", time) for time in range(2, 4)),
        )
    )
    env = job(
        STREAMING,
        source,
        lambda s: s.key_by(lambda r: r[0]).process(Watermarks()),
        parallelism=parallelism,
    )
    found = dict(run_in_process(env, Schedule(batch_sizes=(1,), restart_every=1)).of("out"))
    assert [found[time] for time in range(100, 106)] == [MIN, 0, 1, 2, 3, 4]
    assert [found[time] for time in range(4, 7)] == [2, 3, 4]


def test_batch_runs_process_each_key_in_order_of_time():
    records = [("a", 5, 1), ("b", 9, 1), ("a", 3, 2), ("a", 5, 3), ("a", 4, 4), ("a", 3, 5)]
    env = job(
        BATCH,
        history_then_live(records[:3], records[3:]),
        lambda s: s.key_by(lambda r: r[0]).filter(lambda r: r[0] == "a"),
    )
    found = run_in_process(env, Schedule(frame_records=1)).of("out")
    # Records of equal time keep their order.
    assert [number for _, _, number in found] == [2, 5, 4, 1, 3]


class UnkeyedWatermarks(ProcessFunction):
    def process_element(self, value, ctx):
        yield (value[1], ctx.timer_service().current_watermark())


def test_watermarks_assigned_behind_an_exchange_cross_the_switch():
    env = job(
        MIXED,
        history_then_live([("a", 50)], [("a", 60), ("a", 70)]),
        lambda s: (
            s.key_by(lambda r: r[0])
            .map(lambda r: r)
            .assign_timestamps_and_watermarks(by_time())
            .process(UnkeyedWatermarks())
        ),
        strategy=WatermarkStrategy.no_watermarks(),
    )
    found = run_in_process(env, Schedule(batch_sizes=(1,), restart_every=1)).of("out")
    assert found == [(50, MIN), (60, 49), (70, 59)]


def test_first_live_split_does_not_pull_the_watermark_below_the_hand_over():
    env = job(
        MIXED,
        history_then_live([("a", 50)], [("a", 60), ("a", 70)]),
        lambda s: s.key_by(lambda r: r[0]).process(Watermarks()),
    )
    found = run_in_process(env, Schedule(batch_sizes=(1,))).of("out")
    assert found == [(50, MIN), (60, 49), (70, 59)]


@pytest.mark.parametrize("parallelism", range(1, 9))
def test_live_routes_put_each_subtask_on_a_partition_of_its_own(parallelism):
    routes = live_routes(parallelism)
    assert [spark_partition(r, parallelism) for r in routes] == list(range(parallelism))


@pytest.mark.parametrize(("value", "hashed"), [(0, 933211791), (1, -559580957), (2, 1765031574)])
def test_partition_is_that_of_sparks_hash(value, hashed):
    # SELECT hash(CAST(value AS INT)) in Spark.
    assert spark_partition(value, 1000) == hashed % 1000
