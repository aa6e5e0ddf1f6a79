"""Event-time timers: once, in order, with the watermark FLIP-327 promises, and never lost."""

from __future__ import annotations

import pytest

from penstock.datastream import KeyedProcessFunction, ValueStateDescriptor
from penstock.testing import Schedule, run_in_process, same_answer
from tests.runtime.jobs import (
    BATCH,
    MAX,
    MIN,
    MIXED,
    MODE_IDS,
    MODES,
    STREAMING,
    by_time,
    history_then_live,
    job,
)

EVERYTHING_GOES_WRONG = Schedule(
    batch_sizes=(1,), restart_every=2, workers=2, fail_every=1, compact_bytes=1
)


class Timers(KeyedProcessFunction):
    """Registers the timers each record asks for and reports what it sees.

    A record is (key, time, timers to register, timers to delete).
    """

    def process_element(self, value, ctx):
        service = ctx.timer_service()
        for time in value[2]:
            service.register_event_time_timer(time)
        for time in value[3] if len(value) > 3 else ():
            service.delete_event_time_timer(time)
        yield ("record", value[0], value[1], service.current_watermark())

    def on_timer(self, timestamp, ctx):
        assert ctx.timestamp() == timestamp
        yield ("timer", ctx.get_current_key(), timestamp, ctx.timer_service().current_watermark())


def run(settings, history, live, schedule=None, *, parallelism=2, bound_ms=0):
    env = job(
        settings,
        history_then_live(history, live),
        lambda stream: stream.key_by(lambda record: record[0]).process(Timers()),
        strategy=by_time(bound_ms),
        parallelism=parallelism,
    )
    return run_in_process(env, schedule).of("out")


def fired(found):
    return [(key, time) for kind, key, time, _ in found if kind == "timer"]


HISTORY = [("a", 0, [5, 25]), ("b", 3, [3, 10, 10]), ("a", 10, [7])]
LIVE = [("b", 20, [30, 21]), ("a", 22, [22])]


# FLIP-327, rule 4.
def test_watermark_in_mixed_mode_is_the_proposals():
    found = run(MIXED, HISTORY, LIVE, Schedule(batch_sizes=(1,)))
    last_of_backlog = 9
    # While a key's records are processed in the batch run there is no watermark; its timers
    # see the last one of the backlog, and so do the first live records.
    assert same_answer(
        found,
        [
            ("record", "a", 0, MIN),
            ("record", "b", 3, MIN),
            ("record", "a", 10, MIN),
            ("timer", "a", 5, last_of_backlog),
            ("timer", "a", 7, last_of_backlog),
            ("timer", "b", 3, last_of_backlog),
            ("record", "b", 20, last_of_backlog),
            ("timer", "b", 10, 19),
            ("record", "a", 22, 19),
            ("timer", "b", 21, 21),
            ("timer", "a", 22, MAX),
            ("timer", "a", 25, MAX),
            ("timer", "b", 30, MAX),
        ],
    )


def test_watermark_in_batch_mode_is_minimum_then_maximum():
    found = run(BATCH, HISTORY, LIVE)
    assert {mark for kind, *_, mark in found if kind == "record"} == {MIN}
    assert {mark for kind, *_, mark in found if kind == "timer"} == {MAX}


def test_timers_of_a_key_follow_its_records_in_batch_mode():
    found = run(BATCH, HISTORY, LIVE)
    assert [entry[:3] for entry in found if entry[1] == "a"] == [
        ("record", "a", 0),
        ("record", "a", 10),
        ("record", "a", 22),
        ("timer", "a", 5),
        ("timer", "a", 7),
        ("timer", "a", 22),
        ("timer", "a", 25),
    ]


@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("schedule", [None, EVERYTHING_GOES_WRONG], ids=["quiet", "disturbed"])
@pytest.mark.parametrize("parallelism", [1, 3])
def test_each_timer_fires_once_in_every_mode(settings, schedule, parallelism):
    found = run(settings, HISTORY, LIVE, schedule, parallelism=parallelism)
    assert sorted(fired(found)) == [
        ("a", 5),
        ("a", 7),
        ("a", 22),
        ("a", 25),
        ("b", 3),
        ("b", 10),
        ("b", 21),
        ("b", 30),
    ]


@pytest.mark.parametrize("schedule", [None, EVERYTHING_GOES_WRONG], ids=["quiet", "disturbed"])
def test_timers_of_all_keys_fire_in_order_of_time(schedule):
    records = [(key, 0, [9 - key, 20 + key]) for key in range(8)] + [(0, 100, [])]
    found = run(STREAMING, [], records, schedule, parallelism=1)
    times = [time for _, time in fired(found)]
    assert times == sorted(times)
    assert len(times) == 16


@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("schedule", [None, EVERYTHING_GOES_WRONG], ids=["quiet", "disturbed"])
def test_a_deleted_timer_does_not_fire(settings, schedule):
    history = [("a", 0, [20, 30, 40]), ("b", 0, [20])]
    live = [("a", 10, [], [20, 40, 99]), ("a", 11, [40])]
    assert sorted(fired(run(settings, history, live, schedule))) == [
        ("a", 30),
        ("a", 40),
        ("b", 20),
    ]


@pytest.mark.parametrize("schedule", [Schedule(batch_sizes=(1,)), EVERYTHING_GOES_WRONG])
def test_a_timer_deleted_after_the_watermark_began_to_move_does_not_fire(schedule):
    records = [
        ("a", 0, [20, 30, 40]),
        ("a", 5, []),
        ("a", 10, [], [20, 40]),
        ("a", 11, [40]),
        ("b", 35, []),
        ("b", 50, []),
    ]
    assert fired(run(STREAMING, [], records, schedule)) == [("a", 30), ("a", 40)]


class Chain(KeyedProcessFunction):
    """Each timer registers the next one, up to 50."""

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1] + 10)

    def on_timer(self, timestamp, ctx):
        self.count.update((self.count.value() or 0) + 1)
        if timestamp < 50:
            ctx.timer_service().register_event_time_timer(timestamp + 10)
        return [(timestamp, self.count.value())]


@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("schedule", [None, EVERYTHING_GOES_WRONG], ids=["quiet", "disturbed"])
def test_timers_registered_by_timers_fire_too(settings, schedule):
    env = job(
        settings,
        history_then_live([("a", 0)], [("a", 30)]),
        lambda stream: stream.key_by(lambda record: record[0]).process(Chain()),
    )
    found = run_in_process(env, schedule).of("out")
    assert found == [(10, 1), (20, 2), (30, 3), (40, 4), (50, 5)]


def test_a_late_timer_fires_with_the_next_watermark():
    found = run(
        STREAMING, [("a", 50, [])], [("a", 55, [3]), ("a", 60, [])], Schedule(batch_sizes=(1,))
    )
    assert [entry for entry in found if entry[0] == "timer"] == [("timer", "a", 3, 54)]


def test_without_watermarks_timers_fire_at_the_end_of_input():
    found = run(STREAMING, HISTORY, LIVE, Schedule(batch_sizes=(1,)), bound_ms=10_000)
    assert {mark for kind, *_, mark in found if kind == "timer"} == {MAX}
