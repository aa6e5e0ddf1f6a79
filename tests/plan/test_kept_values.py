"""What a function may keep: what it says, and what the function of a generator can reach."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from penstock.datastream import MapFunction
from penstock.errors import UserCodeError
from penstock.plan.phases.kept_values import kept_by, kept_by_generator
from tests.testing import mutating_programs

SEEN: list[Any] = []
RATES = {"EUR": 1.1}
COUNT = 0


def doubled(value):
    return value * 2


def looked_up(value):
    return {"rate": RATES[value["currency"]], **value}


def kept(value):
    SEEN.append(value)
    return value


def written(value):
    RATES[value["currency"]] = value
    return value


def through_another(value):
    return kept(value)


def counted(value):
    global COUNT  # noqa: PLW0603 - that is the point
    COUNT += 1
    return value


def with_default(value, memory=[]):  # noqa: B006 - that is the point
    return value, memory


def remembering(value):
    remembering.last = value  # type: ignore[attr-defined]
    return value


def closed_over():
    buffer = {}

    def refilled(value):
        buffer.update(value)
        return buffer

    return refilled


def nonlocal_value():
    last = None

    def swapped(value):
        nonlocal last
        last, before = value, last
        return before

    return swapped


def closed_over_number():
    factor = 3
    return lambda value: value * factor


def wrapped_number(function):
    return lambda index: function(index) + 1


def wrapped(function):
    @functools.wraps(function)
    def inner(value):
        return function(value)

    return inner


class Plain(MapFunction):
    def map(self, value):
        return value


class Promising(Plain):
    def is_output_value_stored(self):
        return False


class Evasive(Plain):
    def is_output_value_stored(self):
        return "no"


@dataclass(frozen=True)
class From:
    make: Any
    first: int

    def __call__(self, index):
        return self.make(self.first + index)


@dataclass(frozen=True)
class Shared(From):
    shared: ClassVar[list[Any]] = []

    def __call__(self, index):
        return self.shared


def from_module(index):
    return mutating_programs.STEPS


def imports(index):
    from tests.testing import mutating_programs as found  # noqa: PLC0415 - that is the point

    return found.STEPS


def of_class(index):
    return Shared.shared


def by_name(index):
    return globals()["SEEN"]


WITHOUT_PROMISE = [
    doubled,
    looked_up,
    kept,
    through_another,
    with_default,
    closed_over(),
    closed_over_number(),
    functools.lru_cache(doubled),
    functools.partial(max, 3),
    dict,
    json.loads,
    Plain(),
    Plain().map,
]
MAKES_ANEW = [
    doubled,
    lambda index: {"n": index, "list": [index]},
    lambda index: [doubled(n) for n in range(index)],
    closed_over_number(),
    wrapped_number(doubled),
    From(doubled, 3),
    From(From(lambda n: (n, str(n)), 1), 3),
    Promising(),
]
MAY_KEEP = [
    *(looked_up, kept, written, through_another, counted, with_default, remembering),
    *(closed_over(), nonlocal_value(), wrapped(kept), SEEN.append, functools.partial(kept)),
    *(functools.lru_cache(doubled), Plain(), Plain().map, json.loads, Plain, from_module, imports),
    *(of_class, by_name, Shared(doubled, 0), From(kept, 0), lambda _: mutating_programs.bump),
]


@pytest.mark.parametrize("function", WITHOUT_PROMISE)
def test_a_function_without_a_promise_is_not_believed(function):
    assert kept_by(function).stored


def test_a_promise_is_believed():
    assert not kept_by(Promising()).stored
    assert "Plain is True" in kept_by(Plain()).reason
    assert "Promising is False" in kept_by(Promising()).reason


@pytest.mark.parametrize("function", MAKES_ANEW)
def test_a_function_of_a_number_that_reaches_nothing_makes_all_anew(function):
    assert not kept_by_generator(function).stored


@pytest.mark.parametrize("function", MAY_KEEP)
def test_a_function_of_a_number_that_reaches_anything_may_keep_it(function):
    assert kept_by_generator(function).stored


def test_an_answer_that_is_no_bool_is_refused():
    with pytest.raises(UserCodeError, match="returned 'no'") as caught:
        kept_by(Evasive())
    assert caught.value.code == UserCodeError.code
