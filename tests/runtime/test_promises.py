"""`pipeline.object-reuse.verify` names functions that lie; without it lies have consequences."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from penstock.common import Configuration
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from penstock.errors import UserCodeError, UserFunctionError
from penstock.testing import Schedule, run_in_process

VERIFY = "pipeline.object-reuse.verify"
REUSE = "pipeline.object-reuse"


class Promise:
    def is_output_value_stored(self):
        return False


class OneObject(Promise, MapFunction):
    def __init__(self):
        self.row = {}

    def map(self, value):
        self.row["n"] = value["n"]
        return self.row


class SpoilsLater(Promise, MapFunction):
    """Changes what it gave before, with the second record."""

    last = None

    def map(self, value):
        if self.last is not None:
            self.last["n"] = -1
        self.last = value
        return value


class YieldsOneObject(Promise, FlatMapFunction):
    def flat_map(self, value):
        own = {}
        for n in range(2):
            own["n"] = n
            yield own


class Keeps(Promise, KeyedProcessFunction):
    seen = None

    def process_element(self, value, ctx):
        if self.seen is None:
            self.seen = {"n": 0}
        self.seen["n"] += 1
        yield self.seen


class ChangesAfterYield(Promise, ProcessFunction):
    def process_element(self, value, ctx):
        yield value
        value["n"] = -1


class Honest(Promise, MapFunction):
    """Changes its input, and gives it on: that is allowed."""

    def map(self, value):
        value["n"] += 1
        return value


class SaysNothing(MapFunction):
    def __init__(self):
        self.row = {}

    map = OneObject.map


def run(apply, schedule=None, **settings):
    made = Configuration.from_dict({"parallelism.default": "1", **settings})
    env = StreamExecutionEnvironment.get_execution_environment(made)
    stream = env.from_collection([{"n": n} for n in range(1, 5)])
    apply(stream).sink_to(DiscardingSink())
    return run_in_process(env, schedule).records[0]


LIARS = {
    "one object": lambda s: s.map(OneObject()),
    "later": lambda s: s.map(SpoilsLater()),
    "yields": lambda s: s.flat_map(YieldsOneObject()),
    "keyed": lambda s: s.key_by(lambda _: 0).process(Keeps()),
    "after yield": lambda s: s.process(ChangesAfterYield()),
}


@pytest.mark.parametrize("liar", LIARS.values(), ids=LIARS)
@pytest.mark.parametrize("batch_size", [1, 4])
def test_a_broken_promise_is_found_and_named(liar, batch_size):
    schedule = Schedule(batch_sizes=(batch_size,))
    with pytest.raises(UserFunctionError, match="changed a record after it had emitted") as caught:
        run(lambda s: liar(s).name("liar"), schedule, **{VERIFY: "true"})
    assert "'liar'" in caught.value.problem
    assert "test_promises.py" in str(caught.value.origin)
    assert "is_output_value_stored" in caught.value.hint


def test_the_record_is_shown_as_it_was_and_as_it_is():
    with pytest.raises(UserFunctionError, match=r"it was \{'n': 1\} and is \{'n': -1\}"):
        run(lambda s: s.map(SpoilsLater()), **{VERIFY: "true"})


@pytest.mark.parametrize("reuse", ["true", "false"])
def test_who_keeps_the_promise_is_left_alone(reuse):
    got = run(
        lambda s: s.map(Honest()).map(Honest()).filter(bool).map(Honest()),
        **{VERIFY: "true", REUSE: reuse},
    )
    assert got == [{"n": n + 3} for n in range(1, 5)]


def test_a_function_changed_by_the_one_before_it_is_not_blamed():
    with pytest.raises(UserFunctionError, match="'first' changed"):
        run(lambda s: s.map(OneObject()).name("first").map(Honest()), **{VERIFY: "true"})


def test_with_object_reuse_everybody_is_watched():
    assert run(lambda s: s.map(SaysNothing()), **{VERIFY: "true"}) == [
        {"n": n} for n in range(1, 5)
    ]
    with pytest.raises(UserFunctionError, match="changed a record"):
        run(lambda s: s.map(SaysNothing()), **{VERIFY: "true", REUSE: "true"})


def test_without_a_promise_the_answer_is_right_and_with_a_broken_one_it_is_not():
    right = [{"n": n} for n in range(1, 5)]
    assert run(lambda s: s.map(SaysNothing())) == right
    assert run(lambda s: s.map(OneObject())) != right
    assert run(lambda s: s.map(SaysNothing()), **{REUSE: "true"}) != right


class Locked(MapFunction):
    def map(self, value):
        return threading.Lock()


def test_a_record_that_cannot_be_copied_is_an_error_that_names_the_operator():
    with pytest.raises(UserCodeError, match="cannot be copied") as caught:
        run(lambda s: s.map(Locked()).map(lambda lock: lock.locked()))
    assert "'Locked'" in caught.value.problem


class Summed(MapFunction):
    """A sum that is kept, and returned again and again."""

    def __init__(self):
        self.sum = ["a", 0]

    def map(self, value):
        self.sum[1] += value["n"]
        return self.sum


class Called(Summed, MapFunction[Any, tuple[str, int]]):
    """The same with an annotation that is wrong."""


def as_number():
    kept: Any = {"n": 0}

    def counted(value) -> int:
        kept["n"] += value["n"]
        return kept  # type: ignore[no-any-return]

    return counted


def added_in_place(kept, value):
    kept["n"] += value["n"]
    return kept


@pytest.mark.parametrize("function", [Summed, Called])
def test_a_wrong_annotation_of_a_class_does_no_harm(function):
    sums = [["a", 1], ["a", 3], ["a", 6], ["a", 10]]
    assert run(lambda s: s.map(function())) == sums
    assert run(lambda s: s.map(function()).map(lambda v: v)) == sums
    two = run(lambda s: s.map(function()).key_by(lambda v: v[0]).map(lambda v: v[1]))
    assert two == [1, 3, 6, 10]


def test_a_wrong_annotation_of_a_result_does_no_harm():
    assert run(lambda s: s.map(as_number())) == [{"n": n} for n in (1, 3, 6, 10)]
    reduced = run(lambda s: s.map(as_number()).key_by(lambda _: 0).reduce(added_in_place))
    assert reduced == [{"n": n} for n in (1, 4, 10, 20)]
