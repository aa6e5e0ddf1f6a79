"""The harness runs every kind of function, and shows what they do.

The law at the end says that a harness answers as a job does; it cannot find what both get wrong,
which the examples before it can.
"""

from __future__ import annotations

import pickle
from threading import Lock

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.common import Configuration, Duration, Time, Types
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    AggregateFunction,
    AggregatingStateDescriptor,
    AsyncDataStream,
    AsyncFunction,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapFunction,
    MapStateDescriptor,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    ReduceFunction,
    ReducingStateDescriptor,
    RuntimeExecutionMode,
    StateTtlConfig,
    StreamExecutionEnvironment,
    TimeDomain,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import (
    ArgumentError,
    GraphError,
    StateMigrationError,
    TypeMismatchError,
    UnkeyedStateError,
    UserCodeError,
    UserFunctionError,
)
from penstock.testing import (
    Emitted,
    OperatorHarness,
    PendingTimer,
    Schedule,
    run_in_process,
    same_answer,
)
from tests.testing.programs import RULES as LAW_RULES
from tests.testing.programs import SINKS, STEPS, Form, disorder
from tests.testing.strategies import records

MAX = 2**63 - 1
ODD = OutputTag("odd", Types.INT())
RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())


def parity(number):
    return number % 2


def first(record):
    return record[0]


class Doubled(MapFunction):
    def __init__(self):
        self.life = []

    def open(self, runtime_context):
        self.life.append("open")

    def map(self, value):
        return value * 2

    def close(self):
        self.life.append("close")


def test_map_runs_the_very_object_and_opens_and_closes_it_once():
    function = Doubled()
    with OperatorHarness.of(function) as harness:
        assert harness.push(1) == [2]
        assert harness.push_all([2, 3]) == [4, 6]
    assert function.life == ["open", "close"]
    assert harness.output() == [2, 4, 6]


class Twice(FlatMapFunction):
    def flat_map(self, value):
        return [value, value]


def test_flat_map():
    assert OperatorHarness.of(Twice()).push("a") == ["a", "a"]


class Odd(FilterFunction):
    def filter(self, value):
        return value % 2 == 1


def test_filter_keeps_timestamps():
    harness = OperatorHarness.of(Odd())
    harness.push_all([1, 2, 3], [10, 20, 30])
    assert harness.emitted() == [Emitted(1, 10), Emitted(3, 30)]


class Sum(ReduceFunction):
    def reduce(self, value1, value2):
        return value1 + value2


def test_reduce():
    harness = OperatorHarness.of(Sum(), key_selector=parity)
    assert [harness.push(n) for n in (1, 2, 3, 4)] == [[1], [2], [4], [6]]


class Sorted(ProcessFunction):
    def process_element(self, value, ctx):
        if value % 2:
            yield ODD, value
        else:
            yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


def test_process_with_side_output_time_and_watermark():
    harness = OperatorHarness.of(Sorted(), side_outputs=[ODD])
    harness.advance_watermark(5)
    assert harness.push(2, 7) == [(2, 7, 5)]
    assert harness.push(3, 8) == []
    assert harness.side_output(ODD) == [3]
    assert harness.side_emitted(ODD) == [Emitted(3, 8)]


def test_a_side_output_has_its_declared_type():
    harness = OperatorHarness.of(Sorted(), side_outputs=[OutputTag("odd", Types.STRING())])
    with pytest.raises(TypeMismatchError):
        harness.push(3)


def test_a_side_output_must_be_named():
    with pytest.raises(ArgumentError, match="odd"):
        OperatorHarness.of(Sorted()).side_output(ODD)


def test_an_operator_without_side_outputs_refuses_a_tag():
    with pytest.raises(GraphError):
        OperatorHarness.of(Doubled(), side_outputs=[ODD])


COUNT = ValueStateDescriptor("count", Types.INT())
LATER = 5


class CountPerKey(KeyedProcessFunction):
    """Counts; emits the count 5 ms of event time after each record, and by the clock."""

    def open(self, runtime_context):
        self.count = runtime_context.get_state(COUNT)

    def process_element(self, value, ctx):
        if value[1] == "bad":
            raise ValueError("bad record")
        self.count.update((self.count.value() or 0) + 1)
        if value[1] == "clock":
            now = ctx.timer_service().current_processing_time()
            ctx.timer_service().register_processing_time_timer(now + LATER)
        else:
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + LATER)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp, self.count.value(), ctx.time_domain().name


def counting(**options):
    return OperatorHarness.of(CountPerKey(), key_selector=first, **options)


def test_keyed_process_event_time_timers():
    harness = counting()
    harness.push(("a", 1), 10)
    harness.push(("b", 1), 11)
    assert harness.timers() == [PendingTimer(15, "a"), PendingTimer(16, "b")]
    assert harness.timers("b") == [PendingTimer(16, "b")]
    assert harness.advance_watermark(14) == []
    assert harness.advance_watermark(15) == [("a", 15, 1, "EVENT_TIME")]
    assert harness.timers() == [PendingTimer(16, "b")]
    assert harness.watermarks() == [14, 15]


def test_keyed_process_processing_time_timers():
    harness = counting(processing_time=100)
    harness.push(("a", "clock"))
    assert harness.timers() == [PendingTimer(105, "a", TimeDomain.PROCESSING_TIME)]
    assert harness.advance_processing_time(104) == []
    assert harness.advance_processing_time(105) == [("a", 105, 1, "PROCESSING_TIME")]
    assert harness.timers() == []
    assert harness.processing_time == 105


@pytest.mark.parametrize("backend", ["hashmap", "lmdb"])
@pytest.mark.parametrize("parallelism", [1, 3])
def test_state_by_descriptor_and_key(backend, parallelism):
    with counting(backend=backend, parallelism=parallelism) as harness:
        harness.push_all([("a", 1), ("b", 1), ("a", 1)], [1, 2, 3])
        assert harness.state(COUNT, "a") == 2
        assert harness.state(COUNT, "b") == 1
        assert harness.state(COUNT, "c") is None
        assert sorted(harness.keys(COUNT)) == ["a", "b"]


class AllKinds(MapFunction):
    def open(self, runtime_context):
        self.list = runtime_context.get_list_state(ListStateDescriptor("list"))
        self.squares = runtime_context.get_map_state(MapStateDescriptor("map"))
        self.reducing = runtime_context.get_reducing_state(REDUCING)
        self.aggregating = runtime_context.get_aggregating_state(AGGREGATING)

    def map(self, value):
        self.list.add(value)
        self.squares.put(value, value * value)
        self.reducing.add(value)
        self.aggregating.add(value)
        return value


class Mean(AggregateFunction):
    def create_accumulator(self):
        return (0, 0)

    def add(self, value, accumulator):
        return (accumulator[0] + value, accumulator[1] + 1)

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a, acc_b):
        return (acc_a[0] + acc_b[0], acc_a[1] + acc_b[1])


REDUCING = ReducingStateDescriptor("reducing", Sum())
AGGREGATING = AggregatingStateDescriptor("aggregating", Mean())


def test_state_of_all_kinds():
    harness = OperatorHarness.of(AllKinds(), key_selector=parity)
    harness.push_all([1, 3])
    assert harness.state(ListStateDescriptor("list"), 1) == [1, 3]
    assert harness.state(MapStateDescriptor("map"), 1) == {1: 1, 3: 9}
    assert harness.state(REDUCING, 1) == 4
    assert harness.state(AGGREGATING, 1) == 2.0
    assert harness.state(ListStateDescriptor("list"), 0) == []


def test_state_of_another_type_is_refused():
    harness = counting()
    harness.push(("a", 1), 1)
    with pytest.raises(StateMigrationError):
        harness.state(ValueStateDescriptor("count", Types.LIST(Types.INT())), "a")
    with pytest.raises(ArgumentError, match="state"):
        harness.state("count", "a")


class Remembered(MapFunction):
    def open(self, runtime_context):
        self.last = runtime_context.get_state(expiring())

    def map(self, value):
        before = self.last.value()
        self.last.update(value)
        return before


def expiring():
    descriptor = ValueStateDescriptor("last", Types.INT())
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.milliseconds(10)).build())
    return descriptor


def test_state_expires_by_the_clock_and_reading_does_not_refresh_it():
    harness = OperatorHarness.of(Remembered(), key_selector=parity)
    assert harness.push(1) == [None]
    harness.advance_processing_time(6)
    assert harness.state(expiring(), 1) == 1
    harness.advance_processing_time(9)
    assert harness.push(3) == [1]
    harness.advance_processing_time(19)
    assert harness.state(expiring(), 1) is None
    assert harness.push(5) == [None]


class Named(CoMapFunction):
    def map1(self, value):
        return f"one {value}"

    def map2(self, value):
        return f"two {value}"


class NamedTwice(CoFlatMapFunction):
    def flat_map1(self, value):
        return [f"one {value}"] * 2

    def flat_map2(self, value):
        return [f"two {value}"] * 2


class NamedWithTime(CoProcessFunction):
    def process_element1(self, value, ctx):
        yield "one", value, ctx.timestamp()

    def process_element2(self, value, ctx):
        yield "two", value, ctx.timestamp()


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (Named(), [["one a"], ["two b"]]),
        (NamedTwice(), [["one a", "one a"], ["two b", "two b"]]),
        (NamedWithTime(), [[("one", "a", 1)], [("two", "b", 2)]]),
    ],
    ids=["co_map", "co_flat_map", "co_process"],
)
def test_two_inputs(function, expected):
    harness = OperatorHarness.of(function)
    assert [harness.push("a", 1), harness.push("b", 2, input=1)] == expected


def test_the_watermark_of_two_inputs_is_the_lesser_one():
    harness = OperatorHarness.of(Named())
    harness.advance_watermark(10, input=0)
    assert harness.watermarks() == []
    harness.advance_watermark(7, input=1)
    assert harness.watermarks() == [7]
    harness.end_input(input=1)
    assert harness.watermarks() == [7, 10]
    harness.end_input()
    assert harness.watermarks() == [7, 10, MAX]


class Joined(KeyedCoProcessFunction):
    """Joins each left value with the right ones so far; forgets them at a timer."""

    def open(self, runtime_context):
        self.rights = runtime_context.get_list_state(ListStateDescriptor("rights"))

    def process_element1(self, value, ctx):
        for right in self.rights.get():
            yield ctx.get_current_key(), value[1], right

    def process_element2(self, value, ctx):
        self.rights.add(value["right"])
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + LATER)

    def on_timer(self, timestamp, ctx):
        self.rights.clear()
        return []


def test_keyed_co_process_with_a_key_selector_per_input():
    harness = OperatorHarness.of(Joined(), key_selector=(first, lambda record: record["key"]))
    assert harness.push({"key": "k", "right": 1}, 3, input=1) == []
    assert harness.push(("k", "left"), 4) == [("k", "left", 1)]
    assert harness.push(("other", "left"), 4) == []
    assert harness.timers() == [PendingTimer(8, "k")]
    harness.advance_watermark(8)
    assert harness.state(ListStateDescriptor("rights"), "k") == []


class Limited(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        limit = ctx.get_broadcast_state(RULES).get("limit")
        return [value] if limit is None or value <= limit else []

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(*value)
        return []


class LimitedPerKey(KeyedBroadcastProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(COUNT)

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        limit = ctx.get_broadcast_state(RULES).get("limit") or 1
        self.count.update(count)
        return [value] if count <= limit else []

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(*value)
        return []


def test_broadcast_elements_reach_every_subtask():
    harness = OperatorHarness.of(Limited(), broadcast_states=[RULES], parallelism=3)
    assert harness.push(50) == [50]
    harness.push(("limit", 10), input=1)
    assert harness.push(50) == []
    assert harness.push(10) == [10]
    states = [harness.broadcast_state(RULES, subtask=subtask) for subtask in range(3)]
    assert states == [{"limit": 10}] * 3


def test_keyed_broadcast_process():
    harness = OperatorHarness.of(LimitedPerKey(), key_selector=first, broadcast_states=[RULES])
    harness.push(("limit", 2), input=1)
    assert [harness.push(("a", n)) for n in range(3)] == [[("a", 0)], [("a", 1)], []]
    assert harness.state(COUNT, "a") == 3
    assert harness.broadcast_state(RULES) == {"limit": 2}


class Fetched(AsyncFunction):
    async def async_invoke(self, value):
        return [value + 1]

    def timeout(self, value):
        return [None]


def test_async_functions_are_built_with_their_stream():
    def build(stream):
        return AsyncDataStream.ordered_wait(stream, Fetched(), Time.seconds(5), 10)

    with OperatorHarness.of(build) as harness:
        assert harness.push_all([1, 2]) == [2, 3]


LATE = OutputTag("late", Types.PICKLED_BYTE_ARRAY())


class Total(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, context.window().start, sum(value for _, value in elements)


def windowed(stream, tag=None):
    windows = stream.key_by(first).window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    return (windows if tag is None else windows.side_output_late_data(tag)).process(Total())


def test_windows_fire_and_drop_what_is_late():
    harness = OperatorHarness.of(windowed, parallelism=2)
    harness.push_all([("a", 1), ("a", 2), ("b", 5), ("a", 7)], [1, 9, 3, 10])
    assert len(harness.timers()) == 3
    assert same_answer(harness.advance_watermark(9), [("a", 0, 3), ("b", 0, 5)])
    assert harness.push(("a", 100), 9) == []
    assert harness.metric("numLateRecordsDropped") == 1
    assert harness.end_input() == [("a", 10, 7)]


def test_late_records_of_windows_as_a_side_output():
    harness = OperatorHarness.of(lambda s: windowed(s, LATE), side_outputs=[LATE])
    harness.advance_watermark(9)
    harness.push(("a", 1), 5)
    assert harness.side_emitted(LATE) == [Emitted(("a", 1), 5)]
    assert harness.metric("numLateRecordsDropped") == 0


def test_a_pipeline_with_exchanges():
    def build(words):
        return (
            words.map(str.upper)
            .key_by(lambda word: word)
            .map(lambda word: (word, 1))
            .key_by(first)
            .reduce(lambda a, b: (a[0], a[1] + b[1]))
        )

    harness = OperatorHarness.of(build, parallelism=2)
    harness.push_all(["a", "b", "A"])
    assert same_answer(harness.output(), [("A", 1), ("B", 1), ("A", 2)])


def test_timestamps_and_watermarks_assigned_by_the_stream():
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(2)
    ).with_timestamp_assigner(lambda value, _: value)
    harness = OperatorHarness.of(
        lambda s: s.assign_timestamps_and_watermarks(strategy).map(lambda value: value)
    )
    harness.push_all([10, 12])
    assert harness.emitted() == [Emitted(10, 10), Emitted(12, 12)]
    assert harness.watermarks() == [9]


def test_the_last_operator_of_a_program_with_its_key_name_and_type():
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.from_collection([1]).map(lambda _: 1 / 0)
    sums = numbers.key_by(parity).map(CountSeen(), Types.INT()).name("sums").uid("the-sums")
    sums.sink_to(DiscardingSink())
    harness = OperatorHarness.of(sums)
    assert harness.push_all([1, 3, 2]) == [1, 2, 1]
    assert harness.state(COUNT, 1, operator="the-sums") == 2
    assert harness.metric("the-sums.numRecordsIn") == 3


class CountSeen(MapFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(COUNT)

    def map(self, value):
        self.count.update((self.count.value() or 0) + 1)
        return self.count.value()


def test_a_stream_that_is_no_operator_is_refused():
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(ArgumentError, match="no operator"):
        OperatorHarness.of(env.from_collection([1]))


def test_input_types_are_enforced():
    harness = OperatorHarness.of(
        lambda rows: rows.map(lambda row: row.n),
        input_types=[Types.ROW_NAMED(["n"], [Types.INT()])],
    )
    assert harness.push((1,)) == [1]
    with pytest.raises(TypeMismatchError):
        harness.push(("one",))


def test_job_parameters():
    class Named(MapFunction):
        def open(self, runtime_context):
            self.name = runtime_context.get_job_parameter("name", None)

        def map(self, value):
            return self.name

    configuration = Configuration()
    configuration.set("pipeline.global-job-parameters.name", "x")
    assert OperatorHarness.of(Named(), configuration=configuration).push(1) == ["x"]


def test_a_failed_push_leaves_nothing_behind():
    harness = counting()
    harness.push(("a", 1), 1)
    with pytest.raises(UserFunctionError, match="bad record"):
        harness.push_all([("a", 1), ("a", "bad")], [2, 3])
    assert harness.state(COUNT, "a") == 1
    assert harness.timers() == [PendingTimer(6, "a")]
    assert harness.metric("numRecordsIn") == 1
    harness.push(("a", 1), 2)
    assert harness.state(COUNT, "a") == 2


class RegistersATimer(ProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(1)
        return []


def test_errors_are_those_of_a_job():
    with pytest.raises(UnkeyedStateError):
        OperatorHarness.of(CountSeen())
    with pytest.raises(UnkeyedStateError):
        OperatorHarness.of(RegistersATimer()).push(1)
    with pytest.raises(ArgumentError, match="key_by"):
        OperatorHarness.of(CountPerKey())
    lock = Lock()
    with pytest.raises(UserCodeError):
        OperatorHarness.of(lambda s: s.map(lambda _: lock.locked()))


def test_a_harness_that_cannot_begin_leaves_no_files(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    lock = Lock()
    with pytest.raises(UserCodeError) as caught:  # its frames live on
        OperatorHarness.of(
            lambda s: s.key_by(lambda n: n).map(lambda _: lock.locked()),
            backend="lmdb",
        )
    assert list(tmp_path.iterdir()) == [], caught


@pytest.mark.parametrize(
    "wrong",
    [
        lambda h: h.push(1, input=1),
        lambda h: h.push_all([1, 2], [1]),
        lambda h: (h.advance_watermark(5), h.advance_watermark(4)),
        lambda h: h.advance_processing_time(-1),
        lambda h: (h.end_input(), h.push(1)),
        lambda h: (h.close(), h.push(1)),
        lambda h: (h.close(), h.snapshot()),
        lambda h: h.state(COUNT, 1),
        lambda h: h.metric("nothing"),
    ],
)
def test_impossible_steps_are_refused(wrong):
    with pytest.raises(ArgumentError):
        wrong(OperatorHarness.of(Doubled()))


@pytest.mark.parametrize("operator", [Doubled, 3, Mean(), lambda: None, lambda _: 3])
def test_what_cannot_be_run_is_refused(operator):
    with pytest.raises(ArgumentError):
        OperatorHarness.of(operator)


def test_another_backend_than_there_is():
    with pytest.raises(ArgumentError, match="rocksdb"):
        OperatorHarness.of(Doubled(), backend="rocksdb")


@pytest.mark.parametrize(
    ("before", "after"),
    [((1, "hashmap"), (3, "lmdb")), ((3, "lmdb"), (1, "hashmap")), ((2, "lmdb"), (2, "lmdb"))],
)
def test_a_snapshot_goes_on_elsewhere(before, after):
    def opened(parallelism, backend, **options):
        return counting(parallelism=parallelism, backend=backend, **options)

    with opened(*before, processing_time=50) as harness:
        harness.push_all([("a", 1), ("b", 1), ("a", 1)], [10, 20, 11])
        harness.push(("c", "clock"))
        harness.advance_watermark(12)
        snapshot = pickle.loads(pickle.dumps(harness.snapshot()))
        harness.push(("a", 1), 13)
    with opened(*after, snapshot=snapshot) as harness:
        assert harness.processing_time == 50
        assert harness.state(COUNT, "a") == 2
        assert [timer.timestamp for timer in harness.timers()] == [15, 16, 25, 55]
        harness.push(("a", 1), 30)
        assert harness.advance_processing_time(55) == [("c", 55, 1, "PROCESSING_TIME")]
        assert harness.advance_watermark(16) == [
            ("a", 15, 3, "EVENT_TIME"),
            ("a", 16, 3, "EVENT_TIME"),
        ]


def test_broadcast_state_in_a_snapshot():
    harness = OperatorHarness.of(Limited(), broadcast_states=[RULES], parallelism=2)
    harness.push(("limit", 10), input=1)
    more = OperatorHarness.of(
        Limited(), broadcast_states=[RULES], parallelism=3, snapshot=harness.snapshot()
    )
    assert [more.broadcast_state(RULES, subtask=s) for s in range(3)] == [{"limit": 10}] * 3


def test_clear_output():
    harness = OperatorHarness.of(Doubled())
    harness.push(1)
    harness.clear_output()
    harness.push(2)
    assert harness.output() == [4]


def test_end_of_input_fires_what_is_left():
    harness = counting()
    harness.push(("a", 1), 10)
    assert harness.end_input() == [("a", 15, 1, "EVENT_TIME")]
    assert harness.watermarks() == [MAX]


LAWFUL = sorted(set(SINKS) - set(LAW_RULES) - {"late", "twice_late"})


@settings(max_examples=30, deadline=None)
@given(
    records=records.map(lambda found: sorted(found, key=lambda record: record[1])),
    step=st.sampled_from([None, *sorted(STEPS)]),
    sink=st.sampled_from(LAWFUL),
    parallelism=st.integers(1, 3),
    backend=st.sampled_from(["hashmap", "lmdb"]),
    pieces=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    restored_after=st.integers(0, 5),
)
def test_a_harness_answers_as_a_job(
    records, step, sink, parallelism, backend, pieces, restored_after
):
    assume(sink != "alarms" or step != "exchange")  # alarms need the records of a key in order
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(disorder(records))
    ).with_timestamp_assigner(lambda record, _: record[1])

    def build(stream):
        timed = stream.assign_timestamps_and_watermarks(strategy)
        return SINKS[sink](timed if step is None else STEPS[step](timed, Form.PLAIN))

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.STREAMING).set_parallelism(parallelism)
    build(env.from_collection(records)).sink_to(DiscardingSink())
    expected = run_in_process(env, Schedule(batch_sizes=(7,))).of(0)

    harness = OperatorHarness.of(build, parallelism=parallelism, backend=backend)
    answer, left, turn = [], list(records), 0
    while left:
        if turn == restored_after:
            snapshot = harness.snapshot()
            harness.close()
            harness = OperatorHarness.of(build, parallelism=4 - parallelism, snapshot=snapshot)
        size = pieces[turn % len(pieces)]
        answer += harness.push_all(left[:size])
        left, turn = left[size:], turn + 1
    answer += harness.end_input()
    harness.close()
    assert same_answer(answer, expected)
