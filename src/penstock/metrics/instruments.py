"""Metrics of user functions: `Counter`, `Meter`, `Distribution` and gauges.

Functions make them with a `MetricGroup` in `open`, in every subtask. Each task or micro-batch reports
the changes since its last report together with its results: a failed attempt counts nothing, and
a repeated one counts once.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable

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
