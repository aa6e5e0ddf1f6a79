"""Run events of OpenLineage: what is in them, and what a receiver gets over HTTP."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from penstock import extras
from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.connectors.kafka.kafka_sink import KafkaSink
from penstock.connectors.kafka.kafka_source import KafkaSource
from penstock.connectors.kafka.record_serialization import KafkaRecordSerializationSchema
from penstock.connectors.kafka.values import KafkaOffsetsInitializer
from penstock.connectors.postgres.postgres_sink import PostgresSink
from penstock.connectors.postgres.postgres_source import PostgresSource
from penstock.connectors.redis.redis_sink import RedisSink
from penstock.connectors.redis.redis_source import RedisSource
from penstock.connectors.rows.serialization import SimpleStringSchema
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import FileSink, FileSource, HybridSource
from penstock.errors import EnvironmentSetupError, SourceError
from penstock.graph.dataset import Dataset
from penstock.observe.events.job_events import (
    JobEnded,
    JobEvent,
    JobStarted,
    MetricsReported,
    Restarting,
    RunStarted,
)
from penstock.observe.reporters.lineage_listener import LineageListener
from penstock.plan.explain.outline import nodes_of

WHOSE: dict[str, Any] = {"job_id": "9f", "job_name": "visits"}
ORDER = Types.ROW_NAMED(["customer", "amount"], [Types.STRING(), Types.LONG()])
NODES: list[dict[str, Any]] = [
    {
        "id": "n1",
        "kind": "source",
        "uid": "orders",
        "datasets": [{"namespace": "kafka://broker:9092", "name": "orders"}],
    },
    {"id": "n2", "kind": "map", "uid": "my.map"},
    {
        "id": "s0",
        "kind": "sink",
        "uid": "out",
        "datasets": [{"namespace": "s3://shop", "name": "out"}],
        "fields": [["customer", "String"], ["amount", "Long"]],
    },
    {"id": "s1", "kind": "sink", "uid": "nowhere", "datasets": []},
]
SETTINGS = {"parallelism.default": "3", "ui.token": "******"}
STARTED = JobStarted(
    "0.1.0",
    "STREAMING, mixed (history as a batch, then live)",
    2,
    SETTINGS,
    NODES,
    **WHOSE,
    at_ms=1_000,
)
COUNTS = MetricsReported(
    {},
    {},
    sources={"orders": 70},
    sinks={"out": {"records": 60, "commits": 2, "seconds": 0.1, "files": 3, "bytes": 900}},
    **WHOSE,
    at_ms=2_000,
)
LIVE = RunStarted("live", "live", "orders", bounded=False, **WHOSE, at_ms=1_500)
ERROR = {
    "code": "USER_FUNCTION",
    "problem": "it raised on redis://etl:hunter2@cache, password=hunter2",
    "hint": "correct it",
}


def told_of(*events: JobEvent) -> list[dict[str, Any]]:
    """Return the run events of a job, as a receiver reads them."""
    found: list[dict[str, Any]] = []
    to_json = import_module("openlineage.client.serde").Serde.to_json
    listener = LineageListener(lambda made: found.append(json.loads(to_json(made))))
    for event in events:
        listener.on_event(event)
    return found


def test_a_run_begins_reports_and_completes() -> None:
    told = told_of(STARTED, LIVE, COUNTS, JobEnded("FINISHED", **WHOSE, at_ms=9_000))
    assert [each["eventType"] for each in told] == ["START", "RUNNING", "COMPLETE"]
    assert {(each["job"]["namespace"], each["job"]["name"]) for each in told} == {
        ("default", "visits")
    }
    assert len({each["run"]["runId"] for each in told}) == 1
    assert told[0]["eventTime"] == "1970-01-01T00:00:01.000+00:00"
    (source,) = told[-1]["inputs"]
    assert (source["namespace"], source["name"]) == ("kafka://broker:9092", "orders")
    assert source["inputFacets"]["inputStatistics"]["rowCount"] == 70
    assert source["facets"] == {}
    (sink,) = told[-1]["outputs"]
    assert (sink["namespace"], sink["name"]) == ("s3://shop", "out")
    statistics = sink["outputFacets"]["outputStatistics"]
    assert [statistics[name] for name in ("rowCount", "size", "fileCount")] == [60, 900, 3]
    fields = [
        (each["name"], each["type"], each["ordinal_position"])
        for each in sink["facets"]["schema"]["fields"]
    ]
    assert fields == [("customer", "String", 1), ("amount", "Long", 2)]
    kind = told[0]["job"]["facets"]["jobType"]
    assert (kind["processingType"], kind["integration"]) == ("STREAMING", "PENSTOCK")
    facets = told[0]["run"]["facets"]
    assert (facets["processing_engine"]["name"], facets["processing_engine"]["version"]) == (
        "Penstock",
        "0.1.0",
    )
    shown = [(each["key"], each["value"]) for each in facets["executionParameters"]["parameters"]]
    assert shown == [("parallelism.default", "3")], "a secret is not even named"


def test_numbers_are_told_now_and_then() -> None:
    def report(at_ms: int) -> MetricsReported:
        return MetricsReported({}, {}, sources={"orders": at_ms}, **WHOSE, at_ms=at_ms)

    reports = [report(at_ms) for at_ms in range(2_000, 200_000, 1_000)]
    running = [each for each in told_of(STARTED, *reports) if each["eventType"] == "RUNNING"]
    assert [
        each["inputs"][0]["inputFacets"]["inputStatistics"]["rowCount"] for each in running
    ] == [61_000, 121_000, 181_000]


def test_failures_are_told_without_secrets() -> None:
    again = RunStarted("live", "live", "orders", bounded=False, **WHOSE, at_ms=4_000)
    told = told_of(
        STARTED,
        Restarting(1, 3, 1.0, "it raised", ERROR, **WHOSE, at_ms=3_000),
        again,
        JobEnded("FAILED", ERROR, **WHOSE, at_ms=5_000),
    )
    assert [each["eventType"] for each in told] == ["START", "RUNNING", "RUNNING", "FAIL"]
    messages = [each["run"]["facets"].get("errorMessage", {}).get("message", "") for each in told]
    failed = "USER_FUNCTION: it raised on redis://******@cache, password=******"
    assert messages == ["", failed, "", failed]
    assert "hunter2" not in json.dumps(told)


def test_a_job_that_is_cancelled_is_aborted() -> None:
    told = told_of(STARTED, JobEnded("CANCELED", **WHOSE, at_ms=2_000))
    assert [each["eventType"] for each in told] == ["START", "ABORT"]


def test_a_job_that_is_resumed_is_another_run() -> None:
    end = JobEnded("CANCELED", **WHOSE, at_ms=2_000)
    told = told_of(STARTED, end, STARTED, end)
    assert [len({each["run"]["runId"] for each in part}) for part in (told, told[:2])] == [2, 1]


def test_a_job_that_began_before_anybody_listened_is_not_told() -> None:
    assert told_of(LIVE, COUNTS, JobEnded("FINISHED", **WHOSE, at_ms=2_000)) == []


def test_what_a_receiver_refuses_is_sent_again(caplog: pytest.LogCaptureFixture) -> None:
    got: list[str] = []
    now, broken = [0.0], [True]

    def emit(made: Any) -> None:
        if broken[0]:
            raise ConnectionError("http://etl:hunter2@receiver")
        got.append(made.eventType.name)

    listener = LineageListener(emit, clock=lambda: now[0])
    with caplog.at_level(logging.WARNING, "penstock"):
        for event in (STARTED, LIVE, Restarting(1, None, 0.0, "x", ERROR, **WHOSE, at_ms=2_000)):
            listener.on_event(event)
        broken[0], now[0] = False, 0.5
        listener.on_event(LIVE)
        assert got == [], "it is asked again after a pause"
        now[0] = 2.0
        listener.on_event(JobEnded("FINISHED", **WHOSE, at_ms=3_000))
    assert got == ["START", "RUNNING", "RUNNING", "RUNNING", "COMPLETE"]
    assert [record.message for record in caplog.records] == [
        "events of OpenLineage could not be sent, and are tried again; the job goes on: ConnectionError",
        "OpenLineage works again; 0 events are lost",
    ]


def test_what_waits_is_bounded() -> None:
    tried = 0

    def emit(made: Any) -> None:
        nonlocal tried
        tried += 1
        raise ConnectionError

    listener = LineageListener(emit, clock=lambda: 0.0)
    for _ in range(1_000):
        listener.on_event(STARTED)
    assert len(listener._waiting) == 100
    assert tried == 1


@contextmanager
def receiver(
    status: int = 201, wait_seconds: float = 0.0
) -> Iterator[tuple[str, list[tuple[str, dict[str, str], Any]]]]:
    """Yield the address of a receiver, and what it gets: path, headers and event."""
    received: list[tuple[str, dict[str, str], Any]] = []
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            received.append((self.path, headers, json.loads(body)))
            over.wait(wait_seconds)
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", received
    finally:
        over.set()
        server.shutdown()
        thread.join()
        server.server_close()


JOB = """
import json, sys, time
from penstock.common import Configuration
from penstock.observe.events.job_events import JobEnded, JobStarted, RunStarted
from penstock.observe.events.listeners import JobEvents
from penstock.observe.reporters.start import start_reporters

settings = Configuration.from_dict(json.loads(sys.argv[1]))
start_reporters(settings)
start_reporters(settings)
job = JobEvents("9f", "visits")
began = time.monotonic()
job.publish(JobStarted("0.1.0", "BATCH", 2))
job.publish(RunStarted("batch", "batch", "numbers", True))
job.publish(JobEnded("FINISHED"))
print(time.monotonic() - began)
"""


def run_job(settings: dict[str, str], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", JOB, json.dumps(settings)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"PATH": "/usr/bin:/bin", **environment},
    )


@pytest.mark.parametrize("by", ["option", "environment"])
def test_a_receiver_gets_events(by: str) -> None:
    with receiver() as (url, received):
        settings = {"openlineage.enabled": "true", "openlineage.namespace": "shop"}
        if by == "option":
            ended = run_job({**settings, "openlineage.url": url}, OPENLINEAGE_API_KEY="hunter2")
        else:
            ended = run_job(settings, OPENLINEAGE_URL=url, OPENLINEAGE_API_KEY="hunter2")
    assert ended.returncode == 0, ended.stderr
    assert {path for path, _, _ in received} == {"/api/v1/lineage"}
    assert {headers["authorization"] for _, headers, _ in received} == {"Bearer hunter2"}
    assert [event["eventType"] for _, _, event in received] == ["START", "RUNNING", "COMPLETE"]
    assert {event["job"]["namespace"] for _, _, event in received} == {"shop"}
    assert "hunter2" not in ended.stdout + ended.stderr


@pytest.mark.parametrize("how", ["refuses", "hangs", "is not there"])
def test_a_receiver_that_fails_holds_no_job(how: str) -> None:
    with receiver(500 if how == "refuses" else 201, 60 if how == "hangs" else 0) as (url, _):
        address = "http://127.0.0.1:9" if how == "is not there" else url
        began = time.monotonic()
        ended = run_job({"openlineage.enabled": "true", "openlineage.url": address})
        took = time.monotonic() - began
    assert ended.returncode == 0, ended.stderr
    assert float(ended.stdout) < 1, "the job did not wait"
    assert took < 30, "the process waits for some seconds at most"


def test_without_a_receiver_it_says_what_to_set(tmp_path: Path) -> None:
    ended = run_job({"openlineage.enabled": "true"}, HOME=str(tmp_path))
    assert ended.returncode != 0
    assert "openlineage.url" in ended.stderr


def test_what_is_not_installed_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(extras, "import_module", missing)
    with pytest.raises(EnvironmentSetupError, match="openlineage-python") as caught:
        LineageListener(print).on_event(STARTED)
    assert "pip install 'openlineage-python>=" in caught.value.hint


KAFKA = (
    KafkaSource.builder()
    .set_bootstrap_servers("SASL_SSL://a.example:9092,b.example:9092")
    .set_topics("orders", "returns")
    .set_starting_offsets(KafkaOffsetsInitializer.earliest())
    .set_value_only_deserializer(SimpleStringSchema())
    .build()
)
TO_KAFKA = (
    KafkaRecordSerializationSchema.builder()
    .set_topic("totals")
    .set_value_serialization_schema(SimpleStringSchema())
    .build()
)
DSN = "host=db.example dbname=shop user=etl password=hunter2"
BROKER = "kafka://a.example:9092"


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (FileSource.parquet("/data/in/day=*", ORDER), [("file", "/data/in")]),
        (FileSource.csv("s3a://shop/in/*.csv", ORDER), [("s3://shop", "in")]),
        (FileSource.csv("hdfs://names:8020/in", ORDER), [("hdfs://names:8020", "/in")]),
        (FileSource.csv("file:///data/in", ORDER), [("file", "/data/in")]),
        (FileSink.json("/data/out"), [("file", "/data/out")]),
        (FileSink.json("s3://shop/out"), [("s3://shop", "out")]),
        (KAFKA, [(BROKER, "orders"), (BROKER, "returns")]),
        (
            KafkaSink.builder()
            .set_bootstrap_servers("a.example:9092")
            .set_record_serializer(TO_KAFKA)
            .build(),
            [(BROKER, "totals")],
        ),
        (
            PostgresSource.builder().set_dsn(DSN).set_tables("public.orders").set_slot("s").build(),
            [("postgres://db.example:5432", "shop.public.orders")],
        ),
        (
            PostgresSink.builder().set_dsn(DSN).set_table("out").set_columns("a").build(),
            [("postgres://db.example:5432", "shop.public.out")],
        ),
        (
            RedisSource.streams("redis://:hunter2@cache:7000/2", "orders"),
            [("redis://cache:7000", "2.orders")],
        ),
        (RedisSink.to_stream("redis://:hunter2@cache", "out"), [("redis://cache:6379", "0.out")]),
        (RedisSink.to_hashes("redis://cache", str), [("redis://cache:6379", "0")]),
    ],
)
def test_datasets_have_the_names_of_the_specification(
    end: Any, expected: list[tuple[str, str]]
) -> None:
    assert [(each.namespace, each.name) for each in end.datasets()] == expected


def test_delta_tables_are_directories(tmp_path: Path) -> None:
    deltalake, pyarrow = import_module("deltalake"), import_module("pyarrow")
    deltalake.write_deltalake(str(tmp_path), pyarrow.table({"n": [1]}))
    delta = import_module("penstock.datastream.connectors.delta")
    whole = (Dataset("file", str(tmp_path)),)
    assert delta.DeltaSource.table(tmp_path).datasets() == whole
    assert delta.DeltaSink.append(tmp_path).datasets() == whole


def test_the_plan_says_what_is_read_and_written(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration())
    early = FileSource.parquet(str(tmp_path / "early"), ORDER)
    late = FileSource.parquet(str(tmp_path / "late"), ORDER)
    both = HybridSource.builder(early).add_source(late).build()
    read = env.from_source(both, WatermarkStrategy.no_watermarks(), "orders")
    read.map(lambda row: row, output_type=ORDER).sink_to(FileSink.json(tmp_path / "out"))
    source, mapped, sink = nodes_of(env.plan())
    assert [each.name for each in source.datasets] == [
        str(tmp_path / "early"),
        str(tmp_path / "late"),
    ]
    assert source.fields == sink.fields == (("customer", "String"), ("amount", "Long"))
    assert [each.name for each in sink.datasets] == [str(tmp_path / "out")]
    assert (mapped.datasets, mapped.fields) == ((), ())
    assert json.loads(json.dumps(source.to_json()))["datasets"][0]["namespace"] == "file"


def test_a_source_that_does_not_know_its_datasets_fails_by_name(tmp_path: Path) -> None:
    class Own(FileSource):
        def datasets(self) -> Any:
            raise KeyError("orders")

    env = StreamExecutionEnvironment.get_execution_environment(Configuration())
    own = Own(str(tmp_path), "parquet", ORDER)
    env.from_source(own, WatermarkStrategy.no_watermarks(), "orders").print()
    with pytest.raises(SourceError, match=r"source 'orders' failed on datasets\(\)"):
        nodes_of(env.plan())
