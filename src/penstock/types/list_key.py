"""Lists as keys: an immutable tuple stands for the list.

    [1, [2]]    ListKey((1, ListKey((2,))))
    (1, [2])    TupleKey((1, ListKey((2,))))

As in Python no list equals a tuple. User functions get new lists at each call. They may change
these; the state of the key does not change.
"""

from __future__ import annotations

from typing import Any

from penstock.errors import KeyTypeError

CHANGED_HINT = (
    "Return a frozen dataclass instead of another, a frozenset of a set, bytes of a bytearray, or a "
    "tuple of sorted items of a dict from the key selector."
)
"""The hint of the error about a mutable key."""


class ListKey(tuple[Any, ...]):
    """A key that is a list."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        """Return whether the other one is a list with equal elements."""
        return type(other) is ListKey and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        """Return whether it is not equal."""
        return not self == other

    def __hash__(self) -> int:
        """Return a hash that tuples of the same elements do not have.

        Raises:
            KeyTypeError: An element is mutable and no list.
        """
        try:
            return hash((ListKey, tuple.__hash__(self)))
        except TypeError as cause:
            raise KeyTypeError(
                f"{self!r} cannot be a key: {cause}",
                hint=CHANGED_HINT,
            ) from cause

    def __repr__(self) -> str:
        """Return the text of the list."""
        return repr(selected_key(self))


class TupleKey(tuple[Any, ...]):
    """A key that is a tuple with a list in it; equality is that of tuples."""

    __slots__ = ()

    # Of two classes derived from tuple, Python asks the left one: a list would equal a tuple there.
    def __eq__(self, other: object) -> bool:
        """Return whether the other one is a tuple with equal elements."""
        return type(other) is not ListKey and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        """Return whether it is not equal."""
        return not self == other

    __hash__ = tuple.__hash__

    def __repr__(self) -> str:
        """Return the text of the tuple with its lists."""
        return repr(selected_key(self))


def immutable_key(key: Any) -> Any:
    """Return `key` with each list as a `ListKey`; `key` itself if it contains no list."""
    kind = type(key)
    if kind is list:
        return ListKey(map(immutable_key, key))
    if kind is tuple:
        parts = tuple(map(immutable_key, key))
        if _FROZEN.intersection(map(type, parts)):
            return TupleKey(parts)
    return key


def selected_key(key: Any) -> Any:
    """Return the key as the selector returned it, with new lists in place of each `ListKey`."""
    kind = type(key)
    if kind is ListKey:
        return list(map(selected_key, key))
    return tuple(map(selected_key, key)) if kind is TupleKey else key


_FROZEN = frozenset({ListKey, TupleKey})
