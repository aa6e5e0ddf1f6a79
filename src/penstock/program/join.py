"""What interval joins and regular joins are, as values that the API writes and the runtime reads."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from penstock.types.information import TypeInformation


class JoinKind(Enum):
    """Which rows appear that have no match: a pair of flags, for the left and the right side."""

    INNER = (False, False)
    """None."""

    LEFT = (True, False)
    """Those of the left side, with None for the right one."""

    RIGHT = (False, True)
    """Those of the right side, with None for the left one."""

    FULL = (True, True)
    """Those of both sides."""

    def pads(self, side: int) -> bool:
        """Return whether rows of a side (0 is left) appear without a match."""
        return self.value[side]


@dataclass(frozen=True, slots=True)
class JoinSpec:
    """One regular join.

    Attributes:
        kind: Which rows appear that have no match.
        record_types: Type of the records of the left and the right side.
        ttl_ms: Age at which a row nobody changed any more is forgotten, in milliseconds; None
            keeps rows for ever.
    """

    kind: JoinKind
    record_types: tuple[TypeInformation, TypeInformation]
    ttl_ms: int | None = None


@dataclass(frozen=True, slots=True)
class IntervalSpec:
    """Pairs (left, right) of one key with `lower <= right time - left time <= upper`.

    Attributes:
        lower: Milliseconds, included.
        upper: Milliseconds, included; not less than `lower`.
        types: Of left and right records.
        late_tags: Of late left and right records: ids of output tags, None drops them.
    """

    lower: int
    upper: int
    types: tuple[TypeInformation, TypeInformation]
    late_tags: tuple[str | None, str | None] = (None, None)
