"""The key being processed: what keyed state handles resolve against."""

from __future__ import annotations

from typing import Any


class KeyContext:
    """Holds the current key of one operator.

    Attributes:
        key: The current key; meaningful only while a record or timer is processed.
        group: Its key group.
        epoch: Number of the micro-batch, or of the key group in a batch run: whatever a handle
            remembers about entries is void when it changes.
    """

    __slots__ = ("epoch", "group", "key")

    def __init__(self) -> None:
        self.key: Any = None
        self.group = 0
        self.epoch = 0
