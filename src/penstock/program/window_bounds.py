"""Bounds of windows as timestamps of results."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from penstock.errors import ExpressionError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def zone_of_bounds(kind: Any) -> tzinfo | None:
    """Return the zone of the bounds of a type: UTC of instants, none of timestamps without a zone."""
    return UTC if getattr(kind, "name", "") == "TimestampLtz" else None


def moments_of(
    start: int, end: int, zone: tzinfo | None, origin: Any = None
) -> tuple[datetime, datetime]:
    """Return the bounds of a window from milliseconds since 1970.

    Raises:
        ExpressionError: They are no timestamps.
    """
    epoch = _EPOCH.replace(tzinfo=zone)
    try:
        return epoch + timedelta(milliseconds=start), epoch + timedelta(milliseconds=end)
    except OverflowError as refused:
        raise ExpressionError(
            f"a window from {start} ms to {end} ms since 1970 has bounds that are no timestamps",
            hint="Timestamps are of the years 1 to 9999. Correct the time of the records, or leave out the bounds.",
            origin=origin,
        ) from refused
