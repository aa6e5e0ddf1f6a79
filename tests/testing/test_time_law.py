"""Leaving timestamps out never changes an answer; nor does a job that runs without time.

Each program runs with and without, everything else being equal, and every result is compared, intermediate ones included. This
finds a step that looks at timestamps and was thought not to; what both ways get wrong together is for `test_law`.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.datastream import WatermarkStrategy
from penstock.errors import TimestampUnsupportedError
from penstock.program.channel import SINK_LEVEL, ChannelTime
from penstock.runtime.exchange import channel_writer
from penstock.testing import Way, WayMode
from penstock.testing.law.verdict import WayRun
from penstock.wire.frame import encode_records
from tests.testing.laws import ALL_RESULTS, inputs_of, program_of, require_same, run, sample_of
from tests.testing.strategies import ways_of
from tests.testing.timed_programs import ALL, KEYED, LOOKING, PLAIN, TIMING, build, strategy_of

# A run that fails, as some must here, leaves the files of the other backend to the collector.
HASHMAP = {"backend": "hashmap"}
TIMELESS = {
    "pipeline.force-timestamp-support": "false",
    "pipeline.auto-watermark-interval": "0",
}

records = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 60), st.integers(1, 20)), max_size=30
)


def steps_of(*tables):
    names = sorted(name for table in tables for name in table)
    return st.lists(st.sampled_from(names), min_size=1, max_size=4).map(tuple)


def checked(steps, found, strategy=None, *, stamped):
    """Return a program whose results are all compared, and its inputs."""
    made = program_of(
        build(steps, strategy or WatermarkStrategy.no_watermarks()), {"out": ALL_RESULTS}
    )
    stamps = [record[1] for record in found] if stamped else None
    return made, inputs_of(made, {"numbers": sample_of(found, stamps=stamps)})


@pytest.mark.parametrize("mode", WayMode)
@settings(max_examples=40)
@given(
    steps=steps_of(ALL),
    found=records,
    stamped=st.booleans(),
    has_strategy=st.booleans(),
    data=st.data(),
)
def test_leaving_unused_timestamps_out_changes_nothing(
    mode, steps, found, stamped, has_strategy, data
):
    way = data.draw(ways_of(mode, **HASHMAP))
    made, inputs = checked(steps, found, strategy_of() if has_strategy else None, stamped=stamped)
    ways = (replace(way, drop_timestamps=drop) for drop in (True, False))
    require_same(made, *(WayRun(way, made.run(inputs, way)) for way in ways))


@pytest.mark.parametrize("mode", WayMode)
@settings(max_examples=30)
@given(
    steps=steps_of(PLAIN, KEYED, LOOKING, TIMING),
    found=records,
    stamped=st.booleans(),
    data=st.data(),
)
def test_a_job_without_time_answers_the_same_or_is_refused(mode, steps, found, stamped, data):
    assume("restamp" not in steps)
    way = data.draw(ways_of(mode, **HASHMAP))
    made, inputs = checked(steps, found, stamped=stamped)
    timeless = made.with_settings(TIMELESS)
    without = WayRun(way, timeless.run(inputs, way))
    failure = without.outcome.failure
    if failure is not None and failure.code == TimestampUnsupportedError.code:
        assert set(steps) & set(LOOKING)
        assert timeless.plan(inputs, way).is_timeless
    else:
        require_same(made, WayRun(way, made.run(inputs, way)), without)


@pytest.mark.parametrize("mode", WayMode)
@settings(max_examples=20)
@given(found=records, data=st.data())
def test_steps_that_look_at_nothing_run_without_time(mode, found, data):
    steps = ("apart", "rebalance", "map", "fold", "remind")
    made, inputs = checked(steps, found, stamped=False)
    made = made.with_settings(TIMELESS)
    way = data.draw(ways_of(mode, parallelism=2, **HASHMAP))
    plan = made.plan(inputs, way)
    assert plan.is_timeless
    assert {channel.time for channel in plan.channels} == {ChannelTime.NONE}
    # The timers fire at the end of input: one per key and time.
    wanted = {(record[0], record[1] + 3) for record in found}
    (received,) = run(made, inputs, way).outcome.received
    assert {result[:2] for result in received.records} == wanted


def test_frames_of_channels_without_timestamps_have_none(monkeypatch):
    seen: dict[int, set[bool]] = {}

    def spy(header, values, timestamps, form):
        seen.setdefault(header.channel, set()).add(timestamps is None)
        return encode(header, values, timestamps, form)

    encode = encode_records
    monkeypatch.setattr(channel_writer, "encode_records", spy)
    found = [(1, 5, 5), (2, 6, 6), (1, 7, 7)]
    made, inputs = checked(
        ("apart", "apart", "window", "apart"), found, strategy_of(), stamped=True
    )
    way = Way(WayMode.STREAMING, parallelism=2, cut=0.4)
    run(made, inputs, way)
    plan = made.plan(inputs, way)
    before_window = next(c for c in plan.channels if c.key_selector is not None)
    for channel in plan.channels:
        bare = channel.id > before_window.id or channel.target_level == SINK_LEVEL
        assert (channel.time is ChannelTime.WATERMARKS) is bare, channel
        assert seen[channel.id] == {bare}
