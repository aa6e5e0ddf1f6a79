"""Operators of the user's own: what they are told, when, and that state and results hold in every
mode, whatever micro-batches, workers and key groups make of it.
"""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.connectors.python.collection import CollectionSource
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    OneInputStreamOperator,
    OperatorAttributesBuilder,
    OutputTag,
    ProcessFunction,
    RecordAttributes,
    RecordAttributesBuilder,
    TwoInputStreamOperator,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from penstock.errors import ArgumentError, GraphError, UnkeyedStateError, UserFunctionError
from penstock.testing import OperatorHarness, Schedule, difference, run_in_process
from tests.runtime.jobs import (
    BATCH,
    MAX,
    MIN,
    MIXED,
    MODE_IDS,
    MODES,
    STREAMING,
    by_time,
    environment,
    history_then_live,
)
from tests.testing.strategies import schedules


class Protocol(OneInputStreamOperator):
    """Emits what it is told, in order."""

    def open(self, runtime_context):
        self.output.collect("open")

    def process_element(self, value, ctx):
        self.output.collect(value)

    def process_record_attributes(self, record_attributes):
        self.output.collect(record_attributes)
        super().process_record_attributes(record_attributes)

    def process_watermark(self, watermark):
        self.output.collect(watermark)
        super().process_watermark(watermark)

    def end_input(self):
        self.output.collect("end")


def by_no_time():
    return WatermarkStrategy.no_watermarks()


STALE, FRESH = RecordAttributes(backlog=True), RecordAttributes(backlog=False)


def told(mode, schedule=None, *, keyed=False, source=None, then=lambda s: s):
    env = environment(mode, 1)
    source = source or history_then_live([("a", 1), ("a", 2)], [("a", 3)])
    stream = env.from_source(source, by_time(), "records")
    stream = stream.key_by(lambda r: r[0]) if keyed else stream
    then(stream.transform("told", None, Protocol())).sink_to(DiscardingSink())
    return run_in_process(env, schedule).of()


@pytest.mark.parametrize("keyed", [False, True])
def test_a_batch_run_is_told_of_backlog_its_end_and_the_watermark(keyed):
    history, live = [("a", 1), ("a", 2)], [("a", 3)]
    in_batch = ["open", STALE, *history, FRESH, 1]
    in_live = ["open", FRESH, *live, 2, "end", MAX]
    assert told(MIXED, keyed=keyed) == in_batch + in_live


@pytest.mark.parametrize("keyed", [False, True])
def test_a_streaming_job_is_told_of_backlog_too(keyed):
    in_history = ["open", STALE, ("a", 1), ("a", 2), 1, FRESH]
    in_live = ["open", FRESH, ("a", 3), 2, "end", MAX]
    assert told(STREAMING, keyed=keyed) == in_history + in_live


@pytest.mark.parametrize("keyed", [False, True])
def test_batch_mode_has_no_backlog(keyed):
    records = [("a", 1), ("a", 2), ("a", 3)]
    assert told(BATCH, keyed=keyed) == ["open", FRESH, *records, "end", MAX]


def test_a_new_object_is_told_again_and_the_end_only_once():
    # Workers are lost before every micro-batch; nothing of it is in the checkpoint.
    source = CollectionSource.of([("a", 1), ("a", 2)])
    heard = told(STREAMING, Schedule(batch_sizes=(1,), restart_every=1), source=source)
    assert heard.count("open") == heard.count(FRESH) > 1
    assert heard.count("end") == 1
    assert heard[-2:] == ["end", MAX]


class Counted(OneInputStreamOperator):
    """Sums per key; holds sums back while in backlog and gives them when it is over."""

    def __init__(self, sorts_itself):
        self.sorts_itself = sorts_itself

    def get_operator_attributes(self):
        return OperatorAttributesBuilder().set_internal_sorter_supported(self.sorts_itself).build()

    def open(self, runtime_context):
        self.sums = runtime_context.get_state(ValueStateDescriptor("sums"))
        self.held = defaultdict(list)
        self.waits = False

    def process_element(self, value, ctx):
        if self.waits:
            self.held[ctx.get_current_key()].append(value)
        else:
            self.add([value])

    def process_record_attributes(self, record_attributes):
        self.waits = record_attributes.is_backlog()
        if not self.waits:
            self.give()
        super().process_record_attributes(record_attributes)

    def prepare_snapshot_pre_barrier(self):
        self.give()

    def end_input(self):
        self.give()

    def give(self):
        for key, values in self.held.items():
            self.keys.set_current_key(key)
            self.add(values)
        self.held.clear()

    def add(self, values):
        total = (self.sums.value() or 0) + sum(value[2] for value in values)
        self.sums.update(total)
        self.output.collect((self.keys.get_current_key(), total))


records = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.integers(0, 50), st.integers(1, 9)), max_size=30
)


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("sorts_itself", [False, True])
@settings(max_examples=20)
@given(found=records, cut=st.integers(0, 30), schedule=schedules, parallelism=st.integers(1, 3))
def test_what_is_held_back_during_backlog_is_not_lost(
    *, mode, sorts_itself, found, cut, schedule, parallelism
):
    env = environment(mode, parallelism)
    stream = env.from_source(history_then_live(found[:cut], found[cut:]), by_time(99), "records")
    stream.key_by(lambda r: r[0]).transform("sums", None, Counted(sorts_itself)).sink_to(
        DiscardingSink()
    )
    last = dict(run_in_process(env, schedule).of())
    wanted: dict[str, int] = defaultdict(int)
    for key, _, value in found:
        wanted[key] += value
    assert last == wanted


class Alarm(OneInputStreamOperator):
    """A timer 5 after each record."""

    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 5)

    def on_timer(self, timestamp, ctx):
        self.output.collect((ctx.get_current_key(), timestamp))


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@settings(max_examples=20)
@given(found=records, cut=st.integers(0, 30), schedule=schedules)
def test_timers_of_operators_fire_once(mode, found, cut, schedule):
    found.sort(key=lambda record: record[1])
    env = environment(mode, 2)
    stream = env.from_source(history_then_live(found[:cut], found[cut:]), by_time(), "records")
    stream.key_by(lambda r: r[0]).transform("alarm", None, Alarm()).sink_to(DiscardingSink())
    wanted = sorted({(key, time + 5) for key, time, _ in found})
    # A timer that has fired may be set again by a record of the same time in a later micro-batch.
    assert sorted(set(run_in_process(env, schedule).of())) == wanted


class Both(TwoInputStreamOperator):
    """Emits records with the number of their input."""

    def process_element1(self, value, ctx):
        self.output.collect((1, value))

    def process_element2(self, value, ctx):
        self.output.collect((2, value))


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@settings(max_examples=20)
@given(left=records, right=records, cut=st.integers(0, 30), schedule=schedules)
def test_two_inputs_get_their_records(mode, left, right, cut, schedule):
    env = environment(mode, 2)
    one, two = (
        env.from_source(history_then_live(of[:cut], of[cut:]), by_time(99), name).key_by(
            lambda r: r[0]
        )
        for of, name in ((left, "left"), (right, "right"))
    )
    one.connect(two).transform("both", None, Both()).sink_to(DiscardingSink())
    wanted = [(1, r) for r in left] + [(2, r) for r in right]
    assert difference(run_in_process(env, schedule).of(), wanted) is None


class TellsBoth(TwoInputStreamOperator):
    def process_element1(self, value, ctx):
        self.output.collect((1, value))

    def process_element2(self, value, ctx):
        self.output.collect((2, value))

    def process_record_attributes1(self, record_attributes):
        self.output.collect((1, record_attributes))
        super().process_record_attributes1(record_attributes)

    def process_record_attributes2(self, record_attributes):
        self.output.collect((2, record_attributes))
        super().process_record_attributes2(record_attributes)

    def end_input(self, input_id):
        self.output.collect((input_id, "end"))


class Attributes(OneInputStreamOperator):
    def process_element(self, value, ctx):
        self.output.collect(value)

    def process_record_attributes(self, record_attributes):
        self.output.collect(("behind", record_attributes))


def test_inputs_are_told_apart_and_either_makes_the_results_stale():
    env = environment(STREAMING, 1)
    left = env.from_source(history_then_live([1], [2]), by_no_time(), "left")
    right = env.from_collection([3])
    both = left.connect(right).transform("both", None, TellsBoth())
    both.transform("behind", None, Attributes()).sink_to(DiscardingSink())
    heard = run_in_process(env).of()
    # The right source is read beside the history of the left one; it is never stale.
    behind = [item[1] for item in heard if item[0] == "behind"]
    assert behind == [STALE, FRESH]
    assert [item for item in heard if item in ((2, STALE), (2, FRESH))] == [(2, FRESH)]
    assert heard.index((1, STALE)) < heard.index((1, 1)) < heard.index((1, FRESH))
    assert heard.count((2, "end")) == heard.count((1, "end")) == 1


@pytest.mark.parametrize("mode", [STREAMING, MIXED], ids=["streaming", "mixed"])
@pytest.mark.parametrize("keyed", [False, True])
def test_attributes_pass_exchanges_and_ordinary_operators(mode, keyed):
    def then(stream):
        stream = stream.map(lambda v: v).rebalance().filter(lambda _: True)
        stream = stream.key_by(str).map(lambda v: v)
        return stream.transform("behind", None, Attributes())

    heard = told(mode, keyed=keyed, then=then)
    behind = [item[1] for item in heard if type(item) is tuple and item[0] == "behind"]
    assert behind == [STALE, FRESH, FRESH]


class SaysFresh(OneInputStreamOperator):
    """Corrects what its source says."""

    def process_element(self, value, ctx):
        self.output.collect(value)

    def process_record_attributes(self, record_attributes):
        self.output.emit_record_attributes(RecordAttributesBuilder().set_backlog(False).build())


def test_an_operator_may_say_something_else():
    env = environment(STREAMING, 1)
    stream = env.from_source(history_then_live([1], [2]), by_no_time(), "records")
    fresh = stream.transform("fresh", None, SaysFresh())
    fresh.rebalance().transform("behind", None, Attributes()).sink_to(DiscardingSink())
    assert run_in_process(env).of() == [("behind", FRESH), 1, ("behind", FRESH), 2]


class Late(OneInputStreamOperator):
    """Emits the watermark ten later, and a summary at the end."""

    def process_element(self, value, ctx):
        self.output.collect(value)

    def process_watermark(self, watermark):
        self.output.emit_watermark(watermark - 10)

    def end_input(self):
        self.output.collect(("a", 100, 1), 100)


class Marks(OneInputStreamOperator):
    def process_element(self, value, ctx):
        self.output.collect((value, ctx.timer_service().current_watermark()))

    def process_watermark(self, watermark):
        self.output.collect(watermark)


@pytest.mark.parametrize("schedule", [None, Schedule(batch_sizes=(1,), restart_every=1)])
def test_watermarks_may_be_held_back_and_results_of_the_end_are_not_late(schedule):
    env = environment(STREAMING, 1)
    source = CollectionSource.of([("a", 20, 1), ("a", 30, 1)])
    stream = env.from_source(source, by_time(), "records").transform("late", None, Late())
    stream.rebalance().transform("marks", None, Marks()).sink_to(DiscardingSink())
    heard = run_in_process(env, schedule).of()
    assert heard[-1] == MAX
    assert heard[-2] == (("a", 100, 1), 19)
    assert [mark for mark in heard if type(mark) is int][-2:] == [19, MAX]


def test_side_outputs_and_timestamps():
    odd = OutputTag("odd")

    class Split(OneInputStreamOperator):
        def process_element(self, value, ctx):
            if value % 2:
                self.output.collect_to(odd, value)
            else:
                self.output.collect(value, value * 10)

    env = environment(STREAMING, 1)
    split = env.from_collection([1, 2, 3, 4]).transform("split", None, Split())
    split.process(Stamps()).sink_to(DiscardingSink()).name("even")
    split.get_side_output(odd).sink_to(DiscardingSink()).name("odd")
    results = run_in_process(env)
    assert results.of("even") == [(2, 20), (4, 40)]
    assert results.of("odd") == [1, 3]


class Stamps(ProcessFunction):
    def process_element(self, value, ctx):
        yield value, ctx.timestamp()


def test_a_harness_runs_operators():
    def marked(stream):
        return stream.transform("marks", None, Marks())

    with OperatorHarness.of(marked) as harness:
        assert harness.push("a", timestamp=5) == [("a", MIN)]
        assert harness.advance_watermark(7) == [7]
        assert harness.end_input() == [MAX]


def test_a_result_that_is_returned_is_an_error():
    class Yields(OneInputStreamOperator):
        def process_element(self, value, ctx):
            yield value

    env = environment(STREAMING, 1)
    env.from_collection([1]).transform("yields", None, Yields()).sink_to(DiscardingSink())
    with pytest.raises(UserFunctionError, match="returned generator"):
        run_in_process(env)


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_a_key_of_somebody_else_cannot_be_set(mode):
    class Wrong(OneInputStreamOperator):
        def process_element(self, value, ctx):
            for other in range(50):
                self.keys.set_current_key(other)

    env = environment(mode, 2)
    stream = env.from_source(history_then_live([1, 2], [3]), by_no_time(), "records")
    stream.key_by(lambda v: v).transform("wrong", None, Wrong()).sink_to(DiscardingSink())
    with pytest.raises(UnkeyedStateError):
        run_in_process(env)


def test_what_is_no_operator_is_refused():
    env = environment(STREAMING, 1)
    stream = env.from_collection([1])
    with pytest.raises(ArgumentError, match="takes a OneInputStreamOperator"):
        stream.transform("x", None, Protocol)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError):
        stream.transform(" ", None, Protocol())
    with pytest.raises(ArgumentError):
        stream.connect(stream).transform("x", None, Protocol())  # type: ignore[arg-type]
    with pytest.raises(GraphError):
        stream.connect(stream.key_by(lambda v: v)).transform("x", None, Both())


def test_the_watermark_is_long_min_before_the_first():
    env = environment(STREAMING, 1)
    stream = env.from_source(CollectionSource.of([("a", 5, 1)]), by_time(), "records")
    stream.transform("marks", None, Marks()).sink_to(DiscardingSink())
    assert run_in_process(env).of() == [(("a", 5, 1), MIN), 4, MAX]
