"""Names of time zones."""

from __future__ import annotations

import re
from datetime import UTC, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from penstock.config.parse import Parser
from penstock.errors import ConfigError

_OFFSET = re.compile(r"(?:GMT|UTC)?([+-])(\d\d?):?([0-5]\d)?")
_FURTHEST = timedelta(hours=18)


@lru_cache(maxsize=64)
def zone_named(name: str) -> tzinfo:
    """Return a zone.

    Raises:
        ConfigError: There is none of that name.
    """
    if name == "UTC":
        return UTC
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        length = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
        if length <= _FURTHEST:
            return timezone(-length if offset[1] == "-" else length)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ConfigError(
            f"there is no time zone {name!r}",
            hint="Use UTC, a name such as Europe/Berlin, or an offset such as GMT-08:00.",
        ) from None


def _known(name: str) -> str:
    zone_named(name)
    return name


ZONE = Parser("time zone", _known)
"""The name of a zone that there is."""
