"""Operators without a uid are called after their place in the graph.

The law: between two programs that differ by operators put in, taken out or exchanged, a generated uid
that both have belongs to one and the same operator, unless it says that it is only a number.
"""

from __future__ import annotations

import pytest

from penstock.common import Configuration, Duration, WatermarkStrategy
from penstock.connectors.python.collection import CollectionSource
from penstock.connectors.python.data_generator import DataGeneratorSource
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import KeyedProcessFunction, MapFunction, StreamExecutionEnvironment
from penstock.datastream.connectors import HybridSource
from penstock.errors import GraphError
from penstock.plan.compat.function_digest import (
    numbered_sources,
    numbered_uids,
    source_labels,
    source_uids,
)
from penstock.plan.explain.outline import describe_unnamed_state, unnamed_state
from penstock.plan.physical import PhysicalPlan

NO_TIME = WatermarkStrategy.no_watermarks()
TIMED = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(1))
ENDLESS = DataGeneratorSource(lambda i: i)


class Same(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value


STEPS = {
    "reduce": lambda s: s.key_by(lambda v: v % 2).reduce(max).name("reduce"),
    "map": lambda s: s.map(lambda v: v),
    "filter": lambda s: s.filter(lambda v: v > 0),
    "process": lambda s: s.key_by(lambda v: v % 2).process(Same()),
}


def environment(**settings) -> StreamExecutionEnvironment:
    values = {"parallelism.default": 2} | settings
    return StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(values))


def chain_of(steps) -> dict[str, str]:
    """Return uid to label of a chain; all operators of one kind have one name."""
    env = environment()
    stream = env.from_source(ENDLESS, NO_TIME, "numbers")
    for label, kind in steps:
        stream = STEPS[kind](stream).set_description(label)
    stream.sink_to(DiscardingSink())
    graph = env.plan().graph
    made = [(node.generated_uid, node.description) for node in graph.nodes]
    return {uid.text: label for uid, label in made if uid is not None and label is not None}


BASE = [("a", "reduce"), ("b", "reduce"), ("c", "map"), ("d", "reduce"), ("e", "process")]


def agree(before: dict[str, str], after: dict[str, str]) -> bool:
    return all(after.get(uid, label) == label for uid, label in before.items())


@pytest.mark.parametrize("at", range(len(BASE) + 1))
@pytest.mark.parametrize("kind", STEPS)
def test_an_operator_put_in_takes_nobodys_place(at, kind):
    after = chain_of([*BASE[:at], ("new", kind), *BASE[at:]])
    assert len(after) == len(BASE) + 1
    assert agree(chain_of(BASE), after)


@pytest.mark.parametrize("at", range(len(BASE)))
def test_an_operator_taken_out_leaves_its_place_to_nobody(at):
    assert agree(chain_of(BASE), chain_of(BASE[:at] + BASE[at + 1 :]))


def test_the_same_program_gives_the_same_uids():
    assert chain_of(BASE) == chain_of(BASE)
    assert len(chain_of(BASE)) == len(BASE), "equal uids"


def reduced(
    *, below=(), branches=1, uid=None, parallelism=None, mode="STREAMING", strategy=NO_TIME
):
    """Plan a reduce per branch, with more behind them."""
    env = environment(**{"execution.runtime-mode": mode})
    numbers = env.from_source(ENDLESS, strategy, "numbers")
    for _ in range(branches):
        stream = numbers.key_by(lambda v: v).reduce(max).name("reduce")
        if uid is not None:
            stream.uid(uid)
        if parallelism is not None:
            stream.set_parallelism(parallelism)
        for kind in below:
            stream = STEPS[kind](stream)
        stream.sink_to(DiscardingSink())
    return env.plan()


def uids_of(plan: PhysicalPlan, name: str = "reduce") -> list[str]:
    return [op.uid for level in plan.levels for op in level.operators if op.name == name]


def test_what_may_change_between_two_starts_moves_nobody():
    before = uids_of(reduced())
    assert uids_of(reduced(parallelism=1)) == before
    assert uids_of(reduced(mode="AUTOMATIC")) == before
    assert uids_of(reduced(below=("map",))) != before


def test_equal_branches_are_told_apart_by_number_and_say_so():
    plan = reduced(branches=2)
    first, second = uids_of(plan)
    assert first.endswith(".1")
    assert second.endswith(".2")
    assert {first, second} == numbered_uids(plan)
    assert not numbered_uids(reduced())
    third = uids_of(reduced(branches=3))
    assert not {first, second} & set(third), "another number of branches is another program"
    assert not {first, second} & set(uids_of(reduced()))


def test_a_uid_hides_what_is_behind_it():
    def plan_of(*above):
        env = environment()
        stream = env.from_source(ENDLESS, NO_TIME, "numbers")
        for kind in above:
            stream = STEPS[kind](stream)
        stream.map(lambda v: v).uid("fixed").key_by(lambda v: v).reduce(max).name("reduce").sink_to(
            DiscardingSink()
        )
        return env.plan()

    assert uids_of(plan_of("filter", "reduce"))[-1] == uids_of(plan_of())[0]


def test_what_stamps_the_records_of_a_source_goes_by_the_source():
    plan, other = reduced(strategy=TIMED), reduced(strategy=TIMED, below=("map",), branches=2)
    assert uids_of(plan, "timestamps") == ["timestamps of numbers-1"]
    assert uids_of(other, "timestamps") == ["timestamps of numbers-1"]


def test_sources_of_one_name_are_numbered():
    env = environment()
    one = env.from_source(ENDLESS, NO_TIME, "s").union(env.from_source(ENDLESS, NO_TIME, "s"))
    one.union(env.from_source(ENDLESS, NO_TIME, "t")).sink_to(DiscardingSink())
    plan = env.plan()
    uids = source_uids(plan)
    assert sorted(uids.values()) == ["s-1", "s-2", "t-1"]
    assert {uids[source] for source in numbered_sources(plan)} == {"s-1", "s-2"}


def test_people_see_the_uid_of_what_stamps_the_records_of_a_source_or_its_name():
    env = environment()
    streams = [
        env.from_source(ENDLESS, TIMED, "files").uid("events"),
        env.from_source(ENDLESS, NO_TIME, "more"),
        env.from_source(ENDLESS, NO_TIME, "own").uid("mine"),
        env.from_source(ENDLESS, NO_TIME, "s"),
        env.from_source(ENDLESS, NO_TIME, "s"),
    ]
    streams[0].union(*streams[1:]).sink_to(DiscardingSink())
    assert source_labels(env.plan()) == {
        "files-1": "events",
        "more-1": "more",
        "mine": "mine",
        "s-1": "s-1",
        "s-2": "s-2",
    }


def test_places_are_those_of_the_graph_before_it_is_cut():
    """A bounded region is cut off in STREAMING, where its results are read by another run."""

    def plan_of(mode):
        env = environment(**{"execution.runtime-mode": mode})
        history = HybridSource.builder(CollectionSource.of([1])).add_source(ENDLESS).build()
        env.from_source(history, NO_TIME, "s").key_by(lambda v: v).reduce(max).name(
            "reduce"
        ).sink_to(DiscardingSink())
        return env.plan()

    assert uids_of(plan_of("STREAMING")) == uids_of(plan_of("AUTOMATIC"))


def test_a_uid_made_by_default_must_not_be_taken():
    def build(uid):
        env = environment()
        env.from_collection([1]).map(lambda v: v).sink_to(DiscardingSink())
        env.from_collection([2]).filter(lambda v: v).uid(uid).sink_to(DiscardingSink())
        return env.plan()

    made = uids_of(build("other"), "map")[0]
    with pytest.raises(GraphError, match=made):
        build(made)


# State without a uid.


class Plain(MapFunction):
    def map(self, value):
        return value


class Opened(Plain):
    def open(self, runtime_context):
        self.count = 0


@pytest.mark.parametrize(
    ("build", "found"),
    [
        (lambda s: s.map(lambda v: v), []),
        (lambda s: s.map(Opened()), []),
        (lambda s: s.key_by(lambda v: v).map(lambda v: v), []),
        (lambda s: s.key_by(lambda v: v).map(Plain()), []),
        (lambda s: s.key_by(lambda v: v).map(Opened()), ["Opened"]),
        (lambda s: s.key_by(lambda v: v).map(Opened()).uid("mine"), []),
        (lambda s: s.key_by(lambda v: v).process(Same()), ["Same"]),
        (lambda s: s.key_by(lambda v: v).reduce(max).name("reduce").map(lambda v: v), ["reduce"]),
        (lambda s: s.key_by(lambda v: v).count_window(2).reduce(max), ["count window"]),
    ],
)
def test_operators_with_state_and_without_uid_are_found(build, found):
    env = environment()
    build(env.from_source(ENDLESS, NO_TIME, "s")).sink_to(DiscardingSink())
    plan = env.plan()
    names = [op.name for op in unnamed_state(plan)]
    assert len(names) == len(found)
    text = describe_unnamed_state(plan)
    assert (text is None) is (not found)
    if text is not None:
        assert text.count("test_generated_uids.py") == len(found), "the user's line"
        assert unnamed_state(plan)[0].uid in text
