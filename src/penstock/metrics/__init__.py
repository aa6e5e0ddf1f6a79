"""Events, metrics and the profile of a job, and the metrics of user functions."""

from __future__ import annotations

from penstock.metrics.histogram import HistogramValue
from penstock.metrics.metric_group import Counter, Distribution, Meter, Metric, MetricGroup
from penstock.metrics.values import DistributionValue

__all__ = [
    "Counter",
    "Distribution",
    "DistributionValue",
    "HistogramValue",
    "Meter",
    "Metric",
    "MetricGroup",
]
