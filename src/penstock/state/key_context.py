"""The key being processed: what keyed state handles resolve against."""

from __future__ import annotations

from typing import Any


class KeyContext:
    """Holds the current key of one operator.

    Attributes:
        key: The current key; meaningful only while a record or timer is processed.
    """

    __slots__ = ("key",)

    def __init__(self) -> None:
        self.key: Any = None
