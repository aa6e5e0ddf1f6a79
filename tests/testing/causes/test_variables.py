"""Variables that outlive a call are found if they change per record and reach a result."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from typing import Any

import pytest

from penstock.datastream import KeyedProcessFunction, MapFunction
from penstock.datastream.state import MapStateDescriptor, ValueStateDescriptor
from tests.testing.causes.programs import accused, causes_of, keyed, orders, possible

NUMBERS = itertools.count()
SEEN: set[str] = set()
CITIES = {"ann": "Oslo"}
limit = 3
total = 0


def configure(new):
    global limit
    limit = new


def counted(order):
    global total
    total += 1
    return total


def remembered(order):
    SEEN.add(order[0])
    return len(SEEN)


def through(order):
    return remembered(order)


def numbered(order):
    return next(NUMBERS), order


def looked_up(order):
    city = dict(CITIES)
    city["bob"] = "Rome"
    return city.get(order[0]), next(iter(CITIES))


def limited(order):
    return order[1] > limit


def mapped(function):
    return lambda env: orders(env).map(function)


class Tally(MapFunction):
    seen = 0

    def map(self, value):
        type(self).seen += 1
        return Tally.seen


@pytest.mark.parametrize(
    "function",
    [counted, remembered, through, numbered, lambda order: SEEN.discard(order[0]), Tally()],
)
def test_a_variable_of_the_module_that_changes_is_found(function):
    assert accused(causes_of(lambda env: orders(env).map(function))) == {"GLOBAL_VARIABLE"}


def test_a_variable_of_the_function_around_is_found():
    count = 0
    seen: list[Any] = []

    def bound(order):
        nonlocal count
        count += 1
        return count

    for function in (bound, lambda order: seen.append(order)):
        assert accused(causes_of(mapped(function))) == {"GLOBAL_VARIABLE"}


def test_a_constant_table_is_none():
    assert causes_of(lambda env: orders(env).map(looked_up)) == ()


def test_a_variable_that_another_function_sets_is_possible():
    (cause,) = causes_of(lambda env: orders(env).filter(limited))
    assert (cause.code, cause.is_possible) == ("GLOBAL_VARIABLE", True)
    assert (
        "may give two answers: it reads limit, a variable of the module that configure changes"
        in cause.problem
    )


def collected(order, seen=[]):
    seen.append(order)
    return len(seen)


def keyword(order, *, seen={}):
    seen[order[0]] = order
    return len(seen)


def unchanged(order, names=["ann"]):
    return order[0] in names


def replaced(order, seen=[]):
    seen = [*seen, order]
    return seen


@pytest.mark.parametrize("function", [collected, keyword])
def test_a_default_that_changes_is_found(function):
    assert accused(causes_of(lambda env: orders(env).map(function))) == {"MUTABLE_DEFAULT"}


@pytest.mark.parametrize("function", [unchanged, replaced])
def test_a_default_that_stays_is_none(function):
    assert causes_of(lambda env: orders(env).map(function)) == ()


class Number(MapFunction):
    def __init__(self):
        self.count = 0

    def map(self, value):
        self.count += 1
        return self.count, value


class Through(Number):
    def map(self, value):
        return self.advance(), value

    def advance(self):
        self.count += 1
        return self.count


class Seen(KeyedProcessFunction):
    def open(self, runtime_context):
        self.seen = set()

    def process_element(self, value, ctx):
        if value[0] not in self.seen:
            self.seen.add(value[0])
            yield value


class Elements(KeyedProcessFunction):
    def open(self, runtime_context):
        self.counts: Counter[str] = Counter()
        self.last = defaultdict(list)

    def process_element(self, value, ctx):
        self.counts[value[0]] += 1
        self.last[value[0]].append(value)
        yield self.counts[value[0]], self.last[value[0]]


class Previous(KeyedProcessFunction):
    def open(self, runtime_context):
        self.previous = None

    def process_element(self, value, ctx):
        if self.previous is not None:
            yield value[1] - self.previous
        self.previous = value[1]


class InTimer(KeyedProcessFunction):
    def open(self, runtime_context):
        self.latest = 0

    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1])
        self.latest = value[1]

    def on_timer(self, timestamp, ctx):
        yield self.latest


class Iterated(MapFunction):
    def __init__(self):
        self.numbers = itertools.count()

    def map(self, value):
        return next(self.numbers)


@pytest.mark.parametrize("function", [Number(), Through(), Iterated()])
def test_state_in_self_of_a_map_is_found(function):
    assert accused(causes_of(lambda env: orders(env).map(function))) == {"STATE_IN_SELF"}


@pytest.mark.parametrize("function", [Seen(), Elements(), Previous(), InTimer()])
def test_state_in_self_of_a_keyed_function_is_found(function):
    assert accused(causes_of(lambda env: keyed(env).process(function))) == {"STATE_IN_SELF"}


class InState(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))
        self.pages = runtime_context.get_map_state(MapStateDescriptor("pages", None, None))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        self.pages.put("a", 1)
        self.pages.remove("a")
        self.count.clear()
        yield self.count.value()


class Counted(MapFunction):
    """Counts for `close` and the logs only."""

    def open(self, runtime_context):
        self.count = 0
        self.failures = []

    def map(self, value):
        self.count += 1
        self.failures.append(value)
        return value

    def close(self):
        print(self.count, self.failures)


class Lazy(MapFunction):
    def __init__(self):
        self.client = None

    def map(self, value):
        if self.client is None:
            self.client = object()
        return self.client is not None, value


class Scratch(MapFunction):
    def map(self, value):
        self.current = value
        return self.name()

    def name(self):
        return self.current[0]


@pytest.mark.parametrize("function", [Counted(), Lazy(), Scratch()])
def test_attributes_that_change_no_answer_are_none(function):
    assert causes_of(lambda env: orders(env).map(function)) == ()


def test_handles_of_state_are_none():
    assert causes_of(lambda env: keyed(env).process(InState())) == ()


class Memo(MapFunction):
    def open(self, runtime_context):
        self.known = {}

    def map(self, value):
        if value[0] not in self.known:
            self.known[value[0]] = value[0].upper()
        return self.known[value[0]]


def test_a_memo_is_possible():
    causes = causes_of(lambda env: orders(env).map(Memo()))
    assert (accused(causes), possible(causes)) == (set(), {"STATE_IN_SELF"})
