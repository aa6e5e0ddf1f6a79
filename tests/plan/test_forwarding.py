"""`forward` between operators of different parallelism is refused, as by Flink."""

from __future__ import annotations

import pytest

from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import GraphError


@pytest.fixture
def env():
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


def same(record):
    return record


REFUSED = {
    "a collection": lambda env: env.from_collection([1]).forward().map(same),
    "fewer": lambda env: env.from_collection([1]).map(same).forward().map(same).set_parallelism(1),
    "more": lambda env: env.from_collection([1]).map(same).forward().map(same).set_parallelism(3),
    "of a union": lambda env: (
        (env.from_collection([1]).map(same).set_parallelism(3).union(env.from_collection([2])))
        .forward()
        .map(same)
    ),
}


@pytest.mark.parametrize("build", REFUSED.values(), ids=REFUSED.keys())
def test_another_parallelism_is_refused(env, build):
    build(env).print()
    with pytest.raises(GraphError, match="forward") as caught:
        env.plan()
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__


def test_the_same_parallelism_is_forwarded(env):
    doubled = env.from_collection([1]).map(same).set_parallelism(3).forward().map(same)
    doubled.set_parallelism(3).rescale().map(same).forward().print()
    assert env.plan()


def test_a_collection_is_forwarded_to_one_subtask(env):
    env.from_collection([1]).forward().map(same).force_non_parallel().print()
    assert env.plan()
