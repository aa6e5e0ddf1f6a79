"""Options of restarts after a failure: Flink's `restart-strategy` keys."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from penstock.config.option import ConfigOption, Limit, one_of
from penstock.config.parse import DURATION, INTEGER, NUMBER, Parser

_STRATEGIES = {
    "disable": "none",
    "disabled": "none",
    "off": "none",
    "fixeddelay": "fixed-delay",
    "exponentialdelay": "exponential-delay",
    "failurerate": "failure-rate",
}
_NOT_ZERO: Limit[timedelta] = Limit("must be longer than 0", lambda value: value > timedelta(0))

RESTART_STRATEGY: ConfigOption[str] = ConfigOption(
    key="restart-strategy.type",
    parse=Parser("strategy", lambda text: _STRATEGIES.get(text.strip().lower(), text.strip())),
    default="none",
    description=(
        "Reaction to a failure of a job. `none` fails it; the others start it from its last "
        "checkpoint, a batch run from its beginning: `fixed-delay` after the same time, "
        "`exponential-delay` after a growing time, `failure-rate` unless it fails too often."
    ),
    check=one_of("none", "fixed-delay", "exponential-delay", "failure-rate"),
    fallback_keys=("restart-strategy",),
)

FIXED_ATTEMPTS: ConfigOption[int] = ConfigOption(
    key="restart-strategy.fixed-delay.attempts",
    parse=INTEGER,
    default=1,
    description="Number of times that the job is started again.",
    check=Limit("must be 0 or more", lambda value: value >= 0),
)

FIXED_DELAY: ConfigOption[timedelta] = ConfigOption(
    key="restart-strategy.fixed-delay.delay",
    parse=DURATION,
    default=timedelta(seconds=1),
    description="Time between a failure and the next start.",
)

EXPONENTIAL_INITIAL: ConfigOption[timedelta] = ConfigOption(
    key="restart-strategy.exponential-delay.initial-backoff",
    parse=DURATION,
    default=timedelta(seconds=1),
    description="Time between the first failure and the next start.",
    check=_NOT_ZERO,
)

EXPONENTIAL_MAXIMUM: ConfigOption[timedelta] = ConfigOption(
    key="restart-strategy.exponential-delay.max-backoff",
    parse=DURATION,
    default=timedelta(minutes=1),
    description="Longest time between a failure and the next start.",
    check=_NOT_ZERO,
)

EXPONENTIAL_MULTIPLIER: ConfigOption[float] = ConfigOption(
    key="restart-strategy.exponential-delay.backoff-multiplier",
    parse=NUMBER,
    default=1.5,
    description="Factor by which the time grows with each failure.",
    check=Limit("must be 1 or more", lambda value: value >= 1),
)

EXPONENTIAL_RESET: ConfigOption[timedelta] = ConfigOption(
    key="restart-strategy.exponential-delay.reset-backoff-threshold",
    parse=DURATION,
    default=timedelta(hours=1),
    description="Time without a failure after which the time is the initial one again.",
)

EXPONENTIAL_JITTER: ConfigOption[float] = ConfigOption(
    key="restart-strategy.exponential-delay.jitter-factor",
    parse=NUMBER,
    default=0.1,
    description="Largest random part of the time, up or down.",
    check=Limit("must be between 0 and 1", lambda value: 0 <= value <= 1),
)

EXPONENTIAL_ATTEMPTS: ConfigOption[int | None] = ConfigOption(
    key="restart-strategy.exponential-delay.attempts-before-reset-backoff",
    parse=INTEGER,
    default=None,
    description="Number of times that the job is started again; unset is without limit.",
    check=Limit("must be 0 or more", lambda value: value is None or value >= 0),
)

RATE_FAILURES: ConfigOption[int] = ConfigOption(
    key="restart-strategy.failure-rate.max-failures-per-interval",
    parse=INTEGER,
    default=1,
    description="Most failures within the interval.",
    check=Limit("must be 1 or more", lambda value: value >= 1),
)

RATE_INTERVAL: ConfigOption[timedelta] = ConfigOption(
    key="restart-strategy.failure-rate.failure-rate-interval",
    parse=DURATION,
    default=timedelta(minutes=1),
    description="Interval in which failures count.",
)

RATE_DELAY: ConfigOption[timedelta] = ConfigOption(
    key="restart-strategy.failure-rate.delay",
    parse=DURATION,
    default=timedelta(seconds=1),
    description="Time between a failure and the next start.",
)

OPTIONS_OF: dict[str, tuple[ConfigOption[Any], ...]] = {
    "none": (),
    "fixed-delay": (FIXED_ATTEMPTS, FIXED_DELAY),
    "exponential-delay": (
        EXPONENTIAL_INITIAL,
        EXPONENTIAL_MAXIMUM,
        EXPONENTIAL_MULTIPLIER,
        EXPONENTIAL_RESET,
        EXPONENTIAL_JITTER,
        EXPONENTIAL_ATTEMPTS,
    ),
    "failure-rate": (RATE_FAILURES, RATE_INTERVAL, RATE_DELAY),
}
"""Strategy to its options, in the order of the arguments that take their values."""

RESTART_OPTIONS: tuple[ConfigOption[Any], ...] = (
    RESTART_STRATEGY,
    *(option for options in OPTIONS_OF.values() for option in options),
)
"""The options of this module, in the order of the reference page."""
