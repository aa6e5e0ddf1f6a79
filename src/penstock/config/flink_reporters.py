"""Flink's `metrics.reporter.…`, as far as it means something here.

    metrics.reporters: prom, log
    metrics.reporter.prom.factory.class: org.apache.flink.metrics.prometheus.PrometheusReporterFactory
    metrics.reporter.prom.port: 9250-9260
    metrics.reporter.log.factory.class: org.apache.flink.metrics.slf4j.Slf4jReporterFactory
    metrics.reporter.log.interval: 60 SECONDS

Options of Penstock win. For a key without effect there is advice about the right one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

from penstock.config.configuration import Configuration
from penstock.config.parse import parse_duration
from penstock.errors import ConfigError

_PREFIX = "metrics.reporter."
_NAMES = "metrics.reporters"
_FIRST_PORT = re.compile(r"\s*(\d{1,5})\s*(?:[-,].*)?")
_USUAL_PORT = 9249
_USUAL_INTERVAL = timedelta(seconds=10)
_UNITS = {"milliseconds": "ms", "seconds": "s", "minutes": "min", "hours": "h", "days": "d"}


@dataclass(frozen=True, slots=True)
class FlinkReporters:
    """The reporters of a configuration.

    Attributes:
        prometheus_port: Port of `ui.port`, None if there is no reporter for Prometheus.
        otel_endpoint: Address of `otel.endpoint`, None if there is no reporter for it.
        log_interval: That of `metrics.log-interval`, None if there is no reporter that logs.
        ineffective: Name of a reporter, or a key, to what to do instead.
    """

    prometheus_port: int | None = None
    otel_endpoint: str | None = None
    log_interval: timedelta | None = None
    ineffective: Mapping[str, str] = field(default_factory=dict)


def flink_reporters(configuration: Configuration) -> FlinkReporters:
    """Return what the reporters of a configuration mean.

    Examples:
        >>> conf = Configuration().set_string("metrics.reporter.prom.port", "9250-9260")
        >>> flink_reporters(conf).prometheus_port
        9250
    """
    settings = configuration.to_dict()
    given: dict[str, dict[str, str]] = {}
    for key, value in settings.items():
        if key.startswith(_PREFIX):
            name, _, rest = key.removeprefix(_PREFIX).partition(".")
            given.setdefault(name, {})[rest] = value
    listed = [name.strip() for name in settings.get(_NAMES, "").split(",") if name.strip()]
    reporters = FlinkReporters()
    for name in listed or sorted(given):
        own = given.get(name, {})
        kind = f"{name} {own.get('factory.class', '')} {own.get('class', '')}".lower()
        apply = next((apply for word, apply in _KINDS if word in kind), _unknown)
        reporters = apply(reporters, name, own)
    return reporters


def _ineffective(reporters: FlinkReporters, what: str, instead: str) -> FlinkReporters:
    return replace(reporters, ineffective={**reporters.ineffective, what: instead})


def _prometheus(reporters: FlinkReporters, name: str, own: Mapping[str, str]) -> FlinkReporters:
    if "host" in own or "hosturl" in {key.lower() for key in own}:
        return _ineffective(
            reporters, name, "metrics are not pushed: let Prometheus scrape ui.port"
        )
    port = _FIRST_PORT.fullmatch(own.get("port", str(_USUAL_PORT)))
    if port is None:
        return _ineffective(reporters, f"{_PREFIX}{name}.port", "set ui.port to a number")
    return replace(reporters, prometheus_port=int(port[1]))


def _otel(reporters: FlinkReporters, name: str, own: Mapping[str, str]) -> FlinkReporters:
    endpoint = own.get("exporter.endpoint")
    if endpoint is None:
        return _ineffective(reporters, name, "set otel.enabled and otel.endpoint")
    if own.get("exporter.protocol", "gRPC").lower() == "grpc":
        instead = "metrics go by OTLP over HTTP: set otel.enabled, and otel.endpoint to the port for HTTP, 4318 as a rule"
        return _ineffective(reporters, name, instead)
    return replace(reporters, otel_endpoint=endpoint.removesuffix("/").removesuffix("/v1/metrics"))


def _log(reporters: FlinkReporters, name: str, own: Mapping[str, str]) -> FlinkReporters:
    text = own.get("interval", "").strip().lower()
    for long, short in _UNITS.items():
        text = text.replace(long, short)
    try:
        interval = parse_duration(text) if text else _USUAL_INTERVAL
    except ConfigError:
        return _ineffective(reporters, f"{_PREFIX}{name}.interval", "set metrics.log-interval")
    if interval <= timedelta(0):
        return _ineffective(reporters, f"{_PREFIX}{name}.interval", "set metrics.log-interval")
    return replace(reporters, log_interval=interval)


def _unknown(reporters: FlinkReporters, name: str, _own: Mapping[str, str]) -> FlinkReporters:
    return _ineffective(
        reporters,
        name,
        "there are reporters for Prometheus (ui.port), OpenTelemetry (otel.enabled) and the log (metrics.log-interval)",
    )


_Apply = Callable[[FlinkReporters, str, Mapping[str, str]], FlinkReporters]

_KINDS: tuple[tuple[str, _Apply], ...] = (
    ("pushgateway", _unknown),
    ("prom", _prometheus),
    ("otel", _otel),
    ("opentelemetry", _otel),
    ("slf4j", _log),
    ("log", _log),
)
"""A word in the name or class of a reporter to its meaning; the first one counts."""
