"""A metric of jobs is a row: Prometheus, OpenTelemetry and the page read it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from penstock.observe.events.job_events import JobEnded, JobStarted, RunStarted
from penstock.observe.events.job_view import JobView
from penstock.observe.events.metric_table import METRICS, MetricKind, MetricRow
from penstock.observe.reporters import otel
from penstock.observe.ui import server
from tools.support import monitoring

WHOSE: dict[str, Any] = {"job_id": "9f", "job_name": "visits"}


def _runs(view: JobView, _: int) -> Iterator[tuple[tuple[str, ...], float]]:
    yield ("all",), float(len(view.runs))


RUNS = MetricRow("penstock_job_runs", MetricKind.GAUGE, ("which",), "Runs of the job.", _runs)


@pytest.fixture(autouse=True)
def _row(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (server, otel, monitoring):
        monkeypatch.setattr(module, "METRICS", (*METRICS, RUNS))


def view() -> JobView:
    return JobView.of(
        [
            JobStarted("0.1.0", "STREAMING", 2, nodes=[], **WHOSE, at_ms=1_000),
            RunStarted("live", "live", "flights", False, **WHOSE, at_ms=1_000),
            JobEnded("FINISHED", **WHOSE, at_ms=2_000),
        ]
    )


def test_prometheus_reads_it() -> None:
    text = server.metrics_text(lambda: [view()]).decode()
    assert '\npenstock_job_runs{job_name="visits",which="all"} 1.0\n' in text


def test_opentelemetry_exports_it() -> None:
    metrics: Any = import_module("opentelemetry.sdk.metrics")
    export: Any = import_module("opentelemetry.sdk.metrics.export")
    reader = export.InMemoryMetricReader()
    provider = metrics.MeterProvider([reader])
    otel.observe_jobs(provider, lambda: [view()])
    names = {
        each.name
        for resource in reader.get_metrics_data().resource_metrics
        for scope in resource.scope_metrics
        for each in scope.metrics
    }
    provider.shutdown()
    assert otel.otel_name(RUNS) in names


def test_the_page_has_it() -> None:
    assert "* `penstock_job_runs` (gauge, `which`): Runs of the job.\n" in (
        monitoring.metric_rows()
    )
