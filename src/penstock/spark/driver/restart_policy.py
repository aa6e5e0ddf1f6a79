"""The restart strategies of `restart-strategy.type`."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from penstock.config.configuration import Configuration
from penstock.config.run_options import OPTIONS_OF, RESTART_STRATEGY
from penstock.errors import PenstockError, WorkerStartError

_STARTS = 2
_START_DELAY = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Restart:
    """A restart of the job.

    Attributes:
        limit: Greatest number of restarts, None for any number.
        delay_seconds: Time before it.
    """

    number: int
    limit: int | None
    delay_seconds: float


class RestartPolicy(Protocol):
    """Decides after each failure of one job."""

    def after_failure(self, now: float) -> Restart | None:
        """Record a failure; return the restart, None if the job has failed."""


class FixedDelay:
    """A number of restarts, each after the same time. With 0 restarts it is the strategy `none`."""

    def __init__(self, attempts: int = 0, delay: timedelta = timedelta(0)) -> None:
        self._attempts = attempts
        self._delay_seconds = delay.total_seconds()
        self._used = 0

    def after_failure(self, now: float) -> Restart | None:
        """Return the next restart, None after the last one."""
        if self._used == self._attempts:
            return None
        self._used += 1
        return Restart(self._used, self._attempts, self._delay_seconds)


class ExponentialDelay:
    """Restarts after a growing time. It is reset when the job has run long enough without a failure."""

    def __init__(
        self,
        initial: timedelta,
        maximum: timedelta,
        multiplier: float,
        reset: timedelta,
        jitter: float,
        attempts: int | None,
        *,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Take the values of its options, and what returns random numbers from 0 to 1."""
        self._initial = initial.total_seconds()
        self._maximum = maximum.total_seconds()
        self._multiplier = multiplier
        self._reset = reset.total_seconds()
        self._jitter = jitter
        self._attempts = attempts
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

    def __init__(self, failures: int, interval: timedelta, delay: timedelta) -> None:
        self._failures = failures
        self._interval_seconds = interval.total_seconds()
        self._delay_seconds = delay.total_seconds()
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


POLICIES: dict[str, Callable[..., RestartPolicy]] = {
    "none": FixedDelay,
    "fixed-delay": FixedDelay,
    "exponential-delay": ExponentialDelay,
    "failure-rate": FailureRate,
}
"""`restart-strategy.type` to what makes the policy of one job of the values of `OPTIONS_OF`."""


class Restarts:
    """The restarts of one job."""

    def __init__(self, configuration: Configuration) -> None:
        strategy = configuration.get(RESTART_STRATEGY)
        self._policy = POLICIES[strategy](*map(configuration.get, OPTIONS_OF[strategy]))
        # Spark waits 10 s for a worker that the driver starts, which no setting changes, and tries
        # again for tasks only. No code of the program has run, so the restart strategy does not apply.
        self._starts = FixedDelay(_STARTS, _START_DELAY)

    def after(self, failure: PenstockError) -> Restart | None:
        """Return the restart after a failure, None if the job has failed.

        A worker that did not start is started twice more under every strategy, also `none`.
        """
        if failure.is_permanent:
            return None
        now = time.monotonic()
        again = self._starts.after_failure(now) if isinstance(failure, WorkerStartError) else None
        return again or self._policy.after_failure(now)
