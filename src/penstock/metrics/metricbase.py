"""The names of `pyflink.metrics.metricbase`."""

from __future__ import annotations

from penstock.metrics.instruments import Counter, Distribution, Meter, Metric
from penstock.metrics.metric_group import MetricGroup

__all__ = ["Counter", "Distribution", "Meter", "Metric", "MetricGroup"]
