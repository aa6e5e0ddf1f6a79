"""The order of sets and sums of floats are found where they reach a result."""

from __future__ import annotations

import math

import pytest

from penstock.common import Row, Types
from penstock.datastream import (
    AggregateFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessWindowFunction,
    ReduceFunction,
)
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import EndOfStreamWindows
from tests.testing.causes.programs import accused, causes_of, keyed, orders, possible

COLOURS = {"red", "green"}


def looped(order):
    for word in set(order[0].split()):
        yield word


def copied(order):
    words = {*order[0].split()} | {"a"}
    return list(words)


def through(order):
    return chosen(order)


def chosen(order):
    words = set(order[0])
    return words.pop()


def by_dict(order):
    counts = dict.fromkeys(set(order[0].split()), 1)
    return [word for word in counts]


def sums_of_set(order):
    letters = set(order[0])
    total = 0
    for letter in letters:
        total += ord(letter)
    return total, len(letters), max(letters), sum(ord(letter) for letter in letters)


def in_order(order):
    for word in sorted(set(order[0].split())):
        yield word, [letter for letter in sorted({*word})], sorted([each for each in set(word)])


def membership(order):
    return order[0] in COLOURS, {word.upper() for word in COLOURS}, dict.fromkeys(order[0])


@pytest.mark.parametrize(
    "function",
    [
        looped,
        copied,
        through,
        by_dict,
        lambda order: ",".join(set(order[0])),
        lambda order: ",".join(word for word in COLOURS),
        lambda order: tuple(COLOURS),
        lambda order: [*COLOURS, order],
        lambda order: next(iter(set(order[0]))),
        lambda order: [word for word in COLOURS],
    ],
)
def test_the_order_of_a_set_is_found(function):
    assert accused(causes_of(lambda env: orders(env).map(function))) == {"SET_ORDER"}


class Opened(MapFunction):
    def open(self, runtime_context):
        self.words = {"a", "b"}

    def map(self, value):
        return list(self.words)


def test_a_set_of_an_attribute_is_found():
    assert accused(causes_of(lambda env: orders(env).map(Opened()))) == {"SET_ORDER"}


@pytest.mark.parametrize("function", [sums_of_set, in_order, membership])
def test_a_set_whose_order_no_result_has_is_none(function):
    assert causes_of(lambda env: orders(env).map(function)) == ()


class Sum(ReduceFunction):
    def reduce(self, a, b):
        return a[0], a[1], a[2] + b[2]


class Total(AggregateFunction):
    def create_accumulator(self):
        return 0.0

    def add(self, order, accumulator):
        return accumulator + order[2]

    def get_result(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return a + b


class Kept(KeyedProcessFunction):
    def open(self, runtime_context):
        self.total = runtime_context.get_state(ValueStateDescriptor("total"))

    def process_element(self, value, ctx):
        name, _, amount = value
        total = self.total.value() or 0.0
        self.total.update(total + amount)
        yield name, self.total.value()


class InWindow(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, sum(amount for _, _, amount in elements)


class InLoop(ProcessWindowFunction):
    def process(self, key, context, elements):
        total = 0.0
        for order in elements:
            total += order[2]
        yield key, total


class Exact(ProcessWindowFunction):
    def process(self, key, context, elements):
        amounts = [order[2] for order in elements]
        yield key, math.fsum(amounts), sum(sorted(amounts)), sum(order[1] for order in elements)


def windows(env):
    return keyed(env).window(EndOfStreamWindows.get())


@pytest.mark.parametrize(
    "build",
    [
        lambda env: keyed(env).reduce(Sum()),
        lambda env: keyed(env).reduce(lambda a, b: (a[0], a[1], a[2] + b[2])),
        lambda env: windows(env).aggregate(Total()),
        lambda env: keyed(env).process(Kept()),
        lambda env: windows(env).process(InWindow()),
        lambda env: windows(env).process(InLoop()),
    ],
)
def test_a_sum_of_floats_is_possible(build):
    causes = causes_of(build)
    assert (accused(causes), possible(causes)) == (set(), {"FLOAT_SUM"})


@pytest.mark.parametrize(
    "build",
    [
        lambda env: keyed(env).reduce(lambda a, b: (a[0], a[1] + b[1], max(a[2], b[2]))),
        lambda env: keyed(env).sum(2),
        lambda env: orders(env).map(lambda order: order[2] + order[2]),
        lambda env: windows(env).process(Exact()),
    ],
)
def test_sums_without_order_are_none(build):
    assert causes_of(build) == ()


def test_floats_of_rows_and_of_undeclared_records_are_known():
    def rows(env):
        row_type = Types.ROW_NAMED(["k", "x"], [Types.STRING(), Types.DOUBLE()])
        records = env.from_collection([Row(k="a", x=0.5)], row_type)
        return records.key_by(lambda r: r.k).reduce(lambda a, b: Row(k=a.k, x=a.x + b["x"]))

    def untyped(env):
        return (
            env.from_collection([("a", 0.5)])
            .key_by(lambda r: r[0])
            .reduce(lambda a, b: (a[0], a[1] + b[1]))
        )

    for build in (rows, untyped):
        assert possible(causes_of(build)) == {"FLOAT_SUM"}
