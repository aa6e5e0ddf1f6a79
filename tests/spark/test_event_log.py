"""What a job writes about itself, and what others see of it."""

from __future__ import annotations

import json
import socket
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock.cli.job_observer import JobObserver
from penstock.cli.main import command_line
from penstock.common import Encoder, Time, Types, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream.connectors import CollectionSource, FileSink, HybridSource
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import PenstockError
from penstock.observe.events.event_log import EventFiles
from penstock.observe.events.job_events import (
    JobEnded,
    JobEvent,
    JobStarted,
    MetricsReported,
    MicroBatch,
    Restarting,
    RunFinished,
    RunStarted,
    Switched,
)
from penstock.observe.events.listeners import JobListener, also_listening
from tests.spark.conftest import Environment

NUMBERS = list(range(40))


def sums(env: Any, function: Any = lambda n: n + 1) -> None:
    source = (
        HybridSource.builder(CollectionSource.of(NUMBERS[:30]))
        .add_source(CollectionSource.of(NUMBERS[30:]))
        .build()
    )
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    added = numbers.map(function).uid("add").key_by(lambda n: n % 3).sum().uid("sums")
    added.sink_to(DiscardingSink())


def status_of(directory: Path) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(command_line(), ["status", str(directory), "--json"])
    return result.exit_code, json.loads(result.stdout)


def test_a_job_tells_its_whole_story(environment: Environment, tmp_path: Path) -> None:
    env = environment("mixed", **{"pipeline.global-job-parameters.password": "hunter2"})
    sums(env)
    env.execute("visits")
    events = list(EventFiles(tmp_path / "job").events())
    assert len({event.job_id for event in events}) == 1
    assert {event.job_name for event in events} == {"visits"}
    assert [event.at_ms for event in events] == sorted(event.at_ms for event in events)
    started = events[0]
    assert isinstance(started, JobStarted)
    assert started.mode == "STREAMING, mixed (history as a batch, then live)"
    assert started.settings["parallelism.default"] == "2"
    assert {"add", "sums", "numbers"} <= {node["uid"] for node in started.nodes}
    names = {node["id"]: node["uid"] for node in started.nodes}
    ways = {(names[edge["source"]], names[edge["target"]]): edge["ship"] for edge in started.edges}
    assert (ways["numbers", "add"], ways["add", "sums"]) == ("CHAINED", "HASH")
    assert started.plan.startswith("mode STREAMING")
    runs = [event.name for event in events if isinstance(event, RunStarted)]
    assert runs == ["history", "live"]
    assert len([event for event in events if isinstance(event, Switched)]) == 1
    assert sum(event.records for event in events if isinstance(event, RunFinished)) == 40
    batch = [event for event in events if isinstance(event, MicroBatch)][-1]
    assert batch.total_records == 10
    assert sum(batch.durations.values()) == pytest.approx(batch.seconds, rel=0.05)
    assert batch.durations["job"] > 0
    told = [event for event in events if isinstance(event, MetricsReported)][-1]
    assert told.operators == {"add": 40, "sums": 40}
    assert told.sources == {"numbers": 40}
    assert sum(told.subtasks["sums"]) == 10, "of the live run"
    assert len(told.subtasks["sums"]) <= 2
    assert told.state_bytes["sums"] > 0
    assert told.state_keys.get("sums", 3) == 3
    assert events[-1] == JobEnded("FINISHED")
    whole = "".join(EventFiles(tmp_path / "job").lines())
    assert "hunter2" not in whole

    code, found = status_of(tmp_path / "job")
    assert (code, found["status"], found["records"]) == (0, "FINISHED", 40)
    assert [run["progress"] for run in found["runs"]] == [1, 1]
    assert {each["uid"]: each["records"] for each in found["operators"]}["sums"] == 40


def test_a_sink_tells_its_commits(environment: Environment, tmp_path: Path) -> None:
    env = environment("mixed")
    source = (
        HybridSource.builder(CollectionSource.of(NUMBERS[:30]))
        .add_source(CollectionSource.of(NUMBERS[30:]))
        .build()
    )
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    out = FileSink.for_row_format(str(tmp_path / "out"), Encoder.simple_string_encoder()).build()
    numbers.map(str, Types.STRING()).sink_to(out).uid("out")
    env.execute("visits")
    told = [e for e in EventFiles(tmp_path / "job").events() if isinstance(e, MetricsReported)][-1]
    out_files = (path for path in (tmp_path / "out").rglob("[!._]*") if path.is_file())
    files = [path for path in out_files if "/_" not in str(path.relative_to(tmp_path))]
    assert told.sinks["out"]["records"] == 40
    assert told.sinks["out"]["commits"] == 2
    assert told.sinks["out"]["seconds"] > 0
    assert told.sinks["out"]["files"] == len(files)
    assert told.sinks["out"]["bytes"] == sum(path.stat().st_size for path in files)


def test_watermarks_are_known_per_split(environment: Environment, tmp_path: Path) -> None:
    env = environment("streaming")
    source = CollectionSource.of(NUMBERS)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamps())
    env.from_source(source, strategy, "numbers").sink_to(DiscardingSink())
    env.execute("visits")
    batches = [e for e in EventFiles(tmp_path / "job").events() if isinstance(e, MicroBatch)]
    marks: dict[str, int] = {}
    for each in batches:
        marks |= each.split_watermarks.get("numbers", {})
    assert marks
    assert all(-1 <= mark < 40_000 for mark in marks.values())


@pytest.mark.parametrize("mode", ["streaming", "mixed"])
def test_late_records_are_told_by_operator(
    environment: Environment, tmp_path: Path, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "penstock")
    env = environment(mode, **{"execution.live.max-records-per-batch": 10})
    live = CollectionSource.of([50, 51, 1, 2, 3, 52])
    source = HybridSource.builder(CollectionSource.of(range(40))).add_source(live).build()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamps())
    numbers = env.from_source(source, strategy, "numbers").set_parallelism(1)
    windows = numbers.key_by(lambda _: 0).window(TumblingEventTimeWindows.of(Time.seconds(10)))
    windows.reduce(max).uid("greatest").sink_to(DiscardingSink())
    env.execute("visits")
    events = list(EventFiles(tmp_path / "job").events())
    ended = [event for event in events if isinstance(event, RunFinished)][-1]
    assert ended.late_records == {"greatest": 3}
    batches = [event.late_records for event in events if isinstance(event, MicroBatch)]
    assert {"greatest": 3} in batches
    _, found = status_of(tmp_path / "job")
    assert {each["uid"]: each["late_records"] for each in found["operators"]}["greatest"] == 3
    assert "late records dropped: 3 by greatest" in caplog.text


class Stamps(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value * 1_000


def test_a_failed_job_says_why(environment: Environment, tmp_path: Path) -> None:
    env = environment(
        "batch",
        **{
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": 1,
            "restart-strategy.fixed-delay.delay": "10 ms",
        },
    )
    sums(env, lambda n: n // (n - 7))
    with pytest.raises(PenstockError):
        env.execute("visits")
    events = list(EventFiles(tmp_path / "job").events())
    (restarting,) = (event for event in events if isinstance(event, Restarting))
    ended = events[-1]
    assert isinstance(ended, JobEnded)
    assert ended.status == "FAILED"
    assert ended.error["code"] == restarting.error["code"] == "USER_FUNCTION"
    assert "operator 'map' failed on record 7" in ended.error["problem"]
    assert "test_event_log.py" in ended.error["origin"]
    code, found = status_of(tmp_path / "job")
    assert (code, found["status"], found["restarts"]) == (1, "FAILED", 1)
    assert found["error"] == ended.error


def test_a_running_job_is_seen_by_status_and_by_prometheus(
    environment: Environment, tmp_path: Path
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    class Looks(JobListener):
        """Looks at the job from outside while it runs."""

        seen: dict[str, Any] | None = None
        metrics = ""

        def on_event(self, event: JobEvent) -> None:
            if isinstance(event, RunFinished) and event.name == "history":
                self.seen = JobObserver.at(tmp_path / "job").status()
                url = f"http://127.0.0.1:{port}/metrics"
                with urllib.request.urlopen(url) as answer:
                    self.metrics = answer.read().decode()

    env = environment("mixed", **{"ui.port": port})
    sums(env)
    looks = Looks()
    with also_listening(looks):
        env.execute("watched")
    assert looks.seen is not None
    assert (looks.seen["status"], looks.seen["name"]) == ("RUNNING", "watched")
    assert 'penstock_job_status{job_name="watched",status="RUNNING"} 1.0' in looks.metrics
    assert (
        'penstock_source_records_total{job_name="watched",source="numbers"} 30.0' in looks.metrics
    )
