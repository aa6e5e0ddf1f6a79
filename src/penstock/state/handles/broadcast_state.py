"""Broadcast state: pairs of the operator, without a key.

It is map state whose current key is always None and whose key group is `BROADCAST_GROUP`, which no
record has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Protocol

from penstock.state.handles.key_context import HandleParameters, KeyContext
from penstock.state.handles.map_state import TableMapState, map_state
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


def broadcast_state(parameters: HandleParameters) -> TableMapState:
    """Return the handle of a broadcast state."""
    nowhere = KeyContext()
    nowhere.group = BROADCAST_GROUP
    return map_state(replace(parameters, context=nowhere))


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
