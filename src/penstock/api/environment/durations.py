"""Lengths of time as settings take them: milliseconds, `timedelta`, `Duration` or `Time`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from penstock.errors import ArgumentError
from penstock.types import Duration, Time

_MILLISECOND = timedelta(milliseconds=1)

Length = int | timedelta | Duration | Time
"""A length of time; an integer counts milliseconds."""


_NANOSECONDS: dict[type, Callable[[Any], int]] = {
    int: lambda length: length * 1_000_000,
    Time: lambda length: length.to_milliseconds() * 1_000_000,
    Duration: lambda length: length.nanos,
    timedelta: lambda length: length // timedelta(microseconds=1) * 1_000,
}
"""Class of a length of time to how long it is."""


def nanoseconds_of(length: Any) -> int | None:
    """Return how long a length of time is, None if it is none."""
    make = _NANOSECONDS.get(type(length))
    return None if make is None else make(length)


def length_of(value: Length, operation: str) -> timedelta:
    """Return a length of time.

    Raises:
        ArgumentError: `value` is none, is negative, or finer than a millisecond.
    """
    found: timedelta | None = None
    if isinstance(value, timedelta):
        found = value
    elif isinstance(value, Duration):
        found = timedelta(milliseconds=value.to_millis())
    elif isinstance(value, Time):
        found = timedelta(milliseconds=value.to_milliseconds())
    elif type(value) is int:
        found = timedelta(milliseconds=value)
    if found is None or found < timedelta(0) or found % _MILLISECOND:
        raise ArgumentError.here(
            f"{operation} got {value!r}",
            hint="Pass whole milliseconds, 0 or more, or a timedelta, Duration or Time.",
        )
    return found


def milliseconds_of(length: timedelta) -> int:
    """Return a length in milliseconds."""
    return length // _MILLISECOND
