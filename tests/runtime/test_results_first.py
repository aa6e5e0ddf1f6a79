"""Results of a bounded region come before the other inputs of what reads them: one answer in every mode.

Finds a reader that is given results by time, or by the order of inputs: in memory, from disk, by functions and by
operators of one's own. STREAMING and mixed read results in a run of their own.
"""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    OperatorAttributesBuilder,
    TwoInputStreamOperator,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from penstock.datastream.connectors import CollectionSource
from penstock.plan.explain.render import render_text
from penstock.testing import difference, run_in_process
from tests.plan.test_blocking import Enrich, key, records, totals
from tests.runtime.jobs import BATCH, MODE_IDS, MODES, by_time, environment
from tests.testing.strategies import schedules

TOTAL = ValueStateDescriptor("total")


class EnrichSecond(KeyedCoProcessFunction):
    """Pairs records of the first input with the total of their key, which is in the second."""

    def open(self, runtime_context):
        self.total = runtime_context.get_state(TOTAL)

    def process_element1(self, value, ctx):
        yield (*value, self.total.value())

    def process_element2(self, value, ctx):
        self.total.update(value[2])


class EnrichUnited(KeyedProcessFunction):
    """The same of one input; totals have a fourth field."""

    def open(self, runtime_context):
        self.total = runtime_context.get_state(TOTAL)

    def process_element(self, value, ctx):
        if len(value) > 3:
            self.total.update(value[2])
        else:
            yield (*value, self.total.value())


class MapUnited(MapFunction):
    """The same as a map, which gives totals too."""

    def open(self, runtime_context):
        self.total = runtime_context.get_state(TOTAL)

    def map(self, value):
        if len(value) > 3:
            self.total.update(value[2])
        return (*value[:3], None if len(value) > 3 else self.total.value(), len(value))


class EnrichItself(TwoInputStreamOperator):
    """The same as an operator of one's own."""

    def open(self, runtime_context):
        self.total = runtime_context.get_state(TOTAL)

    def process_element1(self, value, ctx):
        self.total.update(value[2])

    def process_element2(self, value, ctx):
        self.output.collect((*value, self.total.value()))


class EnrichSorted(EnrichItself):
    """The same, which sorts its input itself."""

    def get_operator_attributes(self):
        return OperatorAttributesBuilder().set_internal_sorter_supported(True).build()


def united(results, live):
    return results.map(lambda r: (*r, "total")).union(live).key_by(key)


READERS = {
    "two inputs": lambda results, live: results.connect(live).key_by(key, key).process(Enrich()),
    "second input": lambda results, live: (
        live.connect(results).key_by(key, key).process(EnrichSecond())
    ),
    "union": lambda results, live: united(results, live).process(EnrichUnited()),
    "map": lambda results, live: (
        united(results, live)
        .map(MapUnited())
        .filter(lambda r: r[4] == 3)
        .map(lambda r: (*r[:3], r[3]))
    ),
    "own": lambda results, live: (
        results.key_by(key).connect(live.key_by(key)).transform("own", None, EnrichItself())
    ),
    "own sorter": lambda results, live: (
        results.key_by(key).connect(live.key_by(key)).transform("own", None, EnrichSorted())
    ),
}


def build(mode, reader, bounded, live, parallelism=2, *, timed=True, memory=None):
    more = {} if memory is None else {"execution.sorted-inputs.memory": memory}
    env = environment(mode | more, parallelism)
    results = totals(env.from_source(CollectionSource.of(bounded), by_time(99), "bounded"))
    strategy = by_time(99) if timed else WatermarkStrategy.no_watermarks()
    other = env.from_source(CollectionSource.of(live), strategy, "live")
    READERS[reader](results, other).sink_to(DiscardingSink()).name("out")
    return env


def expected(bounded, live):
    sums: dict[str, int] = defaultdict(int)
    for name, _, value in bounded:
        sums[name] += value
    return [(*record, sums.get(record[0])) for record in live]


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("reader", sorted(READERS))
@settings(max_examples=10)
@given(
    bounded=records,
    live=records,
    schedule=schedules,
    parallelism=st.integers(1, 3),
    timed=st.booleans(),
    memory=st.sampled_from([None, "300", "1"]),
)
def test_a_reader_has_all_results_before_its_other_records(
    *, mode, reader, bounded, live, schedule, parallelism, timed, memory
):
    env = build(mode, reader, bounded, live, parallelism, timed=timed, memory=memory)
    found = run_in_process(env, schedule).of("out")
    assert difference(found, expected(bounded, live)) is None


@pytest.mark.parametrize("reader", ["two inputs", "union", "own"])
@pytest.mark.parametrize("memory", [None, "4kb"])
def test_a_key_that_does_not_fit_in_memory_has_them_first_too(reader, memory):
    bounded = [("a", n, 1) for n in range(40)]
    live = [("a", n, n) for n in range(3000)]
    env = build(BATCH, reader, bounded, live, 1, memory=memory)
    found = run_in_process(env).of("out")
    assert difference(found, [(*record, 40) for record in live]) is None


def test_the_plan_says_so_and_other_channels_are_as_they_were():
    env = build(BATCH, "two inputs", [("a", 1, 1)], [("a", 1, 1)])
    plan = env.plan()
    assert [spec.has_results for spec in plan.channels].count(True) == 1
    assert (
        "results of the bounded region to 'Enrich': before other records of a key"
        in render_text(plan)
    )
    env = environment(BATCH)
    totals(env.from_collection([("a", 1, 1)])).key_by(key).sum(2).sink_to(DiscardingSink())
    assert not any(spec.has_results for spec in env.plan().channels)


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_a_fold_begins_with_the_results(mode):
    env = environment(mode, 1)
    results = totals(env.from_collection([("a", 1, 1), ("a", 1, 2)]))
    no_time = WatermarkStrategy.no_watermarks()
    live = env.from_source(CollectionSource.of([("a", 1, 7), ("a", 1, 8)]), no_time, "live")
    texts = [stream.map(lambda r: (r[0], str(r[2]))) for stream in (live, results)]
    texts[0].union(texts[1]).key_by(key).reduce(lambda x, y: (x[0], f"{x[1]} {y[1]}")).sink_to(
        DiscardingSink()
    ).name("out")
    assert run_in_process(env).of("out")[-1] == ("a", "3 7 8")


class Totals(KeyedProcessFunction):
    """Gives each record of the other input with the total of its key; totals have a fourth field."""

    def open(self, runtime_context):
        self.total = runtime_context.get_state(TOTAL)

    def process_element(self, value, ctx):
        if len(value) > 3:
            self.total.update(value[2])
        else:
            yield (*value, self.total.value())


MIXING = {
    "a map behind the union": lambda results, live: (
        results.map(lambda r: (*r, "total")).union(live).map(lambda r: r)
    ),
    "an operator with a key": lambda results, live: (
        results.map(lambda r: (*r, "total")).union(live).key_by(key).process(PassedOn())
    ),
    "a map before the union": lambda results, live: results.map(lambda r: (*r, "total")).union(
        live.map(lambda r: r)
    ),
}
"""What is between the results and the operator that needs them first; all but the last one mix them with others."""


class PassedOn(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value


@pytest.mark.parametrize("mixing", MIXING)
@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_what_an_operator_makes_of_results_and_other_input_comes_by_time_in_batch(mode, mixing):
    """An exception of the law, which the page about semantics tells: a record does not say what it was made of."""
    env = environment(mode, 1)
    results = totals(env.from_source(CollectionSource.of([("a", 1, 5)]), by_time(99), "bounded"))
    live = env.from_source(CollectionSource.of([("a", 7, 1), ("a", 8, 1)]), by_time(99), "live")
    MIXING[mixing](results, live).key_by(key).process(Totals()).sink_to(DiscardingSink()).name(
        "out"
    )
    differs = mode is BATCH and mixing != "a map before the union"
    found = [record[3] for record in run_in_process(env).of("out")]
    assert found == ([None, None] if differs else [5, 5])
