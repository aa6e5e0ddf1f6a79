"""Where backlog ends, and what happens to state, timers and output at the switch.

The two expectations of FLIP-327's own integration tests (`ReduceBacklog`, `WindowBacklog`) are
here exactly; `tests/spark/test_backlog.py` runs them on Spark.
"""

from __future__ import annotations

import time
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Time
from penstock.connectors.python.collection import CollectionSource, RecordedSource
from penstock.connectors.python.data_generator import DataGeneratorSource
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    KeyedProcessFunction,
    OneInputStreamOperator,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from penstock.datastream.connectors import HybridSource
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import ConfigError, GraphError, SourceError
from penstock.graph.endpoints import SplitSource
from penstock.plan.physical import HandOver
from penstock.plan.programs import programs_of
from penstock.program.run_settings import RunKind
from penstock.runtime.time.watermarks import LevelBacklog, LevelWatermarks
from penstock.state.backends.hash.parts import HashSinglePart
from penstock.testing import Schedule, difference, last_per_key, run_in_process
from penstock.types import Types
from penstock.wire.elements import Watermark
from tests.runtime.jobs import (
    MIN,
    MIXED,
    MODE_IDS,
    MODES,
    STREAMING,
    by_time,
    environment,
    history_then_live,
)

LAG = "pipeline.backlog.watermark-lag-threshold"


def key_switches(keys):
    return sum(left != right for left, right in pairwise(keys))


def rolling_counts(parallelism):
    env = environment(MIXED, parallelism)
    records = [(i % 2, 1) for i in range(20_000)]
    source = history_then_live(records[:10_000], records[10_000:])
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "records")
    stream.key_by(lambda r: r[0]).reduce(lambda x, y: (x[0], x[1] + y[1])).sink_to(DiscardingSink())
    return env


# FLIP-327, rule 3.
def test_reduce_reads_history_key_by_key_and_goes_on_live():
    found = run_in_process(rolling_counts(1), Schedule(batch_sizes=(1000,))).of()
    history, live = found[:10_000], found[10_000:]
    assert key_switches(key for key, _ in history) == 1
    assert [count for _, count in history] == [*range(1, 5001), *range(1, 5001)]
    assert sorted(live) == [(key, count) for key in (0, 1) for count in range(5001, 10_001)]


@pytest.mark.parametrize("parallelism", [2, 3])
def test_reduce_counts_every_record_at_any_parallelism(parallelism):
    found = run_in_process(rolling_counts(parallelism)).of()
    assert sorted(found) == [(key, count) for key in (0, 1) for count in range(1, 10_001)]


# FLIP-327, rule 7.
def test_windows_of_history_fire_at_the_switch_and_the_rest_live():
    env = environment(MIXED, 1)
    records = [(i % 2, i * 1000, 1) for i in range(20_000)]
    source = history_then_live(records[:10_000], records[10_000:])
    stream = env.from_source(source, by_time(), "records")
    windows = stream.key_by(lambda r: r[0]).window(TumblingEventTimeWindows.of(Time.seconds(4)))
    windows.reduce(lambda x, y: (x[0], y[1], x[2] + y[2])).sink_to(DiscardingSink())
    results = run_in_process(env, Schedule(batch_sizes=(1000,)))
    found = results.of()
    assert Counter(key for key, _, _ in found) == {0: 5000, 1: 5000}
    assert {total for _, _, total in found} == {2}
    (in_history,) = results.commits[0]
    # Windows that end at 4000·i for i <= 2499: the one that ends at 10,000,000 is not complete
    # before the watermark of live records.
    assert in_history == 4998
    assert key_switches(key for key, _, _ in found[:4998]) == 1
    assert max(at for _, at, _ in found[:4998]) < 2499 * 4000


class Watch(KeyedProcessFunction):
    """Notes the watermark when records are processed and when timers fire."""

    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1] + 2)
        yield "record", ctx.timer_service().current_watermark()

    def on_timer(self, timestamp, ctx):
        yield "timer", timestamp, ctx.timer_service().current_watermark()


# FLIP-327, rule 4.
def test_functions_see_no_watermark_in_history_and_the_last_one_when_timers_fire():
    env = environment(MIXED, 1)
    source = history_then_live([("a", 1), ("a", 10)], [("a", 20)])
    env.from_source(source, by_time(), "r").key_by(lambda r: r[0]).process(Watch()).sink_to(
        DiscardingSink()
    )
    assert run_in_process(env).of() == [
        ("record", MIN),
        ("record", MIN),
        ("timer", 3, 9),
        ("record", 9),
        ("timer", 12, 19),
        ("timer", 22, 2**63 - 1),
    ]


class CountsStateAccess(KeyedProcessFunction):
    """Reads and writes its state for every record."""

    def open(self, runtime_context):
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value, ctx):
        self.total.update((self.total.value() or 0) + value[1])
        yield value[0], self.total.value()


class Accesses:
    """Counts by key how often parts of state are read, written, and written to what lasts."""

    def __init__(self, patch):
        self.read: Counter[int] = Counter()
        self.written: Counter[int] = Counter()
        self.kept: Counter[int] = Counter()
        made = HashSinglePart.__init__
        put, all_entries = HashSinglePart.put, HashSinglePart.all_entries

        def make(part):
            made(part)
            get = part.get

            def counted(key, *default):
                self.read[key] += 1
                return get(key, *default)

            part.get = counted

        def counted_put(part, key, value):
            self.written[key] += 1
            put(part, key, value)

        def counted_all(part, section):
            self.kept.update(part.entries.keys())
            return all_entries(part, section)

        patch.setattr(HashSinglePart, "__init__", make)
        patch.setattr(HashSinglePart, "put", counted_put)
        patch.setattr(HashSinglePart, "all_entries", counted_all)


HISTORY = [(number % 7, number) for number in range(100)]


def over_history(then):
    env = environment(MIXED, 2)
    source = history_then_live(HISTORY, [])
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "records")
    then(stream.key_by(lambda r: r[0])).sink_to(DiscardingSink())
    return env


# FLIP-327, rule 6.
def test_history_reads_and_writes_the_aggregate_of_a_key_once(monkeypatch):
    env = over_history(lambda keyed: keyed.sum(1))
    accesses = Accesses(monkeypatch)
    run_in_process(env)
    once = Counter(range(7))
    assert accesses.read == accesses.written == accesses.kept == once


# FLIP-327, rule 6.
def test_what_a_function_keeps_is_stored_once_per_key_however_many_records(monkeypatch):
    env = over_history(lambda keyed: keyed.process(CountsStateAccess()))
    accesses = Accesses(monkeypatch)
    run_in_process(env)
    assert accesses.kept == Counter(range(7))


# FLIP-327, rule 15.
@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@settings(max_examples=20)
@given(
    found=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=30),
    position=st.integers(0, 30),
    sizes=st.lists(st.integers(0, 9), min_size=1, max_size=3).filter(any).map(tuple),
)
def test_a_backlog_that_ends_at_a_position_changes_no_answer(mode, found, position, sizes):
    env = environment(mode, 2)
    source = HybridSource.until_position(CollectionSource.of(found), position)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "records")
    stream.key_by(lambda r: r[0]).sum(1).sink_to(DiscardingSink())
    answer = last_per_key(run_in_process(env, Schedule(batch_sizes=sizes)).of(), lambda r: r[0])
    wanted = {key: 0 for key, _ in found}
    for key, value in found:
        wanted[key] += value
    assert dict(answer) == wanted


def test_a_backlog_that_ends_at_a_timestamp_is_the_records_before_it():
    env = environment(MIXED, 1)
    times = (10, 20, 15, 30)
    source = RecordedSource.of(["a", "b", "c", "d"], times, Types.STRING())
    hybrid = HybridSource.until_timestamp(source, 20)
    env.from_source(hybrid, WatermarkStrategy.no_watermarks(), "r").sink_to(DiscardingSink())
    results = run_in_process(env)
    assert results.commits[0] == (1,)
    assert results.of() == ["a", "b", "c", "d"]
    assert [run.kind for run in env.plan().runs] == [RunKind.BATCH, RunKind.LIVE]
    assert hybrid.is_processing_backlog(0)
    assert not hybrid.is_processing_backlog(1)
    assert "up to timestamp 20" in hybrid.describe()


def test_an_endless_source_may_have_backlog():
    env = environment(MIXED, 1)
    numbers = HybridSource.until_position(DataGeneratorSource(lambda i: i), 7)
    env.from_source(numbers, WatermarkStrategy.no_watermarks(), "r").sink_to(DiscardingSink())
    results = run_in_process(env, Schedule(batch_sizes=(5,), stop_after=2))
    assert results.commits[0] == (7,)
    assert sorted(results.of()) == list(range(17))


class Growing(SplitSource):
    """Has ten more records in each of two splits whenever it is asked."""

    kind = "growing"
    asked = 0

    @property
    def is_bounded(self):
        return True

    def get_produced_type(self):
        return Types.LONG()

    def splits(self, parallelism):
        self.asked += 1
        return [(0, 10 * self.asked), (0, 10 * self.asked)]

    def read(self, split, start, end):
        return [split * 1000 + n for n in range(start, end)]


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("positions", [(15,), (5,), (5, 15), (0, 0)])
def test_where_backlog_ends_is_decided_once_although_the_source_grows(mode, positions):
    env = environment(mode, 2)
    source = Growing()
    hybrid = HybridSource.until_position(source, *positions)
    env.from_source(hybrid, WatermarkStrategy.no_watermarks(), "r").sink_to(DiscardingSink())
    assert sorted(run_in_process(env).of()) == [*range(10), *range(1000, 1010)]
    assert source.asked == 1


@pytest.mark.parametrize("positions", [(1, 2, 3), (1, 2, 3, 4)])
def test_as_many_positions_as_splits_or_one(positions):
    env = environment(MIXED, 2)
    hybrid = HybridSource.until_position(Growing(), *positions)
    env.from_source(hybrid, WatermarkStrategy.no_watermarks(), "r").sink_to(DiscardingSink())
    with pytest.raises(SourceError, match=rf"at {len(positions)} positions.* 2 splits") as caught:
        run_in_process(env)
    assert caught.value.origin is not None


class Nothing(Growing):
    """Has no split."""

    def splits(self, parallelism):
        return []


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_a_source_without_a_split_has_no_records_and_ends(mode):
    env = environment(mode, 2)
    empty = env.from_source(Nothing(), WatermarkStrategy.no_watermarks(), "empty")
    both = (
        empty.union(env.from_collection([0] * 20, Types.LONG()))
        .map(lambda _: ("all", 1))
        .key_by(lambda pair: pair[0])
    )
    both.reduce(lambda a, b: (a[0], a[1] + b[1])).sink_to(DiscardingSink())
    assert max(run_in_process(env).of()) == ("all", 20)
    env = environment(mode, 2)
    hybrid = HybridSource.until_position(Nothing(), 3)
    env.from_source(hybrid, WatermarkStrategy.no_watermarks(), "empty").sink_to(DiscardingSink())
    assert run_in_process(env).of() == []


def test_backlog_ends_that_cannot_be():
    numbers = CollectionSource.of([1])
    with pytest.raises(GraphError):
        HybridSource.until_position(numbers)
    with pytest.raises(GraphError):
        HybridSource.until_position(numbers, -1)
    with pytest.raises(GraphError):
        HybridSource.until_timestamp(numbers, "today")  # type: ignore[arg-type]
    with pytest.raises(GraphError):
        HybridSource.until_position(history_then_live([1], [2]), 1)  # type: ignore[arg-type]
    env = environment(MIXED)
    hybrid = HybridSource.until_timestamp(numbers, 5)
    env.from_source(hybrid, WatermarkStrategy.no_watermarks(), "r").sink_to(DiscardingSink())
    with pytest.raises(SourceError, match="no timestamps"):
        run_in_process(env)


class Attributes(OneInputStreamOperator):
    def process_element(self, value, ctx):
        self.output.collect(value[0])

    def process_record_attributes(self, record_attributes):
        self.output.collect(record_attributes.is_backlog())


def lagging(lags_s, settings_, strategy=None, sizes=(1,)):
    now = int(time.time() * 1000)
    env = environment(STREAMING | settings_, 1)
    records = [(f"lag {lag}", now - lag * 1000) for lag in lags_s]
    stream = env.from_source(CollectionSource.of(records), strategy or by_time(), "records")
    stream.transform("attributes", None, Attributes()).sink_to(DiscardingSink())
    return run_in_process(env, Schedule(batch_sizes=sizes)).of()


# FLIP-327, rule 15.
def test_a_source_whose_watermark_lags_is_in_backlog_until_it_does_not():
    found = lagging([7200, 7000, 10, 5], {LAG: "1 h"})
    assert found == ["lag 7200", True, "lag 7000", "lag 10", False, "lag 5"]


def test_it_does_not_fall_back_into_backlog():
    env = environment(STREAMING | {LAG: "1 s"}, 1)
    stream = env.from_source(CollectionSource.of([("a", 1)]), by_time(), "records")
    stream.transform("attributes", None, Attributes()).sink_to(DiscardingSink())
    plan = env.plan()
    program = programs_of(
        plan, plan.runs[0], tasks=1, max_frame_records=1, handed=HandOver(), job_parameters={}
    )[1]
    watermarks, backlog = LevelWatermarks(program), LevelBacklog(program)
    heard = []
    for watermark, now in [(MIN, 5000), (1000, 5000), (4000, 5000), (4000, 9000), (4500, 9000)]:
        watermarks.accept(0, Watermark(plan.sources[0].id, 0, watermark, finished=False))
        backlog.notice(watermarks, now)
        heard.append([told for _, _, told in backlog.of_inputs()])
    assert heard == [[], [True], [False], [False], [False]]


def test_a_source_without_watermarks_does_not_lag():
    none = WatermarkStrategy.no_watermarks()
    assert lagging([7200], {LAG: "1 h"}, none) == [False, "lag 7200"]
    assert lagging([7200], {}) == [False, "lag 7200"]


@pytest.mark.parametrize(
    "wrong",
    [
        {LAG: "0"},
        {"pipeline.backlog.output": "some"},
        {
            "execution.checkpointing.interval": "10 s",
            "execution.checkpointing.interval-during-backlog": "5 s",
        },
    ],
)
def test_settings_that_cannot_be(wrong):
    env = environment(STREAMING | wrong)
    env.from_collection([1]).sink_to(DiscardingSink())
    with pytest.raises(ConfigError) as caught:
        env.plan()
    assert caught.value.hint


# FLIP-327, rule 14.
@settings(max_examples=20)
@given(
    found=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=30),
    cut=st.integers(0, 30),
)
def test_latest_gives_one_result_per_key_of_history(found, cut):
    def results(choice):
        env = environment(MIXED | {"pipeline.backlog.output": choice}, 2)
        source = history_then_live(found[:cut], found[cut:])
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "records")
        stream.key_by(lambda r: r[0]).sum(1).sink_to(DiscardingSink())
        return run_in_process(env)

    every, latest = results("all"), results("latest")
    keys = {key for key, _ in found[:cut]}
    assert every.commits[0] == (len(found[:cut]),)
    assert latest.commits[0] == (len(keys),)
    in_history = every.of()[: len(found[:cut])]
    last = last_per_key(in_history, lambda r: r[0])
    assert difference(latest.of()[: len(keys)], last) is None
    assert difference(latest.of()[len(keys) :], every.of()[len(found[:cut]) :]) is None
