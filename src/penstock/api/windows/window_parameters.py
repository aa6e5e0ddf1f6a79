"""Type parameters of windows; see `type_parameters`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    W = TypeVar("W", default=Any)
    W2 = TypeVar("W2", default=Any)
    W_co = TypeVar("W_co", default=Any, covariant=True)
else:
    from typing import TypeVar

    W = TypeVar("W")
    """Windows."""
    W2 = TypeVar("W2")
    """Windows, in a class inside one that has windows of its own."""
    W_co = TypeVar("W_co", covariant=True)
    """Windows that are only given out."""
