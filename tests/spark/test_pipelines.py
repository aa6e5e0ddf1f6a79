"""Pipelines of one job on Spark: beside each other, over failures, savepoints and cancellation."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from penstock.api.environment.job import JobStatus
from penstock.datastream import WatermarkStrategy
from penstock.datastream.connectors import DataGeneratorSource, DiscardingSink
from penstock.errors import PenstockError
from penstock.observe.events.job_events import JobEvent, MicroBatch, Restarting, RunFinished
from penstock.observe.events.listeners import JobListener, also_listening
from penstock.spark.inspect.state_reader import read_state_names
from penstock.state.savepoint import read_savepoint
from penstock.wire.atomic_file import read_verified
from tests.spark.conftest import Environment, Failures
from tests.spark.jobs import beside, enriched
from tests.spark.test_clients import written
from tests.spark.waiting import committed, wait_for

SMALL = {"execution.live.max-records-per-batch": 40}
RECOVERY = "execution.state-recovery.path"


class Seen(JobListener):
    """Keeps what a job tells."""

    def __init__(self) -> None:
        self.events: list[JobEvent] = []

    def on_event(self, event: JobEvent) -> None:
        self.events.append(event)


def check_written(out: Path, clicks: int = beside.CLICKS) -> None:
    for name, rows in beside.expected(clicks).items():
        assert written(out / name) == rows, name
    assert enriched.answer(written(out / "enriched")) == enriched.expected()


def test_every_pipeline_writes_what_it_writes_alone(
    environment: Environment, tmp_path: Path
) -> None:
    seen = Seen()
    env = environment("mixed", **SMALL)
    beside.build(env, tmp_path / "out")
    with also_listening(seen):
        result = env.execute("beside")
    check_written(tmp_path / "out")
    names = Counter((run.name, run.kind) for run in result.runs)
    assert names == {
        ("bounded", "batch"): 1,
        ("history", "batch"): 1,
        ("results", "batch"): 1,
        ("live", "live"): 3,
    }
    told = {event.pipeline for event in seen.events if isinstance(event, MicroBatch)}
    assert told == {"1", "2", "3"}
    assert read_verified(tmp_path / "job" / "job.json")["pipelines"] == [0, 1, 1, 2, 3, 3]


def test_a_failure_in_every_pipeline_loses_and_repeats_nothing(
    environment: Environment, tmp_path: Path, failures: Failures
) -> None:
    places = [
        "file.run-0.done.json:1:raise",  # the bounded region
        "file.run-1.staged.json:1:raise",  # history of the orders
        "file.run-4.done.json:1:raise",  # the results of the region
        "live.recorded:3:raise",
        "live.committed:6:raise",
        "sinks.one-committed:12:raise",
    ]
    seen = Seen()
    env = environment("mixed", **SMALL, **failures.at(*places))
    beside.build(env, tmp_path / "out")
    with also_listening(seen):
        env.execute("beside")
    failures.check_all_happened()
    # Two pipelines may fail in one attempt.
    assert sum(isinstance(event, Restarting) for event in seen.events) in range(2, len(places) + 1)
    check_written(tmp_path / "out")


def test_one_savepoint_has_every_pipeline(environment: Environment, tmp_path: Path) -> None:
    out, clicks = tmp_path / "out", 1200
    env = environment("mixed", **SMALL)
    beside.build(env, out, clicks)
    client = env.execute_async("beside")
    wait_for(client, lambda: bool(written(out / "enriched")) and bool(written(out / "clicks")))
    savepoint = client.stop_with_savepoint().result()
    client.get_job_execution_result().result()
    before = {name: written(out / name) for name in ("orders", "clicks", "enriched")}
    assert before["clicks"].total() < clicks
    found = read_savepoint(Path(savepoint))
    assert {"orders", "clicks", "enriched"} <= {*found.operators_with_state}
    records = {source.name: source for source in found.sources}
    assert records["orders"].part == 1
    assert records["clicks"].part == 0
    assert records["bounded"].part is None

    settings = {
        "execution.checkpointing.dir": str(tmp_path / "second"),
        RECOVERY: savepoint,
        "parallelism.default": 1,
    }
    env = environment("mixed", **SMALL, **settings)
    beside.build(env, out, clicks)
    result = env.execute("beside")
    assert {run.name for run in result.runs} == {"live"}
    check_written(out, clicks)
    assert not list((tmp_path / "second" / "restored").glob("*"))


def test_a_savepoint_waits_for_a_failed_pipeline_and_is_taken_once(
    environment: Environment, tmp_path: Path, failures: Failures
) -> None:
    places = ["savepoint.added:2:raise", "savepoint.written:1:raise"]
    out, clicks = tmp_path / "out", 1200
    env = environment("mixed", **SMALL, **failures.at(*places))
    beside.build(env, out, clicks)
    client = env.execute_async("beside")
    wait_for(client, lambda: bool(written(out / "clicks")))
    savepoint = client.stop_with_savepoint().result()
    client.get_job_execution_result().result()
    failures.check_all_happened()
    second = {"execution.checkpointing.dir": str(tmp_path / "second"), RECOVERY: savepoint}
    env = environment("mixed", **SMALL, **second)
    beside.build(env, out, clicks)
    env.execute("beside")
    check_written(out, clicks)


def test_a_pipeline_that_has_ended_is_in_the_savepoint_and_does_not_run_again(
    environment: Environment, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    settings = {"execution.checkpointing.dir": str(tmp_path / "first")}
    env = environment("mixed", **SMALL, **settings)
    beside.build(env, out, clicks=4000, rate=200)
    client = env.execute_async("beside")
    rows = beside.expected()["orders"]
    wait_for(client, lambda: written(out / "orders") == rows)
    wait_for(client, lambda: written(out / "enriched").total() == enriched.LIVE)
    savepoint = client.stop_with_savepoint().result()
    client.get_job_execution_result().result()
    assert {"orders", "clicks", "enriched"} <= {
        *read_savepoint(Path(savepoint)).operators_with_state
    }

    settings = {"execution.checkpointing.dir": str(tmp_path / "second"), RECOVERY: savepoint}
    env = environment("mixed", **settings)
    beside.build(env, out, clicks=4000)
    env.execute("beside")
    check_written(out, clicks=4000)
    states = {row["uid"] for row in read_state_names(tmp_path / "second").collect()}
    assert {"orders", "clicks", "enriched"} <= states


def test_a_job_that_was_cancelled_goes_on_in_every_pipeline(
    environment: Environment, tmp_path: Path
) -> None:
    out, clicks = tmp_path / "out", 4000
    env = environment("mixed", **SMALL)
    beside.build(env, out, clicks, rate=400)
    client = env.execute_async("beside")
    wait_for(client, lambda: committed(tmp_path / "job" / "run-3") > 1)
    began = time.monotonic()
    client.cancel()
    assert time.monotonic() - began < 5
    assert client.get_job_status().result() is JobStatus.CANCELED
    env = environment("mixed")
    beside.build(env, out, clicks, rate=4000)
    env.execute("beside")
    check_written(out, clicks)


def test_the_first_failure_ends_the_other_pipelines_and_is_told_once(
    environment: Environment, tmp_path: Path
) -> None:
    def fails(value: int) -> int:
        if value == 90:
            raise ValueError("ninety")
        return value

    env = environment("streaming", **SMALL)
    for name, then in (("good", lambda n: n), ("bad", fails)):
        source = DataGeneratorSource(lambda i: i, records_per_second=400)
        numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), name)
        numbers.map(then).name(f"{name} map").sink_to(DiscardingSink())
    seen = Seen()
    with also_listening(seen), pytest.raises(PenstockError, match="ninety"):
        env.execute("two")
    finished = [event for event in seen.events if isinstance(event, RunFinished)]
    assert [event.pipeline for event in finished] == ["0"]


def test_what_is_live_does_not_wait_for_ten_million_records_of_history(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.spark.jobs.long_history", str(tmp_path / "job")]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(ran.stdout.splitlines()[-1])
    assert told["history_records"] == 10_000_000
    # A click that comes during a micro-batch is out with the next one. So none is later than two of them.
    assert told["micro_batches_during_history"] >= 5
    assert max(told["gaps"]) <= 2 * max(told["seconds"]) + 0.5
    assert max(told["gaps"]) < told["history_seconds"] / 3
