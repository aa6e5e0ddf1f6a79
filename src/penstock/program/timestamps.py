"""The settings of an operator that assigns timestamps and makes watermarks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from penstock.program.watermark_generator import WatermarkGenerator

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class ColumnTimestamps:
    """An assigner that takes the timestamp from a column: epoch milliseconds, or a time; one without zone is UTC.

    Attributes:
        name: Name of the column.
        at: How a record is asked for it: the name, or the position in a tuple.
    """

    name: str
    at: str | int

    def __call__(self, value: Any, timestamp: int) -> Any:
        """Return the timestamp of a record; what is no time is returned as it is, and refused by the caller."""
        del timestamp
        found = value[self.at]
        if not isinstance(found, datetime):
            return found
        known = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
        return (known - _EPOCH) // _MILLISECOND


@dataclass(frozen=True, slots=True)
class TimestampSpec:
    """The settings of an operator that assigns timestamps and makes watermarks.

    Attributes:
        assigner: (value, previous timestamp) to epoch milliseconds; None keeps them.
        out_of_orderness_ms: The watermark is greatest timestamp minus this minus 1; None
            makes no watermarks.
        make_generator: Makes the user's own watermark generators, given the runtime context;
            then there is no out-of-orderness.
        idle_ms: Time without records after which a split is idle; None is never.
    """

    assigner: Callable[[Any, int], int] | None
    out_of_orderness_ms: int | None
    make_generator: Callable[[Any], WatermarkGenerator] | None = None
    idle_ms: int | None = None
