"""What is copied behind a window: nothing where no state holds results (FLIP-329, FLIP-331)."""

from __future__ import annotations

import pytest

from penstock.common import Time, WatermarkStrategy
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    AggregateFunction,
    CoGroupFunction,
    FlatJoinFunction,
    ProcessWindowFunction,
)
from penstock.datastream.connectors import DataGeneratorSource
from penstock.datastream.window import (
    CountEvictor,
    EndOfStreamWindows,
    GlobalWindows,
    TumblingEventTimeWindows,
)
from penstock.testing import run_in_process
from tests.runtime.jobs import BATCH, MIXED, MODE_IDS, MODES, STREAMING, environment

TEN_MS = TumblingEventTimeWindows.of(Time.milliseconds(10))
AT_END = [EndOfStreamWindows.get(), GlobalWindows.create_with_end_of_stream_trigger()]


class Promise:
    def is_output_value_stored(self):
        return False


class Firsts(CoGroupFunction):
    """Gives out what it was given."""

    def co_group(self, first, second):
        yield from first


class Seconds(FlatJoinFunction):
    def join(self, first, second):
        yield second


class Elements(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield from elements


class Greatest(AggregateFunction):
    def create_accumulator(self):
        return {"n": -1, "seen": []}

    def add(self, value, accumulator):
        return max(value, accumulator, key=lambda record: record["n"])

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return max(acc_a, acc_b, key=lambda record: record["n"])


class PromisingFirsts(Promise, Firsts):
    pass


class PromisingSeconds(Promise, Seconds):
    pass


class PromisingElements(Promise, Elements):
    pass


class PromisingGreatest(Promise, Greatest):
    pass


def key_of(record):
    return record["n"] % 3


def record(n):
    return {"n": n, "seen": []}


def changed(found):
    found["seen"].append(found["n"])
    return found


def whole(found):
    return found["n"], tuple(found["seen"])


def stream(env, count=12):
    source = DataGeneratorSource(record, count=count)
    by_number = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda found, _: found["n"]
    )
    return env.from_source(source, by_number, "numbers")


STEPS = {
    "co-group": (
        lambda a, b, window, f: (
            a.co_group(b).where(key_of).equal_to(key_of).window(window).apply(f)
        ),
        (Firsts, PromisingFirsts),
    ),
    "join": (
        lambda a, b, window, f: a.join(b).where(key_of).equal_to(key_of).window(window).apply(f),
        (Seconds, PromisingSeconds),
    ),
    "process": (
        lambda a, _, window, f: a.key_by(key_of).window(window).process(f),
        (Elements, PromisingElements),
    ),
    "aggregate": (
        lambda a, _, window, f: a.key_by(key_of).window(window).aggregate(f),
        (Greatest, PromisingGreatest),
    ),
}


def copies(build, function, window, *, settings=BATCH, count=12):
    env = environment(settings, 1)
    results = build(stream(env, count), stream(env, count), window, function)
    results.name("it").map(changed).sink_to(DiscardingSink())
    operators = [op for level in env.plan().levels for op in level.operators]
    return next(op for op in operators if op.name == "it").copies.at_emission


@pytest.mark.parametrize("name", sorted(STEPS))
@pytest.mark.parametrize("window", AT_END, ids=["whole", "global"])
@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
def test_at_the_end_a_promise_is_believed(name, window, settings):
    build, (plain, promising) = STEPS[name]
    assert copies(build, plain(), window, settings=settings)
    assert not copies(build, promising(), window, settings=settings)


@pytest.mark.parametrize("name", sorted(STEPS))
def test_windows_that_fire_before_keep_their_records_in_state(name):
    build, (_, promising) = STEPS[name]
    assert copies(build, promising(), TEN_MS)


@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
def test_an_evictor_reads_the_records_again(settings):
    def build(a, _, window, function):
        return a.key_by(key_of).window(window).evictor(CountEvictor.of(1)).process(function)

    assert copies(build, PromisingElements(), AT_END[1], settings=settings)


@pytest.mark.parametrize("name", sorted(STEPS))
@pytest.mark.parametrize("settings", [STREAMING, MIXED], ids=["streaming", "mixed"])
def test_an_input_without_end_is_kept_in_state(name, settings):
    build, (_, promising) = STEPS[name]
    assert copies(build, promising(), EndOfStreamWindows.get(), settings=settings, count=None)


def test_both_functions_of_a_window_are_asked():
    def build(function):
        return lambda a, _, window, last: a.key_by(key_of).window(window).aggregate(function, last)

    window = EndOfStreamWindows.get()
    assert not copies(build(PromisingGreatest()), PromisingElements(), window)
    assert copies(build(Greatest()), PromisingElements(), window)
    assert copies(build(PromisingGreatest()), Elements(), window)


@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("memory", ["1 b", "128 mb"])
@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("co-group", [(n, (n,)) for n in range(12)]),
        ("process", [(n, (n,)) for n in range(12)]),
        ("aggregate", [(n, (n,)) for n in (9, 10, 11)]),
    ],
)
def test_records_that_are_not_copied_may_be_changed(name, wanted, settings, memory):
    build, (_, promising) = STEPS[name]
    env = environment(settings | {"execution.sorted-inputs.memory": memory}, 2)
    results = build(stream(env), stream(env), EndOfStreamWindows.get(), promising())
    results.map(changed).map(whole).sink_to(DiscardingSink()).name("out")
    assert sorted(run_in_process(env).of("out")) == wanted
