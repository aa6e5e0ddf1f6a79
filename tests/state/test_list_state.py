"""List state against a dictionary of lists."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Row, Types
from penstock.datastream.state import ListStateDescriptor
from penstock.errors import TypeMismatchError
from penstock.state.handles.list_state import MAX_CHUNKS
from tests.state.handle_world import (
    BACKENDS,
    GROUPS,
    HandleMachine,
    World,
    script_test,
    step,
    ttl_config,
)

SIZE = Types.ROW_NAMED(["n"], [Types.INT()])
elements = st.integers(0, 99).map(lambda n: (n,))


class ListMachine(HandleMachine):
    """The model has (last access, element) pairs per key."""

    def open(self):
        descriptor = ListStateDescriptor("log", SIZE if self.is_typed else None)
        self.state = self.world.context.get_list_state(self.enable_ttl(descriptor))

    def dated(self, values):
        stored = [Row(n=n) for (n,) in values] if self.is_typed else list(values)
        return [(self.now, value) for value in stored]

    def living(self):
        dated = self.model.get(self.key, [])
        return [pair for pair in dated if not self.ages.is_dead(pair, self.now)]

    def read_current_key(self):
        self.get(by_iteration=False)

    @step(weight=4, value=elements)
    def add(self, value):
        self.state.add(value)
        self.model[self.key] = self.model.get(self.key, []) + self.dated([value])

    @step(weight=4, values=st.lists(elements, max_size=3))
    def add_all(self, values):
        self.state.add_all(iter(values))
        self.model[self.key] = self.model.get(self.key, []) + self.dated(values)

    @step(values=st.lists(elements, max_size=3))
    def update(self, values):
        self.state.update(values)
        self.model[self.key] = self.dated(values)

    @step(weight=4, by_iteration=st.booleans())
    def get(self, by_iteration):
        visible = self.model.get(self.key, []) if self.ages.shows_expired else self.living()
        found = list(self.state) if by_iteration else self.state.get()
        assert found == [value for _, value in visible]
        living = self.living()
        if self.ages.refreshes:
            living = [(self.now, value) for _, value in living]
        self.model[self.key] = living

    @step(value=elements)
    def change_what_was_read(self, value):
        """What `get` returns belongs to the caller."""
        self.read_current_key()
        self.state.get().append(value)
        self.read_current_key()

    @step()
    def clear(self):
        self.state.clear()
        self.model[self.key] = []

    @step(value=elements)
    def add_and_commit_often(self, value):
        """More chunks than are left as they are."""
        for _ in range(MAX_CHUNKS + 2):
            self.add(value)
            self.commit()

    @step()
    def sweep_all(self):
        self.world.sweeper.sweep_all()
        for key in list(self.model):
            dated = self.model[key]
            self.model[key] = [p for p in dated if not self.ages.is_dead(p, self.now)]


test_any_script_gives_what_the_model_gives = script_test(ListMachine)


@pytest.fixture(params=BACKENDS)
def world(request, tmp_path):
    made = World(BACKENDS[request.param], tmp_path / "state")
    yield made
    made.close()


def chunks(world, key, descriptor):
    schema = descriptor.schema()
    return dict(world.backend.table("op", descriptor.get_name(), schema)[GROUPS[key]].items(key))


LOG = ListStateDescriptor("log")


def test_an_addition_writes_what_was_added_only(world):
    state = world.context.get_list_state(LOG)
    world.at("a")
    state.add_all(["x" * 20] * 10_000)
    world.commit()
    state.add("y")
    assert sum(map(len, world.commit())) < 300
    assert state.get()[-2:] == ["x" * 20, "y"]


@given(n_batches=st.integers(0, 70))
def test_chunks_are_numbered_without_gaps_and_found_in_few_steps(n_batches):
    world = World(BACKENDS["hashmap"], Path())
    state = world.context.get_list_state(LOG)
    world.at("a")
    for number in range(n_batches):
        state.add(number)
        world.commit()
    part = world.backend.table("op", "log", LOG.schema())[GROUPS["a"]]
    probes = []

    class Counting:
        """The part, noting what is read."""

        def get(self, key, number, default=None):
            probes.append(number)
            return part.get(key, number, default)

        def __getattr__(self, name):
            return getattr(part, name)

    state._parts[GROUPS["a"]] = Counting()
    state.add("last")
    assert len(probes) <= 2 * n_batches.bit_length()
    assert 0 not in probes  # it may be large
    assert sorted(chunks(world, "a", LOG)) == list(range(n_batches + 1))


def test_reading_a_list_of_many_chunks_joins_them(world):
    state = world.context.get_list_state(LOG)
    world.at("a")
    for number in range(MAX_CHUNKS):
        state.add(number)
        world.commit()
    state.get()
    assert world.commit() == []
    state.add(MAX_CHUNKS)
    state.get()
    assert chunks(world, "a", LOG) == {0: list(range(MAX_CHUNKS + 1))}
    world.commit()
    world.restart()
    world.at("a")
    assert world.context.get_list_state(LOG).get() == list(range(MAX_CHUNKS + 1))


def test_one_micro_batch_opens_one_chunk_of_a_key(world):
    state = world.context.get_list_state(LOG)
    for key in ("a", "b", "a", "b"):
        world.at(key)
        state.add(key)
    world.commit()
    world.at("a")
    state.add("c")
    assert chunks(world, "a", LOG) == {0: ["a", "a"], 1: ["c"]}
    assert chunks(world, "b", LOG) == {0: ["b", "b"]}


def test_refused_elements_change_nothing(world):
    state = world.context.get_list_state(ListStateDescriptor("log", Types.INT()))
    world.at("a")
    state.add(1)
    for change in (state.add_all, state.update):
        with pytest.raises(TypeMismatchError, match="state 'log' of operator 'totals'"):
            change([2, "3"])
    with pytest.raises(TypeMismatchError):
        state.add(None)
    assert state.get() == [1]


def test_a_swept_list_keeps_no_empty_chunks_for_long(world):
    descriptor = ListStateDescriptor("log")
    descriptor.enable_time_to_live(ttl_config("OnCreateAndWrite", "NeverReturnExpired"))
    state = world.context.get_list_state(descriptor)
    world.at("a")
    lengths = []
    for number in range(60):
        world.now_ms += 4
        state.add(number)
        world.sweeper.sweep(records=1)
        world.commit()
        lengths.append(len(chunks(world, "a", descriptor)))
    assert max(lengths) <= 2 * MAX_CHUNKS
    assert any(after < before for before, after in pairwise(lengths))
    assert state.get() == [57, 58, 59]


def test_reading_makes_elements_young_if_reading_counts(world):
    descriptor = ListStateDescriptor("log")
    descriptor.enable_time_to_live(ttl_config("OnReadAndWrite", "NeverReturnExpired"))
    state = world.context.get_list_state(descriptor)
    world.at("a")
    for number in range(3):
        state.add(number)
        world.now_ms += 9
        assert state.get() == list(range(number + 1))
    world.commit()
    world.restart()
    world.now_ms += 10
    world.at("a")
    assert world.context.get_list_state(descriptor).get() == []
