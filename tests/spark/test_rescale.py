"""Jobs that start again in their directory with another parallelism; the results are those of one that never did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from penstock.cli.main import command_line
from penstock.common import Configuration, Time, Types, WatermarkStrategy
from penstock.datastream import (
    BroadcastProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    RuntimeContext,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.datastream.connectors import DataGeneratorSource, FileSink, HybridSource
from penstock.datastream.functions import KeyedProcessFunction
from penstock.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from penstock.errors import JobMismatchError
from penstock.spark.job.later_parallelism import ParallelismRequest, recorded_parallelism
from penstock.wire.atomic_file import read_verified
from tests.spark.conftest import Environment
from tests.spark.test_clients import written
from tests.spark.test_savepoints import (
    ROW,
    STRATEGY,
    Buckets,
)
from tests.spark.waiting import wait_for

COUNT = 320
NAMES = MapStateDescriptor("names", Types.LONG(), Types.STRING())


class Kinds(KeyedProcessFunction):
    """State of several kinds, by key; writes a sum of all at the end."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.LONG()))
        self.by_ten = runtime_context.get_map_state(
            MapStateDescriptor("by ten", Types.LONG(), Types.LONG())
        )
        self.total = runtime_context.get_reducing_state(
            ReducingStateDescriptor("total", lambda a, b: a + b, Types.LONG())
        )

    def process_element(self, value: Any, ctx: Any) -> None:
        self.seen.add(value[1])
        self.by_ten.put(value[1] % 70, (self.by_ten.get(value[1] % 70) or 0) + 1)
        self.total.add(value[1])
        ctx.timer_service().register_event_time_timer(10 * COUNT)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        of_map = sum(key * n for key, n in self.by_ten.items())
        total = self.total.get() + of_map + len(list(self.seen.get()))
        yield "kinds", ctx.get_current_key(), total


class Named(BroadcastProcessFunction):
    """Writes how many names there are once all have come."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        names = dict(ctx.get_broadcast_state(NAMES).items())
        if value[1] >= 10 * COUNT - 600:
            yield "names", value[1], len(names)

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(NAMES).put(value[0], str(value))


def _pair(number: int) -> tuple[int, int]:
    return number, number


def build(env: StreamExecutionEnvironment, out: Path) -> None:
    source = DataGeneratorSource(lambda i: (i % 6, i * 10), count=COUNT)
    numbers = env.from_source(source, STRATEGY, "numbers")
    pairs = (
        numbers.map(lambda t: (t[0], 1)).uid("pairs").set_parallelism(2)
    )  # an exchange if the job has 3
    counts = pairs.key_by(lambda t: t[0]).sum(1).uid("counts")
    keyed = numbers.key_by(lambda t: t[0])
    tens = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(700)))
    sessions = numbers.filter(lambda t: t[1] % 500 < 300).key_by(lambda t: t[0])
    gaps = sessions.window(EventTimeSessionWindows.with_gap(Time.milliseconds(150)))
    named = numbers.connect(
        env.from_source(
            DataGeneratorSource(_pair, count=7),
            WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
                lambda value, _: value[1]
            ),
            "names",
        ).broadcast(NAMES)
    ).process(Named())
    results = [
        counts.map(lambda t: ("count", *t)).uid("show counts"),
        keyed.process(Buckets()).uid("buckets"),
        keyed.process(Kinds()).uid("kinds"),
        tens.reduce(lambda a, b: (a[0], a[1] + b[1])).uid("tens").map(lambda t: ("ten", *t)),
        gaps.reduce(lambda a, b: (a[0], a[1] + b[1])).uid("gaps").map(lambda t: ("gap", *t)),
        named.uid("named"),
    ]
    union = results[0].union(*results[1:])
    union.map(lambda t: t, ROW).uid("form").sink_to(FileSink.parquet(out / "all")).uid("out")
    # A pipeline of its own, of two sources.
    other = DataGeneratorSource(lambda i: (i % 3, 1), count=COUNT)
    none = WatermarkStrategy.no_watermarks()
    both = env.from_source(other, none, "left").union(env.from_source(other, none, "right"))
    totals = both.key_by(lambda t: t[0]).sum(1).uid("totals")
    totals.map(lambda t: ("total", *t), ROW).sink_to(FileSink.parquet(out / "totals")).uid("o2")


def results_in(out: Path) -> Counter[tuple[Any, ...]]:
    return written(out / "all") + written(out / "totals")


def has_more(out: Path, count: int) -> bool:
    return results_in(out).total() > count


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    return {
        "execution.checkpointing.dir": str(tmp_path / "job"),
        "execution.live.max-records-per-batch": 40,
        "pipeline.name": "numbers",
    }


@pytest.fixture(scope="module")
def whole(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Any:
    del session
    out = tmp_path_factory.mktemp("whole")
    settings = {"execution.runtime-mode": "STREAMING", "parallelism.default": 2}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    build(env, out)
    env.execute("numbers")
    return results_in(out)


@pytest.mark.parametrize("backend", ["hashmap", "lmdb"])
def test_a_job_goes_on_in_its_directory_at_other_parallelisms(
    environment: Environment,
    settings: dict[str, Any],
    tmp_path: Path,
    whole: Counter[tuple[Any, ...]],
    backend: str,
) -> None:
    out = tmp_path / "out"
    settings |= {"state.backend.type": backend}

    def start(parallelism: int) -> Any:
        env = environment("streaming", **settings, **{"parallelism.default": parallelism})
        build(env, out)
        return env.execute_async("numbers")

    for parallelism in (2, 3, 1):
        seen = results_in(out).total()
        client = start(parallelism)
        wait_for(client, partial(has_more, out, seen + 150))
        client.cancel().result()
    assert results_in(out).total() < whole.total(), "the last start must have something to do"
    client = start(3)
    client.get_job_execution_result().result()
    assert results_in(out) == whole
    assert not list((tmp_path / "job").glob("run-*/rescaled"))


def test_another_number_of_key_groups_and_another_graph_stay_refused(
    environment: Environment, settings: dict[str, Any], tmp_path: Path
) -> None:
    env = environment("streaming", **settings, **{"parallelism.default": 2})
    build(env, tmp_path / "out")
    client = env.execute_async("numbers")
    wait_for(client, lambda: bool(results_in(tmp_path / "out")))
    client.cancel().result()
    before = read_verified(tmp_path / "job" / "job.json")
    for wrong, named in ((64, "128"), (192, "256"), (384, "512")):
        env = environment(
            "streaming",
            **settings,
            **{"parallelism.default": 2, "pipeline.max-parallelism": wrong},
        )
        build(env, tmp_path / "out")
        with pytest.raises(JobMismatchError) as refused:
            env.execute("numbers")
        assert named in refused.value.hint
    env = environment("streaming", **settings, **{"parallelism.default": 3})
    env.from_source(
        DataGeneratorSource(lambda i: i, count=3), WatermarkStrategy.no_watermarks(), "numbers"
    ).print()
    with pytest.raises(JobMismatchError, match="operators"):
        env.execute("numbers")
    assert read_verified(tmp_path / "job" / "job.json") == before


class Places(KeyedProcessFunction):
    """Writes with which of how many subtasks a key was processed, and its count so far."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtasks = runtime_context.get_number_of_parallel_subtasks()
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield str(self.subtasks), value[0], self.count.value()


def test_history_has_a_parallelism_of_its_own(environment: Environment, tmp_path: Path) -> None:
    env = environment("mixed", **{"parallelism.default": 1, "execution.history.parallelism": 3})
    parts = [DataGeneratorSource(lambda i: (i % 6, i * 10), count=60) for _ in range(2)]
    source = HybridSource.builder(parts[0]).add_source(parts[1]).build()
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    places = numbers.key_by(lambda t: t[0]).process(Places(), ROW).uid("places")
    places.sink_to(FileSink.parquet(tmp_path / "out"))
    env.execute("places")
    expected = [(str(3 if n <= 10 else 1), key, n) for key in range(6) for n in range(1, 21)]
    assert written(tmp_path / "out") == Counter(expected)


@pytest.mark.parametrize("backend", ["hashmap", "lmdb"])
def test_a_running_job_changes_its_parallelism(
    environment: Environment,
    settings: dict[str, Any],
    tmp_path: Path,
    whole: Counter[tuple[Any, ...]],
    backend: str,
) -> None:
    out, job = tmp_path / "out", tmp_path / "job"
    settings |= {"execution.live.max-records-per-batch": 5, "state.backend.type": backend}
    env = environment("streaming", **settings, **{"parallelism.default": 2})
    build(env, out)
    client = env.execute_async("numbers")
    for parallelism in (3, 1, 4):
        wait_for(client, partial(has_more, out, results_in(out).total()))
        arguments = ["rescale", str(job), "--parallelism", str(parallelism)]
        result = CliRunner().invoke(command_line(), arguments)
        assert result.exit_code == 0, result.output
        assert f"goes on with parallelism {parallelism}\n" in result.output
        assert recorded_parallelism(job) == parallelism
    assert results_in(out).total() < whole.total(), "it must have something to do behind the last"
    client.get_job_execution_result().result()
    assert results_in(out) == whole
    assert {read_verified(path)["parallelism"] for path in job.glob("run-*.outline.json")} == {4}
    assert not list(job.glob("requests/parallelism*"))


def test_a_running_job_refuses_a_parallelism_that_it_cannot_have(
    environment: Environment,
    settings: dict[str, Any],
    tmp_path: Path,
    whole: Counter[tuple[Any, ...]],
) -> None:
    settings |= {"execution.live.max-records-per-batch": 5}
    env = environment("streaming", **settings, **{"parallelism.default": 2})
    build(env, tmp_path / "out")
    client = env.execute_async("numbers")
    wait_for(client, lambda: bool(results_in(tmp_path / "out")))
    request = ParallelismRequest(tmp_path / "job")
    request.submit(1000)
    wait_for(client, lambda: request.number() is None)
    refused = request.refusal()
    assert refused is not None
    assert "must not exceed" in refused.problem
    assert recorded_parallelism(tmp_path / "job") is None
    client.get_job_execution_result().result()
    assert results_in(tmp_path / "out") == whole
