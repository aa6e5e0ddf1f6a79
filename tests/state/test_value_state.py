"""Value state against a dictionary."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock.common import Row, Types
from penstock.datastream.state import ValueStateDescriptor
from penstock.errors import TypeMismatchError
from tests.state.handle_world import BACKENDS, HandleMachine, World, script_test, step

PAIR = Types.ROW_NAMED(["n", "text"], [Types.LONG(), Types.STRING()])


class ValueMachine(HandleMachine):
    def open(self):
        type_info = PAIR if self.is_typed else None
        descriptor = ValueStateDescriptor("seen", type_info)
        self.state = self.world.context.get_state(self.enable_ttl(descriptor))

    def read_current_key(self):
        self.read()

    @step(weight=4, n=st.integers(0, 5))
    def update(self, n):
        value = (n, str(n))
        self.state.update(value)
        stored = Row(n=n, text=str(n)) if self.is_typed else value
        self.model[self.key] = (self.now, stored)

    @step(weight=4)
    def read(self):
        _, expected = self.ages.read(self.model, self.key, self.now)
        found = self.state.value()
        assert found == expected
        assert type(found) is type(expected) or self.is_typed

    @step(by_update=st.booleans())
    def remove(self, by_update):
        if by_update:
            self.state.update(None)
        else:
            self.state.clear()
        self.model.pop(self.key, None)

    @step()
    def sweep_all(self):
        self.world.sweeper.sweep_all()
        self.ages.sweep(self.model, self.now)


test_any_script_gives_what_the_model_gives = script_test(ValueMachine)


@pytest.fixture(params=BACKENDS)
def world(request, tmp_path):
    made = World(BACKENDS[request.param], tmp_path / "state")
    yield made
    made.close()


def test_a_value_of_another_type_is_refused_naming_state_operator_and_field(world):
    state = world.context.get_state(ValueStateDescriptor("seen", PAIR))
    world.at("a")
    state.update((1, "x"))
    with pytest.raises(TypeMismatchError) as caught:
        state.update((2, 3))
    assert "state 'seen' of operator 'totals'" in caught.value.problem
    assert "field 'text'" in caught.value.problem
    assert state.value() == Row(n=1, text="x")


def test_what_is_inside_a_row_of_the_right_form_is_looked_at(world):
    state = world.context.get_state(ValueStateDescriptor("seen", PAIR))
    world.at("a")
    state.update(Row(n=1, text="x"))
    for wrong in (Row(n="1", text="x"), Row(n=2**63, text="x"), Row(n=1.5, text=None)):
        with pytest.raises(TypeMismatchError):
            state.update(wrong)
    state.update(Row(n=None, text="y"))
    assert state.value() == Row(n=None, text="y")


def test_reading_writes_nothing(world):
    state = world.context.get_state(ValueStateDescriptor("seen"))
    world.at("a")
    state.update(1)
    assert world.commit() != []
    assert state.value() == 1
    assert world.commit() == []
