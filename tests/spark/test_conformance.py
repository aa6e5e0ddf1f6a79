"""The conformance programs on Spark: all of a mode in one job, a sink for each."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from penstock.common import Configuration
from penstock.connectors.python import collect_sink
from penstock.connectors.python.collect_sink import CollectSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.testing import difference
from tests.conformance import connected, keyed, paired, stateless, timely, windowed
from tests.conformance.catalog import PROGRAMS

MODULES = (connected, keyed, stateless, timely, windowed, paired)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["BATCH", "STREAMING"])
def test_all_programs_in_one_job(environment, mode):
    chosen = [
        program
        for program in PROGRAMS
        if mode in program.answers and program.parallelism == 2 and program.batch_size != 1
    ]
    assert len(chosen) > 60
    env = environment(mode.lower())
    found: dict[str, list[Any]] = {program.name: [] for program in chosen}
    tokens = []
    for program in chosen:
        token = uuid.uuid4().hex
        tokens.append(token)
        collect_sink.register(token, found[program.name].extend)
        program.build(env).sink_to(CollectSink(token)).name(program.name)
    try:
        env.execute(f"conformance {mode}")
    finally:
        for token in tokens:
            collect_sink.unregister(token)
    wrong = {
        program.name: difference(found[program.name], program.answers[mode]) for program in chosen
    }
    assert {name: text for name, text in wrong.items() if text is not None} == {}


def test_a_cached_stream_is_computed_once(session, tmp_path):
    conf = Configuration.from_dict({"parallelism.default": 2})
    env = StreamExecutionEnvironment.get_execution_environment(conf)
    calls = tmp_path / "calls"

    def noted(number):
        with calls.open("a") as file:
            file.write("x\n")
        return number, "even" if number % 2 == 0 else "odd"

    cached = env.from_collection(range(6)).map(noted).cache()
    assert sorted(cached.execute_and_collect()) == [noted(n) for n in range(6)]
    calls.unlink()
    names = cached.map(lambda pair: pair[1]).execute_and_collect()
    assert sorted(names) == ["even"] * 3 + ["odd"] * 3
    assert not calls.exists()
