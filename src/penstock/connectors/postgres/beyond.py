"""Python values of the text that PostgreSQL writes, in changes and in COPY alike, also where Python has no such value.

The loaders are psycopg's, so values are what a query with psycopg gives. A type without one is text. Dates and times such as
`infinity`, `44-03-15 BC` and `24:00:00` are beyond Python's, also inside of arrays, ranges and rows:

| policy | value |
|---|---|
| error | the job fails, with table, column, key and value |
| none | None |
| clamp | the least or greatest value of Python |
| text | the text of PostgreSQL, for a function that sends such rows elsewhere |

Intervals are loaded here: the loader of psycopg makes other values of very long ones, and 0 of `infinity`.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from penstock.connectors.postgres.client import library
from penstock.connectors.postgres.values import Column
from penstock.errors import SourceError

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

    Example:
        >>> interval_of("1 year 1 day -00:00:01.5") == dt.timedelta(days=366, seconds=-1.5)
        True
    """
    match = _INTERVAL.fullmatch(text)
    if match is None or not text:
        raise ValueError(f"can't parse interval {text!r}")
    years, months, days, sign, *clock, fraction = match.groups(default="0")
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
    """Return a loader that applies a policy to values that another loader refuses."""

    def loads(oid: int, context: Any) -> Callable[[Any], Any]:
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

    return loads


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


Load = Callable[[bytes], Any]

_FIRST_USERS_OID = 16_384

_BASES = """\
with recursive base(oid, type) as (
    select oid, oid from pg_catalog.pg_type where oid = any(%s)
    union all
    select base.oid, t.typbasetype from base join pg_catalog.pg_type t on t.oid = base.type
    where t.typtype = 'd')
select base.oid, base.type from base join pg_catalog.pg_type t on t.oid = base.type
where t.typtype <> 'd'"""


@lru_cache(maxsize=1024)
def loader(type_oid: int, beyond: str = ERROR) -> Load:
    """Return the loader of a type, which makes values of texts."""
    context = load_context(beyond)
    loader_class = context.adapters.get_loader(type_oid, library().pq.Format.TEXT)
    if loader_class is None:
        return bytes.decode
    load: Load = loader_class(type_oid, context).load
    return load


def base_types(connection: Any, type_oids: Sequence[int]) -> dict[int, int]:
    """Return type to type: a domain to what it is a domain of, any other type to itself."""
    bases = {oid: oid for oid in type_oids}
    of_users = [oid for oid in bases if oid >= _FIRST_USERS_OID]
    if of_users:
        bases.update(connection.execute(_BASES, (of_users,)).fetchall())
    return bases


def loaded_columns(
    table: str, columns: Sequence[Column], texts: Sequence[Sequence[bytes | None]]
) -> list[list[Any]]:
    """Return the values of rows, column by column."""
    loads = [loader(column.type_oid, column.beyond) for column in columns]
    try:
        return [
            [None if text is None else load(text) for text in of]
            for load, of in zip(loads, texts, strict=True)
        ]
    except Exception:
        for row in zip(*texts, strict=True):
            loaded_row(table, columns, loads, row)
        raise


def loaded_row(
    table: str, columns: Sequence[Column], loads: Sequence[Load], texts: Sequence[bytes | None]
) -> list[Any]:
    """Return the values of a row."""
    values = list[Any]()
    for column, load, text in zip(columns, loads, texts, strict=True):
        try:
            values.append(None if text is None else load(text))
        except Exception as cause:
            key = ", ".join(
                f"{field.name} = {of.decode(errors='replace')}"
                for field, of in zip(columns, texts, strict=True)
                if field.is_key and of is not None
            )
            raise SourceError(
                f"a value of column {column.name!r} is none in Python: {cause}; its row in table {table} has "
                + (f"the key {key}" if key else "no key"),
                hint="Read it as None, as the nearest value that Python has, or as text, which a function may send elsewhere: "
                "set_values_beyond_python('none'), ('clamp') or ('text'). Or leave the column out of the publication.",
            ) from cause
    return values
