"""Casts in Spark SQL, where ANSI mode alone does not give the semantics of expressions."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as sf

from penstock.expressions.arrow.casts import DATE_TEXT, FLOAT_TEXT, TIMESTAMP_TEXT, WHOLE_TEXT
from penstock.expressions.kinds import FLOATS, WHOLE, name_of
from penstock.expressions.tree import Call
from penstock.spark.expressions.sql_types import SQL_TYPES
from penstock.spark.expressions.times import without_zone, zone_changed

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
        wanted = SQL_TYPES[name_of(call)]
        refused = sf.raise_error(f"a text is no {wanted}").cast(wanted)
        # Spark also casts texts with blanks, and other ways to write a number
        return sf.when(value.rlike(pattern) | value.isNull(), value.cast(wanted)).otherwise(refused)

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
