"""Patterns of dates and times: Java's letters, read and written in two styles, as in Flink.

| style | Java's class | functions | a text that differs |
|---|---|---|---|
| `STRICT` | DateTimeFormatter | TO_TIMESTAMP, DATE_FORMAT | the pattern has the length of each number |
| `LENIENT` | SimpleDateFormat | TO_DATE, UNIX_TIMESTAMP, FROM_UNIXTIME | numbers may be longer, overflow, and be followed by anything |

Names are English. Letters whose meaning depends on a locale, such as the week of a year, are refused.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from enum import Enum
from functools import lru_cache
from itertools import pairwise

from penstock.errors import ExpressionError

_MONTHS = tuple(calendar.month_name)[1:]
_DAYS = tuple(calendar.day_name)
_HALVES = ("AM", "PM")
_ZONE = r"(?:(?:GMT|UTC)?[+-]\d{1,2}(?::?\d\d)?|UTC|GMT|Z)"
_PIECES = re.compile(r"''|'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']|'")
_SLIDING = 1946
"""The first of the hundred years that two digits may mean in the lenient style; Java takes the last eighty and the next twenty."""


ZONE_LETTERS = "zZX"
"""Letters of offsets and names of zones, which a TIMESTAMP does not have."""


class Style(Enum):
    """Style of a pattern."""

    STRICT = "strict"
    LENIENT = "lenient"


@dataclass(frozen=True, slots=True)
class Letters:
    """A letter of a pattern, written some times.

    Attributes:
        count: How often.
    """

    letter: str
    count: int

    def __str__(self) -> str:
        return self.letter * self.count


Moment = datetime
_NUMBERS: Mapping[str, Callable[[Moment], int]] = {
    "y": lambda t: t.year,
    "u": lambda t: t.year,
    "M": lambda t: t.month,
    "L": lambda t: t.month,
    "d": lambda t: t.day,
    "D": lambda t: t.timetuple().tm_yday,
    "H": lambda t: t.hour,
    "k": lambda t: t.hour or 24,
    "K": lambda t: t.hour % 12,
    "h": lambda t: t.hour % 12 or 12,
    "m": lambda t: t.minute,
    "s": lambda t: t.second,
    "S": lambda t: t.microsecond // 1000,
    "Q": lambda t: (t.month + 2) // 3,
}
"""Letter to the number it stands for."""

_LONGEST = {
    Style.STRICT: {"y": 19, "u": 19, "M": 4, "L": 4, "D": 3, "S": 9, "E": 4, "a": 1, "Q": 2}
    | dict.fromkeys("zZX", 3),
    Style.LENIENT: dict.fromkeys("yMLdDHkKhmsSEauzZX", 19),
}
_TWO = 2


@dataclass(frozen=True, slots=True)
class DatePattern:
    """A pattern.

    Attributes:
        parts: Letters, and texts that stand for themselves.
    """

    text: str
    style: Style
    parts: tuple[Letters | str, ...]

    @property
    def has_zone(self) -> bool:
        """True if it has letters of zones."""
        return any(part.letter in ZONE_LETTERS for part in self.parts if isinstance(part, Letters))

    def written(self, moment: Moment) -> str:
        """Return a moment as text; one with a zone for letters of zones."""
        return "".join(
            part if isinstance(part, str) else self._written(part, moment) for part in self.parts
        )

    def _written(self, part: Letters, moment: Moment) -> str:
        letter, count = part.letter, part.count
        if letter == "a":
            return _HALVES[moment.hour // 12]
        if letter == "E" or (letter in "ML" and count > _TWO):
            name = _DAYS[moment.weekday()] if letter == "E" else _MONTHS[moment.month - 1]
            return name if count > _TWO + 1 else name[:3]
        if letter in ZONE_LETTERS:
            return _zone_text(part, moment)
        if letter == "u" and self.style is Style.LENIENT:
            return f"{moment.isoweekday():0{count}}"
        if letter == "S" and self.style is Style.STRICT:
            return f"{moment.microsecond:06}000"[:count]
        number = _NUMBERS[letter](moment)
        if letter in "yu" and count == _TWO:
            number %= 100
        return f"{number:0{count}}"

    def read(self, text: str) -> Moment | None:
        """Return the moment that a text is, None if it is none.

        It has a zone where the text has one and the style is lenient.
        """
        expression = _expression(self)
        is_strict = self.style is Style.STRICT
        match = expression.fullmatch(text) if is_strict else expression.match(text)
        if match is None:
            return None
        letters = [part for part in self.parts if isinstance(part, Letters)]
        fields = {
            part.letter: _value(part, value, self.style)
            for part, value in zip(letters, match.groups(), strict=True)
        }
        try:
            return _SETTLED[self.style](fields)
        except (ValueError, OverflowError):
            return None


def _zone_text(part: Letters, moment: Moment) -> str:
    offset = moment.utcoffset() or timedelta()
    minutes = abs(offset) // timedelta(minutes=1)
    sign = "-" if offset < timedelta() else "+"
    hour, minute = f"{minutes // 60:02}", f"{minutes % 60:02}"
    if part.letter == "z":
        name = moment.tzname() or "UTC"
        return name if name[0].isalpha() else f"GMT{sign}{hour}:{minute}"
    if part.letter == "Z":
        return f"{sign}{hour}{minute}"
    if not minutes:
        return "Z"
    return sign + (hour, hour + minute, f"{hour}:{minute}")[min(part.count, 3) - 1]


@lru_cache(maxsize=256)
def pattern_of(text: str, style: Style) -> DatePattern:
    """Return a pattern."""
    parts: list[Letters | str] = []
    for match in _PIECES.finditer(text):
        piece = match[0]
        if match[2] is not None:
            longest = _LONGEST[style].get(piece[0], 2 if piece[0] in "dHkKhms" else 0)
            if len(piece) > longest:
                raise _wrong(text, repr(piece), style)
            parts.append(Letters(piece[0], len(piece)))
        elif piece == "'" or (piece in "[]{}#" and style is Style.STRICT):
            raise _wrong(text, "a quote without an end" if piece == "'" else repr(piece), style)
        else:
            parts.append("'" if piece == "''" else (match[1] or piece).replace("''", "'"))
    return DatePattern(text, style, tuple(parts))


def _wrong(text: str, what: str, style: Style) -> ExpressionError:
    known = "y u M L d D E a H k K h m s S z Z X" + (" Q" if style is Style.STRICT else "")
    return ExpressionError(
        f"the pattern {text!r} has {what}",
        hint=f"Use the letters {known}; put other text between single quotes.",
    )


@lru_cache(maxsize=256)
def _expression(pattern: DatePattern) -> re.Pattern[str]:
    pieces = []
    for part, following in pairwise((*pattern.parts, "")):
        if isinstance(part, str):
            pieces.append(re.escape(part))
        elif pattern.style is Style.STRICT:
            pieces.append(f"({_strict(part)})")
        else:
            pieces.append(rf"[ \t]*({_lenient(part, is_adjacent=isinstance(following, Letters))})")
    flags = re.NOFLAG if pattern.style is Style.STRICT else re.IGNORECASE
    return re.compile("".join(pieces), flags)


def _names(part: Letters) -> tuple[str, ...] | None:
    if part.letter == "a":
        return _HALVES
    if part.letter == "E":
        return _DAYS
    return _MONTHS if part.letter in "ML" and part.count > _TWO else None


def _strict(part: Letters) -> str:
    names, count = _names(part), part.count
    if part.letter in ZONE_LETTERS:
        return _ZONE
    if names is not None:
        is_short = part.letter != "a" and count <= _TWO + 1
        return "|".join(name[:3] if is_short else name for name in names)
    if part.letter in "yu" and count > _TWO:
        return f"[0-9]{{{count},19}}"
    return "[0-9]{1,19}" if count == 1 and part.letter != "S" else f"[0-9]{{{count}}}"


def _lenient(part: Letters, *, is_adjacent: bool) -> str:
    names = _names(part)
    if names is not None:
        return "|".join(form for name in names for form in (name, name[:3]))
    if part.letter in ZONE_LETTERS:
        return _ZONE
    return f"[0-9]{{1,{part.count}}}" if is_adjacent else "-?[0-9]+"


def _value(part: Letters, text: str, style: Style) -> int:
    names = _names(part)
    if names is not None:
        starts = [name[:3].lower() for name in names]
        return starts.index(text[:3].lower()) + (part.letter in "ML")
    if part.letter in ZONE_LETTERS:
        return _offset(text)
    if part.letter == "S" and style is Style.STRICT:
        return int(text.ljust(6, "0")[:6])
    if part.letter in "yu" and part.count <= _TWO and len(text) == _TWO:
        is_reduced = style is Style.STRICT and part.count == _TWO
        if is_reduced:
            return 2000 + int(text)
        if style is Style.LENIENT:
            return _SLIDING + (int(text) - _SLIDING) % 100
    return int(text)


def _offset(text: str) -> int:
    """Return the seconds of an offset such as +02:00."""
    sign = -1 if "-" in text else 1
    digits = re.sub(r"\D", "", text)
    hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > _TWO else (digits, "")
    return sign * (int(hours or 0) * 3600 + int(minutes or 0) * 60)


_RANGES = {
    **dict.fromkeys("ML", (1, 12)),
    **dict.fromkeys("ms", (0, 59)),
    "d": (1, 31),
    "D": (1, 366),
    "H": (0, 24),
    "k": (1, 24),
    "K": (0, 11),
    "h": (1, 12),
    "Q": (1, 4),
}


def _settled(fields: Mapping[str, int]) -> Moment | None:
    """Return the moment of fields in the strict style; a day that a month does not have is its last one."""
    for letter, value in fields.items():
        low, high = _RANGES.get(letter, (value, value))
        if not low <= value <= high:
            return None
    year = fields.get("y", fields.get("u"))
    month, day = fields.get("M", fields.get("L", 1)), fields.get("d", 1)
    if year is not None:
        day = min(day, calendar.monthrange(year, month)[1])
    moment = datetime(year if year is not None else 1970, month, day)  # noqa: DTZ001 - has no zone
    if "D" in fields and year is not None:
        moment += timedelta(days=fields["D"] - 1)
        if moment.year != year:
            return None
    if "E" in fields and {"y", "M", "d"} <= {*fields} and moment.weekday() != fields["E"]:
        return None
    hour = _hour(fields, clock=False)
    rest = (fields.get("m", 0), fields.get("s", 0), fields.get("S", 0))
    if hour == 24 and any(rest):  # noqa: PLR2004
        return None
    minute, second, micros = rest
    return moment + timedelta(hours=hour, minutes=minute, seconds=second, microseconds=micros)


def _hour(fields: Mapping[str, int], *, clock: bool) -> int:
    if "H" in fields or "k" in fields:
        return fields.get("H", fields.get("k", 0) % 24)
    if "a" in fields or clock:
        half = fields.get("h", fields.get("K", 0))
        return (0 if "h" in fields and half == 12 else half) + 12 * fields.get("a", 0)  # noqa: PLR2004
    return 0


def _overflowed(fields: Mapping[str, int]) -> Moment:
    """Return the moment of fields in the lenient style, where what is too large carries over."""
    year, month = divmod(fields.get("y", 1970) * 12 + fields.get("M", fields.get("L", 1)) - 1, 12)
    moment = datetime(year, 1 if "D" in fields else month + 1, 1)  # noqa: DTZ001 - has no zone
    moment += timedelta(
        days=fields.get("D", fields.get("d", 1)) - 1,
        hours=_hour(fields, clock=True),
        minutes=fields.get("m", 0),
        seconds=fields.get("s", 0),
        milliseconds=fields.get("S", 0),
    )
    offset = next((fields[letter] for letter in ZONE_LETTERS if letter in fields), None)
    if offset is None:
        return moment
    return moment.replace(tzinfo=_fixed(offset))


def _fixed(seconds: int) -> timezone:
    return timezone(timedelta(seconds=seconds))


_SETTLED: Mapping[Style, Callable[[Mapping[str, int]], Moment | None]] = {
    Style.STRICT: _settled,
    Style.LENIENT: _overflowed,
}
