"""Metrics of user functions: `MetricGroup` makes a `Counter`, a `Meter` or a `Distribution`."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from penstock.errors import ArgumentError
from penstock.metrics.values import (
    CounterValue,
    DistributionValue,
    GaugeReading,
    GaugeValue,
    MeterValue,
    MetricValue,
)


class Metric(ABC):
    """Base of all metrics."""

    @abstractmethod
    def take(self) -> MetricValue | None:
        """Return the change since the last call, None if there is none; the runtime calls this."""


class Counter(Metric):
    """Counts.

    Example:
        >>> late = Counter()
        >>> late.inc()
        >>> late.inc(5)
        >>> late.dec(2)
        >>> late.get_count()
        4
    """

    def __init__(self) -> None:
        self._count = 0
        self._reported: int | None = None

    def inc(self, n: int = 1) -> None:
        """Add `n`."""
        self._count += n

    def dec(self, n: int = 1) -> None:
        """Subtract `n`."""
        self._count -= n

    def get_count(self) -> int:
        """Return the count of this subtask since its function was opened."""
        return self._count

    def take(self) -> CounterValue | None:
        """Return the change since the last call."""
        count, before = self._count, self._reported
        self._reported = count
        return None if count == before else CounterValue(count - (before or 0))


class Meter(Metric):
    """Counts events, and measures how many there are per second.

    Example:
        >>> calls = Meter(60)
        >>> calls.mark_event()
        >>> calls.mark_event(3)
        >>> calls.get_count()
        4
    """

    def __init__(
        self,
        subtask: int,
        time_span_in_seconds: int = 60,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start at zero.

        Args:
            subtask: Index of the subtask.
            time_span_in_seconds: The rate is that of the last seconds, this many.
            clock: Returns seconds of a monotonic clock.
        """
        self._subtask = subtask
        self._span = time_span_in_seconds
        self._clock = clock
        self._count = 0
        self._reported: tuple[int, float] | None = None
        self._recent: deque[tuple[int, int]] = deque()

    def mark_event(self, value: int = 1) -> None:
        """Note that `value` events happened."""
        self._count += value
        second = int(self._clock())
        recent = self._recent
        if recent and recent[-1][0] == second:
            recent[-1] = (second, recent[-1][1] + value)
        else:
            recent.append((second, value))
            self._forget_old(second)

    def get_count(self) -> int:
        """Return the events of this subtask since its function was opened."""
        return self._count

    def take(self) -> MeterValue | None:
        """Return the events since the last call, and the rate now."""
        self._forget_old(int(self._clock()))
        rate = sum(events for _, events in self._recent) / self._span
        before, self._reported = self._reported, (self._count, rate)
        if self._reported == before:
            return None
        known, _ = before or (0, 0.0)
        return MeterValue(self._count - known, {self._subtask: rate})

    def _forget_old(self, now: int) -> None:
        while self._recent and self._recent[0][0] <= now - self._span:
            self._recent.popleft()


class Distribution(Metric):
    """Summarizes values: their count and sum, the least and the greatest.

    Example:
        >>> amounts = Distribution()
        >>> for amount in (5, 3, 7):
        ...     amounts.update(amount)
        >>> amounts.take()
        DistributionValue(count=3, sum=15, min=3, max=7)
    """

    def __init__(self) -> None:
        self._new: DistributionValue | None = DistributionValue()

    def update(self, value: float) -> None:
        """Add a value."""
        known = self._new or DistributionValue()
        self._new = known.merged(DistributionValue(1, value, value, value))

    def take(self) -> DistributionValue | None:
        """Return the summary of the values since the last call."""
        new, self._new = self._new, None
        return new


class Gauge(Metric):
    """Shows the value of a function, which is called at the end of each task or micro-batch.

    A subtask whose function returns None shows nothing; the reading of another subtask stays.
    """

    def __init__(self, read: Callable[[], GaugeReading | None]) -> None:
        self._read = read

    def take(self) -> GaugeValue | None:
        """Return the reading now."""
        reading = self._read()
        return None if reading is None else GaugeValue(reading)


_M = TypeVar("_M", bound=Metric)


class MetricRegistry:
    """All metrics of one operator in one subtask."""

    def __init__(self, operator: str, subtask: int) -> None:
        """Start empty."""
        self.operator = operator
        self.subtask = subtask
        self._metrics: dict[str, Metric] = {}

    def add(self, name: str, kind: type[_M], make: Callable[[], _M]) -> _M:
        """Return the metric of a name, made at first use."""
        metric = self._metrics.get(name)
        if metric is None:
            metric = self._metrics[name] = make()
        if not isinstance(metric, kind):
            raise ArgumentError.here(
                f"{name!r} is a {type(metric).__name__.lower()} already, but a "
                f"{kind.__name__.lower()} was requested",
                hint="Give each metric a name of its own, or put it into a group.",
            )
        return metric

    def replace(self, name: str, metric: Metric) -> None:
        """Add a metric in place of the one of that name."""
        self.add(name, type(metric), lambda: metric)
        self._metrics[name] = metric

    def take(self) -> dict[str, MetricValue]:
        """Return the changes since the last call, by full name."""
        taken = ((name, metric.take()) for name, metric in self._metrics.items())
        return {name: value for name, value in taken if value is not None}


class MetricGroup:
    """A named container of metrics and of further groups.

    Example:
        >>> class Checked(MapFunction):
        ...     def open(self, runtime_context):
        ...         orders = runtime_context.get_metrics_group().add_group("orders")
        ...         self.large = orders.counter("large")
        ...         self.rate = orders.meter("rate")
        ...         self.amounts = orders.distribution("amounts")
        ...         self.last = None
        ...         orders.gauge("last", lambda: self.last)
        ...         self.name = orders.get_metric_identifier("large")
        ...     def map(self, value):
        ...         self.large.inc(value > 2)
        ...         self.rate.mark_event()
        ...         self.amounts.update(value)
        ...         self.last = value
        ...         return self.name
        >>> checked = lambda stream: stream.map(Checked()).uid("checked")
        >>> with OperatorHarness.of(checked) as harness:
        ...     emitted = harness.push_all([2, 3])
        ...     found = harness.metrics()
        >>> emitted[0], found["checked.orders.large"], found["checked.orders.amounts"].mean
        ('checked.orders.large', 1, 2.5)
    """

    def __init__(self, registry: MetricRegistry, scope: tuple[str, ...]) -> None:
        """For the runtime.

        Args:
            registry: Registry of the operator.
            scope: Names of the outer groups and of this one.
        """
        self._registry = registry
        self._scope = scope

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """Return the inner group of a name.

        Args:
            name: Name of the group.
            extra: Value of a group that is a pair of key and value: its metrics are `name.extra.…`.

        Raises:
            ArgumentError: A name is no string, or empty.
        """
        names = (name,) if extra is None else (name, extra)
        return MetricGroup(self._registry, (*self._scope, *map(_checked, names)))

    def counter(self, name: str) -> Counter:
        """Return the counter of a name, made at first use.

        Raises:
            ArgumentError: The name is no string, empty, or that of another kind of metric.
        """
        return self._registry.add(self.get_metric_identifier(name), Counter, Counter)

    def gauge(self, name: str, obj: Callable[[], GaugeReading | None]) -> None:
        """Show what `obj` returns: a number, a string or a bool; None shows nothing.

        It is called at the end of every task or micro-batch. A gauge of the same name is
        replaced.

        Raises:
            ArgumentError: `obj` cannot be called; or as for `counter`.
        """
        if not callable(obj):
            raise ArgumentError.here(
                f"the gauge {name!r} got {obj!r}, which cannot be called",
                hint="Pass a function without arguments that returns the value to show.",
            )
        self._registry.replace(self.get_metric_identifier(name), Gauge(obj))

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """Return the meter of a name, made at first use.

        Args:
            name: Name of the meter.
            time_span_in_seconds: The rate is that of the last seconds, this many.

        Raises:
            ArgumentError: The time span is not an integer from 1; or as for `counter`.
        """
        span: Any = time_span_in_seconds
        if type(span) is not int or span < 1:
            raise ArgumentError.here(
                f"the meter {name!r} got a time span of {span!r}",
                hint="Pass seconds, as an integer from 1.",
            )
        return self._registry.add(
            self.get_metric_identifier(name), Meter, lambda: Meter(self._registry.subtask, span)
        )

    def distribution(self, name: str) -> Distribution:
        """Return the distribution of a name, made at first use.

        Raises:
            ArgumentError: As for `counter`.
        """
        return self._registry.add(self.get_metric_identifier(name), Distribution, Distribution)

    def get_metric_identifier(self, metric_name: str) -> str:
        """Return the full name of a metric of this group.

        Raises:
            ArgumentError: The name is no string, or empty.
        """
        return ".".join((self._registry.operator, *self._scope, _checked(metric_name)))


def _checked(name: str) -> str:
    if isinstance(name, str) and name:
        return name
    raise ArgumentError.here(
        f"{name!r} is not the name of a metric or a group of them",
        hint="Pass a string that is not empty.",
    )
