"""Lists as keys: by value, in a form that cannot be changed.

    [1, [2]]    ListKey((1, ListKey((2,))))
    (1, [2])    TupleKey((1, ListKey((2,))))

As in Python no list equals a tuple. Functions are shown the lists again, made anew each time, so they
can change what they are given without any effect on the state of the key.
"""

from __future__ import annotations

from typing import Any

from penstock.errors import KeyTypeError

CHANGED_HINT = (
    "Return a frozen dataclass instead of another, a frozenset of a set, bytes of a bytearray, or a "
    "tuple of sorted items of a dict from the key selector."
)
"""What to do about a key that can be changed."""


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
            KeyTypeError: An element can be changed, and is no list.
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
        return repr(thawed(self))


class TupleKey(tuple[Any, ...]):
    """A key that is a tuple with a list in it; equality is that of tuples."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return the text of the tuple with its lists."""
        return repr(thawed(self))


def frozen(key: Any) -> Any:
    """Return `key` with lists as `ListKey`; `key` itself if no list is in it."""
    kind = type(key)
    if kind is list:
        return ListKey(map(frozen, key))
    if kind is tuple:
        parts = tuple(map(frozen, key))
        if _FROZEN.intersection(map(type, parts)):
            return TupleKey(parts)
    return key


def thawed(key: Any) -> Any:
    """Return what the key selector returned: with lists, which are new ones."""
    kind = type(key)
    if kind is ListKey:
        return list(map(thawed, key))
    return tuple(map(thawed, key)) if kind is TupleKey else key


_FROZEN = frozenset({ListKey, TupleKey})
