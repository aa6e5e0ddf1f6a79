"""Sends metrics and spans of the jobs of this process to a collector of OpenTelemetry, by OTLP over HTTP."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

from penstock.config.configuration import Configuration
from penstock.config.reporter_options import OTEL_INTERVAL, OTEL_MICRO_BATCH_INTERVAL
from penstock.events.job_views import JobViews
from penstock.events.listeners import add_listener
from penstock.reporters.client import client
from penstock.reporters.otel_metrics import observe_jobs
from penstock.reporters.otel_spans import SpanListener
from penstock.version import __version__

_EXPORT_SECONDS = 5
"""Longest time of one request, so that a collector that does not answer holds no end of a process."""

_MILLISECOND = timedelta(milliseconds=1)


def start_otel(configuration: Configuration, endpoint: str | None) -> None:
    """Begin to send; it ends with the process.

    Args:
        configuration: Of a job.
        endpoint: Address of the collector, None for that of the environment.

    Raises:
        EnvironmentSetupError: The extra `otel` is not installed.
    """
    resource = _resource()
    meters = _meter_provider(resource, configuration.get(OTEL_INTERVAL), endpoint)
    tracers = _tracer_provider(resource, endpoint)
    views = JobViews()

    def flush() -> None:
        tracers.force_flush(_EXPORT_SECONDS * 1000)
        meters.force_flush(_EXPORT_SECONDS * 1000)

    spans = SpanListener(
        tracers,
        micro_batch_ms=configuration.get(OTEL_MICRO_BATCH_INTERVAL) // _MILLISECOND,
        after_job=flush,
    )
    observe_jobs(meters, views.views)
    add_listener(views)
    add_listener(spans)  # behind the providers: what is registered last ends first


def _resource() -> Any:
    named = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    )
    own = {"penstock.version": __version__} | ({} if named else {"service.name": "penstock"})
    return client("opentelemetry.sdk.resources").Resource.create(own)


def _meter_provider(resource: Any, interval: timedelta, endpoint: str | None) -> Any:
    exporters = client("opentelemetry.exporter.otlp.proto.http.metric_exporter")
    readers = client("opentelemetry.sdk.metrics.export")
    exporter = exporters.OTLPMetricExporter(
        endpoint=_path(endpoint, "metrics"), timeout=_EXPORT_SECONDS
    )
    reader = readers.PeriodicExportingMetricReader(
        exporter, export_interval_millis=interval / _MILLISECOND
    )
    sdk = client("opentelemetry.sdk.metrics")
    return sdk.MeterProvider(metric_readers=[reader], resource=resource)


def _tracer_provider(resource: Any, endpoint: str | None) -> Any:
    exporters = client("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    processors = client("opentelemetry.sdk.trace.export")
    made = client("opentelemetry.sdk.trace").TracerProvider(resource=resource)
    exporter = exporters.OTLPSpanExporter(
        endpoint=_path(endpoint, "traces"), timeout=_EXPORT_SECONDS
    )
    made.add_span_processor(processors.BatchSpanProcessor(exporter))
    return made


def _path(endpoint: str | None, signal: str) -> str | None:
    return None if endpoint is None else f"{endpoint.rstrip('/')}/v1/{signal}"
