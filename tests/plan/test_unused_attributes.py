"""Each attribute of an operator or a function is used, or refused: none is ignored in silence."""

from __future__ import annotations

from dataclasses import asdict, fields, replace

import pytest

from penstock.common import Configuration
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    AggregateFunction,
    FilterFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    OneInputStreamOperator,
    Partitioner,
    ProcessWindowFunction,
    ReduceFunction,
    SinkFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.window import EndOfStreamWindows
from penstock.errors import GraphError
from penstock.graph.operator_attributes import OperatorAttributes
from penstock.plan.phases.bounded_region import end_of_stream_operators
from penstock.plan.phases.operator_traits import traits_of
from penstock.plan.phases.refusals import REFUSED_OF_FUNCTIONS
from tests.runtime.jobs import BATCH

NAMES = [field.name for field in fields(OperatorAttributes)]


class Says:
    """Says that one attribute is not what it is by default."""

    said = ""

    def get_operator_attributes(self):
        default = asdict(OperatorAttributes())
        return replace(OperatorAttributes(), **{self.said: not default[self.said]})

    def map(self, value):
        return value

    filter = get_key = get_result = map  # noqa: A003

    def partition(self, key, number):
        return 0

    def process_element(self, value, ctx):
        return [value]

    def reduce(self, one, two):
        return one

    add = merge = reduce

    def create_accumulator(self):
        return 0

    def process(self, key, context, elements):
        return elements

    def invoke(self, value, context):
        pass


def of(kind, name):
    return type("Said", (Says, kind), {"said": name})()


def hash_of(key, number):
    return hash(key) % number


def keyed(stream):
    return stream.key_by(lambda n: n)


def whole(stream):
    return keyed(stream).window(EndOfStreamWindows.get())


FUNCTIONS = {
    "map": lambda s, name: s.map(of(MapFunction, name)),
    "filter": lambda s, name: s.filter(of(FilterFunction, name)),
    "process": lambda s, name: keyed(s).process(of(KeyedProcessFunction, name)),
    "reduce": lambda s, name: keyed(s).reduce(of(ReduceFunction, name)),
    "window": lambda s, name: whole(s).process(of(ProcessWindowFunction, name)),
    "window aggregate": lambda s, name: whole(s).aggregate(of(AggregateFunction, name)),
}
BESIDE = {
    "key": lambda s, name: s.key_by(of(KeySelector, name)).map(abs),
    "partitioner": lambda s, name: s.partition_custom(of(Partitioner, name), abs).map(abs),
    "selector of a partitioning": lambda s, name: s.partition_custom(
        hash_of, of(KeySelector, name)
    ).map(abs),
    "fold of a window": lambda s, name: whole(s).aggregate(
        of(AggregateFunction, name), window_function=Window()
    ),
}


class Window(ProcessWindowFunction):
    def process(self, key, context, elements):
        return elements


def planned(then, name):
    configuration = Configuration.from_dict(BATCH)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    then(env.from_collection([1, 2]), name).sink_to(DiscardingSink())
    return env.plan()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("function", sorted(FUNCTIONS))
def test_what_a_function_says_is_used_or_refused(function, name):
    if name not in REFUSED_OF_FUNCTIONS:
        plan = planned(FUNCTIONS[function], name)
        assert [node.id for node in end_of_stream_operators(plan.graph)]
        return
    with pytest.raises(GraphError, match=name) as caught:
        planned(FUNCTIONS[function], name)
    assert caught.value.code == "GRAPH"
    assert caught.value.hint
    assert caught.value.origin is not None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("beside", sorted(BESIDE))
def test_what_is_called_beside_an_operator_has_no_attributes(beside, name):
    with pytest.raises(GraphError, match=name):
        planned(BESIDE[beside], name)


@pytest.mark.parametrize("name", NAMES)
def test_a_sink_function_has_none(name):
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(BATCH))
    env.from_collection([1]).add_sink(of(SinkFunction, name))
    with pytest.raises(GraphError, match=name):
        env.plan()


@pytest.mark.parametrize("name", NAMES)
def test_an_operator_of_ones_own_says_each_with_effect(name):
    plan = planned(
        lambda s, name: keyed(s).transform("own", None, of(OneInputStreamOperator, name)), name
    )
    (node,) = [n for n in plan.graph.nodes if n.name == "own"]
    (spec,) = [op for level in plan.levels for op in level.operators if op.name == "own"]
    said = traits_of(node).attributes
    used = {
        "output_stream_record_value_stored": not said.output_stream_record_value_stored,
        "input_stream_record_stored": not said.input_stream_record_stored,
        "internal_sorter_supported": spec.sorts_itself,
        "output_only_after_end_of_stream": node in end_of_stream_operators(plan.graph),
    }
    assert [each for each in NAMES if used[each]] == [name]
