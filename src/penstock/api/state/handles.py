"""State handles as functions see them, with PyFlink's names. Implemented in `penstock.state`.

All methods of keyed state are about the current key: that of the record or timer being
processed. A value read is the stored object, not a copy. Write it back after changing it, or
the change is lost at the next restart, at the latest.

What is not there reads as None. The annotations say so no more than PyFlink's do, so that programs
written for it type-check unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol, TypeVar

T = TypeVar("T")
IN_contra = TypeVar("IN_contra", contravariant=True)
OUT_co = TypeVar("OUT_co", covariant=True)
K = TypeVar("K")
V = TypeVar("V")


class State(Protocol):
    """What every state has."""

    def clear(self) -> None:
        """Remove what is stored."""


class ValueState(State, Protocol[T]):
    """One value per key."""

    def value(self) -> T:
        """Return the value, None if there is none."""

    def update(self, value: T | None) -> None:
        """Set the value; None removes it."""


class AppendingState(State, Protocol[IN_contra, OUT_co]):
    """Takes values in, gives something made of them."""

    def get(self) -> OUT_co:
        """Return what was made of the values added."""

    def add(self, value: IN_contra) -> None:
        """Add a value."""


class MergingState(AppendingState[IN_contra, OUT_co], Protocol[IN_contra, OUT_co]):
    """An appending state of which two can become one, as sessions do when they meet."""


class ReducingState(MergingState[T, T], Protocol[T]):
    """One value per key, combined with each value added; `get` is None before the first."""


class AggregatingState(MergingState[IN_contra, OUT_co], Protocol[IN_contra, OUT_co]):
    """The result of an `AggregateFunction` over the values added; None before the first."""


class ListState(MergingState[T, list[T]], Protocol[T]):
    """A list per key. `get` returns a copy, empty if there is nothing.

    Adding costs what is added, whatever the length of the list.
    """

    def add_all(self, values: Iterable[T]) -> None:
        """Append values."""

    def update(self, values: Iterable[T]) -> None:
        """Replace the elements."""

    def __iter__(self) -> Iterator[T]: ...


class ReadOnlyBroadcastState(Protocol[K, V]):
    """The pairs of a broadcast state, for functions that may not change them."""

    def get(self, key: K) -> V:
        """Return the value at `key`, None if there is none."""

    def contains(self, key: K) -> bool:
        """Return whether there is a pair at `key`."""

    def items(self) -> list[tuple[K, V]]:
        """Return all pairs, as they are now; their order is not defined."""

    def keys(self) -> list[K]:
        """Return the keys of all pairs."""

    def values(self) -> list[V]:
        """Return the values of all pairs."""

    def is_empty(self) -> bool:
        """Return whether there is no pair."""

    def __getitem__(self, key: K) -> V: ...

    def __contains__(self, key: K) -> bool: ...

    def __iter__(self) -> Iterator[K]: ...


class BroadcastState(ReadOnlyBroadcastState[K, V], State, Protocol[K, V]):
    """Pairs that every subtask of an operator has alike, not bound to a key."""

    def put(self, key: K, value: V) -> None:
        """Set the value at `key`; None is a value."""

    def put_all(self, dict_value: Mapping[K, V]) -> None:
        """Set many."""

    def remove(self, key: K) -> None:
        """Remove the pair at `key`, if there is one."""

    def __setitem__(self, key: K, value: V) -> None: ...

    def __delitem__(self, key: K) -> None: ...


class MapState(BroadcastState[K, V], Protocol[K, V]):
    """Pairs per key. One pair is read or written alone, however many there are."""
