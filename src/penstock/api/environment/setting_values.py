"""Values that setters take: checks, so that a mistake shows at the line that makes it, and lengths of time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from typing import Any, TypeVar

from penstock.errors import ArgumentError
from penstock.types import Duration, Time

M = TypeVar("M", bound=Enum)


def checked_count(number: int, operation: str, minimum: int) -> int:
    """Return an integer from `minimum`."""
    if type(number) is int and number >= minimum:
        return number
    raise ArgumentError.here(
        f"{operation} got {number!r}", hint=f"Pass an integer, {minimum} or more."
    )


def checked_flag(value: bool, operation: str) -> bool:  # noqa: FBT001 - it is checked here
    """Return a boolean."""
    if isinstance(value, bool):
        return value
    raise ArgumentError.here(f"{operation} got {value!r}", hint="Pass True or False.")


def checked_member(value: M, members: type[M], operation: str) -> M:
    """Return a member of an enum."""
    if isinstance(value, members):
        return value
    names = ", ".join(f"{members.__name__}.{name}" for name in members.__members__)
    raise ArgumentError.here(f"{operation} got {value!r}", hint=f"Pass {names}.")


def checked_path(value: str, operation: str) -> str:
    """Return a path as text that settings can hold."""
    text = str(value)
    if text.strip() and not set(text) & {",", "#"}:
        return text
    raise ArgumentError.here(
        f"{operation} got {value!r}", hint="Pass a path without a comma and without #."
    )


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
    """Return a duration in nanoseconds, None if it is none."""
    make = _NANOSECONDS.get(type(length))
    return None if make is None else make(length)


def length_of(value: Length, operation: str) -> timedelta:
    """Return a length of time."""
    length: timedelta | None = None
    if isinstance(value, timedelta):
        length = value
    elif isinstance(value, Duration):
        length = timedelta(milliseconds=value.to_millis())
    elif isinstance(value, Time):
        length = timedelta(milliseconds=value.to_milliseconds())
    elif type(value) is int:
        length = timedelta(milliseconds=value)
    if length is None or length < timedelta(0) or length % _MILLISECOND:
        raise ArgumentError.here(
            f"{operation} got {value!r}",
            hint="Pass whole milliseconds, 0 or more, or a timedelta, Duration or Time.",
        )
    return length


def milliseconds_of(length: timedelta) -> int:
    """Return a length in milliseconds."""
    return length // _MILLISECOND
