"""Which jobs run without time (FLIP-330 §1.3), and which channels leave timestamps out."""

from __future__ import annotations

import pytest

from penstock.common import Configuration, Time, Types
from penstock.connectors.python.collection import RecordedSource
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import ProcessFunction, StreamExecutionEnvironment, WatermarkStrategy
from penstock.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from penstock.plan.explain.render import render_text
from penstock.program.channel import SINK_LEVEL, ChannelTime
from tests.testing.timed_programs import Folded, Reminders, Stamp, strategy_of

FORCE = "pipeline.force-timestamp-support"
AUTO = "pipeline.auto-watermark-interval"
DROP = "pipeline.drop-unused-timestamps"
OFF = {FORCE: "false", AUTO: "0"}
RECORDS = [(1, 2, 3), (1, 4, 5)]
NONE = WatermarkStrategy.no_watermarks()


def key_of(record):
    return record[0]


def plan_of(then, settings, *, stamped=False, strategy=NONE):
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"parallelism.default": "2", **settings})
    )
    times = [record[1] for record in RECORDS] if stamped else None
    source = RecordedSource.of(RECORDS, times, Types.PICKLED_BYTE_ARRAY())
    then(env.from_source(source, strategy, "numbers")).sink_to(DiscardingSink()).name("out")
    return env.plan()


def said(plan):
    return [d for d in plan.decisions if d.subject == "timestamps of records"]


JOBS = {
    "map": (lambda s: s.map(key_of), True),
    "session": (
        lambda s: s.window_all(EventTimeSessionWindows.with_gap(Time.seconds(1))).reduce(max),
        True,
    ),
    "process": (lambda s: s.process(Stamp()), True),
    "timers": (lambda s: s.key_by(key_of).process(Reminders()), True),
    "no watermarks": (lambda s: s.assign_timestamps_and_watermarks(NONE), True),
    "monotonous": (
        lambda s: s.assign_timestamps_and_watermarks(WatermarkStrategy.for_monotonous_timestamps()),
        False,
    ),
    "assigner": (
        lambda s: s.assign_timestamps_and_watermarks(
            NONE.with_timestamp_assigner(lambda record, _: record[1])
        ),
        False,
    ),
    "timers behind timers": (
        lambda s: (
            s.key_by(key_of).process(Reminders()).map(lambda v: v).key_by(key_of).map(Folded())
        ),
        False,
    ),
}


# FLIP-330, rule 1.
@pytest.mark.parametrize(("then", "is_on"), JOBS.values(), ids=JOBS)
def test_a_job_without_strategy_runs_without_time(then, is_on):
    plan = plan_of(then, OFF)
    assert plan.is_timeless is is_on
    if is_on:
        assert {channel.time for channel in plan.channels} == {ChannelTime.NONE}
        assert all(op.is_timeless for level in plan.levels for op in level.operators)
    else:
        assert ChannelTime.NONE not in {channel.time for channel in plan.channels}
        assert not any(op.is_timeless for level in plan.levels for op in level.operators)


# FLIP-330, rule 1.
@pytest.mark.parametrize(
    ("settings", "choice"),
    [
        ({}, None),
        ({AUTO: "0"}, None),
        ({FORCE: "true", AUTO: "0"}, None),
        ({FORCE: "false"}, "kept"),
        ({FORCE: "false", AUTO: "1 ms"}, "kept"),
        (OFF, "none, and no watermarks"),
    ],
)
def test_every_condition_has_to_hold(settings, choice):
    plan = plan_of(JOBS["map"][0], settings)
    assert [decision.choice for decision in said(plan)] == ([choice] if choice else [])
    assert plan.is_timeless is (choice not in (None, "kept"))


def test_the_plan_says_why():
    (kept,) = said(plan_of(JOBS["monotonous"][0], OFF))
    assert "'timestamps' has a watermark strategy" in kept.reason
    (kept,) = said(plan_of(JOBS["map"][0], {FORCE: "false"}))
    assert AUTO in kept.reason
    (kept,) = said(plan_of(JOBS["timers behind timers"][0], OFF))
    assert "in order of time" in kept.reason
    text = render_text(plan_of(lambda s: s.map(key_of).rebalance().map(str), OFF))
    assert "(rebalance, values only)" in text
    assert "timestamps of records: none, and no watermarks, because" in text


def test_timestamps_of_a_source_count_where_order_does():
    assert plan_of(lambda s: s.map(key_of), OFF, stamped=True).is_timeless
    assert plan_of(lambda s: s.process(Stamp()), OFF, stamped=True).is_timeless
    assert not plan_of(lambda s: s.key_by(key_of).sum(2), OFF, stamped=True).is_timeless
    assert plan_of(lambda s: s.key_by(key_of).sum(2), OFF).is_timeless


class Silent(ProcessFunction):
    def process_element(self, value, ctx):
        yield value


WINDOW = TumblingEventTimeWindows.of(Time.milliseconds(10))

CHANNELS = {
    "maps": (lambda s: s.rebalance().map(key_of), "STREAMING", "w"),
    "function with a context": (lambda s: s.rebalance().process(Silent()), "STREAMING", "f"),
    "map before a process": (
        lambda s: s.rebalance().map(key_of).rebalance().process(Silent()),
        "STREAMING",
        "ff",
    ),
    "map behind a process": (
        lambda s: s.rebalance().process(Silent()).rebalance().map(key_of),
        "STREAMING",
        "fw",
    ),
    "sum, live": (lambda s: s.key_by(key_of).sum(2), "STREAMING", "w"),
    "sum, batch": (lambda s: s.key_by(key_of).sum(2), "BATCH", "f"),
    "keyed state, live": (lambda s: s.key_by(key_of).map(Folded()), "STREAMING", "w"),
    "window": (
        lambda s: s.key_by(key_of).window(WINDOW).reduce(max).rebalance().map(key_of),
        "STREAMING",
        "fw",
    ),
    "assigned again": (
        lambda s: (
            s.rebalance().assign_timestamps_and_watermarks(strategy_of()).rebalance().map(key_of)
        ),
        "STREAMING",
        "fw",
    ),
    "one of two looks": (
        lambda s: (
            s.rebalance().map(lambda v: v).union(s.rebalance().process(Silent())).map(lambda v: v)
        ),
        "STREAMING",
        "wf",
    ),
}


@pytest.mark.parametrize(("then", "mode", "wanted"), CHANNELS.values(), ids=CHANNELS)
def test_timestamps_go_where_somebody_looks(then, mode, wanted):
    def times(settings):
        plan = plan_of(then, {"execution.runtime-mode": mode, **settings}, strategy=strategy_of())
        return plan, [channel for channel in plan.channels if channel.target_level != SINK_LEVEL]

    plan, channels = times({})
    full = {"f": ChannelTime.FULL, "w": ChannelTime.WATERMARKS}
    assert [channel.time for channel in channels] == [full[letter] for letter in wanted]
    left_out = [d for d in plan.decisions if d.choice == "left out"]
    assert len(left_out) == wanted.count("w")
    assert ("no timestamps" in render_text(plan)) is ("w" in wanted)
    sinks = [channel for channel in plan.channels if channel.target_level == SINK_LEVEL]
    assert all(channel.time is ChannelTime.WATERMARKS for channel in sinks)
    _, channels = times({DROP: "false"})
    assert {channel.time for channel in channels} == {ChannelTime.FULL}


def test_what_is_left_out_is_left_out_where_it_begins():
    def operators(then):
        plan = plan_of(then, {}, strategy=strategy_of())
        return {op.name: op.drops_timestamps for level in plan.levels for op in level.operators}

    found = operators(lambda s: s.map(key_of).name("a").rebalance().map(str).name("b"))
    assert found == {"timestamps": True, "a": True, "b": True}
    found = operators(lambda s: s.map(key_of).name("a").rebalance().process(Silent()).name("b"))
    assert found == {"timestamps": False, "a": False, "b": True}


def test_a_job_that_has_no_timestamps_says_nothing_about_them():
    plan = plan_of(lambda s: s.rebalance().map(key_of), {})
    assert {channel.time for channel in plan.channels} == {ChannelTime.FULL}
    assert "timestamps" not in render_text(plan)
