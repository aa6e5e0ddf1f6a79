"""The life cycle of function objects: `open` and `close`."""

from __future__ import annotations

from typing import Any

_OURS = "penstock.api."


def has_life_cycle(function: Any) -> bool:
    """Return whether a function overrides `open` or `close`, and so may access state.

    A plain callable has neither, and those of our base classes do nothing.
    """
    return any(_is_own(getattr(function, name, None)) for name in ("open", "close"))


def _is_own(method: Any) -> bool:
    return method is not None and not str(getattr(method, "__module__", "")).startswith(_OURS)
