"""The current key, which keyed state handles use, and a cache of the state maps of a table by key group."""

from __future__ import annotations

from typing import Any

from penstock.state.backends.base import Table


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


class Parts(dict[int, Any]):
    """Key group to state map. A state map is the same object for the life of its table."""

    __slots__ = ("_table",)

    def __init__(self, table: Table) -> None:
        super().__init__()
        self._table = table

    def __missing__(self, key_group: int) -> Any:
        part = self[key_group] = self._table[key_group]
        return part
