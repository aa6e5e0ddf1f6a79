"""Clock, random numbers, environment and hashes are found under every name, and not where they change nothing."""

from __future__ import annotations

import datetime
import datetime as dt
import functools
import hashlib
import logging
import os
import random
import secrets
import time
import uuid
import zlib
from datetime import datetime as moment
from os import environ
from pathlib import Path
from random import choice, randint
from time import time as now

import numpy as np
import pytest

from penstock.datastream import KeyedProcessFunction, KeySelector, MapFunction, col
from penstock.testing.causes import find_causes
from tests.testing.causes.programs import accused, causes_of, graph_of_text, keyed, orders, possible

SEEDED = random.Random(1)


def helper(order):
    return deeper(order)


def deeper(order):
    return (*order, time.time_ns())


def importing(order):
    import time as clock
    from random import random as draw

    return clock.time(), draw()


def formatted(order):
    return time.strftime("%H", time.gmtime(order[1])), time.localtime(order[1])


def seeded(order):
    return random.Random(order[1]).random(), np.random.default_rng(order[1]).random()


def digest(order):
    return hashlib.sha256(order[0].encode()).hexdigest(), uuid.uuid5(uuid.NAMESPACE_URL, order[0])


def measured(order):
    begin = time.perf_counter()
    result = order[0]
    seconds = time.perf_counter() - begin
    logging.info("took %s", seconds)
    return result


def timed_by_hand(order):
    begin = time.perf_counter()
    return order[0], time.perf_counter() - begin


@pytest.mark.parametrize(
    ("function", "code"),
    [
        (lambda order: (order, time.time()), "READS_CLOCK"),
        (lambda order: (order, now()), "READS_CLOCK"),
        (lambda order: datetime.datetime.now(), "READS_CLOCK"),
        (lambda order: dt.datetime.utcnow(), "READS_CLOCK"),
        (lambda order: moment.now(tz=datetime.UTC), "READS_CLOCK"),
        (lambda order: datetime.date.today(), "READS_CLOCK"),
        (lambda order: time.monotonic_ns(), "READS_CLOCK"),
        (lambda order: time.strftime("%H"), "READS_CLOCK"),
        (helper, "READS_CLOCK"),
        (timed_by_hand, "READS_CLOCK"),
        (lambda order: helper(order), "READS_CLOCK"),
        (lambda order: list(map(deeper, [order])), "READS_CLOCK"),
        (lambda order: random.random(), "RANDOM_NUMBER"),
        (lambda order: choice([1, 2]), "RANDOM_NUMBER"),
        (lambda order: randint(1, 2), "RANDOM_NUMBER"),
        (lambda order: uuid.uuid4(), "RANDOM_NUMBER"),
        (lambda order: secrets.token_hex(), "RANDOM_NUMBER"),
        (lambda order: np.random.rand(), "RANDOM_NUMBER"),
        (lambda order: np.random.default_rng().random(), "RANDOM_NUMBER"),
        (lambda order: random.Random().random(), "RANDOM_NUMBER"),
        (lambda order: SEEDED.random(), "RANDOM_NUMBER"),
        (lambda order: os.environ["HOME"], "ENVIRONMENT_VARIABLE"),
        (lambda order: environ.get("HOME"), "ENVIRONMENT_VARIABLE"),
        (lambda order: os.getenv("HOME"), "ENVIRONMENT_VARIABLE"),
        (lambda order: hash(order[0]), "UNSTABLE_KEY"),
    ],
)
def test_a_call_is_found(function, code):
    assert accused(causes_of(lambda env: orders(env).map(function))) == {code}


@pytest.mark.parametrize("function", [formatted, seeded, digest, measured, str])
def test_a_call_that_gives_one_answer_is_none(function):
    assert causes_of(lambda env: orders(env).map(function)) == ()


def test_imports_of_the_function_itself_are_resolved():
    assert accused(causes_of(lambda env: orders(env).map(importing))) == {
        "READS_CLOCK",
        "RANDOM_NUMBER",
    }


class Stamped(MapFunction):
    def map(self, value):
        return self.stamp(value)

    def stamp(self, value):
        return value, now()


class StampedToo(Stamped):
    def map(self, value):
        return super().map(value)


class Opened(MapFunction):
    def open(self, runtime_context):
        self.begin = time.time()
        self.draw = random.Random(1)
        self.timer = runtime_context.get_metrics_group().histogram("timer")

    def map(self, value):
        begin = time.time()
        self.timer.update(time.time() - begin)
        return value


class Drawing(Opened):
    def map(self, value):
        return value, self.draw.random()


@pytest.mark.parametrize("function", [Stamped(), StampedToo()])
def test_methods_of_the_object_are_followed(function):
    (cause,) = causes_of(lambda env: orders(env).map(function).name("stamps"))
    assert (cause.code, cause.operator) == ("READS_CLOCK", "stamps")
    assert "now() in Stamped.stamp" in cause.problem
    assert cause.page == "docs/causes.md#reads-the-clock"
    file, _, line = cause.line.rpartition(":")
    assert file == __file__
    assert "return value, now()" in Path(__file__).read_text().splitlines()[int(line) - 1]


def test_a_clock_that_metrics_and_open_read_is_no_accusation():
    causes = causes_of(lambda env: orders(env).map(Opened()))
    assert accused(causes) == set()
    assert possible(causes) == {"READS_CLOCK"}


def test_a_generator_of_random_numbers_that_open_makes_is_found():
    assert accused(causes_of(lambda env: orders(env).map(Drawing()))) == {"RANDOM_NUMBER"}


def wrapped(function):
    @functools.wraps(function)
    def call(*arguments):
        return function(*arguments)

    return call


@wrapped
def decorated(order):
    return cached(order)


@functools.lru_cache
def cached(order):
    return order, time.time()


def of_columns(order):
    return col.amount, col.count(), col, order


def test_decorated_functions_are_followed_and_columns_are_not():
    for function in (decorated, cached, functools.partial(deeper)):
        assert accused(causes_of(mapped(function))) == {"READS_CLOCK"}
    assert causes_of(mapped(of_columns)) == ()


def mapped(function):
    return lambda env: orders(env).map(function)


class ByWallClock(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_processing_time_timer(
            ctx.timer_service().current_processing_time() + 1
        )


class ByWatermark(KeyedProcessFunction):
    def process_element(self, value, ctx):
        if ctx.timestamp() < ctx.timer_service().current_watermark():
            yield "late"


class ByNamedWatermark(KeyedProcessFunction):
    def process_element(self, value, ctx):
        watermark = ctx.timer_service().current_watermark()
        yield "late" if ctx.timestamp() < watermark else "in time"


class NextWatermark(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(ctx.timer_service().current_watermark() + 1)


def test_processing_time_is_a_clock():
    causes = causes_of(lambda env: keyed(env).process(ByWallClock()))
    assert accused(causes) == {"READS_CLOCK"}


@pytest.mark.parametrize("function", [ByWatermark(), ByNamedWatermark()])
def test_a_comparison_with_the_watermark_is_found(function):
    assert accused(causes_of(lambda env: keyed(env).process(function))) == {"LATE_RECORDS"}


def test_a_read_of_the_watermark_is_only_possible():
    causes = causes_of(lambda env: keyed(env).process(NextWatermark()))
    assert (accused(causes), possible(causes)) == (set(), {"LATE_RECORDS"})


class Plain:
    def __init__(self, name):
        self.name = name


class ByHash(KeySelector):
    def get_key(self, value):
        return hash(value[0])


def named(order: Plain):
    return f"{order}"


@pytest.mark.parametrize(
    "selector",
    [
        hash,
        id,
        lambda order: hash(order[0]),
        lambda order: id(order),
        lambda order: random.random(),
        ByHash(),
    ],
)
def test_a_key_that_is_not_stable_is_found(selector):
    causes = causes_of(lambda env: orders(env).key_by(selector).map(lambda order: order))
    assert accused(causes) == {"UNSTABLE_KEY"}


@pytest.mark.parametrize(
    "selector", [lambda order: zlib.crc32(order[0].encode()), lambda order: str(order), repr]
)
def test_a_stable_key_is_none(selector):
    assert causes_of(lambda env: orders(env).key_by(selector).map(lambda order: order)) == ()


@pytest.mark.parametrize("selector", [named, lambda order: repr(order), lambda order: str(order)])
def test_a_text_of_an_object_without_repr_is_found(selector):
    def build(env):
        return env.from_collection([Plain("a")]).key_by(selector).map(lambda plain: plain.name)

    assert accused(causes_of(build)) == {"UNSTABLE_KEY"}


TEXT = """
import time
from time import time as now
from penstock.datastream import MapFunction, StreamExecutionEnvironment

count = 0

def counted(value):
    global count
    count += 1
    return value

class Sums(MapFunction):
    def open(self, runtime_context):
        self.sum = 0

    def map(self, value):
        self.sum += value
        return self.sum

env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_collection([1, 2])
numbers.map(FUNCTION).print()
env.execute()
"""


@pytest.mark.parametrize(
    ("function", "code"),
    [
        ("lambda n: time.time()", {"READS_CLOCK"}),
        ("lambda n: now()", {"READS_CLOCK"}),
        ("counted", {"GLOBAL_VARIABLE"}),
        ("Sums()", {"STATE_IN_SELF"}),
        ("lambda n: n + 1", set()),
        ("lambda n: hash(n)", {"UNSTABLE_KEY"}),
    ],
)
@pytest.mark.parametrize("has_source", [True, False])
def test_a_program_without_source_is_read_by_its_instructions(
    function, code, has_source, monkeypatch
):
    import linecache

    if not has_source:
        monkeypatch.setattr(linecache, "getlines", lambda *_: [])
    graph = graph_of_text(TEXT.replace("FUNCTION", function), "/program/text.py")
    causes = find_causes(graph)
    assert accused(causes) == code
    assert all(cause.line.startswith("/program/text.py:") for cause in causes)


def test_lambdas_of_one_line_are_told_apart():
    build = lambda env: orders(env).map(lambda a: a).map(lambda a: (a, now())).map(lambda a: a)  # noqa: E731
    (cause,) = causes_of(build)
    assert "now()" in cause.problem
