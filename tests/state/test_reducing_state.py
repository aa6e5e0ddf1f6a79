"""Reducing state against a dictionary."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock.common import Row, Types
from penstock.datastream.functions import ReduceFunction
from penstock.datastream.state import ReducingStateDescriptor
from penstock.errors import TypeMismatchError
from tests.state.handle_world import BACKENDS, HandleMachine, World, script_test, step

TOTAL = Types.ROW_NAMED(["n"], [Types.INT()])


class Add(ReduceFunction):
    """Not commutative, so that the order of the arguments counts."""

    def reduce(self, value1, value2):
        return (3 * value1[0] + value2[0],)


class ReducingMachine(HandleMachine):
    def open(self):
        descriptor = ReducingStateDescriptor("sum", Add(), TOTAL if self.is_typed else None)
        self.state = self.world.context.get_reducing_state(self.enable_ttl(descriptor))

    def stored(self, number):
        return Row(n=number) if self.is_typed else (number,)

    def read_current_key(self):
        self.read()

    @step(weight=4, n=st.integers(0, 5))
    def add(self, n):
        if self.key in self.model and self.model[self.key][1][0] > 1_000_000:
            return
        self.state.add((n,))
        exists, before = self.ages.read(self.model, self.key, self.now)
        after = self.stored(3 * before[0] + n if exists else n)
        self.model[self.key] = (self.now, after)

    @step(weight=4)
    def read(self):
        _, expected = self.ages.read(self.model, self.key, self.now)
        assert self.state.get() == expected

    @step()
    def clear(self):
        self.state.clear()
        self.model.pop(self.key, None)

    @step()
    def sweep_all(self):
        self.world.sweeper.sweep_all()
        self.ages.sweep(self.model, self.now)


test_any_script_gives_what_the_model_gives = script_test(ReducingMachine)


@pytest.fixture(params=BACKENDS)
def world(request, tmp_path):
    made = World(BACKENDS[request.param], tmp_path / "state")
    yield made
    made.close()


def test_a_combination_that_leaves_the_type_is_refused(world):
    descriptor = ReducingStateDescriptor("sum", lambda a, b: a + b, Types.INT())
    state = world.context.get_reducing_state(descriptor)
    world.at("a")
    state.add(2**31 - 1)
    with pytest.raises(TypeMismatchError, match="out of range"):
        state.add(1)
    assert state.get() == 2**31 - 1


def test_none_is_a_value_of_a_pickled_type(world):
    descriptor = ReducingStateDescriptor("last", lambda a, b: (a, b))
    state = world.context.get_reducing_state(descriptor)
    world.at("a")
    state.add(None)
    state.add(1)
    assert state.get() == (None, 1)
