"""Dates, timestamps, casts and constants in Spark SQL, with the semantics of expressions, whatever zone its session has."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as sf

from penstock.expressions.arrow.casts import DATE_TEXT, FLOAT_TEXT, TIMESTAMP_TEXT, WHOLE_TEXT
from penstock.expressions.facts import spark_type
from penstock.expressions.kinds import COMPUTED, FLOATS, MICROS_PER_DAY, WHOLE, name_of
from penstock.expressions.tree import Call, Expression
from penstock.spark.expressions.numbers import Builder
from penstock.spark.expressions.timestamps import (
    floored,
    micros_of,
    millis_of,
    timestamp_of,
    timestamp_of_millis,
)
from penstock.types.base import TypeInformation
from penstock.types.scalars import BasicTypeInfo
from penstock.types.sql_types import of_type_info

SQL_TYPES = {name: str(spark_type(of_type_info(BasicTypeInfo(name)))) for name in COMPUTED}
"""Name of a basic type to Spark's, of all types that functions compute with."""


_MICROS = {
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
}
_ZONED = "TimestampLtz"
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - of timestamps without zone


def _micros(expression: Expression, value: Column) -> Column:
    return micros_of(value, is_instant=name_of(expression) == _ZONED)


def _of_micros(name: str, micros: Column) -> Column:
    return timestamp_of(micros, is_instant=name == _ZONED)


def zone_changed(call: Call, value: Column) -> Column:
    """Build a timestamp with zone of one without, or the other way round, in UTC."""
    return _of_micros(name_of(call), _micros(call.arguments[0], value))


def without_zone(expression: Expression, value: Column) -> Column:
    """Build the timestamp of UTC without zone; dates stay."""
    if name_of(expression) != _ZONED:
        return value
    return _of_micros("SqlTimestamp", sf.unix_micros(value))


def part(function: Callable[[Column], Column]) -> Builder:
    """Return the builder of a part, such as the year."""

    def build(call: Call, value: Column) -> Column:
        return function(without_zone(call.arguments[0], value))

    return build


def epoch_millis(call: Call, value: Column) -> Column:
    """Build milliseconds since 1970."""
    return millis_of(value, is_instant=name_of(call.arguments[0]) == _ZONED)


def of_millis(kind: TypeInformation, value: Column) -> Column:
    """Return the timestamp of milliseconds since 1970."""
    return timestamp_of_millis(value, is_instant=getattr(kind, "name", "") == _ZONED)


def truncate(call: Call, value: Column) -> Column:
    """Build the begin of a unit."""
    micros = _micros(call.arguments[0], value)
    return _of_micros(name_of(call), floored(micros, _MICROS[call.parameters[0]]))


def shift(call: Call, value: Column) -> Column:
    """Build a timestamp some microseconds later, or a date some days."""
    if name_of(call) == "SqlDate":
        return sf.date_add(value, sf.lit(call.parameters[0] // MICROS_PER_DAY))
    moved = _micros(call.arguments[0], value) + sf.lit(call.parameters[0]).cast("bigint")
    return _of_micros(name_of(call), moved)


def constant(name: str, value: Any) -> Column:
    """Build a constant date or timestamp."""
    if name == "SqlDate":
        assert isinstance(value, date)
        return sf.lit(value.isoformat()).cast("date")
    past = value - (_EPOCH.replace(tzinfo=UTC) if name == _ZONED else _EPOCH)
    return _of_micros(name, sf.lit(past // timedelta(microseconds=1)).cast("bigint"))


_OUT_OF_LONG = float(1 << 63)


def cast(call: Call, value: Column) -> Column:
    """Build a cast."""
    source, target = name_of(call.arguments[0]), name_of(call)
    if source == target:
        return value
    for (sources, targets), build in _RULES.items():
        if source in sources and target in targets:
            return build(call, value)
    return value.cast(SQL_TYPES[target])


def _text(pattern: str) -> Callable[[Call, Column], Column]:
    def build(call: Call, value: Column) -> Column:
        sql_type = SQL_TYPES[name_of(call)]
        refused = sf.raise_error(f"a text is no {sql_type}").cast(sql_type)
        # Spark also casts texts with blanks, and other ways to write a number
        return sf.when(value.rlike(pattern) | value.isNull(), value.cast(sql_type)).otherwise(
            refused
        )

    return build


def _to_long(_: Call, value: Column) -> Column:
    refused = sf.raise_error("a float is out of the range of bigint").cast("bigint")
    # Spark compares with the float that is nearest to the greatest integer, which is one greater
    return sf.when(value == sf.lit(_OUT_OF_LONG), refused).otherwise(value.cast("bigint"))


def _to_date(call: Call, value: Column) -> Column:
    return without_zone(call.arguments[0], value).cast("date")


_RULES: dict[tuple[tuple[str, ...], tuple[str, ...]], Callable[[Call, Column], Column]] = {
    (("String",), WHOLE): _text(WHOLE_TEXT),
    (("String",), FLOATS): _text(FLOAT_TEXT),
    (("String",), ("SqlDate",)): _text(DATE_TEXT),
    (("String",), ("SqlTimestamp",)): _text(TIMESTAMP_TEXT),
    (FLOATS, ("Long",)): _to_long,
    (("SqlTimestamp",), ("TimestampLtz",)): zone_changed,
    (("TimestampLtz",), ("SqlTimestamp",)): zone_changed,
    (("SqlTimestamp", "TimestampLtz"), ("SqlDate",)): _to_date,
}
"""(sources, targets) to what builds the cast; any other pair is Spark's own cast."""
