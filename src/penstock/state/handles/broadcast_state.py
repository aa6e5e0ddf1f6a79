"""Broadcast state: pairs of the operator, without a key.

It is map state whose current key is always None and whose key group is `BROADCAST_GROUP`, which no
record has.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from penstock.state.backends.base import Table
from penstock.state.handles.key_context import KeyContext
from penstock.state.handles.map_state import TableMapState, TypedMapState
from penstock.state.schema.declared_form import Form
from penstock.state.schema.entry_schema import BROADCAST_GROUP


class Pairs(Protocol):
    """The methods of map state that a read-only view uses."""

    def get(self, key: Any) -> Any:
        """Return the value at `key`, None if there is none."""

    def contains(self, key: Any) -> bool:
        """Return whether there is a pair at `key`."""

    def items(self) -> list[tuple[Any, Any]]:
        """Return a copy of all pairs."""

    def keys(self) -> list[Any]:
        """Return the keys of all pairs."""

    def values(self) -> list[Any]:
        """Return the values of all pairs."""

    def is_empty(self) -> bool:
        """Return whether there is no pair."""


def broadcast_state(
    table: Table, key_form: Form | None = None, value_form: Form | None = None
) -> TableMapState:
    """Return the `BroadcastState` over a table."""
    nowhere = KeyContext()
    nowhere.group = BROADCAST_GROUP
    if key_form is None and value_form is None:
        return TableMapState(table, nowhere)
    return TypedMapState(table, nowhere, key_form, value_form)


class ReadOnlyPairs:
    """`ReadOnlyBroadcastState`: a view without methods that write."""

    __slots__ = ("_pairs",)

    def __init__(self, pairs: Pairs) -> None:
        self._pairs = pairs

    def get(self, key: Any) -> Any:
        """Return the value at `key`, None if there is none."""
        return self._pairs.get(key)

    def contains(self, key: Any) -> bool:
        """Return whether there is a pair at `key`."""
        return self._pairs.contains(key)

    def items(self) -> list[tuple[Any, Any]]:
        """Return a copy of all pairs, in no defined order."""
        return self._pairs.items()

    def keys(self) -> list[Any]:
        """Return the keys of all pairs."""
        return self._pairs.keys()

    def values(self) -> list[Any]:
        """Return the values of all pairs."""
        return self._pairs.values()

    def is_empty(self) -> bool:
        """Return whether there is no pair."""
        return self._pairs.is_empty()

    def __getitem__(self, key: Any) -> Any:
        return self.get(key)

    def __contains__(self, key: Any) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())
