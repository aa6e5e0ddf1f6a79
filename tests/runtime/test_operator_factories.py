"""Factories of operators: the operator is made where it runs, and attributes are those of the factory."""

from __future__ import annotations

import threading
from collections import Counter

import pytest

from penstock.common import WatermarkStrategy
from penstock.connectors.python.collection import CollectionSource
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    AbstractInput,
    MultipleConnectedStreams,
    MultipleInputStreamOperator,
    OneInputStreamOperator,
    OperatorAttributesBuilder,
    SimpleOperatorFactory,
    StreamOperatorFactory,
    TwoInputStreamOperator,
    ValueStateDescriptor,
)
from penstock.datastream.operators import StreamOperatorOutput
from penstock.errors import ArgumentError, GraphError, UserFunctionError
from penstock.plan.explain.render import render_text
from penstock.program.level import NO_COPIES
from penstock.testing import OperatorHarness, Schedule, run_in_process
from tests.runtime.jobs import (
    BATCH,
    MIXED,
    MODE_IDS,
    MODES,
    STREAMING,
    by_time,
    environment,
    history_then_live,
)

HISTORY = [("a", 1), ("b", 2), ("a", 3)]
LIVE = [("b", 4), ("a", 5), ("c", 6)]


class Locked:
    """Has what cannot be pickled, and counts records per key."""

    output: StreamOperatorOutput

    def __init__(self, output):
        self.lock = threading.Lock()
        self.given = output

    def open(self, runtime_context):
        assert self.given is self.output
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def count_record(self, value, ctx):
        with self.lock:
            self.count.update((self.count.value() or 0) + 1)
        self.output.collect((value[0], self.count.value()))


class One(Locked, OneInputStreamOperator):
    process_element = Locked.count_record


class Two(Locked, TwoInputStreamOperator):
    process_element1 = process_element2 = Locked.count_record


class CountingInput(AbstractInput):
    def process_element(self, value, ctx):
        self.owner.count_record(value, ctx)


class Many(Locked, MultipleInputStreamOperator):
    def get_inputs(self):
        return [CountingInput(self, number) for number in (1, 2, 3)]


class Makes(StreamOperatorFactory):
    def __init__(self, cls, attributes=None):
        self.cls = cls
        self.attributes = attributes or OperatorAttributesBuilder().build()

    def create_stream_operator(self, parameters):
        assert parameters.get_runtime_context().get_task_name() == "made"
        return self.cls(parameters.get_output())

    def get_operator_attributes(self):
        return self.attributes


def key_of(record):
    return record[0]


def one(stream, factory):
    return stream.key_by(key_of).transform("made", None, factory)


def two(stream, factory):
    return stream.connect(stream).key_by(key_of, key_of).transform("made", None, factory)


def many(stream, factory):
    streams = MultipleConnectedStreams(stream, stream, stream)
    return streams.key_by(key_of, key_of, key_of).transform("made", None, factory)


SHAPES = [(One, one, 1), (Two, two, 2), (Many, many, 3)]


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@pytest.mark.parametrize(("cls", "shape", "times"), SHAPES, ids=["one", "two", "many"])
def test_operators_are_made_in_the_worker_in_every_mode(mode, cls, shape, times):
    env = environment(mode, 2)
    stream = env.from_source(history_then_live(HISTORY, LIVE), by_time(99), "records")
    shape(stream, Makes(cls)).sink_to(DiscardingSink())
    schedule = Schedule(batch_sizes=(1, 2), restart_every=2, fail_every=3)
    wanted = Counter(
        (key, n)
        for key, count in Counter(key for key, _ in HISTORY + LIVE).items()
        for n in range(1, times * count + 1)
    )
    assert Counter(run_in_process(env, schedule).of()) == wanted


class Plain(OneInputStreamOperator):
    def process_element(self, value, ctx):
        self.output.collect(value)

    def get_operator_attributes(self):
        builder = OperatorAttributesBuilder().set_output_stream_record_value_stored(False)
        return builder.build()


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_an_operator_without_a_key_comes_from_a_factory_too(mode):
    env = environment(mode, 1)
    stream = env.from_source(history_then_live([1, 2], [3]), by_no_time(), "numbers")
    stream.transform("made", None, SimpleOperatorFactory.of(Plain())).sink_to(DiscardingSink())
    assert sorted(run_in_process(env).of()) == [1, 2, 3]


def by_no_time():
    return WatermarkStrategy.no_watermarks()


class MakesPlain(StreamOperatorFactory):
    """Its attributes are the defaults, whatever those of the operator are."""

    def create_stream_operator(self, parameters):
        return Plain()


@pytest.mark.parametrize(
    ("operator", "is_stored"),
    [(Plain(), False), (SimpleOperatorFactory.of(Plain()), False), (MakesPlain(), True)],
    ids=["operator", "simple factory", "factory"],
)
def test_whether_values_are_copied_is_the_factorys_to_say(operator, is_stored):
    env = environment(BATCH, 1)
    pairs = env.from_collection([1]).map(lambda n: [n]).rebalance()
    pairs.transform("made", None, operator).map(lambda pair: pair).sink_to(DiscardingSink())
    (spec,) = [op for level in env.plan().levels for op in level.operators if op.name == "made"]
    assert (spec.copies != NO_COPIES) is is_stored


def test_a_factory_may_say_that_operators_sort_or_answer_at_the_end():
    sorts = OperatorAttributesBuilder().set_internal_sorter_supported(True).build()
    env = environment(MIXED, 1)
    stream = env.from_source(history_then_live(HISTORY, LIVE), by_time(), "records")
    one(stream, Makes(One, sorts)).sink_to(DiscardingSink())
    assert "not grouped" in render_text(env.plan())

    at_end = OperatorAttributesBuilder().set_output_only_after_end_of_stream(True).build()
    env = environment(STREAMING, 1)
    bounded = one(env.from_collection(HISTORY), Makes(One, at_end))
    live = env.from_source(history_then_live([], LIVE), by_time(), "records")
    bounded.union(live).sink_to(DiscardingSink())
    assert "kept until the bounded part is through" in render_text(env.plan())


def test_a_harness_runs_what_a_factory_makes():
    with OperatorHarness.of(lambda stream: one(stream, Makes(One))) as harness:
        assert harness.push(("a", 1)) + harness.push(("a", 2)) == [("a", 1), ("a", 2)]


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda _: None, "returned None, which is not an operator with process_element"),
        (lambda _: One, "returned .*One.*, which is not an operator"),
        (Two, "not an operator with process_element"),
    ],
)
def test_what_is_no_operator_for_the_streams_is_refused(mode, made, message):
    env = environment(mode, 1)
    one(env.from_collection(HISTORY), Makes(made)).sink_to(DiscardingSink())
    with pytest.raises(UserFunctionError, match=message) as caught:
        run_in_process(env)
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__


class Few(Many):
    def get_inputs(self):
        return super().get_inputs()[:2]


def test_inputs_of_a_made_operator_are_checked_where_it_is_made():
    env = environment(STREAMING, 1)
    stream = env.from_source(CollectionSource.of(HISTORY), by_time(), "records")
    many(stream, Makes(Few)).sink_to(DiscardingSink())
    with pytest.raises(UserFunctionError, match="2 inputs, but the operator reads 3 streams"):
        run_in_process(env)


def test_attributes_of_another_kind_and_classes_are_refused():
    class Wrong(MakesPlain):
        def get_operator_attributes(self):
            return "fast"

    env = environment(STREAMING, 1)
    stream = env.from_collection([1])
    with pytest.raises(ArgumentError):
        stream.transform("made", None, MakesPlain)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="got <class"):
        SimpleOperatorFactory.of(Plain)  # type: ignore[arg-type]
    stream.transform("made", None, Wrong()).sink_to(DiscardingSink())
    with pytest.raises(GraphError, match="get_operator_attributes of 'made' returned 'fast'"):
        env.plan()
