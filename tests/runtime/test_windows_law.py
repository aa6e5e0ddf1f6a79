"""Windows, by definition: live, batch and mixed runs of random streams, and late records."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Time, Types
from penstock.connectors.python.collection import CollectionSource
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    AggregateFunction,
    OutputTag,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from penstock.datastream.connectors import HybridSource
from penstock.datastream.window import (
    EndOfStreamWindows,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.runtime.operators.windows.general import stored_window
from penstock.testing import Schedule, difference, run_in_process
from tests.runtime.jobs import MODE_IDS, MODES, by_time, environment, history_then_live
from tests.runtime.window_oracle import LateOracle, contents, summary
from tests.testing.strategies import schedules

ms = Time.milliseconds

records = st.lists(
    st.tuples(st.integers(0, 3), st.integers(-30, 60), st.integers(1, 20)), max_size=30
).map(lambda found: [(*record, number) for number, record in enumerate(found)])

shapes = st.one_of(
    st.tuples(st.just("tumbling"), st.sampled_from([5, 7, 10]), st.integers(-4, 4)).map(
        lambda shape: (shape[0], shape[1], shape[1], shape[2])
    ),
    st.tuples(
        st.just("sliding"),
        st.sampled_from([3, 6, 10, 15]),
        st.sampled_from([2, 4, 5, 10]),
        st.integers(-1, 1),
    ),
    st.tuples(st.just("session"), st.sampled_from([1, 4, 10])),
)


def assigner(shape: Any) -> Any:
    if shape[0] == "tumbling":
        return TumblingEventTimeWindows.of(ms(shape[1]), ms(shape[-1]))
    if shape[0] == "sliding":
        return SlidingEventTimeWindows.of(ms(shape[1]), ms(shape[2]), ms(shape[3]))
    return EventTimeSessionWindows.with_gap(ms(shape[1]))


def key_of(record):
    return record[0]


def added(left, right):
    return (left[0], max(left[1], right[1]), left[2] + right[2], max(left[3], right[3]))


class Sum(AggregateFunction):
    """Changes its accumulators, and gives them away as results."""

    def create_accumulator(self):
        return [0, 0]

    def add(self, value, accumulator):
        accumulator[0] += value[2]
        accumulator[1] += 1
        return accumulator

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        acc_b[0] += acc_a[0]
        acc_b[1] += acc_a[1]
        return acc_b


class SumWithoutMerge(Sum):
    def merge(self, acc_a, acc_b):
        raise NotImplementedError


class Numbers(ProcessWindowFunction):
    def process(self, key, context, elements):
        numbers = tuple(sorted(record[3] for record in elements))
        yield (key, stored_window(context.window()), numbers)


class NumbersApplied(WindowFunction):
    def apply(self, key, window, inputs):
        return [(key, stored_window(window), tuple(sorted(record[3] for record in inputs)))]


class NumbersOfAll(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield (0, stored_window(context.window()), tuple(sorted(record[3] for record in elements)))


class Only(ProcessWindowFunction):
    def process(self, key, context, elements):
        (element,) = elements
        yield (key, stored_window(context.window()), tuple(element))


def sums(found):
    return (sum(record[2] for record in found), len(found))


def numbers(found):
    return tuple(sorted(record[3] for record in found))


def reduced(found):
    return (found[0][0], *(f(r[i] for r in found) for i, f in ((1, max), (2, sum), (3, max))))


FOLDS: dict[str, Any] = {
    "reduce": (lambda cut: cut.reduce(added, Only()), reduced),
    "aggregate": (lambda cut: cut.aggregate(Sum(), Only()), sums),
    "typed aggregate": (
        lambda cut: cut.aggregate(Sum(), Only(), accumulator_type=Types.LIST(Types.LONG())),
        sums,
    ),
    "process": (lambda cut: cut.process(Numbers()), numbers),
    "apply": (lambda cut: cut.apply(NumbersApplied()), numbers),
}


def disorder(found):
    worst, greatest = 0, found[0][1] if found else 0
    for record in found:
        greatest = max(greatest, record[1])
        worst = max(worst, greatest - record[1])
    return worst


def stream(mode, found, cut, parallelism, bound):
    env = environment(mode, parallelism)
    source = history_then_live(found[:cut], found[cut:])
    return env, env.from_source(source, by_time(bound), "records")


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("fold", sorted(FOLDS))
@settings(max_examples=25)
@given(
    found=records,
    cut=st.integers(0, 30),
    shape=shapes,
    schedule=schedules,
    parallelism=st.integers(1, 3),
)
def test_windows_hold_what_they_should(mode, fold, found, cut, shape, schedule, parallelism):
    build, of = FOLDS[fold]
    env, source = stream(mode, found, cut, parallelism, disorder(found))
    build(source.key_by(key_of).window(assigner(shape))).sink_to(DiscardingSink())
    got = run_in_process(env, schedule).of()
    assert difference(got, summary(contents(shape, found), of)) is None


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@settings(max_examples=30)
@given(found=records, cut=st.integers(0, 30), shape=shapes, schedule=schedules)
def test_windows_of_the_whole_stream(mode, found, cut, shape, schedule):
    env, source = stream(mode, found, cut, 2, disorder(found))
    source.window_all(assigner(shape)).process(NumbersOfAll()).sink_to(DiscardingSink())
    got = run_in_process(env, schedule).of()
    everything = [(0, *record[1:]) for record in found]
    assert difference(got, summary(contents(shape, everything), numbers)) is None


# FLIP-331, rule 1.
@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@pytest.mark.parametrize(
    "whole",
    [EndOfStreamWindows.get, GlobalWindows.create_with_end_of_stream_trigger],
    ids=["end of stream", "global"],
)
@settings(max_examples=20)
@given(found=records, cut=st.integers(0, 30), schedule=schedules, bound=st.integers(0, 20))
def test_end_of_stream_windows_have_all_records_once(mode, whole, found, cut, schedule, bound):
    env, source = stream(mode, found, cut, 2, bound)
    keyed = source.key_by(key_of)
    keyed.window(whole()).process(Numbers()).sink_to(DiscardingSink()).name("lists")
    keyed.window(whole()).aggregate(Sum(), Only()).sink_to(DiscardingSink()).name("sums")
    keyed.window(whole()).reduce(added).sink_to(DiscardingSink()).name("reduced")
    got = run_in_process(env, schedule)
    per_key: dict[Any, list[Any]] = {}
    for record in found:
        per_key.setdefault(record[0], []).append(record)
    form = stored_window(next(iter(whole().assign_windows(None, 0, None))))
    for sink, of in (("lists", numbers), ("sums", sums)):
        wanted = [(key, form, of(of_key)) for key, of_key in per_key.items()]
        assert difference(got.of(sink), wanted) is None
    assert difference(got.of("reduced"), list(map(reduced, per_key.values()))) is None


@pytest.mark.parametrize("mode_id", MODE_IDS)
@settings(max_examples=50)
@given(
    found=records,
    cut=st.integers(0, 30),
    shape=shapes,
    size=st.integers(1, 8),
    bound=st.integers(0, 20),
    lateness=st.sampled_from([0, 0, 3, 15]),
    backend=st.sampled_from(["hashmap", "hashmap", "lmdb"]),
    restart_every=st.one_of(st.none(), st.integers(1, 3)),
)
@pytest.mark.parametrize("fold", ["process", "aggregate", "aggregate without merge"])
def test_late_records_are_exact(
    *, mode_id, fold, found, cut, shape, size, bound, lateness, backend, restart_every
):
    late = OutputTag("late")
    env = environment(MODES[MODE_IDS.index(mode_id)], 1)
    # Of a batch run, which is all of it or the history, no record is late.
    history = {"batch": len(found), "streaming": 0, "mixed": min(cut, len(found))}[mode_id]
    read: CollectionSource | HybridSource = CollectionSource.of(found)
    if mode_id == "mixed":
        read = history_then_live(found[:history], found[history:])
    source = env.from_source(read, by_time(bound), "records")
    windows = (
        source.key_by(key_of)
        .window(assigner(shape))
        .allowed_lateness(lateness)
        .side_output_late_data(late)
    )
    if fold == "process":
        result, of = windows.process(Numbers()), None
    else:
        function = Sum() if fold == "aggregate" else SumWithoutMerge()
        if fold != "aggregate" and shape[0] == "session":
            return  # sessions have to merge
        result, of = windows.aggregate(function, Only()), sums
    result.sink_to(DiscardingSink()).name("fired")
    result.get_side_output(late).sink_to(DiscardingSink()).name("late")
    schedule = Schedule(batch_sizes=(size,), backend=backend, restart_every=restart_every)
    got = run_in_process(env, schedule)

    oracle = LateOracle(shape, lateness)
    greatest = None
    starts = [0, *range(history, len(found), size)] if history else range(0, len(found), size)
    for start in starts:
        end = start + size if start >= history else history
        # A key's records are processed together, one key after the other.
        for record in found[start:end]:
            oracle.add(record)
            greatest = record[1] if greatest is None else max(greatest, record[1])
        oracle.advance(greatest - bound - 1)
    oracle.advance(2**63 - 1)
    wanted = oracle.firings
    if of is not None:
        by_number = {record[3]: record for record in found}
        wanted = [(k, w, of([by_number[n] for n in numbers_])) for k, w, numbers_ in wanted]
    assert difference(got.of("fired"), wanted) is None
    assert difference(got.of("late"), oracle.late) is None
