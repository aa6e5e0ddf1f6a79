"""A record with the index of its input."""

from __future__ import annotations

from typing import Any, NamedTuple


class TaggedUnion(NamedTuple):
    """The record that assigners, triggers and evictors of co-groups and joins receive.

    Attributes:
        side: 0 for the first input, 1 for the second.
        value: The record.

    Example:
        >>> left = TaggedUnion(0, "order")
        >>> left.is_one(), left.get_one(), left.is_two(), left.get_two()
        (True, 'order', False, None)
    """

    side: int
    value: Any

    def is_one(self) -> bool:
        """Return whether the record is of the first input."""
        return self.side == 0

    def is_two(self) -> bool:
        """Return whether the record is of the second input."""
        return self.side == 1

    def get_one(self) -> Any:
        """Return the record of the first input, None if it is of the second."""
        return None if self.side else self.value

    def get_two(self) -> Any:
        """Return the record of the second input, None if it is of the first."""
        return self.value if self.side else None
