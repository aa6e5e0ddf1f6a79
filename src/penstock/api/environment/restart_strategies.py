"""`RestartStrategies`: when a failed run is restarted, as objects for `set_restart_strategy`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

from penstock.api.environment.setting_values import Length, checked_count, length_of
from penstock.config.configuration import Configuration
from penstock.config.run_options import OPTIONS_OF, RESTART_STRATEGY


class RestartStrategyConfiguration:
    """Strategy of the restarts of a failed run.

    Example:
        >>> strategy = RestartStrategies.fixed_delay_restart(3, 10_000)
        >>> env.set_restart_strategy(strategy).get_restart_strategy() == strategy
        True
        >>> strategy.get_description()
        'Restart with fixed delay (0:00:10). #3 restart attempts.'
    """

    def get_description(self) -> str:
        """Return a description."""
        return "Cluster level default restart strategy"

    strategy: ClassVar[str | None] = None
    """The value of `restart-strategy.type`; None leaves the configuration as it is."""

    def store(self, configuration: Configuration) -> None:
        """Set the options of the strategy in `configuration`: the fields are their values."""
        if self.strategy is None:
            return
        configuration.set(RESTART_STRATEGY, self.strategy)
        for option, value in zip(OPTIONS_OF[self.strategy], vars(self).values(), strict=True):
            if value is not None:
                configuration.set(option, value)


class RestartStrategies:
    """Makes restart strategies.

    Example:
        >>> RestartStrategies.no_restart().get_description()
        'Restart deactivated.'
        >>> RestartStrategies.failure_rate_restart(3, 60_000, 1_000).max_failure_rate
        3
        >>> RestartStrategies.exponential_delay_restart(1_000, 60_000).get_description()
        'Restart with exponential delay: 0:00:01 to 0:01:00, times 1.5, jitter 0.1.'
        >>> RestartStrategies.fall_back_restart().get_description()
        'Cluster level default restart strategy'
    """

    @dataclass(frozen=True)
    class NoRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Never restarts: a failure fails the job."""

        strategy = "none"

        def get_description(self) -> str:
            """Return it in words."""
            return "Restart deactivated."

    @dataclass(frozen=True)
    class FixedDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Restarts a number of times, each after the same delay.

        Attributes:
            restart_attempts: Number of restarts.
            delay_between_attempts_interval: Delay before each; milliseconds become a timedelta.
        """

        strategy = "fixed-delay"

        restart_attempts: int
        delay_between_attempts_interval: Length

        def __post_init__(self) -> None:
            """Check and convert."""
            checked_count(self.restart_attempts, "fixed_delay_restart", 0)
            delay = length_of(self.delay_between_attempts_interval, "fixed_delay_restart")
            object.__setattr__(self, "delay_between_attempts_interval", delay)

        def get_restart_attempts(self) -> int:
            """Return the number of restarts."""
            return self.restart_attempts

        def get_delay_between_attempts_interval(self) -> timedelta:
            """Return the time before each restart."""
            return length_of(self.delay_between_attempts_interval, "fixed_delay_restart")

        def get_description(self) -> str:
            """Return it in words."""
            delay = self.get_delay_between_attempts_interval()
            return f"Restart with fixed delay ({delay}). #{self.restart_attempts} restart attempts."

    @dataclass(frozen=True)
    class ExponentialDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Restarts after a delay that grows with each failure. Not in PyFlink, as in Flink.

        Attributes:
            initial_backoff: Delay before the first restart.
            max_backoff: Greatest delay.
            backoff_multiplier: Factor from one delay to the next.
            reset_backoff_threshold: Time without failure after which the delay is the initial one.
            jitter_factor: Greatest random fraction of the delay.
            restart_attempts: Number of restarts, None for any.
        """

        strategy = "exponential-delay"

        initial_backoff: timedelta
        max_backoff: timedelta
        backoff_multiplier: float
        reset_backoff_threshold: timedelta
        jitter_factor: float
        restart_attempts: int | None = None

        def get_description(self) -> str:
            """Return it in words."""
            return (
                f"Restart with exponential delay: {self.initial_backoff} to {self.max_backoff}, "
                f"times {self.backoff_multiplier}, jitter {self.jitter_factor}."
            )

    @dataclass(frozen=True)
    class FailureRateRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Restarts unless there are too many failures within an interval.

        Attributes:
            max_failure_rate: Failures that are allowed in the interval.
            failure_interval: The interval.
            delay_between_attempts_interval: Delay before each restart.
        """

        strategy = "failure-rate"

        max_failure_rate: int
        failure_interval: Length
        delay_between_attempts_interval: Length

        def __post_init__(self) -> None:
            """Check and convert."""
            checked_count(self.max_failure_rate, "failure_rate_restart", 1)
            interval = length_of(self.failure_interval, "failure_rate_restart")
            delay = length_of(self.delay_between_attempts_interval, "failure_rate_restart")
            object.__setattr__(self, "failure_interval", interval)
            object.__setattr__(self, "delay_between_attempts_interval", delay)

        def get_max_failure_rate(self) -> int:
            """Return the most failures in the interval."""
            return self.max_failure_rate

        def get_failure_interval(self) -> timedelta:
            """Return the interval."""
            return length_of(self.failure_interval, "failure_rate_restart")

        def get_delay_between_attempts_interval(self) -> timedelta:
            """Return the time before each restart."""
            return length_of(self.delay_between_attempts_interval, "failure_rate_restart")

        def get_description(self) -> str:
            """Return it in words."""
            return (
                f"Failure rate restart with maximum of {self.max_failure_rate} failures within "
                f"interval {self.get_failure_interval()} and fixed delay "
                f"{self.get_delay_between_attempts_interval()}."
            )

    @dataclass(frozen=True)
    class FallbackRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Uses the strategy of the configuration."""

    @staticmethod
    def no_restart() -> NoRestartStrategyConfiguration:
        """Return the strategy that never restarts: a failure fails the job."""
        return RestartStrategies.NoRestartStrategyConfiguration()

    @staticmethod
    def fall_back_restart() -> FallbackRestartStrategyConfiguration:
        """Return the strategy of the configuration."""
        return RestartStrategies.FallbackRestartStrategyConfiguration()

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: Length
    ) -> FixedDelayRestartStrategyConfiguration:
        """Return a strategy that restarts a number of times, each after the same delay.

        Args:
            restart_attempts: Number of restarts.
            delay_between_attempts: Milliseconds before each.

        Raises:
            ArgumentError: A value cannot be used.
        """
        return RestartStrategies.FixedDelayRestartStrategyConfiguration(
            restart_attempts, delay_between_attempts
        )

    @staticmethod
    def exponential_delay_restart(
        initial_backoff: Length,
        max_backoff: Length,
        backoff_multiplier: float = 1.5,
        reset_backoff_threshold: Length = 3_600_000,
        jitter_factor: float = 0.1,
        restart_attempts: int | None = None,
    ) -> ExponentialDelayRestartStrategyConfiguration:
        """Return a strategy that restarts after a delay that grows. Not in PyFlink.

        Args:
            initial_backoff: Milliseconds before the first restart.
            max_backoff: Greatest delay, in milliseconds.
            backoff_multiplier: Factor from one delay to the next.
            reset_backoff_threshold: Milliseconds without failure after which the delay is the
                initial one.
            jitter_factor: Greatest random fraction of the delay.
            restart_attempts: Number of restarts, None for any.

        Raises:
            ArgumentError: A length cannot be used.
        """
        return RestartStrategies.ExponentialDelayRestartStrategyConfiguration(
            length_of(initial_backoff, "exponential_delay_restart"),
            length_of(max_backoff, "exponential_delay_restart"),
            backoff_multiplier,
            length_of(reset_backoff_threshold, "exponential_delay_restart"),
            jitter_factor,
            restart_attempts,
        )

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: Length, delay_interval: Length
    ) -> FailureRateRestartStrategyConfiguration:
        """Return a strategy that restarts unless there are too many failures within an interval.

        Args:
            failure_rate: Failures that are allowed in the interval.
            failure_interval: Milliseconds.
            delay_interval: Milliseconds before each restart.

        Raises:
            ArgumentError: A value cannot be used.
        """
        return RestartStrategies.FailureRateRestartStrategyConfiguration(
            failure_rate, failure_interval, delay_interval
        )


def restart_strategy_of(configuration: Configuration) -> RestartStrategyConfiguration:
    """Return the strategy that a configuration names; that of the cluster if it names none."""
    if not any(configuration.contains_key(key) for key in RESTART_STRATEGY.keys):
        return RestartStrategies.fall_back_restart()
    makers: dict[str, Callable[..., RestartStrategyConfiguration]] = {
        "none": RestartStrategies.no_restart,
        "fixed-delay": RestartStrategies.fixed_delay_restart,
        "exponential-delay": RestartStrategies.exponential_delay_restart,
        "failure-rate": RestartStrategies.failure_rate_restart,
    }
    strategy = configuration.get(RESTART_STRATEGY)
    return makers[strategy](*map(configuration.get, OPTIONS_OF[strategy]))
