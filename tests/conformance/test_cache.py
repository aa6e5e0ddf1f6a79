"""`DataStream.cache`: computed once, read by many jobs."""

from __future__ import annotations

import pytest

from penstock.api.environment import job
from penstock.common import Configuration, Types
from penstock.connectors.cache import BLOCK_RECORDS, CacheSource
from penstock.connectors.python.data_generator import DataGeneratorSource
from penstock.datastream import StreamExecutionEnvironment, WatermarkStrategy
from penstock.errors import GraphError, SourceError
from penstock.testing import run_in_process


@pytest.fixture
def environment(monkeypatch):
    monkeypatch.setitem(
        job.EXECUTORS, "spark", "tests.conformance.in_process_executor:InProcessExecutor"
    )

    def make(**settings):
        conf = Configuration.from_dict({"parallelism.default": "2"} | settings)
        return StreamExecutionEnvironment.get_execution_environment(conf)

    return make


@pytest.fixture
def calls(tmp_path):
    """A file that functions append a line to when they are called: they run as copies."""
    path = tmp_path / "calls"
    path.touch()
    return path


def noting(path, function):
    def call(value):
        with path.open("a") as file:
            file.write("x\n")
        return function(value)

    return call


def count(path):
    return len(path.read_text().splitlines())


def test_records_are_computed_once_for_all_jobs(environment, calls):
    env = environment()
    cached = env.from_collection([1, 2, 3]).map(noting(calls, lambda n: n * 10)).cache()
    assert sorted(cached.execute_and_collect()) == [10, 20, 30]
    assert sorted(cached.map(lambda n: n + 1).execute_and_collect()) == [11, 21, 31]
    assert count(calls) == 3


def test_nothing_is_computed_before_a_job_needs_it(environment, calls):
    env = environment()
    numbers = env.from_collection([1, 2, 3])
    cached = numbers.map(noting(calls, lambda n: n)).cache()
    assert sorted(numbers.execute_and_collect()) == [1, 2, 3]
    assert count(calls) == 0
    assert sorted(cached.execute_and_collect()) == [1, 2, 3]


def test_invalidated_records_are_computed_again(environment, calls):
    env = environment()
    cached = env.from_collection([1]).map(noting(calls, lambda n: n)).cache()
    cached.invalidate()
    for _ in range(2):
        assert list(cached.execute_and_collect()) == [1]
    cached.invalidate()
    assert list(cached.execute_and_collect()) == [1]
    assert count(calls) == 2


def test_a_cache_may_be_of_another(environment, calls):
    env = environment()
    first = env.from_collection([1, 2]).map(noting(calls, lambda n: n)).cache()
    second = first.map(noting(calls, lambda n: -n)).cache()
    assert sorted(second.execute_and_collect()) == [-2, -1]
    assert sorted(first.union(second).execute_and_collect()) == [-2, -1, 1, 2]
    assert count(calls) == 4


def test_other_sinks_run_once(environment, capsys):
    env = environment()
    cached = env.from_collection(["a"], Types.STRING()).cache()
    cached.print("cached")
    env.from_collection(["b"]).print("other")
    env.execute()
    lines = capsys.readouterr().out.splitlines()
    assert sorted(line.split("> ")[1] for line in lines) == ["a", "b"]


def test_the_type_is_kept(environment):
    typed = Types.TUPLE([Types.STRING(), Types.INT()])
    cached = environment().from_collection([("a", 1), ("b", 2)], typed).cache()
    assert cached.get_type() == typed
    assert sorted(cached.key_by(lambda pair: pair[0]).sum(1).execute_and_collect()) == [
        ("a", 1),
        ("b", 2),
    ]


def test_an_empty_stream_is_cached(environment, calls):
    cached = environment().from_collection([1]).filter(noting(calls, lambda _: False)).cache()
    for _ in range(2):
        assert list(cached.execute_and_collect()) == []
    assert count(calls) == 1


def test_many_blocks_are_read_from_any_position(environment):
    env = environment()
    env.set_parallelism(1)
    total = 2 * BLOCK_RECORDS + 7
    cached = env.from_source(
        DataGeneratorSource(lambda i: i, total), WatermarkStrategy.no_watermarks(), "n"
    ).cache()
    assert sorted(cached.execute_and_collect()) == list(range(total))
    source = env.graph.node(cached.node_id).source
    assert isinstance(source, CacheSource)
    records = [
        value
        for split, (start, end) in enumerate(source.splits(1))
        for at in range(start, end or 0, 1000)
        for value in source.read(split, at, min(at + 1000, end or 0))
    ]
    assert sorted(records) == list(range(total))


def test_an_endless_stream_is_refused(environment):
    source = DataGeneratorSource(lambda i: i)
    endless = environment().from_source(source, WatermarkStrategy.no_watermarks(), "endless")
    with pytest.raises(GraphError, match="'endless', which never ends") as caught:
        endless.map(lambda n: n).cache()
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__


def test_a_job_that_may_be_resumed_is_refused(environment, tmp_path):
    env = environment(**{"execution.checkpointing.dir": str(tmp_path / "job")})
    cached = env.from_collection([1]).cache()
    with pytest.raises(GraphError, match="could not be resumed"):
        cached.execute_and_collect()


def test_a_plan_alone_computes_nothing(environment):
    env = environment()
    env.from_collection([1]).cache().print()
    assert "not filled yet" in env.explain()
    with pytest.raises(SourceError, match="no job has computed the cached stream yet"):
        run_in_process(env)


CALLS = {
    "name": lambda s: s.name("n"),
    "get_name": lambda s: s.get_name(),
    "uid": lambda s: s.uid("u"),
    "set_parallelism": lambda s: s.set_parallelism(1),
    "set_max_parallelism": lambda s: s.set_max_parallelism(1),
    "force_non_parallel": lambda s: s.force_non_parallel(),
    "set_buffer_timeout": lambda s: s.set_buffer_timeout(1),
    "start_new_chain": lambda s: s.start_new_chain(),
    "disable_chaining": lambda s: s.disable_chaining(),
    "slot_sharing_group": lambda s: s.slot_sharing_group("g"),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_a_cache_is_no_operator(environment, call):
    with pytest.raises(GraphError, match=r"result of cache\(\)"):
        call(environment().from_collection([1]).cache())
