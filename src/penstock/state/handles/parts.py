"""A cache of the state maps of a table by key group, for handles."""

from __future__ import annotations

from typing import Any

from penstock.state.backends.base import Table


class Parts(dict[int, Any]):
    """Key group to state map. A state map is the same object for the life of its table."""

    __slots__ = ("_table",)

    def __init__(self, table: Table) -> None:
        super().__init__()
        self._table = table

    def __missing__(self, key_group: int) -> Any:
        part = self[key_group] = self._table[key_group]
        return part
