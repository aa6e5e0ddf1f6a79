"""Starts what tells other systems of the jobs of this process, as the first job that asks for it says."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from penstock.config.configuration import Configuration
from penstock.config.flink_reporters import FlinkReporters, flink_reporters
from penstock.config.reporter_options import (
    METRICS_LOG_INTERVAL,
    OPENLINEAGE_ENABLED,
    OTEL_ENABLED,
    OTEL_ENDPOINT,
)
from penstock.config.ui_options import UI_PORT
from penstock.errors import EnvironmentSetupError
from penstock.events.listeners import add_listener
from penstock.reporters.log_reporter import MetricsLogger
from penstock.reporters.openlineage import start_openlineage
from penstock.reporters.otel import start_otel
from penstock.ui.server import serve

_logger = logging.getLogger("penstock")
_lock = threading.Lock()
_started: set[str] = set()


def start_reporters(configuration: Configuration) -> None:
    """Start what a job asks for, unless the process has it already.

    What only a reporter of Flink's asks for and cannot be started is a warning: there a job goes on, too.

    Raises:
        EnvironmentSetupError: An extra is not installed, or the port of the page is taken.
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
            asked = Configuration(configuration).set_string(UI_PORT.key, port)
            _once("prometheus", lambda: _softly("Prometheus", lambda: serve(asked)))


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
