"""The current key, which keyed state handles use."""

from __future__ import annotations

from typing import Any


class KeyContext:
    """The current key of one operator.

    Attributes:
        key: The current key; valid only while a record or timer is processed.
        group: Its key group.
        epoch: Number of the micro-batch, or of the key group in a batch run. What a handle
            caches is invalid when it changes.
    """

    __slots__ = ("epoch", "group", "key")

    def __init__(self) -> None:
        self.key: Any = None
        self.group = 0
        self.epoch = 0
