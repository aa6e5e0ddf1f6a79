"""Value state: one value per key."""

from __future__ import annotations

from typing import Any

from penstock.state.backend import StateTable
from penstock.state.key_context import KeyContext


class TableValueState:
    """`ValueState` over a table; resolves the current key at every call."""

    __slots__ = ("_changed", "_context", "_entries")

    def __init__(self, table: StateTable, context: KeyContext) -> None:
        self._entries = table.entries
        self._changed = table.changed
        self._context = context

    def value(self) -> Any:
        """Return the value of the current key, None if there is none."""
        return self._entries.get(self._context.key)

    def update(self, value: Any) -> None:
        """Set the value of the current key; None removes it (as in Flink)."""
        key = self._context.key
        if value is None:
            self._entries.pop(key, None)
        else:
            self._entries[key] = value
        self._changed.add(key)

    def clear(self) -> None:
        """Remove the value of the current key."""
        key = self._context.key
        self._entries.pop(key, None)
        self._changed.add(key)
