"""A graph that has changed is described by what changed, not by two lists."""

from __future__ import annotations

import json

import pytest

from penstock.common import Time, Types, WatermarkStrategy
from penstock.connectors.python.collection import CollectionSource
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.plan.compat.fingerprint import describe_shape, first_difference


def shape(change=lambda stream: stream, *, windows=None, parallelism=2, values=(1, 2)):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    source = CollectionSource.of(list(values))
    marks = WatermarkStrategy.for_monotonous_timestamps()
    stream = change(env.from_source(source, marks, "numbers"))
    windows = windows or TumblingEventTimeWindows.of(Time.minutes(1))
    keyed = stream.key_by(lambda n: n % 2)
    totals = keyed.window(windows).reduce(lambda a, b: a + b).uid("totals")
    totals.sink_to(DiscardingSink()).uid("out")
    return json.loads(json.dumps(describe_shape(env.plan())))


HOURS = TumblingEventTimeWindows.of(Time.hours(1))
SLIDING = SlidingEventTimeWindows.of(Time.minutes(1), Time.seconds(10))
CHANGES = {
    "a longer window": (
        {"windows": HOURS},
        "operator 'totals' had windows of 60000 ms, has windows of 3600000 ms",
    ),
    "a sliding window": (
        {"windows": SLIDING},
        "operator 'totals' had windows of 60000 ms, has windows of 60000 ms every 10000 ms",
    ),
    "an operator more": (
        {"change": lambda s: s.map(lambda n: n, Types.INT()).uid("more")},
        "operators: 'more' is new",
    ),
    "an operator more, at the other side of an exchange": (
        {"change": lambda s: s.key_by(lambda n: n).reduce(lambda a, b: a + b).uid("more")},
        "operators: 'more' is new",
    ),
    "parallelism": ({"parallelism": 3}, "2"),
}


@pytest.mark.parametrize(("changed", "said"), CHANGES.values(), ids=CHANGES)
def test_what_changed_is_said_in_a_line(changed, said):
    before, after = shape(), shape(**changed)
    told = first_difference(before, after)
    assert said in told
    assert "[" not in told, "no raw lists"
    assert len(told) < 200
    recorded = json.loads(json.dumps(before, sort_keys=True))
    assert first_difference(recorded, after) == told, "whatever the order in which it was recorded"


def test_an_exchange_is_told_by_what_changed():
    was = [0, 0, 1, "totals", 0, "HASH", None]
    for now, said in (
        ([0, 0, 1, "totals", 0, "REBALANCE", None], "was hash to the parallelism of the job, is r"),
        ([0, 0, 1, "other", 0, "HASH", None], "exchange 0 leads somewhere else"),
        ([0, 0, 1, "totals", 0, "HASH", 2], "is hash to parallelism 2"),
    ):
        assert said in first_difference({"channels": [was]}, {"channels": [now]})


def test_nothing_is_no_difference():
    assert first_difference(shape(), shape()) == "nothing"


def test_every_aspect_is_told_in_words():
    whole = shape()
    for aspect, value in whole.items():
        other = {**whole, aspect: value + 1 if isinstance(value, int) else []}
        told = first_difference(whole, other)
        assert told != "nothing"
        assert "[" not in told
