"""The restart strategies of `restart-strategy.type`."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from penstock.config.configuration import Configuration
from penstock.config.restart_options import (
    EXPONENTIAL_ATTEMPTS,
    EXPONENTIAL_INITIAL,
    EXPONENTIAL_JITTER,
    EXPONENTIAL_MAXIMUM,
    EXPONENTIAL_MULTIPLIER,
    EXPONENTIAL_RESET,
    FIXED_ATTEMPTS,
    FIXED_DELAY,
    RATE_DELAY,
    RATE_FAILURES,
    RATE_INTERVAL,
    RESTART_STRATEGY,
)
from penstock.errors import (
    ConfigError,
    EnvironmentSetupError,
    GraphError,
    HistoryChangedError,
    JobCancelledError,
    JobDirectoryError,
    PenstockError,
    SavepointError,
    UserCodeError,
)

_FINAL = (
    ConfigError,
    EnvironmentSetupError,
    GraphError,
    HistoryChangedError,
    JobCancelledError,
    JobDirectoryError,
    SavepointError,
    UserCodeError,
)
"""Failures that another attempt would repeat, and cancellation."""


@dataclass(frozen=True, slots=True)
class Restart:
    """A restart of the job.

    Attributes:
        number: Number of the restart, from 1.
        limit: Greatest number of restarts, None for any number.
        delay_seconds: Time before it.
    """

    number: int
    limit: int | None
    delay_seconds: float


class RestartPolicy(Protocol):
    """Decides after each failure of one job."""

    def after_failure(self, now: float) -> Restart | None:
        """Record a failure; return the restart, None if the job has failed.

        Args:
            now: Seconds of a monotonic clock.
        """


class FixedDelay:
    """A number of restarts, each after the same time. With 0 restarts it is the strategy `none`."""

    def __init__(self, attempts: int, delay_seconds: float) -> None:
        self._attempts = attempts
        self._delay_seconds = delay_seconds
        self._used = 0

    def after_failure(self, now: float) -> Restart | None:
        """Return the next restart, None after the last one."""
        if self._used == self._attempts:
            return None
        self._used += 1
        return Restart(self._used, self._attempts, self._delay_seconds)


class ExponentialDelay:
    """Restarts after a growing time. It is reset when the job has run long enough without a failure."""

    def __init__(self, configuration: Configuration, chance: Callable[[], float]) -> None:
        """Read the settings.

        Args:
            configuration: Configuration of the job.
            chance: Returns random numbers from 0 to 1, for the jitter.
        """
        get = configuration.get
        self._initial = get(EXPONENTIAL_INITIAL).total_seconds()
        self._maximum = get(EXPONENTIAL_MAXIMUM).total_seconds()
        self._multiplier = get(EXPONENTIAL_MULTIPLIER)
        self._reset = get(EXPONENTIAL_RESET).total_seconds()
        self._jitter = get(EXPONENTIAL_JITTER)
        self._attempts = get(EXPONENTIAL_ATTEMPTS)
        self._chance = chance
        self._used = 0
        self._backoff = self._initial
        self._started: float | None = None

    def after_failure(self, now: float) -> Restart | None:
        """Return the next restart, with a longer delay than the last."""
        if self._started is not None and now - self._started >= self._reset:
            self._used, self._backoff = 0, self._initial
        if self._attempts is not None and self._used >= self._attempts:
            return None
        self._used += 1
        jitter = self._backoff * self._jitter * (2 * self._chance() - 1)
        delay = min(max(self._backoff + jitter, 0.0), self._maximum)
        self._backoff = min(self._backoff * self._multiplier, self._maximum)
        self._started = now + delay
        return Restart(self._used, self._attempts, delay)


class FailureRate:
    """Restarts unless there were too many failures within an interval."""

    def __init__(self, failures: int, interval_seconds: float, delay_seconds: float) -> None:
        self._failures = failures
        self._interval_seconds = interval_seconds
        self._delay_seconds = delay_seconds
        self._recent: deque[float] = deque()
        self._used = 0

    def after_failure(self, now: float) -> Restart | None:
        """Return the next restart if the rate allows it."""
        self._recent.append(now)
        while self._recent and now - self._recent[0] > self._interval_seconds:
            self._recent.popleft()
        if len(self._recent) > self._failures:
            return None
        self._used += 1
        return Restart(self._used, None, self._delay_seconds)


def _fixed(configuration: Configuration) -> RestartPolicy:
    delay = configuration.get(FIXED_DELAY).total_seconds()
    return FixedDelay(configuration.get(FIXED_ATTEMPTS), delay)


def _rate(configuration: Configuration) -> RestartPolicy:
    interval = configuration.get(RATE_INTERVAL).total_seconds()
    delay = configuration.get(RATE_DELAY).total_seconds()
    return FailureRate(configuration.get(RATE_FAILURES), interval, delay)


POLICIES: dict[str, Callable[[Configuration], RestartPolicy]] = {
    "none": lambda _: FixedDelay(0, 0.0),
    "fixed-delay": _fixed,
    "exponential-delay": lambda configuration: ExponentialDelay(configuration, random.random),
    "failure-rate": _rate,
}
"""`restart-strategy.type` to the function that makes the policy of one job."""


class Restarts:
    """The restarts of one job."""

    def __init__(self, configuration: Configuration) -> None:
        self._policy = POLICIES[configuration.get(RESTART_STRATEGY)](configuration)

    def after(self, failure: PenstockError) -> Restart | None:
        """Return the restart after a failure, None if the job has failed."""
        return None if isinstance(failure, _FINAL) else self._policy.after_failure(time.monotonic())
