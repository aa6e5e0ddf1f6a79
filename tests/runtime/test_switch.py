"""The switch: its checkpoint, and the timers of the wall clock (FLIP-327, §2.3 rows 4 to 6).

Every test runs history as a batch run at 1000, and the live run micro-batch by micro-batch with a clock
moved by hand from 1000 on. The model is a set of (key, time); it shares no code with timers or state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Time
from penstock.datastream import KeyedProcessFunction, TimeDomain, WatermarkStrategy
from penstock.datastream.window import TumblingProcessingTimeWindows
from penstock.state.backends.base import KeyedStateBackend
from penstock.state.backends.hash import backend as hash_backend
from penstock.state.backends.lmdb import writer as lmdb_writer
from penstock.state.backends.lmdb.backend import LmdbBackend
from penstock.state.log.blob import decode_blob, key_group_of
from penstock.state.log.change_log import ChangeLog
from penstock.testing import Schedule, run_in_process
from penstock.testing import live_run as in_process
from penstock.testing.live_run import MemoryLog
from penstock.wire.canonical.key_groups import KeyGroups
from tests.runtime.jobs import MIXED, history_then_live, job
from tests.runtime.switched import Switched


class Alarm(KeyedProcessFunction):
    """A record (key, time) sets an alarm at the time; a negative time takes it back."""

    def process_element(self, value, ctx):
        timers = ctx.timer_service()
        if value[1] < 0:
            timers.delete_processing_time_timer(-value[1])
        else:
            timers.register_processing_time_timer(value[1])

    def on_timer(self, timestamp, ctx):
        assert ctx.time_domain() is TimeDomain.PROCESSING_TIME
        assert timestamp <= ctx.timer_service().current_processing_time()
        yield ctx.get_current_key(), timestamp


def alarms(*history, history_at=1000):
    return Switched(
        job(
            MIXED,
            history_then_live(history, []),
            lambda s: s.key_by(lambda v: v[0]).process(Alarm()),
            parallelism=1,
            strategy=WatermarkStrategy.no_watermarks(),
        ),
        history_clock=lambda: history_at,
    )


def held(log):
    """Return what a log holds, as (key, value) of its single-kind states."""
    sections = [s for blob in ChangeLog(log).all_blobs() for s in decode_blob(blob)]
    return {key: value for s in sections for key, value in zip(s.keys, s.values, strict=True)}


def sums(history, live, parallelism=1):
    return job(
        MIXED,
        history_then_live(history, live),
        lambda s: s.key_by(lambda v: v[0]).sum(1),
        parallelism=parallelism,
        strategy=WatermarkStrategy.no_watermarks(),
    )


# FLIP-327, rule 5.
def test_the_first_commit_holds_all_state_although_nothing_has_arrived():
    world = Switched(sums([("a", 1), ("b", 2), ("a", 3)], []))
    assert world.log.is_new()
    assert world.commit()[0] == []
    assert set(held(world.log)) == {"a", "b"}
    world.state = []  # what the batch run left is not needed any more
    world.start_driver()
    assert world.commit(("a", 10), ("b", 10))[0] == [("a", 14), ("b", 12)]


def test_a_first_micro_batch_that_is_not_committed_starts_from_the_hand_over_again():
    world = Switched(sums([("a", 1)], []))
    world.fail(("a", 10))
    assert world.log.is_new()
    assert world.commit(("a", 10))[0] == [("a", 11)]


def test_every_subtask_takes_its_state_over_in_the_first_micro_batch(monkeypatch):
    logs = []

    class Watched(MemoryLog):
        def __init__(self):
            super().__init__()
            logs.append(self)

    monkeypatch.setattr(in_process, "MemoryLog", Watched)
    history = [(number, number) for number in range(100)]
    env = sums(history, [(0, 1)], parallelism=3)
    run_in_process(env, Schedule(batch_sizes=(0, 1), stop_after=1))
    assert len(logs) == 3
    assert sorted(key for log in logs for key in held(log)) == list(range(100))


@pytest.mark.parametrize("where", [hash_backend, lmdb_writer], ids=["hashmap", "lmdb"])
def test_the_first_live_record_decodes_the_state_of_its_key_group_alone(
    monkeypatch, tmp_path, where
):
    history = [(f"key {number}", number) for number in range(500)]
    makers: dict[Any, Callable[[], KeyedStateBackend]] = {
        hash_backend: hash_backend.HashBackend,
        lmdb_writer: lambda: LmdbBackend(tmp_path / "copy", "job"),
    }
    world = Switched(sums(history, []), makers[where])
    decoded = set()

    def noted(blob):
        decoded.add(key_group_of(blob))
        return decode_blob(blob)

    monkeypatch.setattr(where, "decode_blob", noted)
    assert world.commit(("key 7", 1))[0] == [("key 7", 8)]
    assert decoded == {KeyGroups(128)["key 7"]}
    assert world.commit(("key 8", 1))[0] == [("key 8", 9)]
    assert decoded == {KeyGroups(128)["key 7"], KeyGroups(128)["key 8"]}
    monkeypatch.undo()
    world.start_driver()
    found = world.commit(*[(key, 1) for key, _ in history])[0]
    touched = {"key 7", "key 8"}
    assert sorted(found) == sorted((key, n + 1 + (key in touched)) for key, n in history)


# FLIP-327, rule 7.
def test_history_fires_what_is_due_and_the_live_run_the_others():
    world = alarms(("a", 900), ("b", 1050), ("a", 1020), ("a", 800), ("c", 1000), ("b", -1050))
    assert sorted(world.history) == [("a", 800), ("a", 900), ("c", 1000)]
    assert world.commit() == ([], 1020)
    world.now = 1019
    assert world.commit() == ([], 1020)
    world.now = 1020
    assert world.commit() == ([("a", 1020)], None)


def test_live_records_change_the_timers_of_history():
    world = alarms(("a", 1050), ("b", 1060))
    assert world.commit(("a", -1050), ("b", 1010)) == ([], 1010)
    world.now = 1100
    assert world.commit() == ([("b", 1010), ("b", 1060)], None)


def test_timers_that_were_due_do_not_fire_twice_if_the_first_commit_fails():
    world = alarms(("a", 900), history_at=899)
    assert world.history == []
    world.fail()
    assert world.commit()[0] == [("a", 900)]
    world.start_driver()
    assert world.commit()[0] == []


@settings(max_examples=60, deadline=None)
@given(
    history=st.lists(st.tuples(st.sampled_from("abcd"), st.integers(900, 1100)), max_size=15),
    taken_back=st.lists(st.integers(0, 14), max_size=5),
    steps=st.lists(st.tuples(st.integers(0, 60), st.sampled_from(["go", "fail", "restart"]))),
)
def test_each_timer_of_history_fires_once_when_the_clock_reaches_it(history, taken_back, steps):
    removed = [(key, -time) for i in taken_back for key, time in history[i : i + 1]]
    world = alarms(*history, *removed)
    pending = set(history) - {(key, -time) for key, time in removed}
    due = {each for each in pending if each[1] <= 1000}
    assert sorted(world.history) == sorted(due)
    pending -= due
    for step, what in [(0, "go"), *steps]:
        world.now += step
        if what == "fail":
            world.fail()
            continue
        if what == "restart":
            world.start_driver()
        due = {each for each in pending if each[1] <= world.now}
        pending -= due
        found, wanted = world.commit()
        assert sorted(found) == sorted(due)
        assert [time for _, time in found] == sorted(time for _, time in found)
        assert wanted == min((time for _, time in pending), default=None)


@pytest.mark.parametrize("live", [[], [("a", 8)]])
def test_windows_of_the_wall_clock_are_open_across_the_switch(live):
    far = Time.days(100_000)  # so that history and live are in one window
    world = Switched(
        job(
            MIXED,
            history_then_live([("a", 1), ("a", 2)], []),
            lambda s: (
                s.key_by(lambda v: v[0])
                .window(TumblingProcessingTimeWindows.of(far))
                .reduce(lambda x, y: (x[0], x[1] + y[1]))
            ),
            parallelism=1,
            strategy=WatermarkStrategy.no_watermarks(),
        )
    )
    assert world.history == []
    results, end = world.commit(*live)
    assert results == []
    assert end is not None
    world.now = end
    assert world.commit() == ([("a", 3 + sum(number for _, number in live))], None)


def test_windows_of_the_wall_clock_that_end_while_history_is_read_fire_there():
    clock = iter(range(900, 10_000, 60))
    world = Switched(
        job(
            MIXED,
            history_then_live([("a", 1), ("b", 2), ("c", 3), ("d", 4)], []),
            lambda s: (
                s.key_by(lambda v: v[0])
                .window(TumblingProcessingTimeWindows.of(Time.milliseconds(100)))
                .reduce(lambda x, y: (x[0], x[1] + y[1]))
            ),
            parallelism=1,
            strategy=WatermarkStrategy.no_watermarks(),
        ),
        history_clock=lambda: next(clock),
    )
    assert world.history
    world.now = 10_000
    rest = world.commit()[0]
    assert sorted(world.history + rest) == [("a", 1), ("b", 2), ("c", 3), ("d", 4)]


class Again(KeyedProcessFunction):
    """Its timer sets the next one, for ever."""

    def process_element(self, value, ctx):
        ctx.timer_service().register_processing_time_timer(value[1])

    def on_timer(self, timestamp, ctx):
        ctx.timer_service().register_processing_time_timer(timestamp + 100)
        yield ctx.get_current_key(), timestamp


def test_a_timer_that_sets_the_next_one_stops_at_the_clock():
    world = Switched(
        job(
            MIXED,
            history_then_live([("a", 750)], []),
            lambda s: s.key_by(lambda v: v[0]).process(Again()),
            parallelism=1,
            strategy=WatermarkStrategy.no_watermarks(),
        )
    )
    assert world.history == [("a", 750), ("a", 850), ("a", 950)]
    world.now = 1100
    assert world.commit() == ([("a", 1050)], 1150)
