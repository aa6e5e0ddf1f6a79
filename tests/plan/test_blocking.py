"""The cut behind operators that answer only at the end of their input, and what runs when."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.connectors.python.collection import CollectionSource
from penstock.connectors.python.data_generator import DataGeneratorSource
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    KeyedCoProcessFunction,
    MapFunction,
    OneInputStreamOperator,
    OperatorAttributesBuilder,
    OutputTag,
    ProcessFunction,
    TwoInputStreamOperator,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from penstock.datastream.window import CountEvictor, EndOfStreamWindows, GlobalWindows
from penstock.errors import GraphError
from penstock.plan.explain.render import render_text
from penstock.program.run_settings import RunKind
from penstock.testing import Schedule, difference, run_in_process
from tests.runtime.jobs import BATCH, MIXED, STREAMING, by_time, environment, history_then_live
from tests.testing.strategies import schedules

ENDLESS = DataGeneratorSource(lambda i: ("a", i, 1))


def key(record):
    return record[0]


def totals(stream):
    windowed = stream.key_by(key).window(EndOfStreamWindows.get())
    return windowed.reduce(lambda x, y: (x[0], y[1], x[2] + y[2])).name("totals")


def last_two(stream):
    windowed = stream.key_by(key).window(GlobalWindows.create_with_end_of_stream_trigger())
    evicted = windowed.evictor(CountEvictor.of(2))
    return evicted.reduce(lambda x, y: (x[0], y[1], x[2] + y[2])).name("totals")


class Enrich(KeyedCoProcessFunction):
    """Pairs records with the total of their key; keeps none that has no total yet."""

    def open(self, runtime_context):
        self.total = runtime_context.get_state(ValueStateDescriptor("total"))

    def process_element1(self, value, ctx):
        self.total.update(value[2])

    def process_element2(self, value, ctx):
        yield (*value, self.total.value())


def enriched(settings_, live, bounded, parallelism=2, totals=totals):
    env = environment(settings_, parallelism)
    totals_ = totals(env.from_source(CollectionSource.of(bounded), by_time(99), "bounded"))
    other = env.from_source(live, by_time(99), "live")
    joined = totals_.connect(other).key_by(key, key).process(Enrich())
    joined.sink_to(DiscardingSink()).name("joined")
    return env


def runs_of(env):
    return [(r.name, r.kind, r.hands_over, len(r.readings)) for r in env.plan().runs]


BOUNDED_RUN = ("bounded", RunKind.BATCH, False, 1)


# FLIP-331, rule 3.
@pytest.mark.parametrize(
    ("mode", "source", "runs"),
    [
        (
            STREAMING,
            ENDLESS,
            [BOUNDED_RUN, ("results", RunKind.LIVE, True, 1), ("live", RunKind.LIVE, False, 1)],
        ),
        (
            MIXED,
            ENDLESS,
            [BOUNDED_RUN, ("results", RunKind.BATCH, True, 1), ("live", RunKind.LIVE, False, 1)],
        ),
        (
            MIXED,
            history_then_live([], []),
            [
                BOUNDED_RUN,
                ("history", RunKind.BATCH, True, 2),
                ("live", RunKind.LIVE, False, 1),
            ],
        ),
        (
            STREAMING,
            history_then_live([], []),
            [
                BOUNDED_RUN,
                ("results", RunKind.LIVE, True, 1),
                ("history", RunKind.LIVE, True, 1),
                ("live", RunKind.LIVE, False, 1),
            ],
        ),
        (BATCH, CollectionSource.of([]), [("batch", RunKind.BATCH, False, 2)]),
    ],
)
# FLIP-331, rule 6.
def test_the_bounded_region_is_a_run_of_its_own(mode, source, runs):
    assert runs_of(enriched(mode, source, [("a", 1, 1)])) == runs


@pytest.mark.parametrize("mode", [STREAMING, MIXED], ids=["streaming", "mixed"])
def test_an_evictor_makes_a_bounded_region_too(mode):
    whole, evicting = (enriched(mode, ENDLESS, [("a", 1, 1)], totals=t) for t in (totals, last_two))
    assert runs_of(evicting) == runs_of(whole)
    assert runs_of(evicting)[0] == BOUNDED_RUN


def test_a_job_that_ends_with_such_an_operator_is_one_batch_run():
    env = environment(STREAMING)
    stream = totals(env.from_collection([("a", 1, 1)])).map(lambda r: r)
    stream.sink_to(DiscardingSink())
    assert runs_of(env) == [BOUNDED_RUN]
    assert run_in_process(env).of() == [("a", 1, 1)]


def test_an_endless_input_cuts_nothing():
    env = environment(STREAMING)
    totals(env.from_source(ENDLESS, WatermarkStrategy.no_watermarks(), "x")).print()
    assert runs_of(env) == [("live", RunKind.LIVE, False, 1)]


records = st.lists(
    st.tuples(st.sampled_from("abcd"), st.integers(0, 50), st.integers(1, 9)), max_size=20
)


# FLIP-331, rule 7.
@pytest.mark.parametrize("mode", [STREAMING, MIXED], ids=["streaming", "mixed"])
@settings(max_examples=20)
@given(bounded=records, live=records, schedule=schedules, parallelism=st.integers(1, 3))
def test_live_records_find_the_complete_results(mode, bounded, live, schedule, parallelism):
    source = CollectionSource.of(live)
    env = enriched(mode, source, bounded, parallelism)
    sums: dict[str, int] = defaultdict(int)
    for name, _, value in bounded:
        sums[name] += value
    found = run_in_process(env, schedule).of()
    assert difference(found, [(*r, sums.get(r[0])) for r in live]) is None


@pytest.mark.parametrize("mode", [BATCH, STREAMING, MIXED], ids=["batch", "streaming", "mixed"])
@settings(max_examples=20)
@given(bounded=records, schedule=schedules, parallelism=st.integers(1, 3))
def test_an_evictor_keeps_the_last_of_the_whole_input(mode, bounded, schedule, parallelism):
    bounded = list({(name, time): (name, time, n) for name, time, n in bounded}.values())
    env = environment(mode, parallelism)
    last = last_two(env.from_source(CollectionSource.of(bounded), by_time(99), "bounded"))
    last.map(lambda r: (r[0], r[2])).sink_to(DiscardingSink()).name("last")
    of_key: dict[str, list[int]] = defaultdict(list)
    for name, _, value in sorted(bounded):
        of_key[name].append(value)
    found = run_in_process(env, schedule).of("last")
    assert sorted(found) == sorted((name, sum(values[-2:])) for name, values in of_key.items())


@pytest.mark.parametrize("mode", [STREAMING, MIXED], ids=["streaming", "mixed"])
@settings(max_examples=20)
@given(bounded=records, live=records, cut=st.integers(0, 20), schedule=schedules)
def test_results_come_before_the_history_of_others(mode, bounded, live, cut, schedule):
    env = enriched(mode, history_then_live(live[:cut], live[cut:]), bounded)
    found = run_in_process(env, schedule).of()
    sums: dict[str, int] = defaultdict(int)
    for name, _, value in bounded:
        sums[name] += value
    assert difference(found, [(*r, sums.get(r[0])) for r in live]) is None


class Starts(MapFunction):
    """Says in a file when it is opened."""

    def __init__(self, path, name):
        self.path, self.name = path, name

    def open(self, runtime_context):
        with self.path.open("a") as file:
            file.write(f"{self.name} ")

    def map(self, value):
        return value

    def close(self):
        with self.path.open("a") as file:
            file.write(f"/{self.name} ")


def test_nothing_behind_the_cut_starts_before_and_nothing_before_it_after(tmp_path):
    log = tmp_path / "log"
    env = environment(STREAMING, 1)
    before = env.from_collection([("a", 1, 1)]).rebalance().map(Starts(log, "before"))
    live = env.from_collection([("a", 1, 1)]).rebalance().map(Starts(log, "live"))
    joined = totals(before).connect(live).key_by(key, key).process(Enrich())
    joined.rebalance().map(Starts(log, "behind")).sink_to(DiscardingSink())
    # All sources end, but that of the live side feeds no operator that waits for its end. Behind
    # the cut there are two runs: one reads the results, the other the rest.
    run_in_process(env)
    words = log.read_text().split()
    assert words[:2] == ["before", "/before"]
    assert "before" not in words[2:]
    assert words[2:].count("live") == words[2:].count("behind") == 2


class Stamps(ProcessFunction):
    def process_element(self, value, ctx):
        yield value, ctx.timestamp()


def test_results_keep_their_timestamps():
    env = environment(STREAMING, 1)
    results = totals(env.from_collection([("a", 1, 1)]))
    live = env.from_source(CollectionSource.of([("b", 7, 1)]), by_time(), "live")
    results.union(live).process(Stamps()).sink_to(DiscardingSink())
    assert sorted(run_in_process(env).of()) == [
        (("a", 1, 1), 2**63 - 2),
        (("b", 7, 1), 7),
    ]


class LastOfAll(OneInputStreamOperator):
    """Gives the greatest record, at the end."""

    def get_operator_attributes(self):
        return OperatorAttributesBuilder().set_output_only_after_end_of_stream(True).build()

    def open(self, runtime_context):
        self.last = None

    def process_element(self, value, ctx):
        self.last = value if self.last is None else max(self.last, value)

    def end_input(self):
        if self.last is not None:
            self.output.collect(self.last)
            self.output.collect_to(OutputTag("side"), self.last)


# FLIP-331, rule 2.
@pytest.mark.parametrize("side", [False, True])
def test_operators_of_ones_own_that_say_so_cut_the_job(side):
    env = environment(STREAMING, 1)
    last = env.from_collection([3, 9, 4]).transform("last", None, LastOfAll())
    read = last.get_side_output(OutputTag("side")) if side else last
    other = env.from_source(CollectionSource.of([1]), WatermarkStrategy.no_watermarks(), "x")
    read.union(other).rebalance().map(lambda v: v).sink_to(DiscardingSink())
    last.sink_to(DiscardingSink()).name("itself")
    results = run_in_process(env)
    assert [run.name for run in env.plan().runs] == ["bounded", "results", "live"]
    assert sorted(results.of(0)) == [1, 9]
    assert results.of("itself") == [9]
    assert len(results.names) == 2


class Pending(TwoInputStreamOperator):
    def process_element1(self, value, ctx):
        self.output.collect((1, value))

    def process_element2(self, value, ctx):
        self.output.collect((2, value))

    def process_record_attributes1(self, record_attributes):
        self.output.collect((1, record_attributes.is_backlog()))
        super().process_record_attributes1(record_attributes)

    def process_record_attributes2(self, record_attributes):
        self.output.collect((2, record_attributes.is_backlog()))
        super().process_record_attributes2(record_attributes)


# FLIP-331, rule 5.
def test_results_that_are_not_read_yet_count_as_backlog():
    env = environment(STREAMING, 1)
    results = totals(env.from_collection([("a", 1, 1)]))
    live = env.from_source(CollectionSource.of([5, 6]), WatermarkStrategy.no_watermarks(), "live")
    results.connect(live).transform("pending", None, Pending()).sink_to(DiscardingSink())
    heard = run_in_process(env, Schedule(batch_sizes=(1,))).of()
    of_results = [(1, True), (1, ("a", 1, 1)), (1, False)]
    assert heard[:4] == [(1, True), (2, False), (1, ("a", 1, 1)), (1, False)]
    assert [h for h in heard if h[0] == 1] == [*of_results, (1, False)]


def test_the_plan_says_why():
    text = render_text(enriched(STREAMING, ENDLESS, [("a", 1, 1)]).plan())
    assert re.search(
        r"0 bounded \(batch\): reads bounded .*, runs .*totals, result of totals", text
    )
    assert re.search(r"1 results \(live\): reads result of totals .*, runs .*Enrich", text)
    assert "'totals' answers only at the end of its input" in text
    assert "kept until the bounded part is through" in text


def test_attributes_that_are_none_are_refused():
    class Wrong(MapFunction):
        def map(self, value):
            return value

        def get_operator_attributes(self):
            return "sorts"

    env = environment(STREAMING)
    env.from_collection([1]).map(Wrong()).sink_to(DiscardingSink())
    with pytest.raises(GraphError, match="get_operator_attributes"):
        env.plan()
