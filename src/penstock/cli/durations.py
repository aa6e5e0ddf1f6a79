"""Durations on the command line."""

from __future__ import annotations

from datetime import timedelta

from penstock.config.parse import DURATION
from penstock.errors import ConfigError


def duration(option: str, text: str) -> timedelta:
    """Return the value of an option of the command line.

    Raises:
        ConfigError: The unit is missing, or it is no duration.

    Examples:
        >>> duration("--timeout", "5min")
        datetime.timedelta(seconds=300)
    """
    if text.strip().isdecimal():  # milliseconds in a configuration; typed, rather seconds
        raise ConfigError(
            f"{option} {text} has no unit", hint=f"Say which: {text}ms, {text}s or {text}min."
        )
    try:
        return DURATION(text)
    except ConfigError as error:
        raise ConfigError(f"{option} {text}: {error.problem}", hint=error.hint) from error
