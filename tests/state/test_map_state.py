"""Map state against a dictionary of dictionaries."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock.common import Configuration, Row, Types
from penstock.datastream import KeyedProcessFunction
from penstock.datastream.state import MapStateDescriptor
from penstock.errors import TypeMismatchError
from penstock.testing import OperatorHarness
from tests.state.handle_world import BACKENDS, HandleMachine, World, script_test, step

SIZE = Types.ROW_NAMED(["n"], [Types.INT()])
subkeys = st.sampled_from(["p", "q", "r"])
values = st.none() | st.integers(0, 5).map(lambda n: (n,))


class MapMachine(HandleMachine):
    """Addresses in the model are (key, subkey)."""

    def open(self):
        types = (Types.STRING(), SIZE) if self.is_typed else ()
        descriptor = MapStateDescriptor("sizes", *types)
        self.state = self.world.context.get_map_state(self.enable_ttl(descriptor))

    def stored(self, value):
        return Row(n=value[0]) if self.is_typed and value is not None else value

    def read_all(self):
        addresses = [address for address in self.model if address[0] == self.key]
        found = {}
        for address in addresses:
            exists, value = self.ages.read(self.model, address, self.now)
            if exists:
                found[address[1]] = value
        return found

    def read_current_key(self):
        self.items()

    @step(weight=2, subkey=subkeys, value=values, by_item=st.booleans())
    def put(self, subkey, value, by_item):
        if by_item:
            self.state[subkey] = value
        else:
            self.state.put(subkey, value)
        self.model[self.key, subkey] = (self.now, self.stored(value))

    @step(pairs=st.dictionaries(subkeys, values))
    def put_all(self, pairs):
        self.state.put_all(pairs)
        for subkey, value in pairs.items():
            self.model[self.key, subkey] = (self.now, self.stored(value))

    @step(weight=2, subkey=subkeys, by_item=st.booleans())
    def get(self, subkey, by_item):
        _, expected = self.ages.read(self.model, (self.key, subkey), self.now)
        assert (self.state[subkey] if by_item else self.state.get(subkey)) == expected

    @step(weight=2, subkey=subkeys, by_operator=st.booleans())
    def contains(self, subkey, by_operator):
        exists, _ = self.ages.read(self.model, (self.key, subkey), self.now)
        found = subkey in self.state if by_operator else self.state.contains(subkey)
        assert found is exists

    @step(subkey=subkeys, by_item=st.booleans())
    def remove(self, subkey, by_item):
        if by_item:
            del self.state[subkey]
        else:
            self.state.remove(subkey)
        self.model.pop((self.key, subkey), None)

    @step(weight=2)
    def items(self):
        expected = self.read_all()
        found = list(self.state.items())
        assert dict(found) == expected
        assert len(found) == len(expected)

    @step(weight=2, by_iteration=st.booleans())
    def keys(self, by_iteration):
        expected = sorted(self.read_all())
        assert sorted(self.state if by_iteration else self.state.keys()) == expected

    @step()
    def values(self):
        expected = self.read_all().values()
        assert sorted(map(repr, self.state.values())) == sorted(map(repr, expected))

    @step(weight=2)
    def is_empty(self):
        mine = [dated for (key, _), dated in self.model.items() if key == self.key]
        if not self.ages.shows_expired:
            mine = [dated for dated in mine if not self.ages.is_dead(dated, self.now)]
        assert self.state.is_empty() is (not mine)

    @step()
    def clear(self):
        self.state.clear()
        self.model = {a: dated for a, dated in self.model.items() if a[0] != self.key}

    @step()
    def sweep_all(self):
        self.world.sweeper.sweep_all()
        self.ages.sweep(self.model, self.now)


test_any_script_gives_what_the_model_gives = script_test(MapMachine)


@pytest.fixture(params=BACKENDS)
def world(request, tmp_path):
    made = World(BACKENDS[request.param], tmp_path / "state")
    yield made
    made.close()


def test_a_refused_pair_changes_nothing(world):
    state = world.context.get_map_state(MapStateDescriptor("sizes", Types.STRING(), Types.INT()))
    world.at("a")
    for pairs in ({"p": 1, "q": "two"}, {"p": 1, 2: 2}, {"p": 1, None: 2}):
        with pytest.raises(TypeMismatchError):
            state.put_all(pairs)
    assert state.is_empty()


def test_keys_are_found_in_any_form_of_their_type(world):
    pair = Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.INT()])
    state = world.context.get_map_state(MapStateDescriptor("at", pair, Types.STRING()))
    world.at("a")
    state.put((1, 2), "here")
    assert state.get(Row(x=1, y=2)) == "here"
    assert (1, 2) in state
    with pytest.raises(TypeMismatchError, match="a key of state 'at'"):
        state.get("1, 2")


def test_one_pair_is_written_alone(world):
    state = world.context.get_map_state(MapStateDescriptor("sizes"))
    world.at("a")
    state.put_all({f"key {number}": "x" * 20 for number in range(1000)})
    world.commit()
    state.put("key 7", "y")
    assert sum(map(len, world.commit())) < 400


def test_pairs_may_be_removed_while_they_are_listed(world):
    state = world.context.get_map_state(MapStateDescriptor("sizes"))
    world.at("a")
    state.put_all({"p": 1, "q": 2})
    for subkey in state:
        state.remove(subkey)
    assert state.is_empty()


class Puts(KeyedProcessFunction):
    """Puts each record as a key into a map, under one key of the stream or under itself; None emits the map."""

    def __init__(self, *types):
        self.types = types

    def open(self, runtime_context):
        self.map = runtime_context.get_map_state(MapStateDescriptor("m", *self.types))

    def process_element(self, value, ctx):
        if value is None:
            yield list(self.map.items()), self.map.keys(), list(self.map)
        else:
            self.map.put(value, repr(value))


EQUAL = [1, True, 1.0]


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("backend", ["hashmap", "lmdb"])
@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("first", EQUAL)
@pytest.mark.parametrize("last", EQUAL)
def test_equal_keys_are_one_pair_in_one_of_their_forms(backend, coded, restarts, first, last):
    """Which of the forms is shown is an exception of the law (semantics.md)."""
    settings = Configuration().set_boolean("table.exec.enable-coded-rowdata", coded)

    def opened(function, snapshot=None):
        return OperatorHarness.of(
            function,
            key_selector=lambda _: "k",
            backend=backend,
            configuration=settings,
            snapshot=snapshot,
        )

    harness = opened(Puts())
    harness.push(first)
    if restarts:
        snapshot = harness.snapshot()
        harness.close()
        harness = opened(Puts(), snapshot)
    harness.push(last)
    ((items, keys, iterated),) = harness.push(None)
    assert items == [(1, repr(last))]
    assert keys == iterated == [1]
    assert {type(key) for key in (items[0][0], *keys)} <= {type(first), type(last)}
    harness.close()


@pytest.mark.parametrize("backend", ["hashmap", "lmdb"])
def test_a_declared_type_of_keys_has_one_form(backend):
    typed = Puts(Types.DOUBLE(), Types.STRING())
    for given in (1, 1.0):
        with OperatorHarness.of(typed, key_selector=lambda _: "k", backend=backend) as harness:
            harness.push(given)
            ((items, _, _),) = harness.push(None)
            assert (items, type(items[0][0])) == ([(1.0, repr(given))], float)
    whole = Puts(Types.LONG(), Types.STRING())
    for given in (True, 1.0):
        with (
            OperatorHarness.of(whole, key_selector=lambda _: "k", backend=backend) as harness,
            pytest.raises(TypeMismatchError),
        ):
            harness.push(given)
