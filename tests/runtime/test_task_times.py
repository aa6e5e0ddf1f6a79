"""Where the time of a job goes: each level, section and operator gets its own, and no other's.

Time passes when a function of a test says so, however busy the machine is.
"""

from __future__ import annotations

import pytest

from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import KeyedProcessFunction, MapFunction, OutputTag, ProcessFunction
from penstock.metrics import task_clock
from penstock.metrics.job_metrics import JobMetrics
from penstock.testing import Schedule, run_in_process
from tests.runtime.jobs import BATCH, MIXED, MODE_IDS, MODES, STREAMING, by_time, environment

SLOW_SECONDS = 0.1
ASIDE = OutputTag("aside")


class Ticks:
    """A microsecond passes with every look, so that everything takes some time."""

    def __init__(self):
        self.now_ns = 0

    def __call__(self):
        self.now_ns += 1000
        return self.now_ns


@pytest.fixture(autouse=True)
def _ticks(monkeypatch):
    monkeypatch.setattr(task_clock, "perf_counter_ns", Ticks())


def let_time_pass():
    vars(task_clock)["perf_counter_ns"].now_ns += round(SLOW_SECONDS * 1e9)


def slow(value):
    let_time_pass()
    return value


class SlowTimer(KeyedProcessFunction):
    """Does its work when event time has come."""

    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(5)

    def on_timer(self, timestamp, ctx):
        yield slow(timestamp)


class Aside(ProcessFunction):
    """Sends everything to a side output."""

    def process_element(self, value, ctx):
        yield ASIDE, value


class Unpickled:
    """Slow on both ways between levels."""

    def __reduce__(self):
        let_time_pass()
        return slow, (5,)


class MakesUnpickled(MapFunction):
    """Keeps nothing, so that its results are not copied, which would pickle them."""

    def map(self, value):
        return Unpickled()

    def is_output_value_stored(self):
        return False


def seconds_of(env, schedule=None):
    report = run_in_process(env, schedule or Schedule()).report
    metrics = JobMetrics()
    metrics.add(report.metrics, report.state, report.times)
    return metrics.seconds()


def parts_from(seconds, least):
    """Return the names of what took at least so long; nobody waits for anything in process."""
    return {n for n, spent in seconds.items() if spent >= least and not n.endswith(".wait")}


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_a_chained_operator_gets_its_own_time(mode):
    env = environment(mode, 1)
    stream = env.from_collection([1, 2]).map(lambda n: n).uid("before")
    stream = stream.map(slow).uid("slow").map(lambda n: n).uid("behind")
    stream.sink_to(DiscardingSink())
    seconds = seconds_of(env)
    assert parts_from(seconds, 2 * SLOW_SECONDS) == {"level-0.operator.slow"}
    assert {"level-0.operator.before", "level-0.operator.behind"} <= seconds.keys()


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_an_operator_behind_an_exchange_is_charged_to_its_level(mode):
    env = environment(mode)
    keyed = env.from_collection([1, 2, 3, 4]).key_by(lambda n: n % 2)
    keyed.map(slow).uid("slow").sink_to(DiscardingSink())
    assert parts_from(seconds_of(env), 4 * SLOW_SECONDS) == {"level-1.operator.slow"}


@pytest.mark.parametrize("mode", [BATCH, STREAMING], ids=["batch", "streaming"])
def test_timers_are_their_operators_time(mode):
    env = environment(mode, 1)
    stream = env.from_collection([("a", 1), ("b", 2)])
    timed = stream.assign_timestamps_and_watermarks(by_time())
    timed.key_by(lambda r: r[0]).process(SlowTimer()).uid("timers").sink_to(DiscardingSink())
    assert parts_from(seconds_of(env), 2 * SLOW_SECONDS) == {"level-1.operator.timers"}


def test_a_slow_key_selector_is_the_exchange():
    env = environment(STREAMING, 1)
    keyed = env.from_collection([1, 2]).key_by(slow)
    keyed.process(SlowTimer()).sink_to(DiscardingSink())
    assert "level-0.exchange" in parts_from(seconds_of(env), 2 * SLOW_SECONDS)


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_records_slow_to_pickle_are_encode_and_decode(mode):
    env = environment(mode, 1)
    env.from_collection([1]).map(MakesUnpickled()).uid("makes").rebalance().map(lambda n: n).uid(
        "takes"
    ).disable_chaining().sink_to(DiscardingSink())
    found = parts_from(seconds_of(env), SLOW_SECONDS)
    assert found == {"level-0.encode", "level-1.decode"}


def test_what_reads_a_side_output_gets_its_own_time():
    env = environment(STREAMING, 1)
    main = env.from_collection([1]).process(Aside()).uid("splits")
    main.get_side_output(ASIDE).map(slow).uid("aside").sink_to(DiscardingSink())
    assert parts_from(seconds_of(env), SLOW_SECONDS) == {"level-0.operator.aside"}


def test_time_of_attempts_that_failed_does_not_count():
    env = environment(STREAMING, 1)
    keyed = env.from_collection([1, 1]).key_by(lambda n: n)
    keyed.reduce(lambda a, _: slow(a)).uid("slow").sink_to(DiscardingSink())
    spent = seconds_of(env, Schedule(batch_sizes=(2,), fail_every=1))["level-1.operator.slow"]
    assert SLOW_SECONDS <= spent < 1.1 * SLOW_SECONDS


def test_a_mixed_job_adds_up_both_runs():
    env = environment(MIXED, 1)
    env.from_collection([1, 2, 3]).map(slow).uid("slow").sink_to(DiscardingSink())
    seconds = seconds_of(env, Schedule(batch_sizes=(1,)))
    assert 3 * SLOW_SECONDS <= seconds["level-0.operator.slow"] < 3.1 * SLOW_SECONDS
