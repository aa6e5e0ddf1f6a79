"""What a function can keep: found by looking at it, or said by it."""

from __future__ import annotations

import functools
import json
import re
from typing import Any

import pytest

from penstock.datastream import MapFunction
from penstock.errors import UserCodeError
from penstock.plan.kept_values import kept_by

SEEN: list[Any] = []
RATES = {"EUR": 1.1}
ALLOWED = {"a", "b"}
PATTERN = re.compile("a+")
COUNT = 0


def doubled(value):
    return value * 2


def looked_up(value):
    return {"rate": RATES[value["currency"]], **value}


def is_allowed(value):
    return value["name"] in ALLOWED and bool(PATTERN.match(value["name"]))


def changed(value):
    value["n"] = doubled(value["n"])
    return value


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


KEEPS_NOTHING = [
    doubled,
    changed,
    lambda value: {**value, "n": 1},
    dict,
    str.upper,
    json.loads,
    closed_over_number(),
    wrapped(doubled),
    functools.partial(max, 3),
    Promising(),
]
MAY_KEEP = [
    looked_up,
    kept,
    written,
    through_another,
    counted,
    with_default,
    remembering,
    closed_over(),
    nonlocal_value(),
    wrapped(kept),
    SEEN.append,
    functools.partial(kept),
    functools.lru_cache(doubled),
    Plain(),
    Plain().map,
]


@pytest.mark.parametrize("function", KEEPS_NOTHING)
def test_functions_without_a_place_keep_nothing(function):
    assert not kept_by(function).stored


@pytest.mark.parametrize("function", MAY_KEEP)
def test_functions_with_a_place_may_keep(function):
    assert kept_by(function).stored


def test_a_predicate_may_look_things_up():
    assert not kept_by(is_allowed, is_predicate=True).stored
    assert kept_by(is_allowed).stored
    assert kept_by(kept, is_predicate=True).stored


def test_the_reason_names_the_place():
    assert kept_by(kept).reason == "the function reaches 'SEEN', where a value may be kept"
    assert "Plain is True" in kept_by(Plain()).reason
    assert "Promising is False" in kept_by(Promising()).reason


def test_an_answer_that_is_no_bool_is_refused():
    with pytest.raises(UserCodeError, match="returned 'no'") as caught:
        kept_by(Evasive())
    assert caught.value.code == UserCodeError.code
