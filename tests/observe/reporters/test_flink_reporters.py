"""Reporters of Flink: what they mean here, and what the log says of others."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest

from penstock.common import Configuration
from penstock.config.flink_reporters import FlinkReporters, flink_reporters
from penstock.metrics.values import CounterValue
from penstock.observe.events.job_events import JobEnded, MetricsReported
from penstock.observe.reporters.start import MetricsLogger

CLASSES = {
    "prom": "org.apache.flink.metrics.prometheus.PrometheusReporterFactory",
    "push": "org.apache.flink.metrics.prometheus.PrometheusPushGatewayReporterFactory",
    "jmx": "org.apache.flink.metrics.jmx.JMXReporterFactory",
    "slf4j": "org.apache.flink.metrics.slf4j.Slf4jReporterFactory",
    "otel": "org.apache.flink.metrics.otel.OpenTelemetryMetricReporterFactory",
    "statsd": "org.apache.flink.metrics.statsd.StatsDReporterFactory",
}


def reporters(name: str, listed: str | None = None, **settings: str) -> FlinkReporters:
    keys = {"factory.class": CLASSES[name], **{k.replace("_", "."): v for k, v in settings.items()}}
    given = {f"metrics.reporter.mine.{key}": value for key, value in keys.items()}
    if listed is not None:
        given["metrics.reporters"] = listed
    return flink_reporters(Configuration.from_dict(given))


@pytest.mark.parametrize(("port", "expected"), [("9300", 9300), ("9250-9260", 9250), (None, 9249)])
def test_prometheus_has_a_port(port: str | None, expected: int) -> None:
    made = reporters("prom", **({} if port is None else {"port": port}))
    assert (made.prometheus_port, made.ineffective) == (expected, {})


@pytest.mark.parametrize(
    ("interval", "expected"), [("60 SECONDS", 60), ("2min", 120), ("", 10), ("1 MINUTES", 60)]
)
def test_the_log_has_an_interval(interval: str, expected: int) -> None:
    made = reporters("slf4j", interval=interval)
    assert (made.log_interval, made.ineffective) == (timedelta(seconds=expected), {})


def test_opentelemetry_over_http_has_an_address() -> None:
    made = reporters("otel", exporter_endpoint="http://c:4318/v1/metrics", exporter_protocol="HTTP")
    assert (made.otel_endpoint, made.ineffective) == ("http://c:4318", {})


@pytest.mark.parametrize(
    ("name", "settings", "instead"),
    [
        ("jmx", {}, "metrics.log-interval"),
        ("statsd", {}, "ui.port"),
        ("push", {}, "ui.port"),
        ("otel", {}, "otel.endpoint"),
        ("otel", {"exporter_endpoint": "http://c:4317"}, "4318"),
        ("slf4j", {"interval": "soon"}, "metrics.log-interval"),
        ("slf4j", {"interval": "0 s"}, "metrics.log-interval"),
        ("prom", {"port": "any"}, "ui.port"),
    ],
)
def test_what_has_no_effect_says_what_to_set(
    name: str, settings: dict[str, str], instead: str
) -> None:
    made = reporters(name, **settings)
    assert (made.prometheus_port, made.otel_endpoint, made.log_interval) == (None, None, None)
    (text,) = made.ineffective.values()
    assert instead in text


def test_only_reporters_that_are_listed_count() -> None:
    assert reporters("prom", listed="other").prometheus_port is None
    assert reporters("prom", listed="mine, other").prometheus_port == 9249
    assert flink_reporters(Configuration()) == FlinkReporters()


def test_metrics_are_logged_now_and_then_and_at_the_end(caplog: pytest.LogCaptureFixture) -> None:
    listener = MetricsLogger(timedelta(seconds=60))
    with caplog.at_level(logging.INFO, logger="penstock.metrics"):
        for second in range(100):
            metrics = {"map.seen": CounterValue(second)}
            told = MetricsReported(
                metrics, {}, job_id="1", job_name="visits", at_ms=1_000_000 + second * 1_000
            )
            listener.on_event(told)
        listener.on_event(JobEnded("FINISHED", job_id="1", job_name="visits", at_ms=1_100_000))
    assert caplog.messages == ["visits: map.seen 0", "visits: map.seen 60", "visits: map.seen 99"]
