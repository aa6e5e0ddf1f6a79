"""Jobs without time: what they refuse, and what they do all the same."""

from __future__ import annotations

import pytest

from penstock.common import Configuration, Time
from penstock.connectors.python.collection import CollectionSource
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    KeyedProcessFunction,
    OneInputStreamOperator,
    ProcessFunction,
    StreamExecutionEnvironment,
    WatermarkStrategy,
)
from penstock.datastream.window import GlobalWindows, TumblingEventTimeWindows
from penstock.errors import (
    PenstockError,
    TimestampUnsupportedError,
    TypeMismatchError,
    WatermarkUnsupportedError,
)
from penstock.plan.physical import HandOver
from penstock.plan.programs import programs_of
from penstock.runtime.exchange.channel_writer import FrameSequence
from penstock.runtime.exchange.local_channel import ValueChannelWriter, make_channel_writer
from penstock.runtime.task.chain import OperatorChain
from penstock.state.level_state import NO_STATE
from penstock.testing import Schedule, run_in_process
from penstock.wire.elements import MAX_WATERMARK, MIN_TIMESTAMP, EndOfInput, Watermark
from penstock.wire.frame import FrameKind, load_payload, read_header
from tests.runtime.jobs import MODE_IDS, MODES

OFF = {"pipeline.force-timestamp-support": "false", "pipeline.auto-watermark-interval": "0"}
NONE = WatermarkStrategy.no_watermarks()


def environment(settings=(), parallelism=2):
    values = {"parallelism.default": str(parallelism), **OFF, **dict(settings)}
    return StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(values))


def run(then, settings=(), records=((1, 2), (2, 3), (1, 4))):
    env = environment(settings)
    stream = env.from_source(CollectionSource.of(list(records)), NONE, "numbers")
    then(stream).sink_to(DiscardingSink()).name("out")
    assert env.plan().is_timeless
    return run_in_process(env, Schedule(batch_sizes=(1,))).of("out")


class AsksTime(ProcessFunction):
    def process_element(self, value, ctx):
        yield ctx.timestamp()


class AsksTimeByKey(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield ctx.timestamp()


class AtTheEnd(KeyedProcessFunction):
    def process_element(self, value, ctx):
        assert ctx.timer_service().current_watermark() == MIN_TIMESTAMP
        ctx.timer_service().register_event_time_timer(value[1])

    def on_timer(self, timestamp, ctx):
        yield (ctx.get_current_key(), ctx.timestamp())


# FLIP-330, rule 5.
@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@pytest.mark.parametrize(
    "then",
    [
        lambda s: s.process(AsksTime()).name("asks"),
        lambda s: s.rebalance().process(AsksTime()).name("asks"),
        lambda s: s.key_by(lambda v: v[0]).process(AsksTimeByKey()).name("asks"),
    ],
    ids=["chained", "exchanged", "keyed"],
)
def test_asking_for_a_timestamp_tells_to_configure_a_strategy(mode, then):
    with pytest.raises(TimestampUnsupportedError) as caught:
        run(then, mode)
    assert caught.value.code == "TIME_NO_TIMESTAMPS"
    assert "'asks'" in caught.value.problem
    assert "watermark strategy" in caught.value.hint
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__


# FLIP-330, rule 6.
@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_the_end_of_input_fires_timers(mode):
    found = run(lambda s: s.key_by(lambda v: v[0]).process(AtTheEnd()), mode)
    assert sorted(found) == [(1, 2), (1, 4), (2, 3)]


# FLIP-330, rule 6.
@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_the_end_of_input_fires_windows_behind_several_exchanges(mode):
    def then(stream):
        windows = GlobalWindows.create_with_end_of_stream_trigger()
        moved = stream.rebalance().map(lambda v: v).rebalance().map(lambda v: v)
        return moved.key_by(lambda v: v[0]).window(windows).reduce(lambda a, b: (a[0], a[1] + b[1]))

    assert sorted(run(then, mode)) == [(1, 6), (2, 3)]


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_event_time_windows_say_that_records_have_no_timestamp(mode):
    windows = TumblingEventTimeWindows.of(Time.seconds(1))
    with pytest.raises(TypeMismatchError) as caught:
        run(lambda s: s.key_by(lambda v: v[0]).window(windows).reduce(max), mode)
    assert "assign_timestamps_and_watermarks" in caught.value.hint


@pytest.mark.parametrize("force", ["true", "false"])
@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_a_strategy_without_watermarks_may_be_assigned(mode, force):
    env = environment({**mode, "pipeline.force-timestamp-support": force})
    stream = env.from_collection([1, 2]).assign_timestamps_and_watermarks(NONE)
    stream.rebalance().map(lambda v: v).sink_to(DiscardingSink())
    assert sorted(run_in_process(env).of(0)) == [1, 2]


def level_one(then=lambda s: s.rebalance().map(lambda v: v).name("double")):
    env = environment(parallelism=1)
    then(env.from_collection([1, 2])).sink_to(DiscardingSink())
    plan = env.plan()
    (live,) = plan.runs
    return plan, programs_of(
        plan, live, tasks=1, max_frame_records=8, handed=HandOver(), job_parameters={}
    )


def written():
    found = []
    return found, lambda route, frame: found.append((route, frame))


def chain_of(program):
    found, emit = written()
    ids = [spec.id for spec in program.operators]
    return OperatorChain(program, ids, ids[:1], FrameSequence(0), emit, NO_STATE, 0), found


# FLIP-330, rule 4.
def test_a_watermark_at_an_operator_tells_to_turn_watermarks_off():
    _, programs = level_one()
    chain, _ = chain_of(programs[1])
    (entry,) = chain.entries.values()
    for speak in (lambda: entry.advance_watermark(5), lambda: entry.set_idle(True)):
        with pytest.raises(WatermarkUnsupportedError) as caught:
            speak()
        assert caught.value.code == "TIME_NO_WATERMARKS"
        assert "operator 'double'" in caught.value.problem
        assert "Remove watermark strategies" in caught.value.hint
        assert caught.value.origin is not None
        assert caught.value.origin.filename == __file__


# FLIP-330, rule 4.
def test_a_watermark_at_a_channel_tells_to_turn_watermarks_off():
    _, programs = level_one()
    found, emit = written()
    (spec,) = programs[0].outputs
    writer = make_channel_writer(spec, programs[0].settings, FrameSequence(0), emit)
    assert isinstance(writer, ValueChannelWriter)
    for speak in (lambda: writer.advance_watermark(5), lambda: writer.set_idle(False)):
        with pytest.raises(WatermarkUnsupportedError) as caught:
            speak()
        assert "'double'" in caught.value.problem
        assert caught.value.origin is not None
    assert found == []


# FLIP-330, rule 2.
def test_nothing_but_the_end_of_input_is_written_beside_values():
    _, programs = level_one()
    found, emit = written()
    (spec,) = programs[0].outputs
    writer = make_channel_writer(spec, programs[0].settings, FrameSequence(0), emit)
    writer.start_split(0, 0)
    writer.collect([1, 2], [5, 6])
    writer.separate()
    writer.send_watermark(0, 0, finished=True)
    writer.flush()
    assert [read_header(frame).kind for _, frame in found] == [FrameKind.RECORDS]
    assert read_header(found[0][1]).flags == 0
    writer.advance_watermark(MAX_WATERMARK)
    writer.send_watermark(3, 0, finished=False)
    writer.send_watermark(3, 0, finished=False)
    control = [load_payload(frame) for _, frame in found[1:]]
    assert control == [(EndOfInput(3),)]


def test_watermarks_handed_over_are_forgotten_but_for_ends_of_input():
    plan, _ = level_one()
    (live,) = plan.runs
    handed = HandOver({0: {0: 5}, 1: {-1: MAX_WATERMARK}})
    programs = programs_of(
        plan, live, tasks=1, max_frame_records=8, handed=handed, job_parameters={}
    )
    marks = programs[1].settings.initial_watermarks
    assert marks == {0: {0: MIN_TIMESTAMP}, 1: {0: MAX_WATERMARK}}


def test_errors_pickle():
    for error in (
        TimestampUnsupportedError("a", hint="b"),
        WatermarkUnsupportedError("a", hint="b"),
    ):
        back = PenstockError.from_wire(error.to_wire())
        assert type(back) is type(error)
    assert Watermark(0, 0, 5, finished=False).timestamp_ms == 5


class EmitsWatermarks(OneInputStreamOperator):
    def process_element(self, value, ctx):
        self.output.collect(value)
        self.output.emit_watermark(5)


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("keyed", [False, True])
def test_an_operator_of_the_users_own_may_emit_no_watermark(mode, keyed):
    env = environment(mode)
    stream = env.from_collection([1, 2])
    stream = stream.key_by(lambda n: n) if keyed else stream.rebalance()
    stream.transform("emits", None, EmitsWatermarks()).sink_to(DiscardingSink())
    assert env.plan().is_timeless
    with pytest.raises(WatermarkUnsupportedError, match="operator 'emits'"):
        run_in_process(env)
