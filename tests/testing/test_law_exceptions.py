"""Exceptions of the law are named and are no accusation; a broken function beside one is still found."""

from __future__ import annotations

from itertools import count

import pytest

from penstock.common import Row, Types
from penstock.datastream import (
    BroadcastProcessFunction,
    KeyedCoProcessFunction,
    MapFunction,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from penstock.datastream.connectors import DiscardingSink
from penstock.datastream.state import MapStateDescriptor
from penstock.errors import LawError
from penstock.testing import Way, WayMode, check

LIMITS = MapStateDescriptor("limits", Types.STRING(), Types.LONG())
RULES = [("a", 3), ("b", 5), ("a", 4)]
EVENTS = [("ab"[n % 2], n) for n in range(12)]
NUMBERS = count()


class Above(BroadcastProcessFunction):
    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(LIMITS).put(*value)

    def process_element(self, value, ctx):
        limit = ctx.get_broadcast_state(LIMITS).get(value[0])
        if limit is not None and value[1] > limit:
            yield value


class AboveCounted(Above):
    def __init__(self):
        self.seen = 0

    def process_element(self, value, ctx):
        self.seen += 1
        for passed in super().process_element(value, ctx):
            yield (*passed, self.seen)


class WithRule(KeyedCoProcessFunction):
    """Adds the latest rule of its key to an event."""

    def open(self, runtime_context):
        self.rule = runtime_context.get_state(ValueStateDescriptor("rule"))

    def process_element1(self, value, ctx):
        yield (*value, self.rule.value())

    def process_element2(self, value, ctx):
        self.rule.update(value[1])


class First(MapFunction):
    """Adds the first number of its key to a record."""

    def open(self, runtime_context):
        self.first = runtime_context.get_state(ValueStateDescriptor("first"))

    def map(self, value):
        if self.first.value() is None:
            self.first.update(value[1])
        return (*value, self.first.value())


def by_name(record):
    return record[0]


def rules_beside_events(function):
    def build(env):
        rules = env.from_collection(RULES)
        events = env.from_collection(EVENTS)
        return events.connect(rules.broadcast(LIMITS)).process(function)

    return build


def latest_rule(env):
    rules, events = env.from_collection(RULES), env.from_collection(EVENTS)
    return events.key_by(by_name).connect(rules.key_by(by_name)).process(WithRule())


def first_of_two_sources(env):
    late, early = env.from_collection([*EVENTS, ("c", 1)]), env.from_collection([("c", 2), *EVENTS])
    return late.union(early).key_by(by_name).map(First())


def in_order(one, other):
    """Add a number to those before it, so that their order shows."""
    return (one[0], (one[1] * 31 + other[1]) % 10_007)


def order_of_two_sources(env):
    first, second = env.from_collection(EVENTS), env.from_collection([("a", -1), ("c", 2)])
    return first.union(second).key_by(by_name).reduce(in_order)


def order_of_two_timed_sources(env):
    by_number = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda record, _: record[1]
    )
    streams = [
        env.from_collection(records).assign_timestamps_and_watermarks(by_number)
        for records in (EVENTS, [("b", 4), ("a", 5), ("a", 40)])
    ]
    return streams[0].union(streams[1]).key_by(by_name).reduce(in_order)


def order_behind_rules(env):
    ruled = latest_rule(env).map(lambda record: (record[0], record[1] + 100 * (record[2] or 0)))
    return ruled.key_by(by_name).reduce(in_order)


def joined(env, key=by_name):
    rules = env.from_collection([Row(*rule) for rule in RULES])
    events = env.from_collection([Row(*event) for event in EVENTS])
    pairs = events.join(rules).where(key).equal_to(by_name).left()
    return pairs.apply(lambda event, rule: Row(event[1], None if rule is None else rule[1]))


def shown(row):
    return row.get_row_kind().name, *row


ARRIVAL = "docs/check.md#order-of-arrival"
BETWEEN = "docs/check.md#results-in-between"


def verdict_of(build, inputs=None, ways=60):
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).sink_to(DiscardingSink()).name("out")
    return check(env, inputs=inputs, ways=ways)


@pytest.mark.parametrize(
    ("build", "page"),
    [
        (rules_beside_events(Above()), ARRIVAL),
        (latest_rule, ARRIVAL),
        (first_of_two_sources, ARRIVAL),
        (order_of_two_sources, ARRIVAL),
        (order_of_two_timed_sources, ARRIVAL),
        (order_behind_rules, ARRIVAL),
        (lambda env: joined(env).map(shown), BETWEEN),
    ],
)
def test_an_exception_of_the_law_is_named(build, page):
    verdict = verdict_of(build)
    assert verdict.is_same
    assert {(each.sink, each.page) for each in verdict.dependences} == {("out", page)}
    text = str(verdict)
    assert text.startswith("same answer in 60 ways, but for exceptions of the law")
    assert f"see {page}" in text
    assert verdict.to_json()["dependences"][0]["page"] == page


def test_an_aggregate_that_no_order_changes_depends_on_none():
    def build(env):
        first, second = env.from_collection(EVENTS), env.from_collection([("a", 1), ("c", 2)])
        return first.union(second).key_by(by_name).sum(1)

    verdict = verdict_of(build)
    assert (verdict.is_same, verdict.dependences, verdict.notes) == (True, (), ())


def test_rows_between_operators_need_no_columns():
    ways = [Way(), Way(WayMode.MIXED, cut=0.3, columns=True)]
    verdict = verdict_of(lambda env: joined(env).map(shown), ways=ways)
    assert {each.page for each in verdict.dependences} == {BETWEEN}


def test_the_order_of_splits_is_named():
    def build(env):
        return env.from_collection([]).name("events").key_by(by_name).map(First())

    splits = [[("a", 1), ("a", 2)], [("a", 3), ("a", 4)]]
    verdict = verdict_of(build, {"events": splits})
    assert [each.page for each in verdict.dependences] == [ARRIVAL]
    assert verdict_of(build, {"events": splits[:1]}).dependences == ()


@pytest.mark.parametrize(
    "build",
    [
        rules_beside_events(AboveCounted()),
        lambda env: latest_rule(env).map(lambda record: (*record, next(NUMBERS))),
        lambda env: order_of_two_sources(env).map(lambda record: (*record, next(NUMBERS))),
        lambda env: joined(env).map(lambda row: (*shown(row), next(NUMBERS))),
        lambda env: joined(env, key=lambda _: "ab"[next(NUMBERS) % 2]).map(shown),
    ],
)
def test_what_is_broken_beside_an_exception_is_found(build, monkeypatch):
    monkeypatch.setattr("penstock.testing.law.engine.SHRINKING_SECONDS", 1.0)
    with pytest.raises(LawError, match="sink 'out' gets two answers"):
        verdict_of(build)
