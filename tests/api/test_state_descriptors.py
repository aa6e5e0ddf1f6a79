"""Descriptors say what a state is, and refuse what is none."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Time, Types
from penstock.datastream import AggregateFunction, ReduceFunction
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from penstock.errors import ArgumentError
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.wire import user_code

PICKLED = Types.PICKLED_BYTE_ARRAY()


class Add(ReduceFunction):
    def reduce(self, value1, value2):
        return value1 + value2


class Count(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + 1

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


def add(value1, value2):
    return value1 + value2


UNTYPED = [
    (ValueStateDescriptor("s"), StateSchema(StateKind.VALUE, PICKLED)),
    (ListStateDescriptor("s"), StateSchema(StateKind.LIST, PICKLED)),
    (MapStateDescriptor("s"), StateSchema(StateKind.MAP, PICKLED, PICKLED)),
    (ReducingStateDescriptor("s", Add()), StateSchema(StateKind.REDUCING, PICKLED)),
    (AggregatingStateDescriptor("s", Count()), StateSchema(StateKind.AGGREGATING, PICKLED)),
]
LONG, TEXT = Types.LONG(), Types.STRING()
TYPED = [
    (ValueStateDescriptor("s", LONG), StateSchema(StateKind.VALUE, LONG), LONG),
    (ListStateDescriptor("s", LONG), StateSchema(StateKind.LIST, LONG), Types.LIST(LONG)),
    (
        MapStateDescriptor("s", TEXT, LONG),
        StateSchema(StateKind.MAP, LONG, TEXT),
        Types.MAP(TEXT, LONG),
    ),
    (ReducingStateDescriptor("s", add, LONG), StateSchema(StateKind.REDUCING, LONG), LONG),
    (
        AggregatingStateDescriptor("s", Count(), LONG),
        StateSchema(StateKind.AGGREGATING, LONG),
        LONG,
    ),
]


@pytest.mark.parametrize(("descriptor", "schema"), UNTYPED, ids=lambda d: type(d).__name__)
def test_a_type_that_is_not_given_is_pickled(descriptor, schema):
    assert descriptor.get_name() == descriptor.name == "s"
    assert descriptor.schema() == schema


@pytest.mark.parametrize(("descriptor", "schema", "whole"), TYPED, ids=lambda d: type(d).__name__)
def test_a_type_is_that_of_values_elements_pairs_or_accumulators(descriptor, schema, whole):
    assert descriptor.schema() == schema
    assert descriptor.type_info == whole
    assert repr(descriptor).endswith(f"('s', {whole!r})")


@pytest.mark.parametrize("descriptor", [d for d, _, _ in TYPED], ids=lambda d: type(d).__name__)
def test_descriptors_travel_with_the_function_that_holds_them(descriptor):
    there = user_code.load(user_code.dump(descriptor))
    assert there.schema() == descriptor.schema()


def test_functions_come_back():
    function = Add()
    assert ReducingStateDescriptor("s", function).get_reduce_function() is function
    assert ReducingStateDescriptor("s", add).get_reduce_function().reduce(1, 2) == 3
    count = Count()
    assert AggregatingStateDescriptor("s", count).get_agg_function() is count


def test_a_time_to_live_is_part_of_the_schema():
    descriptor = ValueStateDescriptor("s")
    config = StateTtlConfig.new_builder(Time.hours(1)).build()
    descriptor.enable_time_to_live(config)
    assert descriptor.schema().has_ttl
    assert descriptor.time_to_live == config.rule()
    never = StateTtlConfig.new_builder(Time.hours(1))
    never.set_update_type(StateTtlConfig.UpdateType.Disabled)
    descriptor.enable_time_to_live(never.build())
    assert not descriptor.schema().has_ttl


# Untyped, as in a program nobody type-checks.
value_state: Any = ValueStateDescriptor
list_state: Any = ListStateDescriptor
map_state: Any = MapStateDescriptor
reducing_state: Any = ReducingStateDescriptor
aggregating_state: Any = AggregatingStateDescriptor

REFUSED = {
    "blank name": (lambda: value_state(" "), "blank"),
    "no name": (lambda: map_state(TEXT, LONG), "string"),
    "type": (lambda: value_state("s", Types.INT), "Types.INT()"),
    "element type": (lambda: list_state("s", int), "Types.INT()"),
    "key type": (lambda: map_state("s", str, LONG), "Types.INT()"),
    "value type": (lambda: map_state("s", TEXT, "Long"), "Types.INT()"),
    "list as key": (lambda: map_state("s", Types.LIST(LONG), LONG), "Tuple"),
    "reduce class": (lambda: reducing_state("s", Add), "Add()"),
    "type as reduce": (lambda: reducing_state("s", LONG), "callable"),
    "aggregate class": (lambda: aggregating_state("s", Count), "Count()"),
    "callable": (lambda: aggregating_state("s", add), "AggregateFunction"),
    "reduce for aggregate": (lambda: aggregating_state("s", Add()), "AggregateFunction"),
    "ttl": (lambda: value_state("s").enable_time_to_live(Time.hours(1)), "new_builder"),
}


@pytest.mark.parametrize(("build", "advice"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_description_is_refused_with_advice(build, advice):
    with pytest.raises(ArgumentError) as caught:
        build()
    assert advice in caught.value.hint
