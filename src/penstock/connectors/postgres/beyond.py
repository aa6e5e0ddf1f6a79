"""Dates and times that PostgreSQL has and Python has not, such as `infinity`, `44-03-15 BC` and `24:00:00`.

| policy | value |
|---|---|
| error | the job fails, with the column and the value |
| none | None |
| clamp | the least or greatest value of Python |

They are the same inside of arrays, ranges and rows.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from penstock.connectors.postgres.address import library

ERROR, NONE, CLAMP = "error", "none", "clamp"
POLICIES = (ERROR, NONE, CLAMP)

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


@cache
def load_context(policy: str) -> LoadContext:
    """Return the loaders by which values beyond Python's are treated as a policy has it."""
    adapters = library().adapters
    if policy == ERROR:
        return LoadContext(adapters)
    changed = library().adapt.AdaptersMap(adapters)
    text = library().pq.Format.TEXT
    for name, ends in _ENDS.items():
        oid = adapters.types[name].oid
        usual = adapters.get_loader(oid, text)
        changed.register_loader(oid, _loader_class(usual, ends if policy == CLAMP else None))
    return LoadContext(changed)


def _loader_class(usual: Any, ends: tuple[Any, Any] | None) -> Any:
    loader: Any = library().adapt.Loader

    class Beyond(loader):  # type: ignore[misc]
        """Loads what psycopg loads, and what that refuses by the policy."""

        def __init__(self, oid: int, context: Any = None) -> None:
            super().__init__(oid, context)
            self._load: Callable[[Any], Any] = usual(oid, context).load

        def load(self, data: Any) -> Any:
            """Return the value of a text."""
            try:
                return self._load(data)
            except (library().Error, ValueError, OverflowError):
                if ends is None:
                    return None
                text = bytes(data)
                return ends[0 if text.startswith(b"-") or text.endswith(b"BC") else 1]

    return Beyond
