"""The life cycle of function objects: `open` and `close`."""

from __future__ import annotations

from typing import Any

_OURS = "penstock.api."
"""Package of the base classes of functions."""


def has_life_cycle(function: Any) -> bool:
    """Return whether a function overrides `open` or `close`, and so may access state.

    A plain callable has neither, and those of our base classes do nothing.
    """
    return has_open(function) or _is_own(function, "close")


def has_open(function: Any) -> bool:
    """Return whether a function has an `open` of its own, in which it may ask for state."""
    return _is_own(function, "open")


def _is_own(function: Any, name: str) -> bool:
    method = getattr(function, name, None)
    return method is not None and not str(getattr(method, "__module__", "")).startswith(_OURS)
