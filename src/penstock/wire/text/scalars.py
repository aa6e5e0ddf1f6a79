"""The table of types without components: their texts, the rules a program may choose, the syntax of CSV, and text errors.

Dates and times are ISO 8601 with fixed digits, and a zone where the type is a point in time:

2026-03-04    10:20:30.5    2026-03-04T10:20:30.5    2026-03-04 10:20:30.123456789+02:00
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import math
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from penstock.types import BasicTypeInfo, PrimitiveArrayTypeInfo, TypeInformation
from penstock.types.time import Instant


class TextError(ValueError):
    """A text that is no value of its declared type, or a value without a text. Its callers name the place."""


@dataclass(frozen=True, slots=True)
class TextRules:
    """Rules beside the declared types.

    Attributes:
        zone: Zone of a timestamp without one, where the type is a point in time; None makes it an error.
        as_flink: Read what Flink's SQL formats read besides: blanks around values, numbers and booleans that are JSON
            strings, whole numbers such as `12.0`. Decimals are written as JSON numbers.
        between: Between date and time, when written.
    """

    zone: dt.tzinfo | None = dt.UTC
    as_flink: bool = False
    between: str = "T"


@dataclass(frozen=True, slots=True)
class CsvForm:
    """The syntax of a line.

    Attributes:
        line_delimiter: After the last field, when written.
        quote: Around fields that need it; None quotes nothing.
        escape: Before a character that is meant literally; None escapes nothing.
        null_literal: Text of None; if it is None itself, None is an empty field without quotes.
        comments: Lines that begin with `#` are skipped.
    """

    delimiter: str = ","
    line_delimiter: str = "\n"
    array_delimiter: str = ";"
    quote: str | None = '"'
    escape: str | None = None
    null_literal: str | None = None
    comments: bool = False


def text_of(message: object) -> str:
    """Return the text of a message in UTF-8."""
    if isinstance(message, (bytes, bytearray, memoryview)):
        try:
            return str(message, "utf-8")
        except UnicodeDecodeError as cause:
            raise TextError(f"it is not UTF-8: {cause.reason} at byte {cause.start}") from None
    if not isinstance(message, str):
        raise TextError(f"it is of class {type(message).__name__}, not bytes or str")
    if not message.isascii():
        check_characters(message)
    return message


def check_characters(text: str) -> None:
    """Refuse half of a surrogate pair, which no text in UTF-8 has."""
    try:
        text.encode()
    except UnicodeEncodeError as cause:
        raise TextError(f"character {cause.start} is half of a surrogate pair") from None


def shown(message: object) -> str:
    """Return the beginning of a message, for an error."""
    return repr(message[:200] if isinstance(message, (bytes, bytearray, str)) else message)


Read = Callable[[str, TextRules], Any]
Write = Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class Scalar:
    """The texts of one type.

    Attributes:
        read: From text to value; raises TextError.
        write: Given rules, the function from a value in its declared form to text, which raises TextError.
        json: JSON value: a `string`, `number` or `boolean`; `either` is a number or a string of one, `float` a number or the
            name of one that JSON lacks, `any` the text of every value.
        may_be_empty: Whether the empty text is a value.
    """

    read: Read
    write: Callable[[TextRules], Write]
    json: str = "string"
    may_be_empty: bool = False


_integer = re.compile(r"[+-]?[0-9]+").fullmatch
_number = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?").fullmatch
_SPECIAL = {
    "NaN": math.nan,
    **dict.fromkeys(("Infinity", "+Infinity", "INF", "+INF", "Inf", "+Inf"), math.inf),
    **dict.fromkeys(("-Infinity", "-INF", "-Inf"), -math.inf),
}
_BOOLEANS = {"true": True, "false": False}
_MOST_DIGITS = 4_300
_single = struct.Struct("<f")


def _whole(text: str, rules: TextRules) -> int:
    if _integer(text):
        try:
            return int(text)
        except ValueError:  # Python reads no more than so many digits
            raise TextError(f"{text[:40]}… has more than {_MOST_DIGITS} digits") from None
    if not rules.as_flink or not _number(text):
        raise TextError(f"{text!r} is not an integer")
    number = _decimal(text, rules)
    if number.adjusted() > _MOST_DIGITS or number != number.to_integral_value():
        raise TextError(f"{text!r} is not an integer")
    return int(number)


def _ranged(bits: int) -> Read:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def read(text: str, rules: TextRules) -> int:
        number = _whole(text, rules)
        if not low <= number <= high:
            raise TextError(f"{text} is out of range, {low} to {high}")
        return number

    return read


def _decimal(text: str, _rules: TextRules) -> Decimal:
    if not _number(text):
        raise TextError(f"{text!r} is not a number")
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise TextError(f"{text!r} is not a number that a Decimal can hold") from None
    if not number.is_finite():
        raise TextError(f"{text!r} is not a number that a Decimal can hold")
    return number


def _double(text: str, _rules: TextRules) -> float:
    special = _SPECIAL.get(text)
    if special is not None:
        return special
    if not _number(text):
        raise TextError(f"{text!r} is not a number")
    number = float(text)
    if math.isinf(number):
        raise TextError(f"{text} is out of range for 64 bits")
    return number


_HALF_BITS, _HALF = (1 << 29) - 1, 1 << 28
_LEAST_NORMAL = 2.0**-126


def _is_halfway(double: float) -> bool:
    """Return whether a double is in the middle between two numbers of 32 bits."""
    if abs(double) < _LEAST_NORMAL:
        return abs(double) * 2.0**150 % 2 == 1
    (bits,) = struct.unpack("<q", struct.pack("<d", double))
    return bool(bits & _HALF_BITS == _HALF)


def _float(text: str, rules: TextRules) -> float:
    """Return the nearest number of 32 bits. A double that is halfway between two of them was rounded to it, perhaps."""
    double = _double(text, rules)
    if math.isfinite(double) and _is_halfway(double):
        exact, near = Decimal(text), Decimal(double)
        if exact != near:
            double = math.nextafter(double, math.inf if exact > near else -math.inf)
    try:
        return float(_single.unpack(_single.pack(double))[0])
    except OverflowError:
        raise TextError(f"{text} is out of range for 32 bits") from None


def _write_double(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"


def _boolean(text: str, _rules: TextRules) -> bool:
    value = _BOOLEANS.get(text.lower()) if text.isascii() else None
    if value is None:
        raise TextError(f"{text!r} is neither true nor false")
    return value


def _string(text: str, _rules: TextRules) -> str:
    return text


def _char(text: str, _rules: TextRules) -> str:
    if len(text) != 1:
        raise TextError(f"{text!r} is not one character")
    return text


def _write_string(value: str) -> str:
    if not value.isascii():
        check_characters(value)
    return value


def _bytes(text: str, _rules: TextRules) -> bytes:
    try:
        return base64.b64decode(text.encode("ascii", "replace"), validate=True)
    except binascii.Error as cause:
        raise TextError(f"{text!r} is not base64: {cause}") from None


def _write_bytes(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _write_whole(value: int) -> str:
    try:
        return str(value)
    except ValueError:
        raise TextError(f"an integer has more than {_MOST_DIGITS} digits") from None


_DATE = r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
_TIME = r"([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?"
_ZONE = r"(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?"
_date = re.compile(_DATE).fullmatch
_time = re.compile(_TIME).fullmatch
_moment = re.compile(f"{_DATE}(?:[ T]{_TIME}{_ZONE})?").fullmatch
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_NANOS, _MICRO, _DAY = 9, 1_000, 86_400
_LARGEST_OFFSET = 18 * 60


def read_date(text: str) -> dt.date:
    """Return the day."""
    match = _date(text)
    if match is None:
        raise TextError(f"{text!r} is not a date, such as 2026-01-31")
    try:
        return dt.date(*map(int, match.groups()))
    except ValueError as cause:
        raise TextError(f"{text!r} is not a date: {cause}") from None


def read_time(text: str) -> dt.time:
    """Return the time of day."""
    match = _time(text)
    if match is None:
        raise TextError(f"{text!r} is not a time of day, such as 10:20:30.5")
    hour, minute, second, fraction = match.groups()
    try:
        return dt.time(int(hour), int(minute), int(second or 0), _micros(text, fraction))
    except ValueError as cause:
        raise TextError(f"{text!r} is not a time of day: {cause}") from None


def read_timestamp(text: str) -> dt.datetime:
    """Return the date and time, without zone."""
    moment, nanos, zone = _parts(text)
    if zone is not None:
        raise TextError(f"{text!r} has a time zone, and its type has none")
    return moment.replace(microsecond=_whole_micros(text, nanos))


def read_utc(text: str, rules: TextRules) -> dt.datetime:
    """Return the point in time, in UTC."""
    moment, nanos = _in_utc(text, rules)
    return moment.replace(microsecond=_whole_micros(text, nanos))


def read_instant(text: str, rules: TextRules) -> Instant:
    """Return the point in time, with nanoseconds."""
    moment, nanos = _in_utc(text, rules)
    past = moment - _EPOCH
    return Instant(past.days * _DAY + past.seconds, nanos)


def _parts(text: str) -> tuple[dt.datetime, int, str | None]:
    """Return whole seconds, nanoseconds and the zone of a text."""
    match = _moment(text)
    if match is None:
        raise TextError(f"{text!r} is not a timestamp, such as 2026-01-31T10:20:30.5")
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        moment = dt.datetime(  # noqa: DTZ001 - its zone is in the text, or in the rules
            int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0)
        )
    except ValueError as cause:
        raise TextError(f"{text!r} is not a timestamp: {cause}") from None
    return moment, int((fraction or "").ljust(_NANOS, "0")), zone


def _in_utc(text: str, rules: TextRules) -> tuple[dt.datetime, int]:
    moment, nanos, zone = _parts(text)
    known = rules.zone if zone is None else _offset(text, zone)
    if known is None:
        raise TextError(f"{text!r} has no time zone; write Z behind a time in UTC")
    try:
        utc = moment.replace(tzinfo=known).astimezone(dt.UTC)
        back = utc.astimezone(known)
    except (OverflowError, ValueError):
        raise TextError(f"{text!r} is before the year 1 or after 9999 in UTC") from None
    # An hour that a clock skips: the way there and back ends an hour later.
    if back.replace(tzinfo=None) != moment:
        raise TextError(f"{text!r} does not exist in {known}: the clock skips it")
    return utc, nanos


def _offset(text: str, zone: str) -> dt.tzinfo:
    if zone == "Z":
        return dt.UTC
    hours, minutes = int(zone[1:3]), int(zone[3:].lstrip(":") or 0)
    total = hours * 60 + minutes
    if minutes >= 60 or total > _LARGEST_OFFSET:  # noqa: PLR2004 - minutes of an hour
        raise TextError(f"{text!r} has the zone {zone}, which is none")
    return dt.timezone(dt.timedelta(minutes=-total if zone[0] == "-" else total))


def _micros(text: str, fraction: str | None) -> int:
    return _whole_micros(text, int((fraction or "").ljust(_NANOS, "0")))


def _whole_micros(text: str, nanos: int) -> int:
    micros, rest = divmod(nanos, _MICRO)
    if rest:
        raise TextError(f"{text!r} has nanoseconds; its type has whole microseconds")
    return micros


def _fraction(nanos: int) -> str:
    return f".{nanos:09d}".rstrip("0") if nanos else ""


def write_time(value: dt.time) -> str:
    """Return the text of a time of day."""
    whole = value.replace(microsecond=0, fold=0)
    return f"{whole.isoformat()}{_fraction(value.microsecond * _MICRO)}"


def write_timestamp(value: dt.datetime, rules: TextRules) -> str:
    """Return the text of a date and time without zone."""
    return f"{value.date()}{rules.between}{write_time(value.time())}"


def write_utc(value: dt.datetime, rules: TextRules) -> str:
    """Return the text of a point in time."""
    return f"{write_timestamp(value.astimezone(dt.UTC), rules)}Z"


def write_instant(value: Instant, rules: TextRules) -> str:
    """Return the text of a point in time with nanoseconds."""
    try:
        second = _EPOCH + dt.timedelta(seconds=value.seconds)
    except OverflowError:
        raise TextError(f"{value!r} is before the year 1 or after 9999") from None
    whole = f"{second.date()}{rules.between}{second.time().isoformat()}"
    return f"{whole}{_fraction(value.nanos)}Z"


def _plain(read: Callable[[str], Any]) -> Read:
    return lambda text, _: read(text)


def _always(write: Write) -> Callable[[TextRules], Write]:
    return lambda _: write


def _by_rules(write: Callable[[Any, TextRules], str]) -> Callable[[TextRules], Write]:
    return lambda rules: lambda value: write(value, rules)


def _write_decimal(rules: TextRules) -> Write:
    return "{:f}".format if rules.as_flink else str


_BYTES = Scalar(_bytes, _always(_write_bytes), may_be_empty=True)
SCALARS: Mapping[str, Scalar] = {
    "String": Scalar(_string, _always(_write_string), "any", may_be_empty=True),
    "Char": Scalar(_char, _always(_write_string)),
    "Boolean": Scalar(_boolean, _always(lambda value: "true" if value else "false"), "boolean"),
    "Byte": Scalar(_ranged(8), _always(str), "number"),
    "Short": Scalar(_ranged(16), _always(str), "number"),
    "Integer": Scalar(_ranged(32), _always(str), "number"),
    "Long": Scalar(_ranged(64), _always(str), "number"),
    "BigInteger": Scalar(_whole, _always(_write_whole), "number"),
    "BigDecimal": Scalar(_decimal, _write_decimal, "either"),
    "Float": Scalar(_float, _always(_write_double), "float"),
    "Double": Scalar(_double, _always(_write_double), "float"),
    "SqlDate": Scalar(_plain(read_date), _always(dt.date.isoformat)),
    "SqlTime": Scalar(_plain(read_time), _always(write_time)),
    "SqlTimestamp": Scalar(_plain(read_timestamp), _by_rules(write_timestamp)),
    "TimestampLtz": Scalar(read_utc, _by_rules(write_utc)),
    "Instant": Scalar(read_instant, _by_rules(write_instant)),
}
"""Name of every basic type to its texts."""


def scalar_of(type_info: TypeInformation) -> Scalar | None:
    """Return the texts of a type, None if it has components, or any value."""
    if isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.is_bytes:
        return _BYTES
    return SCALARS[type_info.name] if isinstance(type_info, BasicTypeInfo) else None


def reader(type_info: TypeInformation, rules: TextRules) -> Callable[[str], Any] | None:
    """Return the function from the text of a scalar to its value, None of another type."""
    scalar = scalar_of(type_info)
    if scalar is None:
        return None
    read = scalar.read
    if rules.as_flink and scalar.json != "any":
        return lambda text: read(text.strip(), rules)
    return lambda text: read(text, rules)


def writer(type_info: TypeInformation, rules: TextRules) -> Callable[[Any], str] | None:
    """Return the function from the value of a scalar to its text, None of another type."""
    scalar = scalar_of(type_info)
    return None if scalar is None else scalar.write(rules)
