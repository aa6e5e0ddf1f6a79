"""Logs on Spark: read on after failures and restarts, split in history, watched while they grow, confirmed.

Every test compares with what one uninterrupted run would have written. The log is a directory of appended files,
whose positions are bytes, so that nearly every position is a hole.
"""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock.api.environment.job import JobClient
from penstock.cli.main import command_line
from penstock.common import Types, WatermarkStrategy
from penstock.datastream import MapFunction, StreamExecutionEnvironment
from penstock.datastream.connectors import FileSink, HybridSource
from penstock.errors import SourceError
from penstock.graph.source import Source
from penstock.observe.events.job_events import ConfirmFailed, MicroBatch
from penstock.observe.events.listeners import also_listening
from penstock.state.savepoint import read_savepoint
from tests.log_world import AppendedLog
from tests.spark.conftest import Environment, Failures
from tests.spark.test_clients import written
from tests.spark.test_epochs import STEPS, Seen
from tests.spark.waiting import wait_for

ROW = Types.ROW_NAMED(["key", "n"], [Types.STRING(), Types.LONG()])
NO_TIME = WatermarkStrategy.no_watermarks()
SMALL: dict[str, object] = {"execution.live.max-records-per-batch": 10}


@pytest.fixture
def log(tmp_path: Path) -> AppendedLog:
    made = AppendedLog(str(tmp_path / "log"))
    Path(made.directory).mkdir()
    return made


def lines(first: int, last: int) -> list[tuple[str, int]]:
    return [(f"k{n % 5}", n) for n in range(first, last)]


def counts(count: int) -> Counter[Any]:
    return Counter((f"k{n % 5}", n // 5 + 1) for n in range(count))


def start(env: StreamExecutionEnvironment, source: Source, out: Path) -> JobClient:
    """Start a job that counts the records of every key."""
    records = env.from_source(source, NO_TIME, "orders").uid("orders")
    ones = records.map(lambda r: (r[0], 1)).key_by(lambda r: r[0])
    ones.sum(1).uid("counts").map(lambda r: r, ROW).sink_to(FileSink.parquet(out)).uid("out")
    return env.execute_async("orders")


def stop(client: JobClient) -> None:
    client.cancel().result()
    with pytest.raises(Exception, match="cancelled"):
        client.get_job_execution_result().result()


def test_a_growing_log_is_read_once_whatever_fails_and_is_confirmed(
    environment: Environment, tmp_path: Path, log: AppendedLog, failures: Failures
) -> None:
    out = tmp_path / "out"
    log.add("b", *lines(0, 60))
    client = start(environment("streaming", **SMALL, **failures.at(*STEPS)), log, out)
    wait_for(client, lambda: written(out).total() >= 30)
    log.add("a", *lines(60, 80))  # a split that is before the other one by name
    wait_for(client, lambda: written(out).total() >= 80)
    log.add("b", *lines(80, 100))
    wait_for(client, lambda: written(out) == counts(100))
    heads = {split.id: split.head for split in log.discover({})}
    wait_for(client, lambda: log.confirmed() == heads)
    failures.check_all_happened()
    stop(client)
    log.add("a", *lines(100, 120))
    client = start(environment("streaming", **SMALL), log, out)
    wait_for(client, lambda: written(out) == counts(120))
    stop(client)


def test_history_up_to_the_heads_is_read_by_all_tasks_and_live_goes_on_behind_it(
    environment: Environment, tmp_path: Path, log: AppendedLog
) -> None:
    out = tmp_path / "out"
    log.add("a", *lines(0, 4000))
    client = start(environment("mixed", **SMALL), HybridSource.until_head(log), out)
    wait_for(client, lambda: written(out) == counts(4000))
    log.add("a", *lines(4000, 4020))
    log.add("b", *lines(4020, 4040))
    wait_for(client, lambda: written(out) == counts(4040))
    stop(client)


class Tasks(MapFunction):
    """Records and the task that read them."""

    def open(self, runtime_context: Any) -> None:
        self.task = runtime_context.get_index_of_this_subtask()

    def map(self, value: Any) -> Any:
        return value[0], self.task


def test_a_batch_run_reads_one_split_in_several_tasks(
    environment: Environment, tmp_path: Path, log: AppendedLog
) -> None:
    class Divisible(AppendedLog):
        @property
        def is_divisible(self) -> bool:
            return True

    log.add("a", *lines(0, 5000))
    source = Divisible(log.directory, bounded=True)
    env = environment("batch")
    records = env.from_source(source, NO_TIME, "orders")
    records.map(Tasks()).map(lambda r: r, ROW).sink_to(FileSink.parquet(tmp_path / "out"))
    env.execute("orders")
    found = written(tmp_path / "out")
    assert found.total() == 5000
    assert len({task for _, task in found}) > 1
    assert log.confirmed() == {"a": source.discover({})[0].head}


def test_records_that_were_removed_before_they_were_read_stop_the_job(
    environment: Environment, tmp_path: Path, log: AppendedLog
) -> None:
    out = tmp_path / "out"
    log.add("a", *lines(0, 20))
    client = start(environment("streaming", **SMALL), log, out)
    wait_for(client, lambda: written(out) == counts(20))
    stop(client)
    head = log.discover({})[0].head
    log.add("a", *lines(20, 40))
    Path(log.directory, "a.earliest").write_text(str(head + 9))
    client = start(environment("streaming", **SMALL), log, out)
    with pytest.raises(
        SourceError, match=f"begins at position {head + 9}, and the job has read up"
    ):
        client.get_job_execution_result().result()
    Path(log.directory, "a.earliest").unlink()
    client = start(environment("streaming", **SMALL), log, out)
    wait_for(client, lambda: written(out) == counts(40))
    stop(client)


def test_a_savepoint_has_every_split_and_another_parallelism_goes_on(
    environment: Environment, tmp_path: Path, log: AppendedLog
) -> None:
    out = tmp_path / "out"
    log.add("m", *lines(0, 50))

    def settings(name: str, parallelism: int, path: str = "") -> dict[str, Any]:
        found = SMALL | {
            "execution.checkpointing.dir": str(tmp_path / name),
            "parallelism.default": parallelism,
        }
        return found | ({"execution.state-recovery.path": path} if path else {})

    client = start(environment("streaming", **settings("first", 2)), log, out)
    wait_for(client, lambda: written(out).total() >= 10)
    log.add("a", *lines(50, 70))
    wait_for(client, lambda: written(out).total() >= 70)
    first = client.stop_with_savepoint().result()
    client.get_job_execution_result().result()
    position = read_savepoint(Path(first)).sources[0].position
    assert position["names"] == ["m", "a"]
    log.add("c", *lines(70, 90))
    client = start(environment("streaming", **settings("second", 3, first)), log, out)
    wait_for(client, lambda: written(out) == counts(90))
    stop(client)
    taken = CliRunner().invoke(command_line(), ["savepoint", str(tmp_path / "second"), "--stop"])
    assert taken.exit_code == 0, taken.output
    offline = taken.stdout.strip()
    found = read_savepoint(Path(offline)).sources[0].position
    assert found["names"] == ["m", "a", "c"]
    assert [at for at, _ in found["splits"]] == [
        {split.id: split.head for split in log.discover({})}[name] for name in found["names"]
    ]
    log.add("m", *lines(90, 95))
    client = start(environment("streaming", **settings("third", 1, offline)), log, out)
    wait_for(client, lambda: written(out) == counts(95))
    stop(client)


def test_a_log_that_cannot_be_told_does_not_stop_the_job(
    environment: Environment, tmp_path: Path, log: AppendedLog
) -> None:
    log.add("a", *lines(0, 30))
    source = AppendedLog(log.directory, confirm_fails=True)
    out, seen = tmp_path / "out", Seen()
    with also_listening(seen):
        client = start(environment("streaming", **SMALL), source, out)
        wait_for(client, lambda: written(out) == counts(30))
        wait_for(client, lambda: bool(seen.of(ConfirmFailed)))
        stop(client)
    (failed,) = seen.of(ConfirmFailed)
    assert failed.source == "orders"
    assert "ConnectionError: nobody listens" in failed.problem
    behind = [event.records_behind for event in seen.of(MicroBatch)]
    assert behind[-1] == 0
    assert all(records is not None for records in behind)


class Hanging(AppendedLog):
    """Its system stops to answer when the test says so, and notes that it was asked."""

    def answers(self) -> None:
        if Path(self.directory, "silent").exists():
            Path(self.directory, "asked").touch()
            time.sleep(20)

    def is_asked(self) -> bool:
        return Path(self.directory, "asked").exists()


class HangingDiscovery(Hanging):
    def discover(self, known: Any) -> Any:
        self.answers()
        return super().discover(known)


class HangingCost(Hanging):
    def cost(self, split: str, start: int, end: int) -> int:
        self.answers()
        return end - start


class HangingSearch(Hanging):
    def position_at(self, split: str, timestamp_ms: int, start: int, end: int) -> int:
        self.answers()
        return end


def stops_at_once(client: JobClient) -> None:
    begun = time.monotonic()
    stop(client)
    assert time.monotonic() - begun < 5, "what waits looks 20 times per second"


@pytest.mark.parametrize("hanging", [HangingDiscovery, HangingCost])
def test_a_log_that_does_not_answer_does_not_keep_a_live_run_from_being_cancelled(
    environment: Environment, tmp_path: Path, log: AppendedLog, hanging: type[Hanging]
) -> None:
    log.add("a", *lines(0, 10))
    out, source = tmp_path / "out", hanging(log.directory)
    client = start(environment("streaming", **SMALL), source, out)
    wait_for(client, lambda: written(out) == counts(10))
    Path(log.directory, "silent").touch()
    log.add("a", *lines(10, 20))
    wait_for(client, source.is_asked)
    stops_at_once(client)


def test_a_log_that_does_not_answer_does_not_keep_history_from_being_cancelled(
    environment: Environment, tmp_path: Path, log: AppendedLog
) -> None:
    log.add("a", *lines(0, 10))
    Path(log.directory, "silent").touch()
    whole, search = HangingCost(log.directory, bounded=True), HangingSearch(log.directory)
    parts = (("batch", whole, whole), ("mixed", search, HybridSource.until_timestamp(search, 1)))
    for mode, asked, source in parts:
        settings = {"execution.checkpointing.dir": str(tmp_path / mode)}
        client = start(environment(mode, **settings), source, tmp_path / "out")
        wait_for(client, asked.is_asked)
        stops_at_once(client)
        Path(log.directory, "asked").unlink()
