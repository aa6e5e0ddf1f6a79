"""Dates and times that PostgreSQL has and Python has not, such as `infinity`, `44-03-15 BC` and `24:00:00`.

| policy | value |
|---|---|
| error | the job fails, with table, column, key and value |
| none | None |
| clamp | the least or greatest value of Python |
| text | the text of PostgreSQL, for a function that sends such rows elsewhere |

They are the same inside of arrays, ranges and rows.

Intervals are loaded here: the loader of psycopg makes other values of very long ones, and 0 of `infinity`.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from penstock.connectors.postgres.address import library

ERROR, NONE, CLAMP, TEXT = "error", "none", "clamp", "text"
POLICIES = (ERROR, NONE, CLAMP, TEXT)

_ENDS: Mapping[str, tuple[Any, Any]] = {
    "date": (dt.date.min, dt.date.max),
    "time": (dt.time.min, dt.time.max),
    "timetz": (dt.time.min.replace(tzinfo=dt.UTC), dt.time.max.replace(tzinfo=dt.UTC)),
    "timestamp": (dt.datetime.min, dt.datetime.max),  # noqa: DTZ901 - the type has no zone
    "timestamptz": (
        dt.datetime.min.replace(tzinfo=dt.UTC),
        dt.datetime.max.replace(tzinfo=dt.UTC),
    ),
    "interval": (dt.timedelta.min, dt.timedelta.max),
}
"""Type to the least and the greatest value of Python."""


@dataclass(frozen=True, slots=True)
class LoadContext:
    """The loaders of psycopg for texts, without a connection.

    Attributes:
        adapters: Its adapters.
        connection: None.
    """

    adapters: Any
    connection: None = None


_INTERVAL = re.compile(
    r"(?:([+-]?\d+) years? ?)?(?:([+-]?\d+) mons? ?)?(?:([+-]?\d+) days? ?)?"
    r"(?:([+-]?)(\d+):(\d+):(\d+)(?:\.(\d{1,6}))?)?"
)


def interval_of(text: str) -> dt.timedelta:
    """Return an interval as psycopg has it: a year is 365 days, a month 30.

    Raises:
        ValueError: It is none with an end.
        OverflowError: It is longer than Python's.

    Example:
        >>> interval_of("1 year 1 day -00:00:01.5") == dt.timedelta(days=366, seconds=-1.5)
        True
    """
    found = _INTERVAL.fullmatch(text)
    if found is None or not text:
        raise ValueError(f"can't parse interval {text!r}")
    years, months, days, sign, *clock, fraction = found.groups(default="0")
    hours, minutes, seconds = map(int, clock)
    time = dt.timedelta(
        hours=hours, minutes=minutes, seconds=seconds, microseconds=int(fraction.ljust(6, "0"))
    )
    try:
        whole = dt.timedelta(int(years) * 365 + int(months) * 30 + int(days))
        return whole - time if sign == "-" else whole + time
    except OverflowError as cause:
        raise OverflowError(f"interval {text!r} is longer than those of Python") from cause


@cache
def load_context(policy: str) -> LoadContext:
    """Return the loaders by which values beyond Python's are treated as a policy has it."""
    adapters = library().adapters
    changed = library().adapt.AdaptersMap(adapters)
    text = library().pq.Format.TEXT
    for name, ends in _ENDS.items():
        oid = adapters.types[name].oid
        usual = adapters.get_loader(oid, text)
        if name == "interval":
            usual = _loader_class(lambda *_: lambda data: interval_of(bytes(data).decode()))
        if policy != ERROR:
            usual = _loader_class(_otherwise(usual, policy, ends))
        changed.register_loader(oid, usual)
    return LoadContext(changed)


def _otherwise(usual: Any, policy: str, ends: tuple[Any, Any]) -> _Loads:
    """Return what loads by a loader, and what that refuses by a policy."""

    def made(oid: int, context: Any) -> Callable[[Any], Any]:
        load: Callable[[Any], Any] = usual(oid, context).load

        def loaded(data: Any) -> Any:
            try:
                return load(data)
            except (library().Error, ValueError, OverflowError):
                text = bytes(data).decode()
                if policy == CLAMP:
                    return ends[0 if text.startswith("-") or text.endswith("BC") else 1]
                return text if policy == TEXT else None

        return loaded

    return made


_Loads = Callable[[int, Any], Callable[[Any], Any]]


def _loader_class(loads: _Loads) -> Any:
    """Return a class of loaders for psycopg."""
    loader: Any = library().adapt.Loader

    class Beyond(loader):  # type: ignore[misc]
        """Loads what one function loads."""

        def __init__(self, oid: int, context: Any = None) -> None:
            super().__init__(oid, context)
            self._load = loads(oid, context)

        def load(self, data: Any) -> Any:
            """Return the value of a text."""
            return self._load(data)

    return Beyond
