"""Processing-time timers: the clock decides in a live run and in history, the end of the key in BATCH mode."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Types
from penstock.connectors.python.collection import CollectionSource
from penstock.datastream import (
    KeyedProcessFunction,
    MapStateDescriptor,
    TimeDomain,
    WatermarkStrategy,
)
from penstock.plan.physical import HandOver
from penstock.plan.programs import programs_of
from penstock.runtime.exchange.channel_writer import ChannelWriter, FrameSequence
from penstock.runtime.task.live_subtask import LiveSubtask
from penstock.runtime.task.report import decode_report
from penstock.testing import Schedule, run_in_process
from penstock.testing.live_run import MemoryLog
from penstock.wire import user_code
from penstock.wire.frame import FrameKind, decode_records, read_header
from tests.runtime.jobs import BATCH, MIXED, STREAMING, history_then_live, job


class Alarm(KeyedProcessFunction):
    """A record (key, delay) sets an alarm; a negative delay takes it back."""

    def process_element(self, value, ctx):
        timers = ctx.timer_service()
        if value[1] < 0:
            timers.delete_processing_time_timer(1000 - value[1])
        else:
            timers.register_processing_time_timer(1000 + value[1])

    def on_timer(self, timestamp, ctx):
        assert ctx.time_domain() is TimeDomain.PROCESSING_TIME
        yield ctx.get_current_key(), timestamp


class Clock:
    def __init__(self) -> None:
        self.now = 1000

    def __call__(self) -> int:
        return self.now


def alarms(mode, source):
    return job(
        mode,
        source,
        lambda s: s.key_by(lambda v: v[0]).process(Alarm()),
        parallelism=1,
        strategy=WatermarkStrategy.no_watermarks(),
    )


class World:
    """One subtask, restarted at will, with a clock moved by hand."""

    def __init__(self) -> None:
        plan = alarms(STREAMING, CollectionSource.of([])).plan()
        self.programs = programs_of(
            plan, plan.runs[0], tasks=1, max_frame_records=9, handed=HandOver(), job_parameters={}
        )
        self.clock = Clock()
        self.log = MemoryLog()
        self.restart()

    def restart(self) -> None:
        self.subtask = LiveSubtask(user_code.dump(self.programs[1]), 0, now_ms=self.clock)

    def at(self, now: int, *records: tuple[str, int]) -> tuple[list[object], int | None]:
        """Run a micro-batch; return results and when the next one is wanted."""
        self.clock.now = now
        frames: list[bytes] = []
        writer = ChannelWriter(
            self.programs[0].outputs[0],
            self.programs[0].settings,
            FrameSequence(0),
            lambda _, frame: frames.append(frame),
        )
        if records:
            writer.collect(list(records), None)
        writer.flush()
        results, wanted = [], None
        for _, frame in self.subtask.process(frames, self.log):
            header = read_header(frame)
            if header.kind is FrameKind.RECORDS:
                results += decode_records(header, frame)[0]
            elif header.kind is FrameKind.REPORT:
                wanted = decode_report(frame).next_calls[1, 0]
        return results, wanted


def test_timers_fire_when_the_clock_reaches_them_in_order_of_time():
    world = World()
    assert world.at(1000, ("a", 50), ("b", 20), ("a", 80)) == ([], 1020)
    assert world.at(1049) == ([("b", 1020)], 1050)
    assert world.at(1080) == ([("a", 1050), ("a", 1080)], None)
    assert world.at(2000) == ([], None)


def test_a_timer_that_is_due_at_once_fires_in_the_micro_batch_that_set_it():
    assert World().at(1060, ("a", 50)) == ([("a", 1050)], None)


def test_timers_survive_a_restart_and_can_be_deleted():
    world = World()
    world.at(1000, ("a", 50), ("b", 20))
    world.restart()
    assert world.at(1001) == ([], 1020)
    assert world.at(1002, ("b", -20)) == ([], 1050)
    world.restart()
    assert world.at(1050) == ([("a", 1050)], None)


def test_batch_mode_fires_them_at_the_end_of_each_key():
    found = run_in_process(alarms(BATCH, CollectionSource.of([("a", 10**15), ("b", 5), ("a", 3)])))
    assert sorted(found.of()) == [("a", 1003), ("a", 1000 + 10**15), ("b", 1005)]


def test_the_end_of_a_live_input_drops_what_is_not_due():
    source = history_then_live([("a", 1), ("b", 10**15)], [("c", 2)])
    for mode in (STREAMING, MIXED):
        assert sorted(run_in_process(alarms(mode, source)).of()) == [("a", 1001), ("c", 1002)]


def test_what_is_due_in_history_comes_out_of_history():
    source = history_then_live([("a", 1), ("b", 2)], [("a", 3)])
    results = run_in_process(alarms(MIXED, source), Schedule(batch_sizes=(0, 1)))
    assert sorted(results.of()[:2]) == [("a", 1001), ("b", 1002)]
    assert results.commits[0] == (2,)


class InBothDomains(KeyedProcessFunction):
    """Every record sets a timer of each domain, which read and change one state."""

    def open(self, runtime_context):
        self.fired = runtime_context.get_map_state(
            MapStateDescriptor("fired", Types.STRING(), Types.LONG())
        )

    def process_element(self, value, ctx):
        ctx.timer_service().register_processing_time_timer(1000 + value[1])
        ctx.timer_service().register_event_time_timer(value[1])

    def on_timer(self, timestamp, ctx):
        domain = ctx.time_domain().name
        self.fired.put(domain, (self.fired.get(domain) or 0) + 1)
        yield ctx.get_current_key(), domain, timestamp, self.fired.get(domain)


@pytest.mark.parametrize("backend", ["hashmap", "lmdb"])
@settings(max_examples=40, deadline=None)
@given(
    times=st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 10**6)), max_size=12, unique=True
    ),
    cut=st.integers(0, 12),
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple),
    parallelism=st.integers(1, 3),
    restart_every=st.sampled_from([None, 1, 2]),
    fail_every=st.sampled_from([None, 1, 2]),
)
def test_timers_that_are_due_fire_once_in_every_mode(
    backend, times, cut, sizes, parallelism, restart_every, fail_every
):
    schedule = Schedule(
        batch_sizes=sizes, restart_every=restart_every, fail_every=fail_every, backend=backend
    )

    def fired(mode, source):
        env = job(
            mode,
            source,
            lambda s: s.key_by(lambda v: v[0]).process(InBothDomains()),
            parallelism=parallelism,
        )
        return run_in_process(env, schedule).of()

    expected = sorted(
        each
        for key, time in times
        for each in ((key, "EVENT_TIME", time), (key, "PROCESSING_TIME", 1000 + time))
    )
    both = history_then_live(times[:cut], times[cut:])
    for mode, source in [
        (BATCH, CollectionSource.of(times)),
        (STREAMING, CollectionSource.of(times)),
        (STREAMING, both),
        (MIXED, both),
    ]:
        found = fired(mode, source)
        assert sorted(each[:3] for each in found) == expected
        for key, domain in {each[:2] for each in found}:
            counts = [n for *of, _, n in found if of == [key, domain]]
            assert sorted(counts) == list(range(1, len(counts) + 1))
