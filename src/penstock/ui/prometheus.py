"""Metrics in the form of Prometheus."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.errors import encodable
from penstock.events.job_view import JobView
from penstock.events.metric_table import JOB, METRICS, MetricKind, MetricRow
from penstock.ui.libraries import library

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class JobCollector:
    """A collector of Prometheus' client: it computes all metrics when it is asked, and nothing before.

    It may be registered at a registry of the program's own: `REGISTRY.register(JobCollector(views.views))`.
    """

    def __init__(self, views: Callable[[], Iterable[JobView]]) -> None:
        """Prepare.

        Args:
            views: Returns the jobs, of different names.
        """
        self._views = views
        self._core = library("prometheus_client.core")

    def collect(self) -> Iterator[Any]:
        """Yield one family per metric that has a series."""
        now_ms = time.time_ns() // 1_000_000
        views = tuple(self._views())
        for row in METRICS:
            family = self._family(row)
            for view in views:
                with view.lock:
                    samples = list(row.read(view, now_ms))
                for labels, value in samples:
                    named = tuple(map(encodable, (view.job_name, *labels)))
                    self._add(family, row, named, value)
            if family.samples:
                yield family

    def describe(self) -> list[Any]:
        """Return nothing: names are known without a job."""
        return []

    def _family(self, row: MetricRow) -> Any:
        labels = (JOB, *row.labels)
        if row.kind is MetricKind.COUNTER:
            return self._core.CounterMetricFamily(row.name, row.help, labels=labels)
        if row.kind is MetricKind.GAUGE:
            return self._core.GaugeMetricFamily(row.name, row.help, labels=labels)
        return self._core.SummaryMetricFamily(row.name, row.help, labels=labels[:-1])

    def _add(self, family: Any, row: MetricRow, labels: tuple[str, ...], value: float) -> None:
        if row.kind is not MetricKind.SUMMARY:
            family.add_metric(labels, value)
            return
        stat = labels[-1]
        named = dict(zip((JOB, *row.labels[:-1]), labels[:-1], strict=True))
        if stat in {"count", "sum"}:
            family.add_sample(f"{row.name}_{stat}", named, value)
        else:
            family.add_sample(row.name, {**named, "quantile": stat}, value)


def metrics_text(views: Callable[[], Iterable[JobView]]) -> bytes:
    """Return all metrics of jobs, as Prometheus reads them.

    Raises:
        EnvironmentSetupError: The extra `ui` is not installed.
    """
    collector = JobCollector(views)
    text: bytes = library("prometheus_client.exposition").generate_latest(collector)
    return text
