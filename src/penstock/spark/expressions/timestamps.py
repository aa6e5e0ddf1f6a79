"""Timestamps of Spark as numbers since 1970, and back, whatever zone the session has."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql.utils import get_active_spark_context

_LOCAL, _NUMBER = "timestamp_ntz", "bigint"
_MICROS_PER_MILLI = 1_000


def micros_of(value: Column, *, is_instant: bool) -> Column:
    """Return microseconds since 1970, of timestamps without zone as if in UTC."""
    return sf.unix_micros(value) if is_instant else _read_as(value, _LOCAL, _NUMBER)


def timestamp_of(micros: Column, *, is_instant: bool) -> Column:
    """Return the timestamp of microseconds since 1970."""
    return sf.timestamp_micros(micros) if is_instant else _read_as(micros, _NUMBER, _LOCAL)


def millis_of(value: Column, *, is_instant: bool) -> Column:
    """Return milliseconds since 1970, rounded down."""
    whole = floored(micros_of(value, is_instant=is_instant), _MICROS_PER_MILLI)
    return sf.call_function("div", whole, _number(_MICROS_PER_MILLI))


def timestamp_of_millis(millis: Column, *, is_instant: bool) -> Column:
    """Return the timestamp of milliseconds since 1970."""
    return timestamp_of(millis * _number(_MICROS_PER_MILLI), is_instant=is_instant)


def millis_later(value: Column, millis: int, *, is_instant: bool) -> Column:
    """Return timestamps some milliseconds later."""
    moved = micros_of(value, is_instant=is_instant) + _number(millis * _MICROS_PER_MILLI)
    return timestamp_of(moved, is_instant=is_instant)


def floored(number: Column, unit: int) -> Column:
    """Return the greatest multiple of a unit that is not greater."""
    return number - sf.pmod(number, _number(unit))


def _number(number: int) -> Column:
    return sf.lit(number).cast(_NUMBER)


def _read_as(value: Column, before: str, after: str) -> Column:
    """Return a column whose 64 bits are those of another type, as `window` of Spark reads its times.

    Functions of SQL do not: `timestamp_diff` makes two dates of Java of a timestamp without zone, in 400 ns.
    """
    jvm: Any = get_active_spark_context()._jvm  # noqa: SLF001 - Python has no other access to it
    catalyst, columns = jvm.org.apache.spark.sql.catalyst, jvm.org.apache.spark.sql.classic
    types = (jvm.org.apache.spark.sql.types.DataType.fromDDL(name) for name in (before, after))
    expression = columns.ExpressionUtils.expression(value._jc)  # noqa: SLF001
    read = catalyst.expressions.PreciseTimestampConversion(expression, *types)
    return Column(columns.ExpressionUtils.column(read))
