"""Leaving timestamps out never changes an answer; nor does a job that runs without time.

Differential: each program runs with and without, everything else being equal, and every result is
compared, intermediate ones included. This finds a step that looks at timestamps and was thought not
to; what both ways get wrong together is for `test_law`.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.common import Configuration
from penstock.datastream import RuntimeExecutionMode, WatermarkStrategy
from penstock.errors import PenstockError, TimestampUnsupportedError
from penstock.program.channel import SINK_LEVEL, ChannelTime
from penstock.runtime.exchange import channel_writer
from penstock.testing import run_in_process
from penstock.wire.frame import encode_records
from tests.testing.programs import configuration
from tests.testing.test_law import MODES
from tests.testing.test_law import schedules as any_schedules
from tests.testing.timed_programs import ALL, KEYED, LOOKING, PLAIN, TIMING, build, strategy_of

BATCH, STREAMING = RuntimeExecutionMode.BATCH, RuntimeExecutionMode.STREAMING

# A run that fails, as some must here, leaves the files of the other backend to the collector.
schedules = any_schedules.map(lambda schedule: replace(schedule, backend="hashmap"))

records = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 60), st.integers(1, 20)), max_size=30
)


def steps_of(*tables):
    names = sorted(name for table in tables for name in table)
    return st.lists(st.sampled_from(names), min_size=1, max_size=4).map(tuple)


def settings_of(mode, backlog, parallelism, **more) -> Configuration:
    made = configuration(mode, parallelism, backlog=backlog)
    for key, value in more.items():
        made.set("pipeline." + key.replace("_", "-"), value)
    return made


def outcome(env, schedule):
    """Return every result in no order, or the code of the error."""
    try:
        return sorted(run_in_process(env, schedule).of("out"))
    except PenstockError as failed:
        return failed.code


@pytest.mark.parametrize(("mode", "backlog"), MODES)
@settings(max_examples=40)
@given(
    steps=steps_of(ALL),
    found=records,
    cut=st.integers(0, 30),
    schedule=schedules,
    parallelism=st.integers(1, 3),
    stamped=st.booleans(),
    has_strategy=st.booleans(),
)
def test_leaving_unused_timestamps_out_changes_nothing(
    *, mode, backlog, steps, found, cut, schedule, parallelism, stamped, has_strategy
):
    strategy = strategy_of() if has_strategy else WatermarkStrategy.no_watermarks()

    def run(drop: bool):
        options = settings_of(mode, backlog, parallelism, drop_unused_timestamps=drop)
        env = build(steps, found, cut, options, stamped=stamped, strategy=strategy)
        return outcome(env, schedule)

    assert run(True) == run(False)


@pytest.mark.parametrize(("mode", "backlog"), MODES)
@settings(max_examples=30)
@given(
    steps=steps_of(PLAIN, KEYED, LOOKING, TIMING),
    found=records,
    cut=st.integers(0, 30),
    schedule=schedules,
    parallelism=st.integers(1, 3),
    stamped=st.booleans(),
)
def test_a_job_without_time_answers_the_same_or_says_what_it_lacks(
    *, mode, backlog, steps, found, cut, schedule, parallelism, stamped
):
    assume("restamp" not in steps)

    def run(force: bool):
        options = settings_of(
            mode, backlog, parallelism, force_timestamp_support=force, auto_watermark_interval="0"
        )
        strategy = WatermarkStrategy.no_watermarks()
        env = build(steps, found, cut, options, stamped=stamped, strategy=strategy)
        return outcome(env, schedule), env.plan().is_timeless

    (kept, _), (without, is_timeless) = run(True), run(False)
    if without == TimestampUnsupportedError.code:
        assert is_timeless
        assert set(steps) & set(LOOKING)
    else:
        assert without == kept


@pytest.mark.parametrize(("mode", "backlog"), MODES)
@settings(max_examples=20)
@given(found=records, schedule=schedules)
def test_steps_that_look_at_nothing_run_without_time(mode, backlog, found, schedule):
    options = settings_of(
        mode, backlog, 2, force_timestamp_support=False, auto_watermark_interval="0"
    )
    steps = ("apart", "rebalance", "map", "fold", "remind")
    env = build(steps, found, 5, options, stamped=False, strategy=WatermarkStrategy.no_watermarks())
    plan = env.plan()
    assert plan.is_timeless
    assert {channel.time for channel in plan.channels} == {ChannelTime.NONE}
    # The timers fire at the end of input: one per key and time.
    wanted = {(record[0], record[1] + 3) for record in found}
    assert sorted({result[:2] for result in run_in_process(env, schedule).of("out")}) == sorted(
        wanted
    )


def test_frames_of_channels_without_timestamps_have_none(monkeypatch):
    seen: dict[int, set[bool]] = {}

    def spy(header, values, timestamps, form):
        seen.setdefault(header.channel, set()).add(timestamps is None)
        return encode(header, values, timestamps, form)

    encode = encode_records
    monkeypatch.setattr(channel_writer, "encode_records", spy)
    options = settings_of(STREAMING, False, 2)
    found = [(1, 5, 5), (2, 6, 6), (1, 7, 7)]
    env = build(
        ("apart", "apart", "window", "apart"),
        found,
        1,
        options,
        stamped=True,
        strategy=strategy_of(),
    )
    run_in_process(env)
    plan = env.plan()
    before_window = next(c for c in plan.channels if c.key_selector is not None)
    for channel in plan.channels:
        bare = channel.id > before_window.id or channel.target_level == SINK_LEVEL
        assert (channel.time is ChannelTime.WATERMARKS) is bare, channel
        assert seen[channel.id] == {bare}
