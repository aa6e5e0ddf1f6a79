"""Parsers of option values, also of time zones, and their inverse.

A configuration stores text, so the command line, a file and the program have one format. For every
value `v` that `to_text` and the option accept, `parse(to_text(v)) == v`.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, timedelta, timezone, tzinfo
from enum import Enum
from functools import lru_cache, singledispatch
from typing import Generic, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from penstock.errors import ConfigError

T_co = TypeVar("T_co", covariant=True)
E = TypeVar("E", bound=Enum)

_QUANTITY = re.compile(r"([0-9]+)\s*([a-z]*)", re.ASCII)
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Parser(Generic[T_co]):
    """Turns the text form of an option into its value.

    Attributes:
        read: Returns the value; raises `ConfigError` for other text.
    """

    type_name: str
    read: Callable[[str], T_co]

    def __call__(self, text: str) -> T_co:
        """Return the value of `text`."""
        return self.read(text)


_DURATION_UNITS: dict[str, timedelta] = {
    **dict.fromkeys(("", "ms", "milli", "millis", "millisecond", "milliseconds"), _MILLISECOND),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), timedelta(seconds=1)),
    **dict.fromkeys(("m", "min", "minute", "minutes"), timedelta(minutes=1)),
    **dict.fromkeys(("h", "hour", "hours"), timedelta(hours=1)),
    **dict.fromkeys(("d", "day", "days"), timedelta(days=1)),
}

_MEMORY_UNITS: dict[str, int] = {
    **dict.fromkeys(("", "b", "bytes"), 1),
    **dict.fromkeys(("k", "kb", "kibibytes"), 1024),
    **dict.fromkeys(("m", "mb", "mebibytes"), 1024**2),
    **dict.fromkeys(("g", "gb", "gibibytes"), 1024**3),
    **dict.fromkeys(("t", "tb", "tebibytes"), 1024**4),
}

_DURATION_HINT = "Write a number and a unit: 250ms, 5s, 2min, 1h or 1d."
_MEMORY_HINT = "Write a number and a unit: 512kb, 64mb or 1g."


def _quantity(text: str) -> tuple[int, str] | None:
    match = _QUANTITY.fullmatch(text.strip().lower())
    return (int(match[1]), match[2]) if match else None


def parse_duration(value: str | timedelta) -> timedelta:
    """Return a duration of whole milliseconds, zero or more.

    >>> parse_duration("2 min")
    datetime.timedelta(seconds=120)
    """
    if isinstance(value, timedelta):
        if value < timedelta(0) or value % _MILLISECOND:
            raise ConfigError(
                f"a duration is a whole number of milliseconds, zero or more; got {value!r}",
                hint="Round it to milliseconds.",
            )
        return value
    quantity = _quantity(value)
    if quantity is None or quantity[1] not in _DURATION_UNITS:
        raise ConfigError(
            f"a duration is a number and one of ms, s, min, h, d; got {value!r}",
            hint=_DURATION_HINT,
        )
    number, unit = quantity
    try:
        return number * _DURATION_UNITS[unit]
    except OverflowError as cause:
        raise ConfigError(
            f"{value!r} is longer than {timedelta.max}", hint=_DURATION_HINT
        ) from cause


def parse_memory(text: str) -> int:
    """Return a number of bytes; units are powers of 1024, as in Flink.

    >>> parse_memory("64mb")
    67108864
    """
    quantity = _quantity(text)
    if quantity is None or quantity[1] not in _MEMORY_UNITS:
        raise ConfigError(
            f"a memory size is a number and one of b, kb, mb, gb, tb; got {text!r}",
            hint=_MEMORY_HINT,
        )
    number, unit = quantity
    return number * _MEMORY_UNITS[unit]


def parse_bool(text: str) -> bool:
    """Return the truth value of `true` or `false`, in any case."""
    values = {"true": True, "false": False}
    try:
        return values[text.strip().lower()]
    except KeyError as cause:
        raise ConfigError(
            f"a boolean is true or false; got {text!r}", hint="Write true or false."
        ) from cause


def parse_int(text: str) -> int:
    """Return a decimal integer."""
    if not _INTEGER.fullmatch(text.strip()):
        raise ConfigError(
            f"an integer is written in decimal digits; got {text!r}",
            hint="Write digits only, such as 4.",
        )
    return int(text)


def parse_float(text: str) -> float:
    """Return a floating-point number."""
    try:
        return float(text)
    except ValueError as cause:
        raise ConfigError(
            f"{text!r} is not a number", hint="Write a number, such as 0.5."
        ) from cause


def parse_bytes(text: str) -> bytearray:
    """Return the bytes that base64 text stands for."""
    try:
        return bytearray(base64.b64decode(text, validate=True))
    except ValueError as cause:
        raise ConfigError(
            f"{text!r} is not base64", hint="Store bytes with set_bytearray."
        ) from cause


def parse_list(text: str) -> list[str]:
    r"""Return the elements of `a;b`, `a,b` in brackets, lines `- a` or a Python list; empty for blank.

    >>> parse_list("a;b"), parse_list("[a, 'b']"), parse_list("- a\n- 'b'")
    (['a', 'b'], ['a', 'b'], ['a', 'b'])
    """
    text = text.strip()
    if text.startswith("- "):
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if all(line.startswith("- ") for line in lines):
            return [line[2:].strip().strip("'\"") for line in lines]
    if text.startswith("[") and text.endswith("]"):
        separator, text = ",", text[1:-1]
    else:
        separator = ";"
    return [part.strip().strip("'\"") for part in text.split(separator) if part.strip()]


def parse_str(text: str) -> str:
    """Return `text` unchanged."""
    return text


def parse_enum(members: type[E]) -> Parser[E]:
    """Return a parser of the names of `members`, in any case."""
    names = tuple(members.__members__)

    def read(text: str) -> E:
        try:
            return members[text.strip().upper()]
        except KeyError as cause:
            raise ConfigError(
                f"expected one of {', '.join(names)}; got {text!r}",
                hint=f"Write one of {', '.join(names)}.",
            ) from cause

    return Parser(" or ".join(f"`{name}`" for name in names), read)


DURATION: Parser[timedelta] = Parser("duration", parse_duration)
MEMORY: Parser[int] = Parser("memory size", parse_memory)
BOOLEAN: Parser[bool] = Parser("boolean", parse_bool)
INTEGER: Parser[int] = Parser("integer", parse_int)
NUMBER: Parser[float] = Parser("number", parse_float)
STRING: Parser[str] = Parser("string", parse_str)


@singledispatch
def to_text(value: object) -> str:
    """Return the text form of an option value."""
    raise ConfigError(
        f"a configuration value is a string, number, boolean, timedelta or enum member; "
        f"got {value!r} of type {type(value).__name__}",
        hint="Pass one of these types; call remove_config to unset a key.",
    )


@to_text.register
def _(value: str) -> str:
    return value


@to_text.register
def _(value: bool) -> str:  # noqa: FBT001 - the dispatch is on the type
    return "true" if value else "false"


@to_text.register
def _(value: int) -> str:
    return str(int(value))


@to_text.register
def _(value: float) -> str:
    return repr(float(value))


@to_text.register
def _(value: timedelta) -> str:
    return f"{parse_duration(value) // _MILLISECOND} ms"


@to_text.register
def _(value: Enum) -> str:
    return value.name


_OFFSET = re.compile(r"(?:GMT|UTC)?([+-])(\d\d?):?([0-5]\d)?")
_FURTHEST = timedelta(hours=18)


@lru_cache(maxsize=64)
def zone_named(name: str) -> tzinfo:
    """Return a zone."""
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
