"""The law for history that is read beside live input: the answer is that of every other way.

A source goes from its history to its live part within a run, while others are read in the same micro-batches.
What could go wrong shows: live records before the history of their source, watermarks that forget a part or
wait for one, split numbers that mean another split, state or statuses lost with a worker.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Configuration
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    OneInputStreamOperator,
    StreamExecutionEnvironment,
    WatermarkStrategy,
)
from penstock.datastream.connectors import HybridSource
from penstock.testing import Schedule, Way, WayMode, run_in_process
from tests.log_world import WorldLog
from tests.runtime.jobs import (
    MIXED,
    STREAMING,
    Splits,
    by_time,
    environment,
    history_then_live,
)
from tests.testing.laws import ALL_RESULTS, require_answer
from tests.testing.programs import RULES, SINKS
from tests.testing.strategies import in_time, ways_of


def hybrid(records, cuts, splits):
    """Return a source of parts, each with splits of its own; without cuts it has one part."""
    bounds = [0, *sorted(cuts), len(records)]
    parts = [
        Splits(tuple(tuple(records[first:last][n::splits]) for n in range(splits)))
        for first, last in itertools.pairwise(bounds)
    ]
    if not cuts:
        return parts[0]
    builder = HybridSource.builder(parts[0])
    for part in parts[1:]:
        builder = builder.add_source(part)
    return builder.build()


sources = st.tuples(in_time, st.lists(st.integers(0, 30), max_size=2), st.integers(1, 2))


def build(way, given_sources, sink):
    configuration = Configuration.from_dict(way.settings())
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    strategy = by_time(100)  # more than any disorder, so that no record is late
    streams = [
        env.from_source(hybrid(*each), strategy, f"source {number}")
        for number, each in enumerate(given_sources)
    ]
    SINKS[sink](streams[0].union(*streams[1:])).sink_to(DiscardingSink()).name("out")
    return env


@pytest.mark.parametrize("sink", sorted({*SINKS} - {"alarms", "total_at_end"}))
@settings(max_examples=12)
@given(given_sources=st.lists(sources, min_size=2, max_size=3), way=ways_of(WayMode.MIXED))
def test_history_beside_live_input_gives_the_answer_of_a_batch(sink, given_sources, way):
    def results(way):
        return run_in_process(build(way, given_sources, sink), way.schedule()).of("out")

    rule, wanted = RULES.get(sink, ALL_RESULTS), results(Way())
    for mode in (WayMode.STREAMING, WayMode.MIXED):
        require_answer(rule, replace(way, mode=mode), results(replace(way, mode=mode)), wanted)


ARRIVING = [("live", n, n) for n in range(6)]
HISTORY = [("history", n, n) for n in range(6)]


def meeting(mode, *, parallelism=1):
    env = environment(mode, parallelism)
    no_time = WatermarkStrategy.no_watermarks()
    history = history_then_live(HISTORY, [("later", 0, 0)])
    streams = [
        env.from_source(source, no_time, name)
        for name, source in (("a", history), ("b", Splits((tuple(ARRIVING),))))
    ]
    return env, streams


@pytest.mark.parametrize("mode", [STREAMING, MIXED], ids=["streaming", "mixed"])
def test_a_live_record_does_not_wait_for_history(mode):
    env, (first, other) = meeting(mode)
    first.union(other).key_by(lambda r: r[0]).sum(2).sink_to(DiscardingSink())
    results = run_in_process(env, Schedule(batch_sizes=(1,)))
    names = [record[0] for record in results.of()]
    assert sorted(names[:2]) == ["history", "live"]
    assert names.index("later") == max(n for n, name in enumerate(names) if name != "later") + 1
    assert [counts[0] for counts in results.commits][:6] == [2, 4, 6, 8, 10, 12]


class WithStatus(OneInputStreamOperator):
    """Emits each record with the last status before it."""

    is_backlog = None

    def process_record_attributes(self, record_attributes):
        self.is_backlog = record_attributes.is_backlog()
        super().process_record_attributes(record_attributes)

    def process_element(self, value, ctx):
        self.output.collect((value[0], self.is_backlog))


@settings(max_examples=30)
@given(way=ways_of(WayMode.STREAMING))
def test_an_operator_gets_the_end_of_history(way):
    env, (first, other) = meeting(STREAMING, parallelism=way.parallelism)
    for name, stream in (("first", first), ("both", first.union(other))):
        keyed = stream.key_by(lambda r: r[0]).transform(name, None, WithStatus())
        keyed.key_by(lambda r: r[0]).transform(f"behind {name}", None, WithStatus()).sink_to(
            DiscardingSink()
        ).name(name)
    results = run_in_process(env, way.schedule())
    assert {*results.of("first")} == {("history", True), ("later", False)}
    assert {*results.of("both")} >= {("history", True), ("later", False)}


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_log_is_read_from_its_history_on_and_what_is_not_read_is_not_confirmed(size):
    of_log = {"a": {at: ("log", at, at) for at in (0, 1, 7, 8, 30)}, "b": {5: ("log", 5, 5)}}
    log = WorldLog.of(of_log)

    def add(world):
        world.splits["c"] = {3: ("log", 3, 3)}

    log.world.script = [lambda _: None, lambda _: None, lambda _: None, add]
    env = environment(STREAMING)
    no_time = WatermarkStrategy.no_watermarks()
    first = env.from_source(HybridSource.until_head(log), no_time, "log")
    first.union(env.from_source(Splits((tuple(ARRIVING),)), no_time, "live")).sink_to(
        DiscardingSink()
    )
    (run,) = env.plan().runs
    assert [reading.parts for reading in run.readings] == [(0, 1), (0,)]
    found = run_in_process(env, Schedule(batch_sizes=(size,))).of()
    wanted = [record for records in log.world.splits.values() for record in records.values()]
    assert sorted(found) == sorted([*wanted, *ARRIVING])
    for split in ("a", "b"):
        confirmed = [each[split] for each in log.world.confirmed if split in each]
        assert confirmed == sorted(confirmed)
        assert confirmed[-1] == max(of_log[split]) + 1
    if size == 1:
        assert log.world.confirmed[0]["a"] < 30
