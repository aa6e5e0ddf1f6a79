"""Interval joins, one behaviour at a time; `test_pair_law` compares them with their definition."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from penstock.common import Duration, Time, Types
from penstock.connectors.python.collection import CollectionSource
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import OutputTag, ProcessJoinFunction, ValueStateDescriptor
from penstock.errors import ArgumentError, GraphError, TypeMismatchError, UserFunctionError
from penstock.plan.compat.fingerprint import fingerprint
from penstock.state.log.blob import decode_blob
from penstock.testing import Emitted, OperatorHarness, run_in_process
from tests.runtime.jobs import BATCH, MODE_IDS, MODES, by_time, environment

ODD = OutputTag("odd", Types.LONG())


def key_of(record):
    return record[0]


def sides(left, right, context):
    return [(left[1], right[1])]


def between(lower, upper, function=sides, change=lambda close: close):
    def build(a, b):
        close = a.key_by(key_of).interval_join(b.key_by(key_of)).between(lower, upper)
        return change(close).process(function)

    return build


def pushed(build, left, right):
    """Return what comes out if all of one side comes first."""
    with OperatorHarness.of(build) as harness:
        harness.push_all([("k", t) for t in left], left)
        return harness.push_all([("k", t) for t in right], right, input=1)


def entries(harness):
    blobs = harness.snapshot().state
    return sum(len(section.keys) for blob in blobs for section in decode_blob(blob))


def test_both_bounds_are_included():
    assert pushed(between(-2, 3), [10], [7, 8, 10, 13, 14]) == [(10, 8), (10, 10), (10, 13)]


@pytest.mark.parametrize(
    ("change", "matches"),
    [
        (lambda close: close.lower_bound_exclusive(), [10, 13]),
        (lambda close: close.upper_bound_exclusive(), [8, 10]),
        (lambda close: close.lower_bound_exclusive().upper_bound_exclusive(), [10]),
    ],
)
def test_a_bound_may_be_left_out(change, matches):
    got = pushed(between(-2, 3, change=change), [10], [8, 10, 13])
    assert got == [(10, match) for match in matches]


@pytest.mark.parametrize(
    "bounds",
    [
        (Time.milliseconds(-2), Time.milliseconds(3)),
        (Duration.of_millis(-2), Duration.of_millis(3)),
        (timedelta(milliseconds=-2), timedelta(milliseconds=3)),
    ],
)
def test_bounds_may_be_lengths_of_time(bounds):
    assert pushed(between(*bounds), [10], [7, 8, 13, 14]) == [(10, 8), (10, 13)]


def test_only_records_of_one_key_meet():
    with OperatorHarness.of(between(-5, 5)) as harness:
        harness.push(("a", 1), 1)
        assert harness.push(("b", 1), 1, input=1) == []
        assert harness.push(("a", 2), 2, input=1) == [(1, 2)]


def test_results_have_the_time_of_the_later_record():
    with OperatorHarness.of(between(-5, 5)) as harness:
        harness.push(("k", 10), 10)
        harness.push(("k", 7), 7, input=1)
        harness.push(("k", 12), 12, input=1)
        assert harness.emitted() == [Emitted((10, 7), 10), Emitted((10, 12), 12)]


class WithSides(ProcessJoinFunction):
    """Emits odd sums aside, in either way there is."""

    def process_element(self, left, right, ctx):
        total = left[1] + right[1]
        if total % 2:
            ctx.output(ODD, total)
            yield ODD, -total
        else:
            yield total, ctx.get_left_timestamp(), ctx.get_right_timestamp(), ctx.get_timestamp()


def test_the_context_has_times_and_side_outputs():
    with OperatorHarness.of(between(-5, 5, WithSides()), side_outputs=[ODD]) as harness:
        harness.push(("k", 10), 10)
        assert harness.push(("k", 12), 12, input=1) == [(22, 10, 12, 12)]
        assert harness.push(("k", 11), 11, input=1) == []
        assert sorted(harness.side_emitted(ODD), key=lambda e: e.value) == [
            Emitted(-21, 11),
            Emitted(21, 11),
        ]


def test_a_side_output_needs_a_tag():
    with OperatorHarness.of(between(0, 0, lambda _, __, ctx: ctx.output("odd", 1))) as harness:
        harness.push(("k", 1), 1)
        with pytest.raises(ArgumentError, match="'odd'"):
            harness.push(("k", 1), 1, input=1)


class Counted(ProcessJoinFunction):
    """Counts the pairs of each key in keyed state."""

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, left, right, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield left[0], self.count.value()


def test_the_function_may_have_keyed_state():
    with OperatorHarness.of(between(-5, 5, Counted())) as harness:
        harness.push_all([("a", 1), ("b", 1)], [1, 1])
        got = harness.push_all([("a", 1), ("a", 2), ("b", 3)], [1, 2, 3], input=1)
        assert got == [("a", 1), ("a", 2), ("b", 1)]


def test_what_nobody_can_meet_any_more_is_forgotten():
    # Left records are needed for 3 ms after their time, right ones for 2.
    with OperatorHarness.of(between(-2, 3)) as harness:
        harness.push(("k", 10), 10)
        harness.push(("k", 20), 20, input=1)
        sizes = []
        for mark in (12, 13, 21, 22):
            harness.advance_watermark(mark)
            sizes.append(entries(harness))
    assert sizes == [4, 2, 2, 0]  # a list and a timer for each record


@pytest.mark.parametrize("backend", ["hashmap", "lmdb"])
def test_a_record_is_late_if_it_is_before_the_watermark(backend):
    build = between(-5, 5)
    with OperatorHarness.of(build, backend=backend) as harness:
        harness.push(("k", 10), 10)
        harness.advance_watermark(12)
        assert harness.push(("k", 11), 11, input=1) == []
        assert harness.push(("k", 12), 12, input=1) == [(10, 12)]
        assert harness.metric("numLateRecordsDropped") == 1


def test_at_the_very_watermark_a_record_meets_what_was_not_forgotten_by_then():
    # As in Flink: the record of time 10 is needed up to 13, and forgotten when it is 13.
    with OperatorHarness.of(between(0, 3)) as harness:
        harness.push_all([("k", 10), ("k", 11)], [10, 11])
        harness.advance_watermark(13)
        assert harness.push(("k", 13), 13, input=1) == [(11, 13)]


@pytest.mark.parametrize("input_", [0, 1])
def test_late_records_of_either_side_have_a_side_output(input_):
    tags = OutputTag("left"), OutputTag("right")
    build = between(
        -5,
        5,
        change=lambda close: close.side_output_left_late_data(tags[0]).side_output_right_late_data(
            tags[1]
        ),
    )
    with OperatorHarness.of(build, side_outputs=tags) as harness:
        harness.advance_watermark(12)
        harness.push(("k", 3), 3, input=input_)
        assert harness.side_emitted(tags[input_]) == [Emitted(("k", 3), 3)]
        assert harness.side_emitted(tags[1 - input_]) == []


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("bare", [0, 1])
def test_records_without_timestamp_are_refused(mode, bare):
    env = environment(mode)
    streams = [
        env.from_source(CollectionSource.of([("k", 1)]), by_time(), name)
        if number != bare
        else env.from_collection([("k", 1)])
        for number, name in enumerate(("left", "right"))
    ]
    a, b = (stream.key_by(key_of) for stream in streams)
    a.interval_join(b).between(0, 1).process(sides).sink_to(DiscardingSink())
    with pytest.raises(TypeMismatchError, match="timestamp") as refused:
        run_in_process(env)
    assert ("left", "right")[bare] in refused.value.problem
    assert str(refused.value.origin).startswith(__file__)


def test_a_failing_function_names_the_pair():
    def fails(left, right, context):
        raise ValueError("no")

    with OperatorHarness.of(between(0, 5, fails)) as harness:
        harness.push(("k", 1), 1)
        with pytest.raises(UserFunctionError) as failure:
            harness.push(("k", 2), 2, input=1)
    assert "pair ('k', 1), ('k', 2) of key 'k'" in failure.value.problem
    assert str(failure.value.origin).endswith("in fails")


def test_declared_types_hold_in_state():
    types = [Types.TUPLE([Types.STRING(), Types.INT()])] * 2
    with OperatorHarness.of(between(-5, 5), input_types=types) as harness:
        harness.push(["k", 1], 1)
        snapshot = harness.snapshot()
    with OperatorHarness.of(between(-5, 5), input_types=types, snapshot=snapshot) as again:
        assert again.push(["k", 2], 2, input=1) == [(1, 2)]


def two(env):
    return [env.from_collection([("k", 1)]).key_by(key_of) for _ in range(2)]


@pytest.mark.parametrize(
    "bounds", [(3, 2), ("1", 2), (0, 1.5), (0, timedelta(microseconds=1)), (True, 2)]
)
def test_wrong_bounds_are_refused(bounds):
    a, b = two(environment(BATCH))
    with pytest.raises(ArgumentError) as refused:
        a.interval_join(b).between(*bounds)
    assert str(refused.value.origin).startswith(__file__)


def test_an_interval_without_its_bounds_must_not_be_empty():
    a, b = two(environment(BATCH))
    close = a.interval_join(b).between(0, 1).lower_bound_exclusive().upper_bound_exclusive()
    with pytest.raises(GraphError, match="no pairs") as refused:
        close.process(sides)
    assert str(refused.value.origin).startswith(__file__)


def test_both_streams_need_a_key_and_one_environment():
    env = environment(BATCH)
    a, _ = two(env)
    with pytest.raises(ArgumentError, match="interval_join") as refused:
        a.interval_join(env.from_collection([1]))
    assert "KeyedStream" in refused.value.hint
    with pytest.raises(GraphError, match="different environments"):
        a.interval_join(two(environment(BATCH))[0])


def test_keys_of_different_types_are_refused():
    env = environment(BATCH)
    stream: Any = env.from_collection([("k", 1)])
    text, number = stream.key_by(key_of, Types.STRING()), stream.key_by(key_of, Types.LONG())
    with pytest.raises(GraphError, match="String and Long") as refused:
        text.interval_join(number)
    assert str(refused.value.origin).startswith(__file__)
    assert text.interval_join(stream.key_by(key_of, Types.STRING())) is not None


@pytest.mark.parametrize("wrong", ["late", None, OutputTag])
def test_late_data_needs_a_tag(wrong):
    a, b = two(environment(BATCH))
    close = a.interval_join(b).between(0, 1)
    for method in (close.side_output_left_late_data, close.side_output_right_late_data):
        with pytest.raises(ArgumentError):
            method(wrong)


def test_the_function_must_be_one():
    a, b = two(environment(BATCH))
    close = a.interval_join(b).between(0, 1)
    with pytest.raises(ArgumentError, match="the class WithSides") as refused:
        close.process(WithSides)
    assert "WithSides()" in refused.value.hint
    with pytest.raises(ArgumentError):
        close.process(3)


def test_a_checkpoint_belongs_to_the_bounds():
    def shape(*bounds):
        env = environment(BATCH)
        a, b = two(env)
        a.interval_join(b).between(*bounds).process(sides).sink_to(DiscardingSink())
        return fingerprint(env.plan())

    assert shape(0, 1) == shape(0, 1)
    assert len({shape(0, 1), shape(0, 2), shape(-1, 1)}) == 3


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_a_stream_may_be_joined_with_itself(mode):
    env = environment(mode)
    records = [("k", 1), ("k", 3)]
    stream = env.from_source(CollectionSource.of(records), by_time(), "s").key_by(key_of)
    stream.interval_join(stream).between(0, 2).process(sides).sink_to(DiscardingSink())
    assert sorted(run_in_process(env).of()) == [(1, 1), (1, 3), (3, 3)]
