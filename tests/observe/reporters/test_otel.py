"""Metrics and spans of OpenTelemetry: what the SDK gets in memory, and what a collector gets over HTTP."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from typing import Any

import pytest

from penstock import extras
from penstock.errors import EnvironmentSetupError
from penstock.metrics.histogram import HistogramValue
from penstock.metrics.values import CounterValue, DistributionValue, GaugeValue, MeterValue
from penstock.observe.events.job_events import (
    JobEnded,
    JobEvent,
    JobStarted,
    MetricsReported,
    MicroBatch,
    Restarting,
    RunFinished,
    RunStarted,
    SavepointTaken,
    Switched,
)
from penstock.observe.events.job_view import JobView
from penstock.observe.events.metric_table import METRICS, MetricKind
from penstock.observe.reporters.otel import SpanListener, observe_jobs, otel_name, unit_of

WHOSE: dict[str, Any] = {"job_id": "9f", "job_name": "visits"}
NODES = [{"id": "n1", "kind": "map", "uid": "my.map", "name": "my", "level": 0}]
STARTED = JobStarted("0.1.0", "STREAMING", 2, nodes=NODES, **WHOSE, at_ms=1_000)
ERROR = {"code": "USER_FUNCTION", "problem": "it raised", "hint": "correct it", "origin": "j.py:3"}


def batch(number: int, at_ms: int) -> MicroBatch:
    parts = {"job": 0.25, "commit": 0.125, "driver": 0.125}
    return MicroBatch(number, 10, 10 * number, 0.5, 70, 3, None, None, parts, **WHOSE, at_ms=at_ms)


def live(at_ms: int) -> RunStarted:
    return RunStarted("live", "live", "flights", bounded=False, **WHOSE, at_ms=at_ms)


def spans_of(*events: JobEvent) -> dict[str, list[Any]]:
    """Return name to the spans that the SDK has exported."""
    sdk = import_module("opentelemetry.sdk.trace")
    export = import_module("opentelemetry.sdk.trace.export")
    memory = import_module("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    exporter, provider = memory.InMemorySpanExporter(), sdk.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    listener = SpanListener(provider, micro_batch_ms=1_000)
    for event in events:
        listener.on_event(event)
    found: dict[str, list[Any]] = {}
    for span in exporter.get_finished_spans():
        found.setdefault(span.name, []).append(span)
    return found


def test_micro_batches_are_in_runs_and_runs_in_a_job() -> None:
    found = spans_of(
        STARTED,
        RunStarted("history", "batch", "flights", bounded=True, **WHOSE, at_ms=1_000),
        RunFinished("history", "batch", 4_000, 2.0, **WHOSE, at_ms=3_000),
        live(3_500),
        Switched(0.5, None, **WHOSE, at_ms=3_500),
        *(batch(number, 4_000 + 300 * number) for number in range(10)),
        SavepointTaken("/sp", 0.1, stops=False, **WHOSE, at_ms=7_000),
        RunFinished("live", "live", 100, 4.0, **WHOSE, at_ms=8_000),
        JobEnded("FINISHED", **WHOSE, at_ms=8_100),
    )
    (job,) = found["job visits"]
    (history,), (run,) = found["run history"], found["run live"]
    assert job.parent is None
    assert history.parent.span_id == run.parent.span_id == job.context.span_id
    batches = found["micro-batch"]
    assert [each.attributes["penstock.micro_batch.number"] for each in batches] == [0, 4, 8]
    assert {each.parent.span_id for each in batches} == {run.context.span_id}
    assert (batches[0].start_time, batches[0].end_time) == (3_500_000_000, 4_000_000_000)
    assert batches[0].attributes["penstock.seconds.commit"] == 0.125
    assert batches[0].attributes["penstock.records_behind"] == 3
    assert (job.start_time, job.end_time) == (1_000_000_000, 8_100_000_000)
    assert job.attributes["penstock.status"] == "FINISHED"
    assert job.status.is_ok
    assert run.attributes["penstock.records"] == 100
    assert [event.name for event in job.events] == ["Switched", "SavepointTaken"]
    assert "/sp" in job.events[1].attributes["message"]


def test_failures_are_events_of_spans() -> None:
    found = spans_of(
        STARTED,
        live(2_000),
        Restarting(1, 3, 1.0, "it raised", ERROR, **WHOSE, at_ms=2_500),
        live(3_500),
        JobEnded("FAILED", ERROR, **WHOSE, at_ms=4_000),
    )
    (job,) = found["job visits"]
    assert not job.status.is_ok
    assert job.status.description == "it raised"
    assert [event.name for event in job.events] == ["exception", "Restarting", "exception"]
    first, second = found["run live"]
    for run in (first, second):
        assert not run.status.is_ok
        (event,) = run.events
        assert event.attributes["exception.type"] == "USER_FUNCTION"
        assert event.attributes["exception.message"] == "it raised"
        assert event.attributes["penstock.origin"] == "j.py:3"
    assert first.end_time == 2_500_000_000


def test_a_job_that_began_before_anybody_listened_has_no_spans() -> None:
    assert spans_of(live(1), batch(0, 2), JobEnded("FINISHED", **WHOSE, at_ms=3)) == {}


def points(*events: JobEvent) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    """Return name of an instrument to attributes to value, as the SDK reads them."""
    sdk = import_module("opentelemetry.sdk.metrics")
    export = import_module("opentelemetry.sdk.metrics.export")
    reader = export.InMemoryMetricReader()
    provider = sdk.MeterProvider(metric_readers=[reader])
    view = JobView.of(events)
    observe_jobs(provider, lambda: (view,))
    data = reader.get_metrics_data()
    found: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    for resource in data.resource_metrics:
        for scope in resource.scope_metrics:
            assert scope.scope.name == "penstock"
            for metric in scope.metrics:
                of = found.setdefault(metric.name, {})
                for point in metric.data.data_points:
                    of[tuple(sorted(point.attributes.items()))] = point.value
    return found


def test_metrics_of_functions_come_out_with_labels() -> None:
    told = MetricsReported(
        {
            "my.map.group.seen": CounterValue(3),
            "my.map.queue": GaugeValue(2.5),
            "my.map.mood": GaugeValue("good"),
            "my.map.rate": MeterValue(5, {0: 1.5}),
            "my.map.size": DistributionValue(2, 3.0, 1.0, 2.0),
            "my.map.latency": HistogramValue({1: 3, 10: 1}, 13, 1, 10),
        },
        {"log_bytes": 9},
        subtasks={"my.map": [1, 2]},
        **WHOSE,
        at_ms=2_000,
    )
    found = points(STARTED, live(1_500), batch(1, 1_900), told)

    def of(metric: str, /, **labels: str) -> float:
        whose = {"job_name": "visits", "operator": "my.map"}
        return found[f"penstock.{metric}"][tuple(sorted({**whose, **labels}.items()))]

    assert of("operator_metric", name="group.seen") == 3
    assert of("operator_metric", name="queue") == 2.5
    assert of("operator_meter_events", name="rate") == 5
    assert of("operator_meter_rate", name="rate") == 1.5
    assert of("operator_distribution_count", name="size") == 2
    assert of("operator_distribution_sum", name="size") == 3
    assert of("operator_distribution_quantile", name="latency", quantile="0.95") == 10
    assert of("operator_subtask_records", subtask="1") == 2
    names = {dict(labels)["name"] for labels in found["penstock.operator_metric"]}
    assert "mood" not in names, "a gauge that is not a number has no series"
    assert (
        found["penstock.run_records"][(("job_name", "visits"), ("pipeline", ""), ("run", "live"))]
        == 10
    )


def test_every_row_has_a_name_and_a_unit() -> None:
    names = [otel_name(row) for row in METRICS]
    assert len({*names}) == len(names)
    units = {row.name: unit_of(row) for row in METRICS}
    assert units["penstock_run_behind_seconds"] == "s"
    assert units["penstock_sink_bytes_total"] == "By"
    assert units["penstock_run_progress_ratio"] == "1"
    assert units["penstock_run_records_total"] == ""
    assert not [name for name in names if name.endswith("_total")]
    assert any(row.kind is MetricKind.SUMMARY for row in METRICS)


@contextmanager
def collector() -> Iterator[tuple[str, list[tuple[str, dict[str, str], bytes]]]]:
    """Yield the address of a server for OTLP over HTTP, and what it gets: path, headers and body."""
    received: list[tuple[str, dict[str, str], bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append(
                (self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            )
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


JOB = """
import json, sys
from penstock.common import Configuration
from penstock.observe.events.job_events import JobEnded, JobStarted, MicroBatch, RunStarted
from penstock.observe.events.listeners import JobEvents
from penstock.observe.reporters.start import start_reporters

settings = Configuration.from_dict(json.loads(sys.argv[1]))
start_reporters(settings)
start_reporters(settings)
job = JobEvents("9f", "visits")
job.publish(JobStarted("0.1.0", "STREAMING", 2))
job.publish(RunStarted("live", "live", "numbers", False))
job.publish(MicroBatch(0, 10, 10, 0.5, None))
job.publish(JobEnded("FINISHED"))
"""


def run_job(settings: dict[str, str], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", JOB, json.dumps(settings)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={"PATH": "/usr/bin:/bin", **environment},
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"otel.enabled": "true", "otel.endpoint": "URL"},
        {"otel.enabled": "true"},
        {
            "metrics.reporter.o.factory.class": "org.apache.flink.metrics.otel.OpenTelemetryMetricReporterFactory",
            "metrics.reporter.o.exporter.endpoint": "URL",
            "metrics.reporter.o.exporter.protocol": "HTTP",
        },
    ],
    ids=["option", "environment", "flink"],
)
def test_a_collector_gets_metrics_and_spans(settings: dict[str, str]) -> None:
    with collector() as (url, received):
        given = {key: value.replace("URL", url) for key, value in settings.items()}
        run_job(
            given,
            OTEL_EXPORTER_OTLP_ENDPOINT=url,
            OTEL_EXPORTER_OTLP_HEADERS="x-key=hunter2",
            OTEL_SERVICE_NAME="flights",
        )
    paths = {path for path, _, _ in received}
    assert paths == {"/v1/metrics", "/v1/traces"}
    assert {headers.get("x-key") for _, headers, _ in received} == {"hunter2"}
    traces = import_module("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    spans, services = [], set()
    for path, headers, body in received:
        assert headers["content-type"] == "application/x-protobuf"
        if path == "/v1/traces":
            for resource in traces.ExportTraceServiceRequest.FromString(
                unpacked(headers, body)
            ).resource_spans:
                services |= {
                    each.value.string_value
                    for each in resource.resource.attributes
                    if each.key == "service.name"
                }
                spans += [span.name for scope in resource.scope_spans for span in scope.spans]
    assert sorted(spans) == ["job visits", "micro-batch", "run live"], (
        "once, though it was started twice"
    )
    assert services == {"flights"}
    metrics = import_module("opentelemetry.proto.collector.metrics.v1.metrics_service_pb2")
    names = {
        metric.name
        for path, headers, body in received
        if path == "/v1/metrics"
        for resource in metrics.ExportMetricsServiceRequest.FromString(
            unpacked(headers, body)
        ).resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    assert {"penstock.run_records", "penstock.job_status"} <= names


def unpacked(headers: dict[str, str], body: bytes) -> bytes:
    gzip = import_module("gzip")
    return gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body


def test_a_collector_that_is_not_there_holds_nobody() -> None:
    settings = {"otel.enabled": "true", "otel.endpoint": "http://127.0.0.1:9"}
    assert run_job(settings).returncode == 0


def test_what_is_not_installed_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(extras, "import_module", missing)
    with pytest.raises(EnvironmentSetupError, match="opentelemetry-sdk") as caught:
        SpanListener(None)
    assert "pip install 'opentelemetry-sdk>=" in caught.value.hint
