"""Local channels: operators that are not chained, and need no exchange.

Every answer is compared with that of chained operators elsewhere (`tests/testing/test_law.py`,
`test_exchange.py`, `test_timeless.py`); here is what only a local channel does.
"""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import MapFunction, OutputTag, ProcessFunction, WatermarkStrategy
from penstock.errors import UserCodeError
from penstock.plan.physical import HandOver
from penstock.plan.programs import programs_of
from penstock.program.channel import ChannelTime
from penstock.runtime.exchange.local_channel import LocalChannel
from penstock.runtime.task.level_zero import LevelZero
from penstock.testing import Schedule, run_in_process
from penstock.wire.frame import FrameKind, decode_records, read_header
from tests.runtime.jobs import (
    BATCH,
    MIN,
    MODE_IDS,
    MODES,
    STREAMING,
    Splits,
    by_time,
    environment,
    history_then_live,
    job,
)

UNCHAINED = {"pipeline.operator-chaining.enabled": "false"}
REUSE = {"pipeline.object-reuse": "true"}
TAG = OutputTag("aside")


class Spoils(MapFunction):
    """Changes what it gets."""

    def map(self, value):
        value.append("spoilt")
        return len(value)


class Marks(ProcessFunction):
    """Tells the time of a record, and the watermark before it."""

    def process_element(self, value, ctx):
        yield value[0], ctx.timestamp(), ctx.timer_service().current_watermark()


def records(count):
    return tuple((number, number) for number in range(count))


@pytest.mark.parametrize("settings_", MODES, ids=MODE_IDS)
def test_the_reader_gets_objects_of_its_own_although_objects_are_reused(settings_):
    def then(stream):
        made = stream.map(lambda record: [record])
        spoilt = made.map(Spoils()).disable_chaining()
        return spoilt.union(made.map(len).disable_chaining())

    env = job(settings_ | REUSE, history_then_live(records(2), records(4)[2:]), then)
    assert sorted(run_in_process(env).of("out")) == [1] * 4 + [2] * 4


@pytest.mark.parametrize("settings_", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("chained", [True, False])
def test_times_go_through_in_place(settings_, chained):
    def then(stream):
        moved = stream.key_by(lambda _: 0).filter(lambda _: True)  # behind the exchange
        return moved.map(lambda r: r).process(Marks())

    env = job(
        settings_ if chained else settings_ | UNCHAINED,
        history_then_live(records(3), records(6)[3:]),
        then,
        strategy=by_time(),
        parallelism=1,
    )
    found = run_in_process(env, Schedule(tasks=1, batch_sizes=(2,))).of("out")
    assert [(number, time) for number, time, _ in sorted(found)] == [(n, n) for n in range(6)]
    marks = [mark for *_, mark in sorted(found)]
    assert marks == sorted(marks)
    if settings_ is STREAMING:
        assert marks[0] == MIN
        assert marks[-1] > MIN, "the watermark of an earlier micro-batch has gone through"


def program_of(settings_, then, *, strategy=None, frame_records=3):
    env = environment(settings_, 1)
    source = Splits((tuple(range(7)),))
    stream = env.from_source(source, strategy or WatermarkStrategy.no_watermarks(), "numbers")
    then(stream).sink_to(DiscardingSink())
    plan = env.plan()
    (run,) = plan.runs
    return programs_of(
        plan, run, tasks=1, max_frame_records=frame_records, handed=HandOver(), job_parameters={}
    )[0]


def test_frames_are_no_larger_than_others(monkeypatch):
    sizes = []
    read = LocalChannel._read

    def counted(self, route, frame):
        sizes.append(read_header(frame).count)
        read(self, route, frame)

    monkeypatch.setattr(LocalChannel, "_read", counted)
    zero = LevelZero(program_of(BATCH | UNCHAINED, lambda s: s.map(abs).map(abs)), 0)
    (source,) = zero._program.source_operators
    zero.collect(source, list(range(7)), None)
    assert sizes == [3, 3, 1]
    frames = [frame for _, frame in zero.take_output()]
    found = [decode_records(read_header(frame), frame)[0] for frame in frames]
    assert [value for values in found for value in values] == list(range(7))


@pytest.mark.parametrize(
    ("time", "arrived"),
    [
        (ChannelTime.FULL, [7, 8]),
        (ChannelTime.WATERMARKS, [MIN] * 2),
        (ChannelTime.NONE, [MIN] * 2),
    ],
)
def test_timestamps_travel_only_where_somebody_looks(time, arrived):
    program = program_of(STREAMING | UNCHAINED, lambda s: s.map(abs).process(Told()))
    (local,) = program.local_channels
    zero = LevelZero(replace(program, local_channels=(replace(local, time=time),)), 0)
    (source,) = program.source_operators
    Told.times.clear()
    zero.collect(source, [1, 2], [7, 8])
    assert Told.times == arrived


class Told(ProcessFunction):
    """Notes the times of records."""

    times: list[int] = []  # noqa: RUF012 - the test looks at it

    def process_element(self, value, ctx):
        self.times.append(ctx.timestamp())
        yield value


def test_a_record_that_cannot_be_pickled_is_named():
    env = job(BATCH | UNCHAINED, Splits((records(2),)), lambda s: s.map(Locked()).map(str))
    with pytest.raises(UserCodeError, match="of type lock cannot be sent on") as caught:
        run_in_process(env)
    assert caught.value.origin is not None


class Locked(MapFunction):
    """Keeps nothing, so that its results are not copied."""

    def map(self, value):
        return threading.Lock()

    def is_output_value_stored(self):
        return False


class Aside(ProcessFunction):
    def process_element(self, value, ctx):
        yield TAG, value


def test_side_outputs_and_sinks_are_reached_through_local_channels():
    def then(stream):
        aside = stream.process(Aside()).get_side_output(TAG)
        return aside.map(lambda r: r[0]).disable_chaining().map(lambda n: n * 10)

    env = job(STREAMING, Splits((records(3),)), then)
    plan = env.plan()
    assert len(plan.levels) == 1
    assert sum(channel.is_local for channel in plan.channels) == 2
    assert sorted(run_in_process(env).of("out")) == [0, 10, 20]


def test_a_latency_marker_arrives_at_the_reader():
    env = job(
        STREAMING | UNCHAINED | {"metrics.latency.interval": "1 ms"},
        Splits((records(5),)),
        lambda s: s.map(abs_of).uid("first").map(abs_of).uid("second"),
    )
    found = run_in_process(env, Schedule(batch_sizes=(1,))).report.metrics
    assert {name for name in found if ".latency." in name} == {
        "timestamps of records-1.latency.records-1",
        "first.latency.records-1",
        "second.latency.records-1",
        "sink-0.latency.records-1",
    }


def abs_of(record):
    return record


def test_only_records_become_frames(monkeypatch):
    kinds = set()
    read = LocalChannel._read

    def noted(self, route, frame):
        kinds.add(read_header(frame).kind)
        read(self, route, frame)

    monkeypatch.setattr(LocalChannel, "_read", noted)
    env = job(STREAMING | UNCHAINED, Splits((records(5),)), lambda s: s.map(abs_of).map(abs_of))
    run_in_process(env, Schedule(batch_sizes=(1,)))
    assert kinds == {FrameKind.RECORDS}
