"""History that is read beside live input, on Spark: over failures, cancellation, savepoints and rescaling."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest
from typer.testing import CliRunner

from penstock import failpoint
from penstock.cli.main import app
from penstock.common import Row, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DataGeneratorSource, FileSink, FileSource, HybridSource
from penstock.graph.endpoints import SplitSource
from penstock.metrics.listener import MicroBatch, also_listening
from penstock.state.savepoint import read_savepoint
from tests.spark.conftest import Environment, Failures
from tests.spark.test_clients import written
from tests.spark.test_epochs import Seen
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
    monkeypatch.setattr(failpoint, "_passed", Counter())
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
    taken = CliRunner().invoke(app, ["savepoint", str(tmp_path / "job")])
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


INPUT = Types.ROW_NAMED(["name", "key", "n"], [Types.STRING(), Types.LONG(), Types.LONG()])
PER_FILE = 30


def write_orders(directory: Path, first: int, last: int) -> None:
    """Write the orders of some numbers to files, in order of their times."""
    directory.mkdir(parents=True, exist_ok=True)
    for begin in range(first, last, PER_FILE):
        rows = [{"name": "orders", "key": n % KEYS, "n": 1} for n in range(begin, begin + PER_FILE)]
        path = directory / f"{begin}.json"
        hidden = directory / f".{begin}"
        hidden.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(hidden, (begin + 1, begin + 1))
        hidden.rename(path)


def in_files(directory: Path, later: str) -> HybridSource:
    """Return orders whose history is in files, and which go on in files, by positions, or in files that appear."""
    history = FileSource.json(directory / "history", INPUT)
    if later == "live files":  # of the same directory: history must not be read again
        return HybridSource.builder(history).add_source(history.monitor_continuously()).build()
    if later == "files":
        return (
            HybridSource.builder(history)
            .add_source(FileSource.json(directory / "later", INPUT))
            .build()
        )
    return HybridSource.builder(history).add_source(LaterOrders()).build()


@dataclass(frozen=True)
class LaterOrders(SplitSource):
    """The orders behind history, as rows, by positions."""

    kind: ClassVar[str] = "later orders"

    @property
    def is_bounded(self) -> bool:
        return True

    def get_produced_type(self) -> Any:
        return INPUT

    def splits(self, parallelism: int) -> list[tuple[int, int | None]]:
        return [(HISTORY, HISTORY + LATER_IN_FILES)]

    def read(self, split: int, start: int, end: int) -> list[Any]:
        return [Row(name="orders", key=n % KEYS, n=1) for n in range(start, end)]


LATER_IN_FILES = 90


def write_input(directory: Path) -> None:
    write_orders(directory / "history", 0, HISTORY)
    write_orders(directory / "later", HISTORY, HISTORY + LATER_IN_FILES)


def build_of_files(env: StreamExecutionEnvironment, out: Path, orders: Any) -> None:
    """Count orders, which are rows, and clicks."""
    streams = [
        env.from_source(source, WatermarkStrategy.no_watermarks(), name, type_info).uid(name)
        for name, source, type_info in (
            ("orders", orders, INPUT),
            ("clicks", numbers("clicks", CLICKS), None),
        )
    ]
    first: Any = streams[0].map(lambda row: (row.name, row.key, row.n))
    counts = first.union(streams[1]).key_by(lambda r: (r[0], r[1])).sum(2).uid("counts")
    counts.map(lambda r: r, ROW).uid("rows").sink_to(FileSink.parquet(out)).uid("out")


def expected_of_files(orders: int = HISTORY + LATER_IN_FILES) -> Counter[tuple[Any, ...]]:
    counts = {"orders": orders, "clicks": CLICKS}
    return Counter(
        (name, n % KEYS, n // KEYS + 1) for name, count in counts.items() for n in range(count)
    )


def last_of(rows: Counter[tuple[Any, ...]]) -> dict[tuple[Any, ...], int]:
    found: dict[tuple[Any, ...], int] = {}
    for name, key, count in rows:
        found[name, key] = max(count, found.get((name, key), 0))
    return found


@pytest.mark.parametrize("later", ["files", "positions"])
def test_history_in_files_gives_one_answer_in_every_mode(
    environment: Environment, tmp_path: Path, later: str
) -> None:
    write_input(tmp_path / "in")
    for mode in ("streaming", "mixed", "batch"):
        env = environment(mode, **SMALL, **{"execution.checkpointing.dir": str(tmp_path / mode)})
        build_of_files(env, tmp_path / f"out-{mode}", in_files(tmp_path / "in", later))
        result = env.execute("meeting")
        found = written(tmp_path / f"out-{mode}")
        if mode == "batch":  # a rolling aggregate gives its last result
            assert last_of(found) == last_of(expected_of_files())
            continue
        assert [(run.name, run.kind) for run in result.runs] == [("live", "live")]
        assert found == expected_of_files(), mode


def test_live_input_is_through_before_history_in_files_is(
    environment: Environment, tmp_path: Path
) -> None:
    write_input(tmp_path / "in")
    env = environment("mixed", **SMALL)
    seen = Seen()
    with also_listening(seen):
        build_of_files(env, tmp_path / "out", in_files(tmp_path / "in", "files"))
        client = env.execute_async("meeting")
        clicks = sum(row[0] == "clicks" for row in expected_of_files())
        wait_for(client, lambda: _of(tmp_path / "out", "clicks") == clicks)
        assert _of(tmp_path / "out", "orders") < HISTORY
        client.get_job_execution_result().result()
    assert written(tmp_path / "out") == expected_of_files()
    # Two sources with 40 records each, of which history has half: more than one file of 30, and fewer than three.
    sizes = [batch.records for batch in seen.of(MicroBatch)]
    assert max(sizes[: CLICKS // 40]) <= 40 + PER_FILE


def test_files_that_appear_behind_history_are_read_once_and_history_is_not_read_again(
    environment: Environment, tmp_path: Path
) -> None:
    write_orders(tmp_path / "in" / "history", 0, 300)
    orders = in_files(tmp_path / "in", "live files")
    out, read = tmp_path / "out", 300
    for more in (60, 90):
        env = environment("mixed", **SMALL)
        build_of_files(env, out, orders)
        client = env.execute_async("meeting")
        wait_for(client, partial(_has, out, read))
        write_orders(tmp_path / "in" / "history", read, read + more)
        read += more
        wait_for(client, partial(_has, out, read))
        client.cancel()
    assert written(out) == expected_of_files(read)
    names = [path.name for path in (tmp_path / "job" / "run-0" / "files" / "0").iterdir()]
    assert "schema.json" in names
    assert len(names) > 1


def _has(out: Path, orders: int) -> bool:
    return _of(out, "orders") == orders


@pytest.mark.parametrize("offline", [False, True])
@pytest.mark.parametrize("part", [0, 1])
def test_a_savepoint_says_which_files_were_read(
    environment: Environment, tmp_path: Path, part: int, *, offline: bool
) -> None:
    """In history, and behind it: what was read of history is not read again as what has appeared."""
    out, first = tmp_path / "out", 1500 if part == 0 else 60
    write_orders(tmp_path / "in" / "history", 0, first)
    orders = in_files(tmp_path / "in", "live files")
    env = environment("streaming", **SMALL)
    build_of_files(env, out, orders)
    client = env.execute_async("meeting")
    if part == 0:
        wait_for(client, lambda: committed(tmp_path / "job" / "run-0") > 4)
    else:
        wait_for(client, partial(_has, out, first))
        write_orders(tmp_path / "in" / "history", first, first + 60)
        wait_for(client, partial(_has, out, first + 60))
        first += 60
    if offline:
        client.cancel()
        taken = CliRunner().invoke(app, ["savepoint", str(tmp_path / "job")])
        assert taken.exit_code == 0, taken.output
        savepoint = taken.stdout.strip()
    else:
        savepoint = client.stop_with_savepoint().result()
        client.get_job_execution_result().result()
    found = {source.name: source for source in read_savepoint(Path(savepoint)).sources}
    assert found["orders"].part == part
    if part == 0:
        assert _of(out, "orders") < first

    settings = {
        "execution.checkpointing.dir": str(tmp_path / "second"),
        "execution.state-recovery.path": savepoint,
        "parallelism.default": 1,
    }
    env = environment("streaming", **SMALL, **settings)
    build_of_files(env, out, orders)
    client = env.execute_async("meeting")
    wait_for(client, partial(_has, out, first))
    write_orders(tmp_path / "in" / "history", first, first + 60)
    wait_for(client, partial(_has, out, first + 60))
    wait_for(client, lambda: _of(out, "clicks") == CLICKS)
    client.cancel()
    assert written(out) == expected_of_files(first + 60)


def test_failures_in_history_of_files_and_behind_it_lose_and_repeat_nothing(
    environment: Environment, tmp_path: Path, failures: Failures
) -> None:
    write_input(tmp_path / "in")
    last = -(-HISTORY // (4 * PER_FILE))
    places = [
        "live.staged:2:raise",
        "live.recorded:4:raise",
        *(f"live.{step}:{last + n}:raise" for n, step in enumerate(("staged", "recorded"))),
    ]
    settings = {
        "execution.live.max-records-per-batch": 4 * PER_FILE,
        "execution.live.max-files-per-batch": 4,
    }
    env = environment("streaming", **failures.at(*places), **settings)
    build_of_files(env, tmp_path / "out", in_files(tmp_path / "in", "positions"))
    env.execute("meeting")
    failures.check_all_happened()
    assert written(tmp_path / "out") == expected_of_files()
