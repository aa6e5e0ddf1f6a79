"""The settings of interval joins and regular joins, and a record with the index of its input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from penstock.types import TypeInformation
from penstock.types.row import Row


class JoinKind(Enum):
    """Rows that a join emits."""

    INNER = "Inner join"
    """Pairs."""

    LEFT = "Left join"
    """Pairs, and rows of the left side without a match, beside None."""

    RIGHT = "Right join"
    """Pairs, and rows of the right side without a match, beside None."""

    FULL = "Full join"
    """Pairs, and rows of either side without a match."""

    SEMI = "Semi join"
    """Rows of the left side that match, each as often as it is there."""

    ANTI = "Anti join"
    """Rows of the left side that match nothing, each as often as it is there."""

    @property
    def is_existence(self) -> bool:
        """True if results are rows of the left side only."""
        return self in (JoinKind.SEMI, JoinKind.ANTI)

    def pads(self, side: int) -> bool:
        """Return whether the join emits rows of a side (0 is left) without a match, beside None."""
        return self in _PADDED[side]

    def watches(self, side: int) -> bool:
        """Return whether results depend on whether a row of a side has a match."""
        return self.pads(side) or (self is JoinKind.SEMI and side == 0)


_PADDED = (
    (JoinKind.LEFT, JoinKind.FULL, JoinKind.ANTI),
    (JoinKind.RIGHT, JoinKind.FULL),
)
"""Kinds of joins that emit rows without a match, of the left and of the right side."""


@dataclass(frozen=True, slots=True)
class JoinSpec:
    """One regular join.

    Attributes:
        record_types: Type of the records of the left and the right side.
        ttl_ms: Time in milliseconds after the last change of a row at which it expires; None keeps
            rows for ever.
        side_ttls_ms: The same for the left and the right side, where it is set for one; None takes `ttl_ms`.
        condition: Further condition for a match of two rows with equal keys; None if there is none.
    """

    kind: JoinKind
    record_types: tuple[TypeInformation, TypeInformation]
    ttl_ms: int | None = None
    side_ttls_ms: tuple[int | None, int | None] = (None, None)
    condition: Callable[[Any, Any], bool] | None = None


@dataclass(frozen=True, slots=True)
class IntervalSpec:
    """Pairs (left, right) of one key with `lower <= right time - left time <= upper`.

    Attributes:
        lower: Milliseconds, included.
        upper: Milliseconds, included; not less than `lower`.
        types: Types of left and right records.
        late_tags: Ids of the output tags of late left and right records; None drops them.
        kind: Pairs that are passed to the function.
        condition: Further condition for a pair, beside its times; None if there is none.
        times: Function of each side that returns the time of a record, None if the record has none and never matches;
            without it, the timestamp.
        is_relational: Whether a key with NULL matches nothing, and a record of the watermark's time is late.
    """

    lower: int
    upper: int
    types: tuple[TypeInformation, TypeInformation]
    late_tags: tuple[str | None, str | None] = (None, None)
    kind: JoinKind = JoinKind.INNER
    condition: Callable[[Any, Any], bool] | None = None
    times: tuple[Callable[[Any], int | None], ...] | None = None
    is_relational: bool = False


def reaches_ms(lower: int, upper: int) -> tuple[int, int]:
    """Return the longest time behind their own that left and right records can be matched."""
    return max(upper, 0), max(-lower, 0)


def is_null_key(key: Any) -> bool:
    """Return whether a key matches nothing, as in SQL: it is None or has a field that is None."""
    return key is None or (isinstance(key, (tuple, Row)) and None in tuple(key))


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
