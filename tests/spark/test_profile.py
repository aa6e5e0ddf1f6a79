"""Where the time of a job went, as its metrics say after it ran in Spark."""

from __future__ import annotations

import time

import pytest

from penstock.connectors.python.function_sink import DiscardingSink
from penstock.metrics.profile import JobProfile

SLOW_SECONDS = 0.2


def slow(value):
    time.sleep(SLOW_SECONDS)
    return value


@pytest.mark.parametrize("mode", ["batch", "mixed"])
def test_a_job_says_where_its_time_went(environment, mode):
    env = environment(mode)
    source = env.from_collection(list(range(100)))
    rows = source.key_by(lambda n: n % 4).reduce(max).uid("greatest")
    rows.filter(lambda n: n == 99).map(slow).uid("slow").sink_to(DiscardingSink())
    profile = JobProfile.of(env.execute("profiled").get_all_accumulator_results(), 2)
    spent = {f"{each.place}.{each.section}": each.seconds for each in profile.spent}
    for name in ("read", "exchange", "encode", "wait", "start"):
        assert spent[f"level-0.{name}"] > 0
    # In the loop of epochs no frame is in an Arrow batch.
    arrow = ("arrow",) if mode == "batch" else ()
    for name in (*arrow, "decode", "operator.greatest"):
        assert 0 < spent[f"level-1.{name}"] < SLOW_SECONDS
    assert spent["level-1.operator.slow"] >= SLOW_SECONDS
    assert spent["sinks.other"] > 0
    assert ("level-1.state" in spent) is (mode == "mixed")
    assert 0 < profile.commit_seconds + profile.job_seconds < profile.wall_seconds
    assert SLOW_SECONDS < profile.busy_seconds < profile.wall_seconds * 4
    assert profile.spark_seconds > 0
