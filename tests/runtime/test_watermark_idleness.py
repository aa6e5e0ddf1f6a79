"""Idle splits and sources hold no watermark back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Duration, Watermark, WatermarkGenerator, WatermarkOutput
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import WatermarkStrategy
from penstock.datastream.functions import KeyedProcessFunction
from penstock.errors import ArgumentError
from penstock.plan.physical import HandOver
from penstock.plan.programs import programs_of
from penstock.program.channel import SINK_LEVEL, WatermarkGroup
from penstock.program.level import OperatorSpec
from penstock.program.operators import TIMESTAMPS
from penstock.program.run_settings import RunKind, RunSettings
from penstock.program.timestamps import TimestampSpec
from penstock.runtime.functions.context import OperatorContext
from penstock.runtime.operators import timestamps
from penstock.runtime.task.level_zero import LevelZero
from penstock.runtime.task.live_subtask import LiveLevel
from penstock.runtime.time.watermarks import ChannelWatermarks, combined_watermark
from penstock.state.backends.hash.backend import HashBackend
from penstock.wire import elements
from penstock.wire.elements import MAX_WATERMARK, MIN_TIMESTAMP, EndOfInput, WatermarkStatus
from penstock.wire.frame import FrameKind, decode_records, read_header
from tests.runtime.jobs import STREAMING, Splits, by_time, environment

IDLE_MS = 1000


def channel(*groups: tuple[int, int]) -> ChannelWatermarks:
    return ChannelWatermarks([WatermarkGroup(*group, IDLE_MS) for group in groups], {})


def say(marks: ChannelWatermarks, group: int, split: int, stamp: int, now_ms: int = 0) -> int:
    marks.now_ms = now_ms
    marks.accept(elements.Watermark(group, split, stamp, finished=False))
    return marks.current


def tick(marks: ChannelWatermarks, now_ms: int) -> tuple[int, bool]:
    marks.now_ms = now_ms
    marks.detect_idleness()
    return marks.current, marks.idle


def test_a_silent_split_is_not_waited_for() -> None:
    marks = channel((0, 2))
    say(marks, 0, 0, 5)
    say(marks, 0, 1, 100)
    assert marks.current == 5
    assert say(marks, 0, 1, 200, now_ms=999) == 5
    assert tick(marks, 999) == (5, False)
    assert tick(marks, 1000) == (200, False)


def test_it_is_waited_for_again_from_its_next_record_on() -> None:
    marks = channel((0, 2))
    say(marks, 0, 0, 5)
    say(marks, 0, 1, 100, now_ms=1000)
    assert tick(marks, 1000) == (100, False)
    say(marks, 0, 0, 110, now_ms=1100)
    assert say(marks, 0, 1, 200, now_ms=1100) == 110


def test_a_record_without_a_new_watermark_breaks_the_silence_as_well() -> None:
    marks = channel((0, 2))
    say(marks, 0, 0, 5)
    say(marks, 0, 1, 100)
    marks.now_ms = 900
    marks.accept(WatermarkStatus(0, 0, idle=False))
    say(marks, 0, 1, 200, now_ms=900)
    assert tick(marks, 1000) == (5, False)
    assert marks.next_idle_time() == 1900


def test_splits_that_never_spoke_are_waited_for_from_the_first_look_on() -> None:
    marks = channel((0, 2))
    assert say(marks, 0, 0, 50) == MIN_TIMESTAMP
    assert tick(marks, 0) == (MIN_TIMESTAMP, False)
    say(marks, 0, 0, 60, now_ms=1000)
    assert tick(marks, 1000) == (60, False)


def test_a_group_whose_splits_come_and_go_is_idle_as_a_whole() -> None:
    marks = channel((0, 0), (1, 1))
    say(marks, 0, 3, 7)
    say(marks, 1, 0, 20)
    tick(marks, 0)
    say(marks, 1, 0, 30, now_ms=1000)
    assert tick(marks, 1000) == (30, False)


def test_where_all_are_idle_the_greatest_counts_and_the_channel_is_idle() -> None:
    marks = channel((0, 2))
    say(marks, 0, 0, 5)
    say(marks, 0, 1, 100)
    assert tick(marks, 1000) == (100, True)
    marks.accept(WatermarkStatus(0, 0, idle=False))
    assert (marks.current, marks.idle) == (100, False)


def test_what_ended_does_not_push_an_idle_rest_to_the_end() -> None:
    marks = channel((0, 1), (1, 1))
    say(marks, 0, 0, 5)
    marks.accept(EndOfInput(1))
    assert tick(marks, 5000) == (5, True)
    marks.accept(EndOfInput(0))
    assert marks.current == MAX_WATERMARK


def test_without_an_idle_time_nobody_is_ever_idle() -> None:
    marks = ChannelWatermarks([WatermarkGroup(0, 2)], {})
    say(marks, 0, 0, 5)
    say(marks, 0, 1, 100)
    assert tick(marks, 10**9) == (5, False)
    assert marks.next_idle_time() is None


@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 50), st.integers(0, 700))
    ),
    st.integers(0, 20),
)
def test_never_goes_back_and_survives_a_restart(
    said: list[tuple[int, int, int, int]], restart: int
) -> None:
    whole, cut = channel((0, 2), (1, 0)), channel((0, 2), (1, 0))
    seen, now_ms = [], 0
    for number, (group, split, stamp, passed) in enumerate(said):
        now_ms += passed
        if number == restart:
            memory, cut = cut.remember(), channel((0, 2), (1, 0))
            cut.restore(memory)
        for marks in (whole, cut):
            say(marks, group, split, stamp, now_ms)
            tick(marks, now_ms)
        assert (cut.current, cut.idle) == (whole.current, whole.idle)
        seen.append(whole.current)
    assert seen == sorted(seen)


def test_inputs_combine_to_the_least_of_those_waited_for() -> None:
    assert combined_watermark([(5, False), (3, True), (7, False)]) == 5
    assert combined_watermark([(5, True), (3, True)]) == 5
    assert combined_watermark([(MAX_WATERMARK, False), (3, True)]) == 3
    assert combined_watermark([(MAX_WATERMARK, False)] * 2) == MAX_WATERMARK


class Sees(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        yield value[1], ctx.timer_service().current_watermark()


class TwoSources:
    """Two unbounded sources united before a keyed function, driven step by step."""

    def __init__(self, strategy: WatermarkStrategy) -> None:
        env = environment(STREAMING, 1)
        streams = [env.from_source(Splits(((),)), strategy, name) for name in "ab"]
        both = streams[0].union(streams[1]).map(lambda r: r)
        same = both.key_by(lambda r: r[0]).process(Same())
        same.key_by(lambda r: r[0]).process(Sees()).sink_to(DiscardingSink())
        plan = env.plan()
        self.sources = [source.id for source in plan.sources]
        programs = programs_of(
            plan,
            plan.runs[0],
            tasks=1,
            max_frame_records=100,
            handed=HandOver(),
            job_parameters={},
            open_splits={(source, 0): 1 for source in self.sources},
        )
        self.zero = programs[0]
        self.now_ms = 0
        self.levels = [LiveLevel(p, 0, HashBackend(), lambda: self.now_ms) for p in programs[1:]]

    def step(self, now_ms: int, *read: tuple[int, list[Any]]) -> list[Any]:
        """Return the records of one micro-batch, which reads some of sources 0 and 1."""
        self.now_ms = now_ms
        zero = LevelZero(self.zero, 0)
        for index, values in read:
            zero.start_split(self.sources[index], 0)
            zero.collect(self.sources[index], values, None)
            zero.finish_split(self.sources[index], 0, finished=False)
        zero.close()
        frames = [frame for _, frame in zero.take_output()]
        for level in self.levels:
            frames = [frame for _, frame in level.process(frames)]
        found = []
        for frame in frames:
            header = read_header(frame)
            if header.kind is FrameKind.RECORDS and header.target_level == SINK_LEVEL:
                found += decode_records(header, frame)[0]
        return found


class Same(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        yield value


def test_a_source_without_records_holds_the_other_back_until_it_is_idle() -> None:
    both = TwoSources(by_time().with_idleness(Duration.of_millis(IDLE_MS)))
    both.step(0, (0, [("k", 10)]), (1, [("k", 1)]))
    assert both.step(500, (0, [("k", 20)])) == [(20, 0)]
    assert both.step(1000, (0, [("k", 30)])) == [(30, 0)]
    assert both.step(1100, (0, [("k", 40)])) == [(40, 29)]
    both.step(1200, (1, [("k", 35)]))
    assert both.step(1300, (0, [("k", 50)])) == [(50, 39)]
    assert both.step(1400, (0, [("k", 60)])) == [(60, 39)]


def test_without_idleness_it_holds_back_for_ever() -> None:
    both = TwoSources(by_time())
    both.step(0, (0, [("k", 10)]), (1, [("k", 1)]))
    both.step(10**6, (0, [("k", 20)]))
    assert both.step(10**7, (0, [("k", 30)])) == [(30, 0)]


class IdleAfterZero(WatermarkGenerator):
    """Idle from a record with time 0 on."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        if event_timestamp == 0:
            output.mark_idle()
        else:
            output.emit_watermark(Watermark(event_timestamp))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


def test_a_generator_may_say_that_its_split_is_idle() -> None:
    strategy = WatermarkStrategy.for_generator(IdleAfterZero).with_timestamp_assigner(
        lambda r, _: r[1]
    )
    both = TwoSources(strategy)
    both.step(0, (0, [("k", 10)]), (1, [("k", 5)]))
    assert both.step(1, (0, [("k", 20)])) == [(20, 5)]
    both.step(2, (1, [("k", 0)]))
    assert both.step(3, (0, [("k", 30)])) == [(30, 20)]
    both.step(4, (1, [("k", 25)]))
    assert both.step(5, (0, [("k", 40)])) == [(40, 30)]
    assert both.step(6, (0, [("k", 50)])) == [(50, 30)]


def test_behind_an_exchange_the_operator_measures_the_silence_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [0]
    monkeypatch.setattr(timestamps, "time_ns", lambda: clock[0] * 1_000_000)
    spec = OperatorSpec(
        1,
        "t",
        "t",
        TIMESTAMPS,
        None,
        None,
        None,
        timestamps=TimestampSpec(None, 0, None, IDLE_MS),
    )
    settings = RunSettings(RunKind.LIVE, 1, 128, routes=(0,))
    out = Statuses()
    operator = timestamps.TimestampsOperator(spec, out, OperatorContext(spec, settings, 0))
    for now_ms, values in [(0, [1]), (900, []), (1000, []), (1100, []), (1200, [2])]:
        clock[0] = now_ms
        if values:
            operator.process(values, [now_ms])
        operator.finish_batch()
    assert out.said == [False, -1, True, False, 1199]


class Statuses:
    """Logs watermarks and statuses."""

    def __init__(self) -> None:
        self.said: list[Any] = []
        self.advance_watermark = self.set_idle = self.said.append

    def collect(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Records do not matter here."""

    def restore_watermark(self, watermark: int) -> None:
        """Nor does this."""

    def separate(self) -> None:
        """Nor this."""

    def set_backlog(self, backlog: bool) -> None:
        """Nor this."""


def test_the_level_says_when_it_wants_to_be_called_to_notice_silence() -> None:
    both = TwoSources(by_time().with_idleness(Duration.of_millis(IDLE_MS)))
    both.step(100, (0, [("k", 10)]), (1, [("k", 1)]))
    marks = both.levels[0]._watermarks
    assert marks.next_idle_time() == 100 + IDLE_MS
    both.step(100 + IDLE_MS)
    assert marks.next_idle_time() is None


def test_methods_keep_what_other_methods_set_in_any_order() -> None:
    second = Duration.of_seconds(1)

    def assigner(value: Any, previous: int) -> int:
        return 0

    steps = {
        "assigner": lambda s: s.with_timestamp_assigner(assigner),
        "idle": lambda s: s.with_idleness(second),
        "aligned": lambda s: s.with_watermark_alignment("g", second),
    }
    start = WatermarkStrategy.for_bounded_out_of_orderness(second)
    for order in (["assigner", "idle", "aligned"], ["idle", "aligned", "assigner"]):
        made = start
        for step in order:
            made = steps[step](made)
        marks = made.watermarking()
        assert marks is not None
        assert (marks.assigner, marks.out_of_orderness_ms, marks.idle_ms) == (assigner, 1000, 1000)
        assert made.alignment is not None
        assert (made.alignment.group, made.alignment.update_interval_ms) == ("g", 1000)


@pytest.mark.parametrize("timeout", [5, None, Duration.of_millis(0)])
def test_an_idle_time_is_a_positive_duration(timeout: Any) -> None:
    with pytest.raises(ArgumentError):
        WatermarkStrategy.no_watermarks().with_idleness(timeout)
