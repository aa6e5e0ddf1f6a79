"""Co-groups and joins: live, batch and mixed runs of random streams against their definition.

The oracle (`pair_oracle`) works on whole lists and finds records that are lost, doubled, or in the
wrong group. That all modes are compared with it, under restarts, failures and with both backends,
finds state that is misplaced or forgotten too early.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Time, Types
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import CoGroupFunction, OutputTag, ProcessJoinFunction
from penstock.datastream.window import (
    CountEvictor,
    EndOfStreamWindows,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.testing import OperatorHarness, difference, run_in_process
from tests.runtime.jobs import MODE_IDS, MODES, by_time, environment, history_then_live
from tests.runtime.pair_oracle import close_pairs, co_groups, joined
from tests.testing.strategies import schedules

ms = Time.milliseconds

BACKENDS = ["hashmap", "hashmap", "lmdb"]

ROW = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG(), Types.LONG()])

records = st.lists(
    st.tuples(st.integers(0, 3), st.integers(-20, 40), st.integers(1, 20)), max_size=20
).map(lambda found: [(*record, number) for number, record in enumerate(found)])

shapes = st.one_of(
    st.tuples(st.just("tumbling"), st.sampled_from([5, 10]), st.integers(-4, 4)).map(
        lambda shape: (shape[0], shape[1], shape[1], shape[2])
    ),
    st.tuples(st.just("sliding"), st.sampled_from([6, 10]), st.sampled_from([2, 5]), st.just(0)),
    st.tuples(st.just("session"), st.sampled_from([1, 4, 10])),
    st.tuples(st.just("whole"), st.booleans()),
)

memory = st.sampled_from(["1 b", "500 b", "128 mb"])
"""For the records of a key group, in a batch run; what needs more is spilled."""


def assigner(shape: Any) -> Any:
    if shape[0] == "tumbling":
        return TumblingEventTimeWindows.of(ms(shape[1]), ms(shape[-1]))
    if shape[0] == "sliding":
        return SlidingEventTimeWindows.of(ms(shape[1]), ms(shape[2]), ms(shape[3]))
    if shape[0] == "session":
        return EventTimeSessionWindows.with_gap(ms(shape[1]))
    if shape[1]:
        return EndOfStreamWindows.get()
    return GlobalWindows.create_with_end_of_stream_trigger()


def key_of(record):
    return record[0]


def number_of(record):
    return None if record is None else record[3]


class Numbers(CoGroupFunction):
    def co_group(self, first, second):
        key = next(iter([*first, *second]))[0]
        yield key, tuple(sorted(map(number_of, first))), tuple(sorted(map(number_of, second)))


def disorder(found):
    worst, greatest = 0, found[0][1] if found else 0
    for record in found:
        greatest = max(greatest, record[1])
        worst = max(worst, greatest - record[1])
    return worst


def streams(env, left, right, cut, *, declared=False):
    """Return both streams, half history and half live, whose watermarks make nothing late."""
    bound = 80  # the two are read side by side, so one may be ahead of the other
    made = [
        env.from_source(
            history_then_live(found[:cut], found[cut:]), by_time(max(bound, disorder(found))), name
        )
        for name, found in (("left", left), ("right", right))
    ]
    return [stream.map(tuple, ROW) for stream in made] if declared else made


def numbers_of(groups):
    return [
        (key, tuple(sorted(map(number_of, left))), tuple(sorted(map(number_of, right))))
        for (key, _), (left, right) in groups.items()
    ]


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@settings(max_examples=30)
@given(
    left=records,
    right=records,
    cut=st.integers(0, 20),
    shape=shapes,
    schedule=schedules,
    parallelism=st.integers(1, 3),
    declared=st.booleans(),
    memory=memory,
)
def test_groups_have_the_records_they_should(
    *, mode, left, right, cut, shape, schedule, parallelism, declared, memory
):
    env = environment(mode | {"execution.sorted-inputs.memory": memory}, parallelism)
    a, b = streams(env, left, right, cut, declared=declared)
    windows = a.co_group(b).where(key_of).equal_to(key_of).window(assigner(shape))
    windows.apply(Numbers()).sink_to(DiscardingSink())
    got = run_in_process(env, schedule).of()
    assert difference(got, numbers_of(co_groups(shape, left, right))) is None


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@settings(max_examples=8)
@given(left=records, right=records, cut=st.integers(0, 20), shape=shapes, schedule=schedules)
def test_an_evictor_that_evicts_nothing_changes_nothing(mode, left, right, cut, shape, schedule):
    if shape == ("whole", True):
        shape = ("whole", False)  # EndOfStreamWindows take no evictor
    env = environment(mode)
    a, b = streams(env, left, right, cut)
    windows = a.co_group(b).where(key_of).equal_to(key_of).window(assigner(shape))
    windows.evictor(CountEvictor.of(1000)).apply(Numbers()).sink_to(DiscardingSink())
    got = run_in_process(env, schedule).of()
    assert difference(got, numbers_of(co_groups(shape, left, right))) is None


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("kind", ["inner", "left", "right", "full"])
@settings(max_examples=8)
@given(
    left=records,
    right=records,
    cut=st.integers(0, 20),
    shape=shapes,
    schedule=schedules,
    parallelism=st.integers(1, 3),
    memory=memory,
)
def test_window_joins_have_the_pairs_they_should(
    *, mode, kind, left, right, cut, shape, schedule, parallelism, memory
):
    env = environment(mode | {"execution.sorted-inputs.memory": memory}, parallelism)
    a, b = streams(env, left, right, cut)
    windows = a.join(b).where(key_of).equal_to(key_of).window(assigner(shape))
    pairs = getattr(windows, kind)().apply(lambda x, y: (number_of(x), number_of(y)))
    pairs.sink_to(DiscardingSink())
    got = run_in_process(env, schedule).of()
    wanted = joined(
        co_groups(shape, left, right),
        pads_left=kind in {"left", "full"},
        pads_right=kind in {"right", "full"},
    )
    assert difference(got, wanted) is None


class Pairs(ProcessJoinFunction):
    def process_element(self, left, right, ctx):
        assert (ctx.get_left_timestamp(), ctx.get_right_timestamp()) == (left[1], right[1])
        yield left[3], right[3], ctx.get_timestamp()


bounds = st.tuples(st.integers(-25, 25), st.integers(0, 20)).map(lambda b: (b[0], b[0] + b[1]))


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@settings(max_examples=40)
@given(
    left=records,
    right=records,
    cut=st.integers(0, 20),
    between=bounds,
    schedule=schedules,
    parallelism=st.integers(1, 3),
    declared=st.booleans(),
    memory=memory,
)
def test_interval_joins_have_the_pairs_they_should(
    *, mode, left, right, cut, between, schedule, parallelism, declared, memory
):
    env = environment(mode | {"execution.sorted-inputs.memory": memory}, parallelism)
    a, b = streams(env, left, right, cut, declared=declared)
    close = a.key_by(key_of).interval_join(b.key_by(key_of)).between(*between)
    close.process(Pairs()).sink_to(DiscardingSink())
    got = run_in_process(env, schedule).of()
    assert difference(got, close_pairs(left, right, *between)) is None


steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("records"),
            st.integers(0, 1),
            st.lists(st.tuples(st.integers(0, 2), st.integers(-20, 40)), min_size=1, max_size=4),
        ),
        st.tuples(st.just("watermark"), st.integers(0, 1), st.integers(0, 20)),
        st.tuples(st.just("restart"), st.just(0), st.just(0)),
    ),
    max_size=20,
)


@pytest.mark.parametrize("backend", ["hashmap", "lmdb"])
@settings(max_examples=40)
@given(steps=steps, between=bounds)
def test_late_records_of_interval_joins_are_exact(backend, steps, between):
    late = OutputTag("late left"), OutputTag("late right")

    def build(a, b):
        close = a.key_by(key_of).interval_join(b.key_by(key_of)).between(*between)
        close.side_output_left_late_data(late[0]).side_output_right_late_data(late[1])
        return close.process(Pairs())

    def opened(snapshot):
        return OperatorHarness.of(build, side_outputs=late, backend=backend, snapshot=snapshot)

    # Watermarks are odd and times even: what is at the very watermark has a test of its own.
    marks, pairs = [-41, -41], []
    in_time: tuple[list[Any], list[Any]] = ([], [])
    too_late: tuple[list[Any], list[Any]] = ([], [])
    got_late: tuple[list[Any], list[Any]] = ([], [])
    harness = opened(None)
    for what, side, argument in steps:
        if what == "records":
            added = [
                (key, 2 * time, 0, len(in_time[side]) + n) for n, (key, time) in enumerate(argument)
            ]
            for record in added:
                (too_late if record[1] < min(marks) else in_time)[side].append(record)
            pairs += harness.push_all(added, [record[1] for record in added], input=side)
        elif what == "watermark":
            marks[side] += 2 * argument
            assert harness.advance_watermark(marks[side], input=side) == []
        else:
            snapshot = harness.snapshot()
            for number in (0, 1):
                got_late[number].extend(harness.side_output(late[number]))
            harness.close()
            harness = opened(snapshot)
    with harness:
        for number in (0, 1):
            got_late[number].extend(harness.side_output(late[number]))
            assert difference(got_late[number], too_late[number]) is None
        assert difference(pairs, close_pairs(*in_time, *between)) is None
        harness.end_input()
        assert harness.snapshot().state == ()
