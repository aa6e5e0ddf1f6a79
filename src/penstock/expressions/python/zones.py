"""Zones: instants as times of a zone and back, as Java has them.

A time that a zone skips is as much later as it skips, one that there is twice is the first of them.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from penstock.errors import ExpressionError


def local_of(moment: datetime, zone: tzinfo) -> datetime:
    """Return the time of a zone at an instant, without the zone."""
    if zone is UTC:
        return moment.replace(tzinfo=None)
    try:
        return moment.astimezone(zone).replace(tzinfo=None, fold=0)
    except OverflowError:
        raise _no_year(moment) from None


def instant_at(local: datetime, zone: tzinfo) -> datetime:
    """Return the instant at which a zone has a time."""
    try:
        return local.replace(tzinfo=zone, fold=0).astimezone(UTC)
    except OverflowError:
        raise _no_year(local) from None


def _no_year(moment: datetime) -> ExpressionError:
    return ExpressionError(
        f"{moment} is in no year from 1 to 9999 in the other zone", hint="Guard it with CASE."
    )
