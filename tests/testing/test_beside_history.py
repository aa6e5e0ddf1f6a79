"""The law for history that is read beside live input: the answer is that of every other way.

A source goes from its history to its live part within a run, while others are read in the same micro-batches.
What could go wrong shows: live records before the history of their source, watermarks that forget a part or
wait for one, split numbers that mean another split, state or statuses lost with a worker.
"""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import OneInputStreamOperator, WatermarkStrategy
from penstock.datastream.connectors import HybridSource
from penstock.testing import Schedule, difference, last_per_key, run_in_process
from tests.log_world import WorldLog
from tests.runtime.jobs import (
    BATCH,
    MIXED,
    STREAMING,
    Splits,
    by_time,
    environment,
    history_then_live,
)
from tests.testing.programs import SINKS, UPDATING
from tests.testing.strategies import in_time
from tests.testing.test_law import schedules


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


def build(mode, given_sources, sink, parallelism):
    env = environment(mode, parallelism)
    strategy = by_time(100)  # more than any disorder, so that no record is late
    streams = [
        env.from_source(hybrid(*each), strategy, f"source {number}")
        for number, each in enumerate(given_sources)
    ]
    SINKS[sink](streams[0].union(*streams[1:])).sink_to(DiscardingSink()).name("out")
    return env


def answer(sink, found):
    return last_per_key(found, lambda record: record[0]) if sink in UPDATING else found


@pytest.mark.parametrize("sink", sorted({*SINKS} - {"alarms", "total_at_end"}))
@settings(max_examples=12)
@given(
    given_sources=st.lists(sources, min_size=2, max_size=3),
    schedule=schedules,
    parallelism=st.integers(1, 3),
)
def test_history_beside_live_input_gives_the_answer_of_a_batch(
    sink, given_sources, schedule, parallelism
):
    wanted = answer(sink, run_in_process(build(BATCH, given_sources, sink, 1)).of("out"))
    for mode in (STREAMING, MIXED):
        plan = build(mode, given_sources, sink, parallelism).plan()
        found = answer(sink, run_in_process(plan, schedule).of("out"))
        assert difference(found, wanted) is None


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


class Hears(OneInputStreamOperator):
    """Emits each record with the last status that it was told."""

    said = None

    def process_record_attributes(self, record_attributes):
        self.said = record_attributes.is_backlog()
        super().process_record_attributes(record_attributes)

    def process_element(self, value, ctx):
        self.output.collect((value[0], self.said))


@settings(max_examples=30)
@given(schedule=schedules, parallelism=st.integers(1, 3))
def test_an_operator_is_told_when_history_ends(schedule, parallelism):
    env, (first, other) = meeting(STREAMING, parallelism=parallelism)
    for name, stream in (("first", first), ("both", first.union(other))):
        told = stream.key_by(lambda r: r[0]).transform(name, None, Hears())
        told.key_by(lambda r: r[0]).transform(f"behind {name}", None, Hears()).sink_to(
            DiscardingSink()
        ).name(name)
    results = run_in_process(env, schedule)
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
