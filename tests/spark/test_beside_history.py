"""History that is read beside live input, on Spark: over failures, cancellation, savepoints and rescaling."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock import failpoint
from penstock.cli.main import command_line
from penstock.common import Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DataGeneratorSource, FileSink, HybridSource
from penstock.state.savepoint import read_savepoint
from tests.spark.conftest import Environment
from tests.spark.test_clients import written
from tests.spark.waiting import committed, wait_for

KEYS = 5
HISTORY = 1500
LATER = 100
CLICKS = 200
SMALL = {"execution.live.max-records-per-batch": 40}
ROW = Types.ROW_NAMED(["name", "key", "n"], [Types.STRING(), Types.LONG(), Types.LONG()])


def numbers(name: str, count: int) -> DataGeneratorSource:
    return DataGeneratorSource(lambda i: (name, i % KEYS, 1), count=count)


def build(env: StreamExecutionEnvironment, out: Path, orders: Any = None) -> None:
    """Count orders, which have history, and clicks, which have none; they meet."""
    if orders is None:
        builder = HybridSource.builder(numbers("orders", HISTORY))
        orders = builder.add_source(numbers("orders", LATER)).build()
    streams = [
        env.from_source(source, WatermarkStrategy.no_watermarks(), name).uid(name)
        for name, source in (("orders", orders), ("clicks", numbers("clicks", CLICKS)))
    ]
    first, other = streams
    counts = first.union(other).key_by(lambda r: (r[0], r[1])).sum(2).uid("counts")
    rows = counts.map(lambda r: r, ROW).uid("rows")
    rows.sink_to(FileSink.parquet(out)).uid("out")


def expected() -> Counter[tuple[Any, ...]]:
    counts = {"orders": HISTORY + LATER, "clicks": CLICKS}
    return Counter(
        (name, n % KEYS, n // KEYS + 1) for name, count in counts.items() for n in range(count)
    )


def test_live_input_is_through_before_history_is(environment: Environment, tmp_path: Path) -> None:
    env = environment("mixed", **SMALL)
    build(env, tmp_path / "out")
    client = env.execute_async("meeting")
    clicks = sum(row[0] == "clicks" for row in expected())
    wait_for(client, lambda: _of(tmp_path / "out", "clicks") == clicks)
    assert _of(tmp_path / "out", "orders") < HISTORY
    result = client.get_job_execution_result().result()
    assert [(run.name, run.kind) for run in result.runs] == [("live", "live")]
    assert written(tmp_path / "out") == expected()


def test_a_job_that_was_cancelled_in_history_goes_on(
    environment: Environment, tmp_path: Path
) -> None:
    env = environment("streaming", **SMALL)
    build(env, tmp_path / "out")
    client = env.execute_async("meeting")
    wait_for(client, lambda: committed(tmp_path / "job" / "run-0") > 5)
    client.cancel()
    assert _of(tmp_path / "out", "orders") < HISTORY
    env = environment("streaming")
    build(env, tmp_path / "out")
    env.execute("meeting")
    assert written(tmp_path / "out") == expected()


def test_failures_around_the_end_of_history_lose_and_repeat_nothing(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    markers = tmp_path / "markers"
    markers.mkdir()
    last = -(-HISTORY // 250)
    places = [f"live.{step}:{last + n}:raise" for n, step in enumerate(("staged", "recorded"))]
    failpoint.count_anew()
    monkeypatch.setenv("PENSTOCK_FAILPOINT", ",".join(places))
    monkeypatch.setenv("PENSTOCK_FAILPOINT_MARKER", str(markers))
    settings = {
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": len(places),
        "restart-strategy.fixed-delay.delay": "10 ms",
        "execution.live.max-records-per-batch": 250,
    }
    env = environment("streaming", **settings)
    build(env, tmp_path / "out")
    env.execute("meeting")
    assert {path.name for path in markers.iterdir()} == set(places)
    assert written(tmp_path / "out") == expected()


@pytest.mark.parametrize("part", [0, 1])
def test_a_savepoint_says_which_part_a_source_reads(
    environment: Environment, tmp_path: Path, part: int
) -> None:
    out = tmp_path / "out"
    env = environment("streaming", **SMALL)
    builder = HybridSource.builder(numbers("orders", HISTORY if part == 0 else 10))
    orders = builder.add_source(numbers("orders", LATER if part == 0 else 5000)).build()
    build(env, out, orders)
    client = env.execute_async("meeting")
    wait_for(client, lambda: committed(tmp_path / "job" / "run-0") > 4)
    savepoint = client.stop_with_savepoint().result()
    client.get_job_execution_result().result()
    found = {source.name: source for source in read_savepoint(Path(savepoint)).sources}
    assert (found["orders"].part, found["clicks"].part) == (part, 0)

    settings = {
        "execution.checkpointing.dir": str(tmp_path / "second"),
        "execution.state-recovery.path": savepoint,
        "parallelism.default": 1,
    }
    env = environment("streaming", **settings)
    build(env, out, orders)
    env.execute("meeting")
    if part == 0:
        assert written(out) == expected()
    else:
        assert _of(out, "orders") == 5010
        assert max(written(out).values()) == 1


def _of(out: Path, name: str) -> int:
    return sum(count for row, count in written(out).items() if row[0] == name)


@pytest.mark.parametrize("history", [HISTORY, 10])
def test_a_savepoint_without_the_job_says_it_too(
    environment: Environment, tmp_path: Path, history: int
) -> None:
    out = tmp_path / "out"
    builder = HybridSource.builder(numbers("orders", history))
    orders = builder.add_source(numbers("orders", 1600 - history)).build()
    env = environment("streaming", **SMALL)
    build(env, out, orders)
    client = env.execute_async("meeting")
    wait_for(client, lambda: committed(tmp_path / "job" / "run-0") > 4)
    client.cancel()
    taken = CliRunner().invoke(command_line(), ["savepoint", str(tmp_path / "job")])
    assert taken.exit_code == 0, taken.output
    savepoint = taken.stdout.strip()
    found = {source.name: source for source in read_savepoint(Path(savepoint)).sources}
    assert found["orders"].part == (0 if history == HISTORY else 1)
    settings = {
        "execution.checkpointing.dir": str(tmp_path / "second"),
        "execution.state-recovery.path": savepoint,
    }
    env = environment("streaming", **settings)
    build(env, out, orders)
    env.execute("meeting")
    assert written(out) == expected()
