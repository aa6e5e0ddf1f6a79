"""Metrics as instruments of OpenTelemetry, of the same table as those of Prometheus.

    penstock_run_records_total{job_name,pipeline,run}   counter  penstock.run_records
    penstock_run_behind_seconds{…}                      gauge    penstock.run_behind_seconds, unit s
    penstock_operator_distribution{…,stat}              counters penstock.operator_distribution_count, …_sum,
                                                        gauge    …_quantile with the attribute quantile

Nothing is kept in instruments: they are observed, and values are those of the events.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.events.job_view import JobView
from penstock.events.metric_table import JOB, METRICS, PREFIX, MetricKind, MetricRow
from penstock.reporters.client import client
from penstock.version import __version__

SCOPE = "penstock"
"""Name of the instrumentation scope."""

_UNITS = {"seconds": "s", "bytes": "By", "ratio": "1"}

_QUANTILES = frozenset({"0.5", "0.95", "0.99"})
"""Values of the label `stat` that are quantiles."""

Views = Callable[[], Iterable[JobView]]


def otel_name(row: MetricRow) -> str:
    """Return the name of a metric in OpenTelemetry, where units and kinds are no part of it."""
    return f"{SCOPE}.{row.name.removeprefix(PREFIX).removesuffix('_total')}"


def unit_of(row: MetricRow) -> str:
    """Return the unit of a metric, empty for counts."""
    return _UNITS.get(row.name.removesuffix("_total").rpartition("_")[2], "")


def observe_jobs(meter_provider: Any, views: Views) -> None:
    """Make the instruments. A program that has a provider of its own calls this once.

    Args:
        meter_provider: A `MeterProvider` of OpenTelemetry.
        views: Returns the jobs, of different names.

    Raises:
        EnvironmentSetupError: The extra `otel` is not installed.
    """
    observation = client("opentelemetry.metrics").Observation
    meter = meter_provider.get_meter(SCOPE, __version__)
    make = {
        MetricKind.COUNTER: meter.create_observable_counter,
        MetricKind.GAUGE: meter.create_observable_gauge,
    }
    for row in METRICS:
        name, unit = otel_name(row), unit_of(row)
        if row.kind is not MetricKind.SUMMARY:
            observe = _observer(row, views, observation)
            make[row.kind](name, callbacks=[observe], unit=unit, description=row.help)
            continue
        for stat in ("count", "sum"):
            observe = _observer(row, views, observation, frozenset({stat}))
            meter.create_observable_counter(
                f"{name}_{stat}", callbacks=[observe], unit=unit, description=row.help
            )
        observe = _observer(row, views, observation, _QUANTILES)
        meter.create_observable_gauge(
            f"{name}_quantile", callbacks=[observe], unit=unit, description=row.help
        )


def _observer(
    row: MetricRow,
    views: Views,
    observation: Any,
    stats: frozenset[str] = frozenset({""}),
) -> Callable[[Any], Iterator[Any]]:
    def observe(_: Any) -> Iterator[Any]:
        now_ms = time.time_ns() // 1_000_000
        for view in views():
            with view.lock:
                samples = list(row.read(view, now_ms))
            for values, value in samples:
                labels = dict(zip(row.labels, values, strict=True))
                stat = labels.pop("stat", "")
                if stat not in stats:
                    continue
                quantile = {"quantile": stat} if stat in _QUANTILES else {}
                yield observation(value, {JOB: view.job_name, **labels, **quantile})

    return observe
