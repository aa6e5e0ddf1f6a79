"""Starts reports of the jobs of this process to other systems, for the first job that sets them.

They are OpenTelemetry, OpenLineage over HTTP, and metrics in the log, as Flink's reporter for SLF4J writes them.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from penstock.config.configuration import Configuration
from penstock.config.flink_reporters import FlinkReporters, flink_reporters
from penstock.config.reporter_options import (
    METRICS_LOG_INTERVAL,
    OPENLINEAGE_ENABLED,
    OPENLINEAGE_INTERVAL,
    OPENLINEAGE_NAMESPACE,
    OPENLINEAGE_URL,
    OTEL_ENABLED,
    OTEL_ENDPOINT,
    UI_PORT,
)
from penstock.errors import EnvironmentSetupError
from penstock.extras import EXTRAS
from penstock.observe.events.job_events import JobEnded, JobEvent, MetricsReported
from penstock.observe.events.listeners import JobListener, add_listener
from penstock.observe.events.sentences import metric_parts
from penstock.observe.reporters.lineage_listener import LineageListener
from penstock.observe.reporters.otel import start_otel
from penstock.observe.ui.server import serve

_metrics_logger = logging.getLogger("penstock.metrics")
_MILLISECOND = timedelta(milliseconds=1)


class MetricsLogger(JobListener):
    """Writes one line per interval and job, and the last metrics at the end of a job."""

    def __init__(self, interval: timedelta) -> None:
        """Begin."""
        self._interval_ms = interval // _MILLISECOND
        self._last: dict[str, MetricsReported] = {}
        self._logged_ms: dict[str, int] = {}

    def on_event(self, event: JobEvent) -> None:
        """Log metrics if it is time."""
        job = event.job_id
        if isinstance(event, MetricsReported):
            self._last[job] = event
            if abs(event.at_ms - self._logged_ms.get(job, 0)) >= self._interval_ms:
                self._log(job)
        elif isinstance(event, JobEnded):
            self._log(job)
            self._logged_ms.pop(job, None)

    def _log(self, job: str) -> None:
        event = self._last.pop(job, None)
        if event is not None:
            self._logged_ms[job] = event.at_ms
            _metrics_logger.info(
                "%s: %s", event.job_name, ", ".join(metric_parts(event)) or "no metrics"
            )


_REQUEST_SECONDS = 5
_CLIENT = "openlineage.client.client"


def start_openlineage(configuration: Configuration) -> None:
    """Begin to send; it ends with the process."""
    emit = _client(configuration.get(OPENLINEAGE_URL)).emit
    namespace = configuration.get(OPENLINEAGE_NAMESPACE) or os.environ.get("OPENLINEAGE_NAMESPACE")
    interval_ms = configuration.get(OPENLINEAGE_INTERVAL) // _MILLISECOND
    listener = LineageListener(emit, namespace=namespace or "default", interval_ms=interval_ms)
    add_listener(listener)


def _client(url: str | None) -> Any:
    factory = EXTRAS["openlineage"].load(_CLIENT).OpenLineageClient
    if url is not None:
        return factory(config={"transport": _transport(url)})
    client = factory()
    if client.transport.kind == "console" and not client.config.transport:
        raise EnvironmentSetupError(
            "openlineage.enabled is set, and there is no receiver",
            hint="Set openlineage.url, such as http://localhost:5000, or OPENLINEAGE_URL.",
        )
    return client


def _transport(url: str) -> dict[str, Any]:
    # The listener tries again, so the client does not.
    transport: dict[str, Any] = {
        "type": "http",
        "url": url,
        "timeout": _REQUEST_SECONDS,
        "retry": {"total": 0},
    }
    endpoint, key = os.environ.get("OPENLINEAGE_ENDPOINT"), os.environ.get("OPENLINEAGE_API_KEY")
    if endpoint:
        transport["endpoint"] = endpoint
    if key:
        transport["auth"] = {"type": "api_key", "apiKey": key}
    return transport


_logger = logging.getLogger("penstock")
_lock = threading.Lock()
_started: set[str] = set()


def start_reporters(configuration: Configuration) -> None:
    """Start the reporters that a job configures, unless the process has them already.

    A reporter that only an option of Flink configures, and that cannot start, causes a warning: in Flink the job goes on, too.
    """
    flink = flink_reporters(configuration)
    serve(configuration)
    with _lock:
        _start_otel(configuration, flink)
        if configuration.get(OPENLINEAGE_ENABLED):
            _once("openlineage", lambda: start_openlineage(configuration))
        interval = configuration.get(METRICS_LOG_INTERVAL) or flink.log_interval
        if interval is not None:
            _once("log", lambda: add_listener(MetricsLogger(interval)))
        if flink.prometheus_port is not None and configuration.get(UI_PORT) is None:
            port = str(flink.prometheus_port)
            with_port = Configuration(configuration).set_string(UI_PORT.key, port)
            _once("prometheus", lambda: _softly("Prometheus", lambda: serve(with_port)))


def _start_otel(configuration: Configuration, flink: FlinkReporters) -> None:
    endpoint = configuration.get(OTEL_ENDPOINT)
    if configuration.get(OTEL_ENABLED):
        _once("otel", lambda: start_otel(configuration, endpoint))
    elif flink.otel_endpoint is not None:
        address = endpoint or flink.otel_endpoint
        _once("otel", lambda: _softly("OpenTelemetry", lambda: start_otel(configuration, address)))


def _once(name: str, start: Callable[[], object]) -> None:
    if name not in _started:
        start()
        _started.add(name)


def _softly(system: str, start: Callable[[], object]) -> None:
    try:
        start()
    except EnvironmentSetupError as cause:
        _logger.warning("the reporter for %s has no effect: %s", system, cause.problem)
