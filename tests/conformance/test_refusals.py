"""What PyFlink refuses is refused, when the program is built, with the same class of error."""

from __future__ import annotations

import pytest

from penstock.common import Types
from penstock.datastream import (
    BroadcastProcessFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.state import MapStateDescriptor
from penstock.errors import ArgumentError, GraphError


class Plain(ProcessFunction):
    def process_element(self, value, ctx):
        yield value


class Keyed(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value


class Co(CoProcessFunction):
    def process_element1(self, value, ctx):
        yield value

    process_element2 = process_element1


class KeyedCo(KeyedCoProcessFunction):
    def process_element1(self, value, ctx):
        yield value

    process_element2 = process_element1


class Broadcast(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        yield value

    process_broadcast_element = process_element


class KeyedBroadcast(KeyedBroadcastProcessFunction):
    def process_element(self, value, ctx):
        yield value

    process_broadcast_element = process_element


class Map(MapFunction):
    def map(self, value):
        return value


class CoMap(CoMapFunction):
    def map1(self, value):
        return value

    map2 = map1


STATE = MapStateDescriptor("state", Types.STRING(), Types.STRING())


@pytest.fixture
def numbers():
    return StreamExecutionEnvironment.get_execution_environment().from_collection([1, 2])


def keyed(stream):
    return stream.key_by(lambda n: n)


WRONG_FUNCTIONS = {
    "map of a number": lambda s: s.map(5),
    "map of another function": lambda s: s.map(Plain()),
    "map of the class": lambda s: s.map(Map),
    "flat_map of a map": lambda s: s.flat_map(Map()),
    "filter of a map": lambda s: s.filter(Map()),
    "key_by of a map": lambda s: s.key_by(Map()),
    "reduce of a map": lambda s: keyed(s).reduce(Map()),
    "process of a callable": lambda s: s.process(lambda _value, _ctx: None),
    "process of a keyed function": lambda s: s.process(Keyed()),
    "keyed process of a plain function": lambda s: keyed(s).process(Plain()),
    "co-map of a callable": lambda s: s.connect(s).map(lambda n: n),
    "co-flat-map of a co-map": lambda s: s.connect(s).flat_map(CoMap()),
    "co-process of a keyed function": lambda s: s.connect(s).process(KeyedCo()),
    "keyed co-process of a plain one": lambda s: keyed(s).connect(keyed(s)).process(Co()),
    "broadcast of a keyed function": lambda s: s.connect(s.broadcast(STATE)).process(
        KeyedBroadcast()
    ),
    "keyed broadcast of a plain one": lambda s: (
        keyed(s).connect(s.broadcast(STATE)).process(Broadcast())
    ),
    "connect of a number": lambda s: s.connect(5),
    "union with a number": lambda s: s.union(5),
    "side output of a string": lambda s: s.process(Plain()).get_side_output("tag"),
    "output type of a class": lambda s: s.map(Map(), int),
    "output type without parentheses": lambda s: s.map(Map(), Types.INT),
}


@pytest.mark.parametrize("build", WRONG_FUNCTIONS.values(), ids=WRONG_FUNCTIONS.keys())
def test_a_wrong_argument_is_a_type_error(numbers, build):
    with pytest.raises(ArgumentError) as caught:
        build(numbers)
    assert isinstance(caught.value, TypeError)
    assert caught.value.code == "GRAPH_ARGUMENT"
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__


NOT_ON_KEYED = {
    "name": lambda s: s.name("n"),
    "get_name": lambda s: s.get_name(),
    "uid": lambda s: s.uid("u"),
    "set_parallelism": lambda s: s.set_parallelism(1),
    "set_max_parallelism": lambda s: s.set_max_parallelism(1),
    "force_non_parallel": lambda s: s.force_non_parallel(),
    "set_buffer_timeout": lambda s: s.set_buffer_timeout(1),
    "start_new_chain": lambda s: s.start_new_chain(),
    "disable_chaining": lambda s: s.disable_chaining(),
    "slot_sharing_group": lambda s: s.slot_sharing_group("g"),
    "shuffle": lambda s: s.shuffle(),
    "rebalance": lambda s: s.rebalance(),
    "rescale": lambda s: s.rescale(),
    "forward": lambda s: s.forward(),
    "broadcast": lambda s: s.broadcast(),
    "partition_custom": lambda s: s.partition_custom(lambda _k, _n: 0, lambda v: v),
    "cache": lambda s: s.cache(),
}


@pytest.mark.parametrize("call", NOT_ON_KEYED.values(), ids=NOT_ON_KEYED.keys())
def test_a_keyed_stream_is_no_operator(numbers, call):
    with pytest.raises(GraphError, match="key_by") as caught:
        call(keyed(numbers))
    assert caught.value.code == "GRAPH"


OTHER = {
    "project without a type": lambda s: s.project(0),
    "project of no such field": lambda s: s.map(lambda n: (n,), Types.TUPLE([Types.INT()])).project(
        1
    ),
    "union with nothing": lambda s: s.union(),
    "union of two types": lambda s: s.union(s.map(str, Types.STRING())),
    "side output of a map": lambda s: s.map(Map()).get_side_output(OutputTag("tag")),
    "connect of a keyed and a plain stream": lambda s: s.connect(keyed(s)).map(CoMap()),
    "tag without a name": lambda _: OutputTag(""),
    "a parallelism of nothing": lambda s: s.map(Map()).set_parallelism(0),
}


@pytest.mark.parametrize("build", OTHER.values(), ids=OTHER.keys())
def test_a_program_that_cannot_run_is_refused_when_built(numbers, build):
    with pytest.raises(GraphError, match=r"fix: ") as caught:
        build(numbers)
    assert caught.value.code.startswith("GRAPH")
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__
