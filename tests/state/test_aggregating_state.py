"""Aggregating state against a dictionary."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock.common import Types
from penstock.datastream.functions import AggregateFunction
from penstock.datastream.state import AggregatingStateDescriptor
from penstock.errors import TypeMismatchError
from tests.state.handle_world import BACKENDS, HandleMachine, World, script_test, step

ACCUMULATOR = Types.LIST(Types.INT())


class Mean(AggregateFunction):
    """Changes its accumulator in place, which is allowed."""

    def create_accumulator(self):
        return [0, 0]

    def add(self, value, accumulator):
        accumulator[0] += value
        accumulator[1] += 1
        return accumulator

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a, acc_b):
        return [acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]]


class AggregatingMachine(HandleMachine):
    def open(self):
        type_info = ACCUMULATOR if self.is_typed else None
        descriptor = AggregatingStateDescriptor("mean", Mean(), type_info)
        self.state = self.world.context.get_aggregating_state(self.enable_ttl(descriptor))

    def read_current_key(self):
        self.read()

    @step(weight=4, n=st.integers(0, 5))
    def add(self, n):
        self.state.add(n)
        exists, before = self.ages.read(self.model, self.key, self.now)
        values = (*before, n) if exists else (n,)
        self.model[self.key] = (self.now, values)

    @step(weight=4)
    def read(self):
        exists, values = self.ages.read(self.model, self.key, self.now)
        assert self.state.get() == (sum(values) / len(values) if exists else None)

    @step()
    def clear(self):
        self.state.clear()
        self.model.pop(self.key, None)

    @step()
    def sweep_all(self):
        self.world.sweeper.sweep_all()
        self.ages.sweep(self.model, self.now)


test_any_script_gives_what_the_model_gives = script_test(AggregatingMachine)


@pytest.mark.parametrize("name", BACKENDS)
def test_an_accumulator_of_another_type_is_refused(name, tmp_path):
    world = World(BACKENDS[name], tmp_path / "state")
    descriptor = AggregatingStateDescriptor("mean", Mean(), ACCUMULATOR)
    state = world.context.get_aggregating_state(descriptor)
    world.at("a")
    with pytest.raises(TypeMismatchError, match="state 'mean' of operator 'totals'"):
        state.add(0.5)
    world.close()
