"""The runtime context gives each descriptor its state, and each name only one."""

from __future__ import annotations

import pytest

from penstock.common import Time, Types
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from penstock.errors import ArgumentError, CallSite, UnkeyedStateError
from penstock.program.level import OperatorSpec
from penstock.program.operators import KEYED_MAP
from penstock.program.run_settings import RunKind, RunSettings
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.handles.key_context import KeyContext

ORIGIN = CallSite("job.py", 3, "build")
SETTINGS = RunSettings(RunKind.LIVE, 1, 4)
SPEC = OperatorSpec(1, "op", "totals", KEYED_MAP, map, None, ORIGIN)


def add(value1, value2):
    return value1 + value2


class Count:
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + 1

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


GETTERS = {
    "get_state": ValueStateDescriptor("s"),
    "get_list_state": ListStateDescriptor("s"),
    "get_map_state": MapStateDescriptor("s"),
    "get_reducing_state": ReducingStateDescriptor("s", add),
    "get_aggregating_state": AggregatingStateDescriptor("s", Count()),
}


@pytest.fixture
def context():
    scope = KeyedScope(HashBackend(), KeyContext(), hash)
    return OperatorContext(SPEC, SETTINGS, 0, scope)


@pytest.mark.parametrize("getter", GETTERS)
@pytest.mark.parametrize("given", [*GETTERS.values(), "s", None, ValueStateDescriptor])
def test_only_a_descriptor_of_the_kind_gives_a_state(context, getter, given):
    if given is GETTERS[getter]:
        assert getattr(context, getter)(given) is getattr(context, getter)(given)
        return
    with pytest.raises(ArgumentError) as caught:
        getattr(context, getter)(given)
    assert "'totals'" in caught.value.problem
    assert "StateDescriptor" in caught.value.hint
    assert caught.value.origin == ORIGIN


@pytest.mark.parametrize("getter", GETTERS)
def test_without_a_key_there_is_no_state(getter):
    context = OperatorContext(SPEC, SETTINGS, 0)
    with pytest.raises(UnkeyedStateError) as caught:
        getattr(context, getter)(GETTERS[getter])
    assert "key_by" in caught.value.hint
    with pytest.raises(ArgumentError, match="needs a broadcast stream"):
        context.get_broadcast_state(GETTERS["get_map_state"])


def expiring(descriptor, ttl):
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(ttl).build())
    return descriptor


TAKEN = {
    "kind": ("get_list_state", lambda: ListStateDescriptor("s", Types.INT()), "list state of Int"),
    "type": ("get_state", lambda: ValueStateDescriptor("s", Types.LONG()), "value state of Long"),
    "ttl": (
        "get_state",
        lambda: expiring(ValueStateDescriptor("s", Types.INT()), Time.hours(1)),
        "ttl_ms=3600000",
    ),
}


@pytest.mark.parametrize(("getter", "make", "named"), TAKEN.values(), ids=TAKEN)
def test_a_name_is_not_used_for_two_states(context, getter, make, named):
    context.get_state(ValueStateDescriptor("s", Types.INT()))
    with pytest.raises(ArgumentError) as caught:
        getattr(context, getter)(make())
    assert "value state of Integer" in caught.value.problem
    assert named in caught.value.problem


def test_a_name_has_one_time_to_live(context):
    context.get_state(expiring(ValueStateDescriptor("s"), Time.hours(1)))
    with pytest.raises(ArgumentError, match="ttl_ms=7200000"):
        context.get_state(expiring(ValueStateDescriptor("s"), Time.hours(2)))


def test_an_equal_descriptor_gives_the_same_state(context):
    def make():
        return expiring(ListStateDescriptor("s", Types.INT()), Time.hours(1))

    assert context.get_list_state(make()) is context.get_list_state(make())
