"""`MetricGroup`: how functions make metrics.

A metric is called `uid.group.….name`: the uid of the operator (or, without one, the name the
plan gives it), the groups, and its own name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from penstock.errors import ArgumentError, CallSite
from penstock.metrics.instruments import Counter, Distribution, Gauge, Meter, Metric
from penstock.metrics.values import GaugeReading, MetricValue

_M = TypeVar("_M", bound=Metric)


class MetricRegistry:
    """All metrics of one operator in one subtask."""

    def __init__(self, operator: str, subtask: int) -> None:
        """Start empty.

        Args:
            operator: uid of the operator.
            subtask: Index, from 0.
        """
        self.operator = operator
        self.subtask = subtask
        self._metrics: dict[str, Metric] = {}

    def add(self, name: str, kind: type[_M], make: Callable[[], _M]) -> _M:
        """Return the metric of a name, made at first use.

        Raises:
            ArgumentError: The name is that of a metric of another kind.
        """
        found = self._metrics.get(name)
        if found is None:
            found = self._metrics[name] = make()
        if not isinstance(found, kind):
            raise ArgumentError(
                f"{name!r} is a {type(found).__name__.lower()} already, and a "
                f"{kind.__name__.lower()} was asked for",
                hint="Give each metric a name of its own, or put it into a group.",
                origin=CallSite.of_caller(),
            )
        return found

    def replace(self, name: str, metric: Metric) -> None:
        """Add a metric in place of the one of that name."""
        self.add(name, type(metric), lambda: metric)
        self._metrics[name] = metric

    def take(self) -> dict[str, MetricValue]:
        """Return what came in since the last call, by full name.

        Raises:
            Exception: Whatever the function of a gauge raises.
        """
        taken = ((name, metric.take()) for name, metric in self._metrics.items())
        return {name: value for name, value in taken if value is not None}


class MetricGroup:
    """A named container of metrics and of further groups."""

    def __init__(self, registry: MetricRegistry, scope: tuple[str, ...]) -> None:
        """For the runtime.

        Args:
            registry: Of the operator.
            scope: Names of the groups around and of this one.
        """
        self._registry = registry
        self._scope = scope

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """Return a group in this one; the same name is the same group.

        Args:
            name: Of the group.
            extra: Makes it a pair of key and value: the metrics are called `name.extra.…`.

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
            raise ArgumentError(
                f"the gauge {name!r} got {obj!r}, which cannot be called",
                hint="Pass a function without arguments that returns the value to show.",
                origin=CallSite.of_caller(),
            )
        self._registry.replace(self.get_metric_identifier(name), Gauge(obj))

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """Return the meter of a name, made at first use.

        Args:
            name: Of the meter.
            time_span_in_seconds: Its rate is that of so many last seconds.

        Raises:
            ArgumentError: The time span is not an integer from 1; or as for `counter`.
        """
        span: Any = time_span_in_seconds
        if type(span) is not int or span < 1:
            raise ArgumentError(
                f"the meter {name!r} got a time span of {span!r}",
                hint="Pass seconds, as an integer from 1.",
                origin=CallSite.of_caller(),
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
    raise ArgumentError(
        f"{name!r} is no name of a metric or a group of them",
        hint="Pass a string that is not empty.",
        origin=CallSite.of_caller(),
    )
