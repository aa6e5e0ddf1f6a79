"""Whether a function object takes part in its own life cycle."""

from __future__ import annotations

from typing import Any

_OURS = "penstock.api."


def has_life_cycle(function: Any) -> bool:
    """Return whether a function has an `open` or `close` of its own: it may get hold of state.

    A plain callable has none, and those of our base classes do nothing.
    """
    return any(_is_own(getattr(function, name, None)) for name in ("open", "close"))


def _is_own(method: Any) -> bool:
    return method is not None and not str(getattr(method, "__module__", "")).startswith(_OURS)
