"""Operators with any number of inputs: records, state, timers, watermarks, attributes and ends of each
input, in every mode, whatever micro-batches, workers and key groups make of it.

Finds: an input that is mistaken for another, a status that one input hides, state that inputs do not
share or that a restart or another parallelism loses. Cannot find what only Spark does: see
`tests/spark/test_multiple_inputs.py`.
"""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Types
from penstock.connectors.python.collection import CollectionSource
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    AbstractInput,
    Input,
    MultipleConnectedStreams,
    MultipleInputStreamOperator,
    OneInputStreamOperator,
    OperatorAttributesBuilder,
    OutputTag,
    RecordAttributes,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from penstock.errors import ArgumentError, GraphError, UserFunctionError
from penstock.plan.explain.render import render_text
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

INPUTS = 3
SIDE = OutputTag("side")
STALE, FRESH = RecordAttributes(backlog=True), RecordAttributes.EMPTY_RECORD_ATTRIBUTES


class Tagging(AbstractInput):
    def process_element(self, value, ctx):
        self.output.collect((self.input_id, value))


class Merge(MultipleInputStreamOperator):
    """Emits records with the number of their input."""

    def __init__(self, inputs=INPUTS):
        self.inputs = inputs

    def get_inputs(self):
        return [Tagging(self, number) for number in range(1, self.inputs + 1)]


class Adding(AbstractInput):
    """Adds what a record has to a total that all inputs share, and sets a timer."""

    def process_element(self, value, ctx):
        total = Counter(self.owner.total.value() or {})
        total[self.input_id] += value[2]
        self.owner.total.update(dict(total))
        self.output.collect((ctx.get_current_key(), sum(total.values())))
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 5)
        if self.input_id == 2:
            self.output.collect_to(SIDE, value)


class Totals(MultipleInputStreamOperator):
    def open(self, runtime_context):
        self.total = runtime_context.get_state(ValueStateDescriptor("total"))

    def get_inputs(self):
        return [Adding(self, number) for number in range(1, INPUTS + 1)]

    def on_timer(self, timestamp, ctx):
        self.output.collect(("timer", ctx.get_current_key(), timestamp))


records = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.integers(0, 50), st.integers(1, 9)), max_size=15
)


def connected(env, found, cut):
    return MultipleConnectedStreams(
        *(
            env.from_source(history_then_live(of[:cut], of[cut:]), by_time(99), f"source {number}")
            for number, of in enumerate(found)
        )
    )


def key_of(record):
    return record[0]


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@settings(max_examples=20)
@given(
    found=st.lists(records, min_size=INPUTS, max_size=INPUTS),
    cut=st.integers(0, 15),
    schedule=schedules,
    parallelism=st.integers(1, 3),
)
def test_every_input_gets_its_records(mode, found, cut, schedule, parallelism):
    env = environment(mode, parallelism)
    connected(env, found, cut).transform("merge", None, Merge()).sink_to(DiscardingSink())
    wanted = [(number, r) for number, of in enumerate(found, 1) for r in of]
    assert difference(run_in_process(env, schedule).of(), wanted) is None


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@settings(max_examples=30)
@given(
    found=st.lists(records, min_size=INPUTS, max_size=INPUTS),
    cut=st.integers(0, 15),
    schedule=schedules,
    parallelism=st.integers(1, 3),
)
def test_inputs_share_state_and_timers_of_a_key(mode, found, cut, schedule, parallelism):
    env = environment(mode, parallelism)
    keyed = connected(env, found, cut).key_by(key_of, key_of, key_of)
    totals = keyed.transform("totals", None, Totals()).uid("totals")
    totals.sink_to(DiscardingSink()).name("totals")
    totals.get_side_output(SIDE).sink_to(DiscardingSink()).name("side")
    results = run_in_process(env, schedule)
    emitted = results.of("totals")
    sums: dict[str, int] = defaultdict(int)
    for of in found:
        for key, _, value in of:
            sums[key] += value
    greatest: dict[str, int] = defaultdict(int)
    for result in emitted:
        if result[0] != "timer":
            greatest[result[0]] = max(greatest[result[0]], result[1])
    assert greatest == sums
    assert len([result for result in emitted if result[0] != "timer"]) == sum(map(len, found))
    # A timer that has fired may be set again by a record of the same time in a later micro-batch.
    fired = {(key, time) for word, key, time in (r for r in emitted if r[0] == "timer") if word}
    assert fired == {(key, time + 5) for of in found for key, time, _ in of}
    assert difference(results.of("side"), found[1]) is None


def in_harness(make, **settings):
    return OperatorHarness.of(lambda a, b, c: make(MultipleConnectedStreams(a, b, c)), **settings)


def totals_of(streams):
    return streams.key_by(key_of, key_of, key_of).transform("totals", None, Totals()).uid("totals")


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 2)])
def test_a_snapshot_goes_on_with_another_parallelism(before, after):
    keys = "abcdefgh"
    with in_harness(totals_of, parallelism=before) as harness:
        for number in range(INPUTS):
            harness.push_all([(key, 1, 1) for key in keys], [1] * len(keys), input=number)
        snapshot = harness.snapshot()
    with in_harness(totals_of, parallelism=after, snapshot=snapshot) as harness:
        emitted = [harness.push((key, 2, 10), timestamp=2, input=2) for key in keys]
        assert emitted == [[(key, 13)] for key in keys]
        fired = harness.advance_watermark(6)
        assert sorted(fired) == [("timer", key, 6) for key in keys]


class Telling(AbstractInput):
    def process_element(self, value, ctx):
        self.output.collect((self.input_id, value, ctx.timer_service().current_watermark()))

    def process_record_attributes(self, record_attributes):
        self.output.collect((self.input_id, record_attributes))
        super().process_record_attributes(record_attributes)


class Tell(MultipleInputStreamOperator):
    """Emits whatever it is told."""

    def __init__(self, inputs=INPUTS):
        self.inputs = inputs

    def open(self, runtime_context):
        assert self.number_of_inputs == self.inputs

    def get_inputs(self):
        return [Telling(self, number) for number in range(1, self.inputs + 1)]

    def process_watermark(self, watermark):
        self.output.collect(watermark)
        super().process_watermark(watermark)

    def end_input(self, input_id):
        self.output.collect((input_id, "end"))


def test_the_watermark_is_the_least_of_all_inputs():
    with in_harness(lambda streams: streams.transform("tell", None, Tell())) as harness:
        assert harness.advance_watermark(30, input=0) == []
        assert harness.advance_watermark(20, input=1) == []
        assert harness.push("a", timestamp=1, input=2) == [(3, "a", MIN)]
        assert harness.advance_watermark(10, input=2) == [10]
        assert harness.advance_watermark(40, input=2) == [20]
        assert harness.push("b", timestamp=50) == [(1, "b", 20)]
        assert harness.end_input(input=1) == [(2, "end"), 30]
        assert harness.end_input(input=0) == [(1, "end"), 40]
        assert harness.end_input(input=2) == [(3, "end"), MAX]


class Behind(OneInputStreamOperator):
    def process_element(self, value, ctx):
        self.output.collect(value)

    def process_record_attributes(self, record_attributes):
        self.output.collect(("behind", record_attributes))


@pytest.mark.parametrize("keyed", [False, True])
def test_each_input_is_told_its_attributes_and_any_makes_the_results_stale(keyed):
    env = environment(STREAMING, 1)
    marks = WatermarkStrategy.no_watermarks()
    streams = MultipleConnectedStreams(
        env.from_source(history_then_live(["a1"], ["a2"]), marks, "first"),
        env.from_collection(["b1"]),
        env.from_source(history_then_live(["c1"], ["c2"]), marks, "third"),
    )
    if keyed:
        streams = streams.key_by(str, str, str)
    told = streams.transform("tell", None, Tell())
    told.transform("behind", None, Behind()).sink_to(DiscardingSink())
    heard = run_in_process(env).of()
    assert heard.index((1, STALE)) < heard.index((1, "a1", MIN)) < heard.index((1, FRESH))
    assert heard.index((3, STALE)) < heard.index((3, "c1", MIN)) < heard.index((3, FRESH))
    assert (2, STALE) not in heard
    behind = [said[1] for said in heard if type(said) is tuple and said[0] == "behind"]
    assert behind == [STALE, FRESH], "stale while any input is"
    assert [heard.count((number, "end")) for number in (1, 2, 3)] == [1, 1, 1]


@pytest.mark.parametrize("inputs", [1, 2, 7])
@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_there_may_be_any_number_of_inputs(mode, inputs):
    env = environment(mode, 2)
    sources = [history_then_live([number], [-number]) for number in range(1, inputs + 1)]
    marks = WatermarkStrategy.no_watermarks()
    streams = MultipleConnectedStreams(*(env.from_source(s, marks, "numbers") for s in sources))
    streams.transform("merge", None, Merge(inputs)).sink_to(DiscardingSink())
    wanted = sorted((n, sign * n) for n in range(1, inputs + 1) for sign in (1, -1))
    assert sorted(run_in_process(env).of()) == wanted


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_a_key_that_does_not_fit_in_memory_comes_from_all_inputs(mode):
    env = environment(mode | {"execution.sorted-inputs.memory": "64kb"}, 1)
    found = [[("a", at, 1) for at in range(900)] for _ in range(INPUTS)]
    connected(env, found, 800).key_by(key_of, key_of, key_of).transform(
        "totals", None, Totals()
    ).sink_to(DiscardingSink())
    emitted = run_in_process(env).of()
    assert [r[1] for r in emitted if r[0] != "timer"] == list(range(1, 2701))
    assert len([r for r in emitted if r[0] == "timer"]) >= 900


class AtTheEnd(MultipleInputStreamOperator):
    """Emits the number of records when all inputs have ended, and nothing before."""

    def open(self, runtime_context):
        self.counts: Counter[int] = Counter()

    def get_inputs(self):
        return [Counting(self, 1), Counting(self, 2)]

    def end_input(self, input_id):
        self.ended = [*getattr(self, "ended", []), input_id]
        if len(self.ended) == 2:
            self.output.collect((self.counts[1], self.counts[2]))

    def get_operator_attributes(self):
        return OperatorAttributesBuilder().set_output_only_after_end_of_stream(True).build()


class Counting(AbstractInput):
    def process_element(self, value, ctx):
        self.owner.counts[self.input_id] += 1


def test_what_emits_at_the_end_of_all_inputs_is_a_bounded_region():
    env = environment(STREAMING, 1)
    bounded = MultipleConnectedStreams(env.from_collection([1, 2]), env.from_collection([3]))
    counts = bounded.transform("counts", None, AtTheEnd())
    marks = WatermarkStrategy.no_watermarks()
    live = env.from_source(history_then_live([], ["live"]), marks, "live")
    both = MultipleConnectedStreams(counts, live).transform("both", None, Merge(2))
    both.sink_to(DiscardingSink())
    assert "kept until the bounded part is through" in render_text(env.plan())
    assert run_in_process(env).of() == [(1, (2, 1)), (2, "live")]


def test_results_have_the_declared_type_and_the_settings_of_the_stream_hold():
    env = environment(BATCH, 3)
    merged = MultipleConnectedStreams(env.from_collection([1]), env.from_collection([2]))
    stream = merged.transform("merge", Types.STRING(), Merge(2))
    stream.uid("merge").name("both").set_parallelism(2).sink_to(DiscardingSink())
    (operator,) = [op for level in env.plan().levels for op in level.operators]
    assert (operator.uid, operator.name, operator.parallelism) == ("merge", "both", 2)
    with pytest.raises(Exception, match="both"):  # a pair is no string
        run_in_process(env)


def test_the_plan_says_that_inputs_meet():
    env = environment(MIXED, 1)
    keyed = connected(env, [[]] * INPUTS, 0).key_by(key_of, key_of, key_of)
    keyed.transform("totals", None, Totals()).sink_to(DiscardingSink())
    assert "all inputs key by key" in render_text(env.plan())


class Plain(Input):
    def process_element(self, value, ctx):
        pass


def returning(*inputs):
    class Wrong(MultipleInputStreamOperator):
        def get_inputs(self):
            return inputs[0] if len(inputs) == 1 else [make(self) for make in inputs]

    return Wrong()


@pytest.mark.parametrize(
    ("operator", "message"),
    [
        (Merge(1), "returned 1 inputs, but the operator reads 2 streams"),
        (Merge(3), "returned 3 inputs, but the operator reads 2 streams"),
        (returning(None), "returned None, which is not a list"),
        (returning(lambda _: Plain(), lambda o: o), "input 2 is .* no process_element"),
        (
            returning(lambda o: Tagging(o, 1), lambda o: Tagging(o, 3)),
            "input 2 has the input_id 3",
        ),
        (
            returning(lambda o: Tagging(o, 2), lambda o: Tagging(o, 1)),
            "input 1 has the input_id 2",
        ),
    ],
)
def test_inputs_that_do_not_fit_the_streams_are_refused_when_the_program_is_built(
    operator, message
):
    env = environment(STREAMING)
    two = MultipleConnectedStreams(env.from_collection([1]), env.from_collection([2]))
    with pytest.raises(GraphError, match=message) as caught:
        two.transform("wrong", None, operator)
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__


def test_what_cannot_be_connected_is_refused():
    env, other = environment(STREAMING), environment(STREAMING)
    stream = env.from_collection([1])
    with pytest.raises(GraphError, match="no stream"):
        MultipleConnectedStreams()
    with pytest.raises(ArgumentError, match="got 5"):
        MultipleConnectedStreams(stream, 5)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="got 5"):
        MultipleConnectedStreams(5)  # type: ignore[arg-type]
    with pytest.raises(GraphError, match="different environments"):
        MultipleConnectedStreams(stream, other.from_collection([1]))
    with pytest.raises(GraphError, match="1 key selectors for 2 streams"):
        MultipleConnectedStreams(stream, stream).key_by(str)
    with pytest.raises(ArgumentError):
        MultipleConnectedStreams(stream).key_by(7)  # type: ignore[arg-type]
    with pytest.raises(GraphError, match="have a key and others have none"):
        MultipleConnectedStreams(stream, stream.key_by(str)).transform("merge", None, Merge(2))
    with pytest.raises(ArgumentError, match="forget the parentheses"):
        MultipleConnectedStreams(stream).transform("merge", None, Merge)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="MultipleInputStreamOperator"):
        MultipleConnectedStreams(stream).transform("merge", None, Behind())  # type: ignore[arg-type]


def test_an_error_names_the_input():
    class Failing(AbstractInput):
        def process_element(self, value, ctx):
            raise ValueError(value)

    class Fail(MultipleInputStreamOperator):
        def get_inputs(self):
            return [Tagging(self, 1), Failing(self, 2)]

    env = environment(STREAMING, 1)
    one, two = env.from_collection(["a"]), env.from_collection(["b"])
    streams = MultipleConnectedStreams(one, two).key_by(str, str)
    streams.transform("fail", None, Fail()).sink_to(DiscardingSink())
    with pytest.raises(UserFunctionError, match="record 'b' of input 2, key 'b'"):
        run_in_process(env)


def test_what_is_buffered_in_history_is_given_when_all_inputs_are_fresh():
    """Inputs are no batch of their own where one has no history: FLIP-327's rule for several inputs."""

    class Waiting(AbstractInput):
        def process_element(self, value, ctx):
            self.owner.waiting.append(value)

        def process_record_attributes(self, record_attributes):
            self.owner.stale[self.input_id] = record_attributes.is_backlog()
            super().process_record_attributes(record_attributes)

    class Wait(MultipleInputStreamOperator):
        def open(self, runtime_context):
            self.waiting, self.stale = [], {}

        def get_inputs(self):
            return [Waiting(self, number) for number in (1, 2, 3)]

        def prepare_snapshot_pre_barrier(self):
            self.give()

        def end_input(self, input_id):
            self.give()

        def give(self):
            for value in sorted(self.waiting):
                self.output.collect((value, any(self.stale.values())))
            self.waiting.clear()

    env = environment(STREAMING, 1)
    marks = WatermarkStrategy.no_watermarks()
    streams = [
        env.from_source(source, marks, "numbers")
        for source in (
            history_then_live([3, 1], [9]),
            CollectionSource.of([2]),
            history_then_live([4], [8]),
        )
    ]
    MultipleConnectedStreams(*streams).transform("wait", None, Wait()).sink_to(DiscardingSink())
    emitted = run_in_process(env, Schedule(batch_sizes=(1,))).of()
    assert sorted(value for value, _ in emitted) == [1, 2, 3, 4, 8, 9]
    assert (3, True) in emitted, "history goes on behind its micro-batch"
    assert {value for value, stale in emitted if not stale} >= {8, 9}
