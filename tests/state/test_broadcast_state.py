"""Broadcast state: map state that no key moves."""

from __future__ import annotations

import pytest

from penstock.common import Types
from penstock.datastream.state import MapStateDescriptor
from penstock.errors import ArgumentError, TypeMismatchError
from penstock.state.log.blob import key_group_of
from penstock.state.schema.entry_schema import BROADCAST_GROUP
from tests.state.handle_world import BACKENDS, World, ttl_config

RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())


@pytest.fixture(params=BACKENDS)
def world(request, tmp_path):
    made = World(BACKENDS[request.param], tmp_path / "state")
    yield made
    made.close()


def test_all_keys_see_the_same_pairs_and_a_restart_keeps_them(world):
    state = world.context.get_broadcast_state(RULES)
    world.at("a")
    state.put("p", 1)
    state["q"] = 2
    world.at("b")
    assert dict(state.items()) == {"p": 1, "q": 2}
    del state["p"]
    assert {key_group_of(blob) for blob in world.commit()} == {BROADCAST_GROUP}
    world.restart()
    again = world.context.get_broadcast_state(RULES)
    assert sorted(again) == ["q"]
    again.clear()
    assert again.is_empty()


def test_the_read_only_view_reads_and_has_nothing_to_write_with(world):
    state = world.context.get_broadcast_state(RULES)
    view = world.context.get_read_only_broadcast_state(RULES)
    state.put("p", 1)
    assert view.get("p") == view["p"] == 1
    assert view.contains("p")
    assert "q" not in view
    assert (view.items(), view.keys(), view.values()) == ([("p", 1)], ["p"], [1])
    assert list(view) == ["p"]
    assert not view.is_empty()
    for write in ("put", "put_all", "remove", "clear", "__setitem__", "__delitem__"):
        assert not hasattr(view, write)


def test_types_hold(world):
    state = world.context.get_broadcast_state(RULES)
    with pytest.raises(TypeMismatchError, match="state 'rules'"):
        state.put("p", "one")


def test_an_untyped_one_takes_anything(world):
    state = world.context.get_broadcast_state(MapStateDescriptor("any"))
    state.put(("p", 1), [None])
    assert state.get(("p", 1)) == [None]


def test_a_time_to_live_is_refused(world):
    descriptor = MapStateDescriptor("rules")
    descriptor.enable_time_to_live(ttl_config("OnCreateAndWrite", "NeverReturnExpired"))
    with pytest.raises(ArgumentError, match="does not expire"):
        world.context.get_broadcast_state(descriptor)


def test_a_keyed_map_of_the_same_name_is_refused(world):
    world.context.get_broadcast_state(RULES)
    with pytest.raises(ArgumentError, match="two states"):
        world.context.get_map_state(RULES)
