"""Values of metrics. Subtasks send them to the driver, which merges them.

A subtask reports the changes since its last report; the value of a job is the merge of all reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.metrics.histogram import HistogramValue

GaugeReading = int | float | str | bool
"""Values that a gauge may show."""


@dataclass(frozen=True, slots=True)
class CounterValue:
    """A count.

    Attributes:
        count: Can go down as well.
    """

    count: int

    @property
    def result(self) -> int:
        """The result of `get_accumulator_result`."""
        return self.count

    def merged(self, other: CounterValue) -> CounterValue:
        """Return both counts together."""
        return CounterValue(self.count + other.count)


@dataclass(frozen=True, slots=True)
class GaugeValue:
    """A reading of a gauge; a later one replaces it."""

    value: GaugeReading

    @property
    def result(self) -> GaugeReading:
        """The result of `get_accumulator_result`."""
        return self.value

    def merged(self, other: GaugeValue) -> GaugeValue:
        """Return the later reading."""
        return other


@dataclass(frozen=True, slots=True)
class MeterValue:
    """A number of events, and their rate per second.

    Attributes:
        count: Events.
        rates: Subtask to events per second, over the time span of the meter, when the subtask
            last reported.
    """

    count: int
    rates: Mapping[int, float] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Events per second, of all subtasks."""
        return sum(self.rates.values())

    @property
    def result(self) -> int:
        """The result of `get_accumulator_result`: the number of events."""
        return self.count

    def merged(self, other: MeterValue) -> MeterValue:
        """Return both counts together, and the later rate of each subtask."""
        return MeterValue(self.count + other.count, {**self.rates, **other.rates})


@dataclass(frozen=True, slots=True)
class DistributionValue:
    """A summary of values.

    Attributes:
        count: Number of values.
        sum: Sum of all values.
        min: The least, None if there were none.
        max: The greatest, None if there were none.

    Example:
        >>> DistributionValue(2, 8, 3, 5).merged(DistributionValue(1, 7, 7, 7)).mean
        5.0
    """

    count: int = 0
    sum: float = 0
    min: float | None = None
    max: float | None = None

    @property
    def mean(self) -> float | None:
        """The arithmetic mean, None if there were no values."""
        return self.sum / self.count if self.count else None

    @property
    def result(self) -> DistributionValue:
        """The result of `get_accumulator_result`."""
        return self

    def merged(self, other: DistributionValue) -> DistributionValue:
        """Return the summary of the values of both."""
        least = [value for value in (self.min, other.min) if value is not None]
        greatest = [value for value in (self.max, other.max) if value is not None]
        return DistributionValue(
            self.count + other.count,
            self.sum + other.sum,
            min(least, default=None),
            max(greatest, default=None),
        )


MetricValue = CounterValue | GaugeValue | MeterValue | DistributionValue | HistogramValue


def merge_metrics(known: dict[str, MetricValue], new: Mapping[str, MetricValue]) -> None:
    """Merge another report into `known`, name by name.

    A metric whose kind has changed with the program starts again.
    """
    for name, value in new.items():
        before = known.get(name)
        if type(before) is type(value):
            known[name] = before.merged(value)  # type: ignore[arg-type]
        else:
            known[name] = value


def metric_results(metrics: Mapping[str, MetricValue]) -> dict[str, Any]:
    """Return name to result of the metrics, in order of name."""
    return {name: metrics[name].result for name in sorted(metrics)}
