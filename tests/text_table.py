"""Right answers of texts: for each declared type its texts, and the value or the part of the error that names why.

It is data. Tests walk it over the doors that read text: the table itself, row schemas, the formats of SQL.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from penstock.types import Instant, Types

UTC = dt.UTC
BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())
_NOON = dt.datetime(2026, 1, 31, 12)  # noqa: DTZ001 - a timestamp without zone
_SECONDS = int(_NOON.replace(tzinfo=UTC).timestamp())


@dataclass(frozen=True)
class Refused:
    """An error.

    Attributes:
        why: Part of its text.
    """

    why: str


@dataclass(frozen=True)
class Text:
    """A text and what it is.

    Attributes:
        kind: Declared type.
        text: A JSON value, or a field of CSV.
        value: Its value, or `Refused`.
        in_sql: The same in SQL, where Flink has another answer; `...` if it has not.
    """

    kind: Any
    text: str
    value: Any
    in_sql: Any = ...


def _ranges() -> list[Text]:
    bits = {Types.BYTE: 8, Types.SHORT: 16, Types.INT: 32, Types.LONG: 64}
    found = []
    for make, n in bits.items():
        low, high = -(2 ** (n - 1)), 2 ** (n - 1) - 1
        found += [Text(make(), str(low), low), Text(make(), str(high), high)]
        found += [Text(make(), str(v), Refused("out of range")) for v in (low - 1, high + 1)]
        found += [Text(make(), "1.5", Refused("not an integer"))]
        found += [Text(make(), "1.0", Refused("not an integer"), 1)]
        found += [Text(make(), "1e2", Refused("not an integer"), 100)]
    return found


JSON = [
    *_ranges(),
    Text(Types.INT(), "-0", 0),
    Text(Types.INT(), "1_000", Refused("")),
    Text(Types.INT(), "+1", Refused("")),
    Text(Types.INT(), "01", Refused("")),
    Text(Types.INT(), "true", Refused("true is not a number")),
    Text(Types.INT(), '"12"', Refused("is not a number"), 12),
    Text(Types.INT(), '"1_000"', Refused("")),
    Text(Types.INT(), '"\\u0661"', Refused("")),
    Text(Types.INT(), "[]", Refused("an array is not a number")),
    Text(Types.BIG_INT(), "1" + "0" * 60, 10**60, Refused("no DECIMAL")),
    Text(Types.BIG_DEC(), "799.929496989092949698", Decimal("799.929496989092949698")),
    Text(Types.BIG_DEC(), '"1.50"', Decimal("1.50")),
    Text(Types.BIG_DEC(), '"1,5"', Refused("not a number")),
    Text(Types.BIG_DEC(), '" 1"', Refused("not a number"), Decimal(1)),
    Text(Types.BIG_DEC(), '"NaN"', Refused("not a number")),
    Text(Types.BIG_DEC(), '"1_0"', Refused("not a number")),
    Text(Types.DOUBLE(), "0.1", 0.1),
    Text(Types.DOUBLE(), "-0.0", -0.0),
    Text(Types.DOUBLE(), "5e-324", 5e-324),
    Text(Types.DOUBLE(), "1.7976931348623157e308", 1.7976931348623157e308),
    Text(Types.DOUBLE(), "1e400", Refused("out of range")),
    Text(Types.DOUBLE(), "NaN", Refused("is not JSON")),
    Text(Types.DOUBLE(), '"NaN"', math.nan),
    Text(Types.DOUBLE(), '"-Infinity"', -math.inf),
    Text(Types.DOUBLE(), '"nan"', Refused("")),
    Text(Types.DOUBLE(), '"3D"', Refused("")),
    Text(Types.FLOAT(), "16777217", 16777216.0),
    Text(Types.FLOAT(), "16777217.000000000000000001", 16777218.0),
    Text(Types.FLOAT(), "3.5e38", Refused("out of range for 32 bits")),
    Text(Types.BOOLEAN(), "true", True),
    Text(Types.BOOLEAN(), "1", Refused("neither true nor false")),
    Text(Types.BOOLEAN(), '"true"', Refused("neither true nor false"), True),
    Text(Types.STRING(), '""', ""),
    Text(Types.STRING(), '" \\r\\n\\u0000\\ud83d\\ude00"', " \r\n\0\U0001f600"),
    Text(Types.STRING(), '"\\ud800"', Refused("surrogate")),
    Text(Types.STRING(), '"\t"', Refused("")),
    Text(Types.STRING(), "1.50", "1.50"),
    Text(Types.STRING(), "false", "false"),
    Text(Types.STRING(), '{"a": [1, null]}', '{"a": [1, null]}'),
    Text(Types.CHAR(), '"ab"', Refused("one character")),
    Text(BYTES, '"AQI="', b"\1\2"),
    Text(BYTES, '""', b""),
    Text(BYTES, '"!!!!"', Refused("base64")),
    Text(BYTES, '"AQI"', Refused("base64")),
    Text(BYTES, "[1, 2]", Refused("is not a string")),
    Text(Types.SQL_DATE(), '"2026-01-31"', dt.date(2026, 1, 31)),
    Text(Types.SQL_DATE(), '"20260131"', Refused("not a date")),
    Text(Types.SQL_DATE(), '"2026-W05-6"', Refused("not a date")),
    Text(Types.SQL_DATE(), '"2026-02-30"', Refused("not a date")),
    Text(Types.SQL_DATE(), "20260131", Refused("is not a string")),
    Text(Types.SQL_TIME(), '"10:20:30.5"', dt.time(10, 20, 30, 500_000)),
    Text(Types.SQL_TIME(), '"1020"', Refused("not a time of day")),
    Text(Types.SQL_TIME(), '"24:00:00"', Refused("not a time of day")),
    Text(Types.SQL_TIME(), '"10:20:30Z"', Refused("not a time of day")),
    Text(Types.SQL_TIMESTAMP(), '"2026-01-31T12:00:00"', _NOON),
    Text(Types.SQL_TIMESTAMP(), '"2026-01-31 12:00:00.000"', _NOON),
    Text(Types.SQL_TIMESTAMP(), '"2026-01-31T12:00:00Z"', Refused("has a time zone")),
    Text(Types.SQL_TIMESTAMP(), "1712051512345", Refused("is not a string")),
    Text(Types.SQL_TIMESTAMP(), '"1712051512345"', Refused("not a timestamp")),
    Text(Types.SQL_TIMESTAMP(), '"10:00"', Refused("not a timestamp")),
    Text(Types.SQL_TIMESTAMP(), '"2026-01-31T12:00:00.0000001"', Refused("nanoseconds")),
    Text(Types.TIMESTAMP_LTZ(), '"10:00"', Refused("not a timestamp")),
    Text(Types.TIMESTAMP_LTZ(), '"2026-01-31T12:00:00Z"', _NOON.replace(tzinfo=UTC)),
    Text(Types.TIMESTAMP_LTZ(), '"2026-01-31 14:00:00+0200"', _NOON.replace(tzinfo=UTC)),
    Text(
        Types.TIMESTAMP_LTZ(),
        '"2026-01-31 12:00:00"',
        _NOON.replace(tzinfo=UTC),
        Refused("has no time zone"),
    ),
    Text(Types.TIMESTAMP_LTZ(), '"2026-01-31T12:00:00+25:00"', Refused("which is none")),
    Text(Types.TIMESTAMP_LTZ(), '"0001-01-01T00:00:00+01:00"', Refused("before the year 1")),
    Text(Types.INSTANT(), '"2026-01-31T12:00:00.123456789Z"', Instant(_SECONDS, 123_456_789)),
    Text(Types.INSTANT(), '"2026-01-31T12:00:00"', Instant(_SECONDS, 0)),
    Text(Types.INSTANT(), '"10:00"', Refused("not a timestamp")),
    Text(Types.INSTANT(), "1712051512345", Refused("is not a string")),
    Text(Types.LIST(Types.STRING()), '["red", null]', ["red", None]),
    Text(Types.LIST(Types.STRING()), '"red"', Refused("is not an array")),
    Text(Types.LIST(Types.STRING()), '{"red": 1}', Refused("is not an array")),
    Text(Types.LIST(Types.BYTE()), "[1, 200]", Refused("out of range")),
    Text(Types.PRIMITIVE_ARRAY(Types.INT()), "[1, null]", Refused("null"), [1, None]),
    Text(Types.MAP(Types.INT(), Types.INT()), '{"1": 2, "-3": null}', {1: 2, -3: None}),
    Text(Types.MAP(Types.INT(), Types.INT()), '{"1": 2, "01": 3}', Refused("one key")),
    Text(Types.MAP(Types.STRING(), Types.INT()), "[1]", Refused("is not an object")),
    Text(Types.MAP(Types.STRING(), Types.INT()), '{"a": 1, "a": 2}', Refused("twice")),
]
"""Texts of a value of a field in JSON."""

NOT_JSON = [
    "",
    "{",
    "[1]",
    "3",
    '{"v": 1}{"v": 2}',
    '{"v": 1} xyz',
    '{"v": 1}}',
    "[" * 100_000,
    '{"v":' + "[" * 300 + "]" * 300 + "}",
    '{"v": 1, "v": 2}',
    b"\xff",
    b'{"v": "\xff"}',
    None,
    5,
]
"""Messages that are no object with a member `v`."""

CSV = [
    *(each for each in _ranges()),
    Text(Types.INT(), "+5", 5),
    Text(Types.INT(), "1_000", Refused("not an integer")),
    Text(Types.INT(), " 5", Refused("not an integer"), 5),
    Text(Types.INT(), "\u0665", Refused("not an integer")),
    Text(Types.INT(), "", None),
    Text(Types.INT(), '""', Refused("not an integer")),
    Text(Types.BIG_DEC(), '"1,5"', Refused("not a number")),
    Text(Types.BIG_DEC(), "0.1234567890123456789", Decimal("0.1234567890123456789"), ...),
    Text(Types.DOUBLE(), "NaN", math.nan),
    Text(Types.DOUBLE(), "-Inf", -math.inf),
    Text(Types.DOUBLE(), "3D", Refused("not a number")),
    Text(Types.DOUBLE(), "0x1p3", Refused("not a number")),
    Text(Types.DOUBLE(), "1e400", Refused("out of range")),
    Text(Types.BOOLEAN(), "TRUE", True),
    Text(Types.BOOLEAN(), "yes", Refused("neither true nor false")),
    Text(Types.STRING(), "", None),
    Text(Types.STRING(), '""', ""),
    Text(Types.STRING(), "  ", "  "),
    Text(Types.STRING(), '"a""b,\r\n"', 'a"b,\r\n'),
    Text(Types.STRING(), 'a"b', 'a"b'),
    Text(Types.STRING(), '"a"b', Refused("out of place")),
    Text(Types.STRING(), '"a', Refused("out of place")),
    Text(Types.STRING(), "x" * 200_000, "x" * 200_000),
    Text(BYTES, "YWJj", b"abc"),
    Text(BYTES, "!!!!", Refused("base64")),
    Text(Types.SQL_DATE(), "20260131", Refused("not a date")),
    Text(Types.SQL_TIMESTAMP(), "1712051512345", Refused("not a timestamp")),
    Text(Types.TIMESTAMP_LTZ(), "10:00", Refused("not a timestamp")),
    Text(Types.INSTANT(), "2026-01-31 12:00:00.5Z", Instant(_SECONDS, 500_000_000)),
    Text(Types.LIST(Types.INT()), "1;;2", [1, None, 2]),
    Text(Types.LIST(Types.INT()), "1;x", Refused("not an integer")),
    Text(Types.LIST(Types.INT()), '""', []),
]
"""Texts of a field of CSV, with the default syntax."""
