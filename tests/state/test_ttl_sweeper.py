"""The sweeper removes what has expired, nothing else, and no faster than it may."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Time
from penstock.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from penstock.errors import ArgumentError
from penstock.state.handles.ttl import Expiry, TimeToLive, UpdateType
from penstock.state.handles.ttl_sweeper import TtlSweeper
from tests.state.handle_world import BACKENDS, GROUPS, TTL_MS, World, ttl_config


@pytest.fixture(params=BACKENDS)
def world(request, tmp_path):
    made = World(BACKENDS[request.param], tmp_path / "state")
    yield made
    made.close()


def builder():
    return StateTtlConfig.new_builder(Time.milliseconds(TTL_MS))


def with_ttl(descriptor, config):
    descriptor.enable_time_to_live(config)
    return descriptor


def stored(world, descriptor):
    table = world.backend.table("op", descriptor.get_name(), descriptor.schema())
    return sum(len(table[group].keys()) for group in table.groups())


def fill(world, config, n_keys=100):
    descriptor = with_ttl(ValueStateDescriptor("seen"), config)
    state = world.context.get_state(descriptor)
    for key in range(n_keys):
        world.at(key)
        state.update(key)
    world.commit()
    return state, descriptor


def test_by_default_it_looks_at_five_entries_per_access(world):
    state, descriptor = fill(world, builder().build())
    world.sweeper.sweep(0)  # for the accesses that filled it
    world.now_ms += TTL_MS
    assert world.sweeper.sweep(records=1000) == 0
    world.at("new")
    for _ in range(8):
        state.value()
    removed = world.sweeper.sweep(records=0)
    assert 8 * 5 - 4 - 1 <= removed <= 8 * 5  # going to a key group costs as an entry does
    assert stored(world, descriptor) == 100 - removed


def test_it_looks_per_record_if_told_to(world):
    config = builder().cleanup_incrementally(2, run_cleanup_for_every_record=True).build()
    _, descriptor = fill(world, config)
    world.sweeper.sweep(0)
    world.now_ms += TTL_MS
    removed = world.sweeper.sweep(records=20)
    assert 30 <= removed <= 40
    assert stored(world, descriptor) == 100 - removed


def test_it_comes_to_all_entries_and_the_removals_are_recorded(world):
    config = builder().cleanup_incrementally(1, run_cleanup_for_every_record=True).build()
    _, descriptor = fill(world, config)
    world.now_ms += TTL_MS
    for _ in range(12):
        world.sweeper.sweep(records=10)
        world.commit()
    world.restart()
    assert stored(world, descriptor) == 0


def test_what_lives_stays(world):
    state, descriptor = fill(world, builder().build())
    world.now_ms += TTL_MS - 1
    world.at(7)
    state.update("again")
    world.now_ms += 1
    assert world.sweeper.sweep(0) == 99
    world.at(7)
    assert state.value() == "again"
    assert stored(world, descriptor) == 1


def test_without_background_cleanup_nothing_is_looked_at(world):
    config = builder().disable_cleanup_in_background().build()
    _, descriptor = fill(world, config)
    world.now_ms += TTL_MS
    assert world.sweeper.sweep(1000) == 0
    assert [world.sweeper.sweep_group(group) for group in range(4)] == [0, 0, 0, 0]
    assert world.sweeper.sweep_all() == 0
    assert stored(world, descriptor) == 100


def test_a_group_is_cleaned_before_its_log_is_written_anew(world):
    _, descriptor = fill(world, builder().build())
    world.now_ms += TTL_MS
    in_group = sum(GROUPS[key] == 2 for key in range(100))
    assert world.sweeper.sweep_group(2) == in_group > 0
    assert stored(world, descriptor) == 100 - in_group


def test_the_clock_is_read_again_after_so_many_entries():
    config = builder().disable_cleanup_in_background().cleanup_in_rocksdb_compact_filter(10).build()
    world = World(BACKENDS["hashmap"], Path())
    _, descriptor = fill(world, config)
    readings = iter(range(1_000 + TTL_MS - 2, 5_000))
    sweeper = TtlSweeper()
    table = world.backend.table("op", "seen", descriptor.schema())
    sweeper.add(table, Expiry(config.rule(), lambda: next(readings)))
    in_group = sum(GROUPS[key] == 2 for key in range(100))
    assert sweeper.sweep_group(2) == in_group - 20


def test_a_snapshot_is_clean_only_if_asked_for(world):
    _, descriptor = fill(world, ttl_config("OnCreateAndWrite", "NeverReturnExpired"))
    world.now_ms += TTL_MS
    assert world.sweeper.sweep_all() == 0
    config = builder().cleanup_full_snapshot().build()
    other = with_ttl(ValueStateDescriptor("other"), config)
    state = world.context.get_state(other)
    world.at("a")
    state.update(1)
    world.now_ms += TTL_MS
    assert world.sweeper.sweep_all() == 1
    assert (stored(world, descriptor), stored(world, other)) == (100, 0)


def test_a_map_of_many_pairs_is_swept_pair_by_pair(world):
    config = builder().cleanup_incrementally(3, run_cleanup_for_every_record=True).build()
    state = world.context.get_map_state(with_ttl(MapStateDescriptor("sizes"), config))
    world.at("a")
    state.put_all({number: number for number in range(100)})
    world.commit()
    world.sweeper.sweep(0)
    world.now_ms += TTL_MS
    first = world.sweeper.sweep(records=10)
    assert 25 <= first <= 30
    world.commit()
    assert first + sum(world.sweeper.sweep(records=10) for _ in range(3)) == 100
    assert state.is_empty()


def test_a_list_is_swept_element_by_element(world):
    config = builder().cleanup_full_snapshot().build()
    state = world.context.get_list_state(with_ttl(ListStateDescriptor("log"), config))
    world.at("a")
    state.add_all([1, 2])
    world.now_ms += TTL_MS - 1
    state.add(3)
    world.now_ms += 1
    assert world.sweeper.sweep_all() == 2
    state.add(4)
    assert state.get() == [3, 4]


def test_the_cursor_survives_that_entries_vanish(world):
    config = builder().cleanup_incrementally(1, run_cleanup_for_every_record=True).build()
    state, descriptor = fill(world, config)
    world.now_ms += TTL_MS
    world.sweeper.sweep(records=3)
    world.fail()
    for key in range(100):
        world.at(key)
        state.clear()
    assert world.sweeper.sweep(records=1000) == 0
    assert stored(world, descriptor) == 0


@given(data=st.data())
def test_reading_what_was_swept_and_what_was_not_is_the_same(data):
    """NeverReturnExpired: nobody can tell whether the sweeper was there."""
    lives, swept = (World(BACKENDS["hashmap"], Path()) for _ in range(2))
    answers = []
    steps = data.draw(
        st.lists(
            st.tuples(
                st.sampled_from("abc"), st.sampled_from(["put", "get"]), st.integers(0, TTL_MS)
            ),
            max_size=30,
        )
    )
    for world in (lives, swept):
        descriptor = with_ttl(MapStateDescriptor("m"), builder().build())
        state = world.context.get_map_state(descriptor)
        found = []
        for number, (subkey, what, wait) in enumerate(steps):
            world.at("k")
            world.now_ms += wait
            if what == "put":
                state.put(subkey, number)
            else:
                found.append((state.get(subkey), state.is_empty(), sorted(state)))
            if world is swept:
                world.sweeper.sweep(1)
        answers.append(found)
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    "wrong",
    [
        {"ttl_ms": 0},
        {"ttl_ms": 1, "sweep_size": -1},
        {"ttl_ms": 1, "update": UpdateType.Disabled},
    ],
)
def test_a_rule_that_means_nothing_is_refused(wrong):
    with pytest.raises(ArgumentError):
        TimeToLive(**wrong)
