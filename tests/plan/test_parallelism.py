"""Whether the number of subtasks shows in the answer, so that a batch run may not choose it."""

from __future__ import annotations

import pytest

from penstock.common import Configuration
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import AllWindowFunction, StreamExecutionEnvironment
from penstock.datastream.window import EndOfStreamWindows
from tests.runtime.jobs import BATCH

WHOLE = EndOfStreamWindows.get()


class Count(AllWindowFunction):
    def apply(self, window, inputs):
        return [len(list(inputs))]


def key_of(number):
    return number % 2


def counted(stream):
    return stream.window_all(WHOLE).apply(Count())


def planned(then, parallelism=2):
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(BATCH))
    if parallelism is not None:
        env.set_parallelism(parallelism)
    then(env.from_collection([1, 2, 3])).sink_to(DiscardingSink())
    return env.plan()


FREE = pytest.mark.parametrize(
    "then",
    [
        lambda stream: stream.map(abs),
        counted,
        lambda stream: stream.window_all(WHOLE).reduce(lambda a, b: a + b),
    ],
    ids=["map", "window_all", "reduce of window_all"],
)


@FREE
def test_a_batch_run_may_have_more_tasks_where_nobody_said_how_many(then):
    assert not planned(then, None).exact_subtasks


@FREE
@pytest.mark.parametrize("parallelism", [1, 2])
def test_it_may_not_where_the_environment_says_how_many(then, parallelism):
    plan = planned(then, parallelism)
    assert plan.exact_subtasks
    assert plan.options.parallelism == parallelism


@pytest.mark.parametrize(
    "then",
    [
        lambda stream: stream.key_by(key_of).map(abs).set_parallelism(1),
        lambda stream: stream.key_by(key_of).window(WHOLE).reduce(max).set_parallelism(1),
        lambda stream: counted(stream).set_parallelism(3),
        lambda stream: counted(stream.map(abs).set_parallelism(1)),
        lambda stream: stream.partition_custom(lambda key, n: key % n, abs),
    ],
)
def test_it_may_not_where_the_program_says_how_many(then):
    assert planned(then, None).exact_subtasks
