"""Checks of what setters are given, so that a mistake shows at the line that makes it."""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

from penstock.errors import ArgumentError

M = TypeVar("M", bound=Enum)


def checked_count(number: int, operation: str, minimum: int) -> int:
    """Return an integer from `minimum`.

    Raises:
        ArgumentError: It is none.
    """
    if type(number) is int and number >= minimum:
        return number
    raise ArgumentError.here(
        f"{operation} got {number!r}", hint=f"Pass an integer, {minimum} or more."
    )


def checked_flag(value: bool, operation: str) -> bool:  # noqa: FBT001 - it is checked here
    """Return a boolean.

    Raises:
        ArgumentError: It is none.
    """
    if isinstance(value, bool):
        return value
    raise ArgumentError.here(f"{operation} got {value!r}", hint="Pass True or False.")


def checked_member(value: M, members: type[M], operation: str) -> M:
    """Return a member of an enum.

    Raises:
        ArgumentError: It is none.
    """
    if isinstance(value, members):
        return value
    names = ", ".join(f"{members.__name__}.{name}" for name in members.__members__)
    raise ArgumentError.here(f"{operation} got {value!r}", hint=f"Pass {names}.")


def checked_path(value: str, operation: str) -> str:
    """Return a path as text that settings can hold.

    Raises:
        ArgumentError: It is none, is blank, or has a comma or a `#` in it.
    """
    text = str(value)
    if text.strip() and not set(text) & {",", "#"}:
        return text
    raise ArgumentError.here(
        f"{operation} got {value!r}", hint="Pass a path without a comma and without #."
    )
