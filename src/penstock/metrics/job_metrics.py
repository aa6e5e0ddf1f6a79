"""The metrics of a job: the sum of all reports that this process has committed, by operator and name."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from time import perf_counter_ns
from typing import Any

from penstock.errors import ArgumentError
from penstock.metrics.values import CounterValue, MetricValue, merge_metrics, metric_results

RECORDS_IN = "numRecordsIn"
RECORDS_OUT = "numRecordsOut"
WATERMARK = "currentInputWatermark"
LATE_RECORDS = "numLateRecordsDropped"

COMBINED_IN = "combine.numRecordsIn"
COMBINED_OUT = "combine.numRecordsOut"
"""Records that were combined before they were sent, and the records sent for them."""


def late_records(metrics: Mapping[str, MetricValue]) -> dict[str, int]:
    """Return uid to the late records that an operator dropped, of those that dropped some.

    Examples:
        >>> late_records({"totals.numLateRecordsDropped": CounterValue(3)})
        {'totals': 3}
    """
    end = f".{LATE_RECORDS}"
    return {
        name.removesuffix(end): value.count
        for name, value in metrics.items()
        if name.endswith(end) and isinstance(value, CounterValue) and value.count
    }


STATE_PREFIX = "state."
"""Prefix of the metrics of state access."""

SECONDS_PREFIX = "seconds."
"""Prefix of the times of sections; `penstock.metrics.profile` makes a table of them."""

_NANOSECONDS = 1_000_000_000


class JobMetrics:
    """Adds up the reports of committed micro-batches and batch runs. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._metrics: dict[str, MetricValue] = {}
        self._state: dict[str, int] = {}
        self._times: dict[str, int] = {}
        self._operator_records: dict[str, int] = {}
        self._source_records: dict[str, int] = {}
        self._lap_began_ns = perf_counter_ns()

    def lap_ns(self) -> int:
        """Return the time since the last call, or else since the job began."""
        with self._lock:
            began, self._lap_began_ns = self._lap_began_ns, perf_counter_ns()
            return self._lap_began_ns - began

    def add(
        self,
        metrics: Mapping[str, MetricValue],
        state: Mapping[str, int],
        times: Mapping[str, int],
    ) -> None:
        """Add one report."""
        with self._lock:
            merge_metrics(self._metrics, metrics)
            for name, count in state.items():
                self._state[name] = self._state.get(name, 0) + count
            for name, spent in times.items():
                self._times[name] = self._times.get(name, 0) + spent

    def add_records(self, operators: Mapping[str, int], sources: Mapping[str, int]) -> None:
        """Add the counts of one report."""
        with self._lock:
            for known, new in (
                (self._operator_records, operators),
                (self._source_records, sources),
            ):
                for name, count in new.items():
                    known[name] = known.get(name, 0) + count

    def operator_records(self) -> dict[str, int]:
        """Return uid to records received, of all reports."""
        with self._lock:
            return dict(self._operator_records)

    def source_records(self) -> dict[str, int]:
        """Return name of a source to records read, of all reports."""
        with self._lock:
            return dict(self._source_records)

    def metrics(self) -> dict[str, MetricValue]:
        """Return full name to value, of all reports."""
        with self._lock:
            return dict(self._metrics)

    def state(self) -> dict[str, int]:
        """Return the metrics of state access, summed over all reports."""
        with self._lock:
            return dict(self._state)

    def seconds(self) -> dict[str, float]:
        """Return `<place>.<section>` to seconds, summed over all reports."""
        with self._lock:
            return {name: spent / _NANOSECONDS for name, spent in self._times.items()}

    def results(self) -> dict[str, Any]:
        """Return the results of all metrics.

        `state.…` are the metrics of state access, `seconds.…` the times of sections.
        """
        costs = {f"{STATE_PREFIX}{name}": count for name, count in sorted(self.state().items())}
        times = {f"{SECONDS_PREFIX}{name}": spent for name, spent in sorted(self.seconds().items())}
        return {**metric_results(self.metrics()), **costs, **times}


def result_named(results: Mapping[str, Any], name: str) -> Any:
    """Return the result of a metric by its full name, or by an end that no other name has."""
    if name in results:
        return results[name]
    names = _ending_in(results, name)
    if len(names) != 1:
        wrong = f"{len(names)} metrics" if names else "no metric"
        raise ArgumentError(
            f"{wrong} of the job end in {name!r}; there are {names or sorted(results)}",
            hint="Pass the full name: uid of the operator, groups and name, with dots between.",
        )
    return results[names[0]]


def is_named(results: Mapping[str, Any], name: str) -> bool:
    """Return whether a metric has this full name, or one that ends so."""
    return name in results or bool(_ending_in(results, name))


def _ending_in(results: Mapping[str, Any], name: str) -> list[str]:
    return [known for known in results if known.endswith(f".{name}")]
