"""The names of `pyflink.metrics.metricbase`."""

from __future__ import annotations

from penstock.metrics.metric_group import Counter, Distribution, Meter, Metric, MetricGroup

__all__ = ["Counter", "Distribution", "Meter", "Metric", "MetricGroup"]
