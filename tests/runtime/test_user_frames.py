"""Whose line an error names: the user's last one, whatever libraries ran below it."""

from __future__ import annotations

import asyncio
import json

import pytest

from penstock.common import Time
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import AsyncDataStream, AsyncFunction, StreamExecutionEnvironment
from penstock.errors import UserFunctionError
from penstock.testing import run_in_process


def parse(text):
    return json.loads(text)


class Parse(AsyncFunction):
    async def async_invoke(self, value):
        return [await asyncio.wait_for(self.later(value), 60)]

    async def later(self, value):
        return parse(value)


def failure_of(build):
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env.from_collection(["not JSON"])).sink_to(DiscardingSink())
    with pytest.raises(UserFunctionError) as caught:
        run_in_process(env)
    return caught.value


def test_the_origin_is_the_users_line_above_a_library():
    failure = failure_of(lambda texts: texts.map(parse))
    assert failure.origin is not None
    assert (failure.origin.filename, failure.origin.function) == (__file__, "parse")


def test_the_frames_of_the_library_are_still_shown():
    problem = failure_of(lambda texts: texts.map(parse)).problem
    assert problem.index(__file__) < problem.index("decoder.py")


def test_frames_of_a_library_above_the_user_are_left_out():
    failure = failure_of(
        lambda texts: AsyncDataStream.ordered_wait(texts, Parse(), Time.seconds(60))
    )
    assert failure.origin is not None
    assert failure.origin.function == "parse"
    first = next(line for line in failure.problem.splitlines() if line.startswith("  File "))
    assert __file__ in first


def test_a_function_of_a_library_is_placed_where_its_operator_was_created():
    failure = failure_of(lambda texts: texts.map(json.loads))
    assert failure.origin is not None
    assert failure.origin.filename == __file__
    assert "decoder.py" in failure.problem
