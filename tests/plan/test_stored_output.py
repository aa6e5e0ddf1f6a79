"""What a function stores of what it returned: what it says, and nothing else."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest

from penstock.common import Configuration, WatermarkStrategy
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import MapFunction, StreamExecutionEnvironment
from penstock.datastream.connectors import DataGeneratorSource
from penstock.errors import UserCodeError, UserFunctionError
from penstock.plan.phases.operator_traits import stored_output
from penstock.types import Types

SEEN: list[Any] = []


def doubled(value):
    return value * 2


def kept(value):
    SEEN.append(value)
    return value


def through_another(value):
    return kept(value)


def with_default(value, memory=[]):  # noqa: B006 - that is the point
    return value, memory


def closed_over():
    buffer = {}

    def refilled(value):
        buffer.update(value)
        return buffer

    return refilled


def closed_over_number():
    factor = 3
    return lambda value: value * factor


def promising(answer):
    def made(index):
        return [index]

    made.is_output_value_stored = answer  # type: ignore[attr-defined]
    return made


class Plain(MapFunction):
    def map(self, value):
        return value


class Promising(Plain):
    def is_output_value_stored(self):
        return False


class Evasive(Plain):
    def is_output_value_stored(self):
        return "no"


def fails():
    raise KeyError("answer")


WITHOUT_PROMISE = [
    doubled,
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


# FLIP-329, rule 7.
@pytest.mark.parametrize("function", WITHOUT_PROMISE)
def test_a_function_without_a_promise_is_not_believed(function):
    assert stored_output(function).is_stored


# FLIP-329, rule 2.
def test_a_promise_is_believed():
    assert not stored_output(Promising()).is_stored
    assert not stored_output(promising(lambda: False)).is_stored
    assert "Plain is True" in stored_output(Plain()).reason
    assert "Promising is False" in stored_output(Promising()).reason
    assert "made is True" in stored_output(promising(lambda: True)).reason


def test_an_answer_that_is_no_bool_is_refused():
    with pytest.raises(UserCodeError, match="returned 'no'") as caught:
        stored_output(Evasive())
    assert caught.value.code == UserCodeError.code


def plan_of(source):
    env = StreamExecutionEnvironment.get_execution_environment(Configuration())
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    stream.map(doubled).sink_to(DiscardingSink())
    return env.plan()


@pytest.mark.parametrize(
    ("generator", "type_info", "is_copied"),
    [
        (doubled, Types.PICKLED_BYTE_ARRAY(), True),
        (closed_over_number(), Types.PICKLED_BYTE_ARRAY(), True),
        (promising(lambda: True), Types.PICKLED_BYTE_ARRAY(), True),
        (promising(lambda: False), Types.PICKLED_BYTE_ARRAY(), False),
        (doubled, Types.LONG(), False),
        (doubled, Types.TUPLE([Types.LONG(), Types.STRING()]), False),
        (doubled, Types.TUPLE([Types.LONG(), Types.TUPLE([Types.STRING()])]), False),
        (doubled, Types.TUPLE([Types.LONG(), Types.LIST(Types.STRING())]), True),
        (doubled, Types.ROW([Types.LONG()]), True),
    ],
)
def test_what_a_generator_returns_is_copied_unless_type_or_promise_say_otherwise(
    generator, type_info, is_copied
):
    plan = plan_of(DataGeneratorSource(generator, count=3, type_info=type_info))
    copied = [copies for _, copies in plan.source_copies]
    assert [copies.at_emission for copies in copied] == [True] * is_copied
    forced = [d for d in plan.decisions if "'numbers' may keep what it emits" in d.reason]
    assert len(forced) == is_copied


def test_a_promise_of_a_generator_that_fails_names_its_source():
    with pytest.raises(UserFunctionError, match=r"'numbers'.*is_output_value_stored"):
        plan_of(DataGeneratorSource(promising(fails), count=3))
