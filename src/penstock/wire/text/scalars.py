"""The table of types without components: the text of their values, dates and times in ISO 8601 included."""

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
from penstock.wire.text import moments
from penstock.wire.text.rules import TextError, TextRules, check_characters

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
        raise TextError(f"{text!r} is no integer")
    found = _decimal(text, rules)
    if found.adjusted() > _MOST_DIGITS or found != found.to_integral_value():
        raise TextError(f"{text!r} is no integer")
    return int(found)


def _ranged(bits: int) -> Read:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def read(text: str, rules: TextRules) -> int:
        number = _whole(text, rules)
        if not low <= number <= high:
            raise TextError(f"{text} is out of range, {low} to {high}")
        return number

    return read


def _decimal(text: str, rules: TextRules) -> Decimal:
    del rules
    if not _number(text):
        raise TextError(f"{text!r} is no number")
    try:
        found = Decimal(text)
    except InvalidOperation:
        raise TextError(f"{text!r} is no number that a Decimal has") from None
    if not found.is_finite():
        raise TextError(f"{text!r} is no number that a Decimal has")
    return found


def _double(text: str, rules: TextRules) -> float:
    del rules
    special = _SPECIAL.get(text)
    if special is not None:
        return special
    if not _number(text):
        raise TextError(f"{text!r} is no number")
    found = float(text)
    if math.isinf(found):
        raise TextError(f"{text} is out of range for 64 bits")
    return found


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


def _boolean(text: str, rules: TextRules) -> bool:
    del rules
    found = _BOOLEANS.get(text.lower()) if text.isascii() else None
    if found is None:
        raise TextError(f"{text!r} is neither true nor false")
    return found


def _string(text: str, rules: TextRules) -> str:
    del rules
    return text


def _char(text: str, rules: TextRules) -> str:
    del rules
    if len(text) != 1:
        raise TextError(f"{text!r} is not one character")
    return text


def _write_string(value: str) -> str:
    if not value.isascii():
        check_characters(value)
    return value


def _bytes(text: str, rules: TextRules) -> bytes:
    del rules
    try:
        return base64.b64decode(text.encode("ascii", "replace"), validate=True)
    except binascii.Error as cause:
        raise TextError(f"{text!r} is no base64: {cause}") from None


def _write_bytes(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _write_whole(value: int) -> str:
    try:
        return str(value)
    except ValueError:
        raise TextError(f"an integer has more than {_MOST_DIGITS} digits") from None


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
    "SqlDate": Scalar(_plain(moments.read_date), _always(dt.date.isoformat)),
    "SqlTime": Scalar(_plain(moments.read_time), _always(moments.write_time)),
    "SqlTimestamp": Scalar(_plain(moments.read_timestamp), _by_rules(moments.write_timestamp)),
    "TimestampLtz": Scalar(moments.read_utc, _by_rules(moments.write_utc)),
    "Instant": Scalar(moments.read_instant, _by_rules(moments.write_instant)),
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
