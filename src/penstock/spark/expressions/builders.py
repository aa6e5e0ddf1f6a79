"""The builder of every function of expressions: from the columns of its arguments to a Spark column; and constants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import add, ge, gt, le, lt, sub
from re import escape
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as sf

from penstock.expressions.facts import (
    constant_of,
    group_of,
    is_decimal_comparison,
    part_of_moment,
    spark_type,
)
from penstock.expressions.functions import can_fail
from penstock.expressions.kinds import DECIMAL, name_of
from penstock.expressions.tree import Call, Expression, Literal
from penstock.spark.expressions import numbers, scalars
from penstock.spark.expressions.numbers import Builder
from penstock.spark.expressions.scalars import SQL_TYPES, cast
from penstock.types.sql_types import SqlType, as_decimal

_TIMES = frozenset({"SqlDate", "SqlTimestamp", "TimestampLtz"})


def constant(literal: Literal) -> Column:
    """Build a constant of a basic type."""
    name, value = name_of(literal), literal.value
    # a decimal of SQL has the digits of its type
    kind = spark_type(literal.kind) if isinstance(literal.kind, SqlType) else SQL_TYPES[name]
    assert kind is not None, "queries have the type"
    if value is None:
        return sf.lit(None).cast(kind)
    if name in _TIMES:
        return scalars.constant(name, value)
    return sf.lit(f"{value:f}" if name == DECIMAL else value).cast(kind)


def _plain(function: Callable[..., Column]) -> Builder:
    def build(_: Call, *arguments: Column) -> Column:
        return function(*arguments)

    return build


def _constants(function: Callable[..., Column]) -> Builder:
    """Return a builder that passes the parameters of the call behind its argument."""

    def build(call: Call, value: Column) -> Column:
        return function(value, *call.parameters)

    return build


def _case(_: Call, *arguments: Column) -> Column:
    *pairs, last = arguments
    branches: Any = sf
    for condition, value in zip(pairs[::2], pairs[1::2], strict=True):
        branches = branches.when(condition, value)
    column: Column = branches.otherwise(last)
    return column


def _and(call: Call, left: Column, right: Column) -> Column:
    if not can_fail(call.arguments[1]):
        return left & right
    # Spark may compute what both sides of `AND` have in common before either; of branches it does not
    return sf.when(~left, sf.lit(False)).otherwise(left & right)  # noqa: FBT003


def _or(call: Call, left: Column, right: Column) -> Column:
    if not can_fail(call.arguments[1]):
        return left | right
    return sf.when(left, sf.lit(True)).otherwise(left | right)  # noqa: FBT003


def _isin(call: Call, value: Column) -> Column:
    kind = call.arguments[0].kind
    return value.isin(*[constant(Literal(member, kind)) for member in call.parameters])


def _lower(value: Column) -> Column:
    return sf.translate(value, ascii_uppercase, ascii_lowercase)


def _upper(value: Column) -> Column:
    return sf.translate(value, ascii_lowercase, ascii_uppercase)


def _strip(function: Callable[..., Column]) -> Callable[[Column, str], Column]:
    return lambda value, characters: function(value, sf.lit(characters)) if characters else value


def _pad(function: Callable[..., Column]) -> Callable[[Column, int, str], Column]:
    def build(value: Column, width: int, character: str) -> Column:
        # Spark's cuts longer texts
        is_long = sf.char_length(value) >= sf.lit(width)
        return sf.when(is_long, value).otherwise(function(value, sf.lit(width), sf.lit(character)))

    return build


def _struct(call: Call, *values: Column) -> Column:
    return sf.struct(
        *[value.alias(name) for value, name in zip(values, call.parameters, strict=True)]
    )


def _list_contains(value: Column, element: Any) -> Column:
    is_contained = sf.array_contains(value, sf.lit(element))
    # Spark's is NULL where a list has NULL and not the element
    return sf.when(value.isNotNull(), sf.coalesce(is_contained, sf.lit(False)))  # noqa: FBT003


def _slice(value: Column, start: int, stop: int) -> Column:
    return sf.substring(value, start + 1, max(stop - start, 0))


def _replace(value: Column, old: str, new: str) -> Column:
    return sf.replace(value, sf.lit(old), sf.lit(new))


def _split(value: Column, separator: str) -> Column:
    return sf.split(value, escape(separator), -1)


def _get(value: Column, index: int) -> Column:
    return sf.get(value, sf.lit(index))


def _field(call: Call, value: Column) -> Column:
    return value.getField(call.parameters[0])


def _tally(value: Column) -> Column:
    return sf.when(value.isNotNull(), sf.create_map(value, sf.lit(1).cast("bigint")))


# Functions of SQL


def _exact(argument: Expression, value: Column) -> Column:
    """Return a decimal or a whole number as a decimal of its digits."""
    return value.cast(str(spark_type(as_decimal(argument.type))))


def _of_decimals(build: Builder) -> Builder:
    """Return the builder that computes with decimals of SQL with all digits, and like another one with other types."""

    def build_exactly(call: Call, *values: Column) -> Column:
        if not (isinstance(call.arguments[0].kind, SqlType) and is_decimal_comparison(call)):
            return build(call, *values)
        column = build(call, *map(_exact, call.arguments, values))
        return column.cast(str(spark_type(call.type))) if call.type.name == "DECIMAL" else column

    return build_exactly


def _as_result(call: Call, value: Column) -> Column:
    return value.cast(str(spark_type(call.type)))


def _remainder(call: Call, left: Column, right: Column) -> Column:
    return _as_result(call, left % right)


def _quotient(call: Call, left: Column, right: Column) -> Column:
    return _as_result(call, sf.call_function("div", left, right))


def _sql_cast(call: Call, value: Column) -> Column:
    return _as_result(call, value) if call.type.name == "DECIMAL" else cast(call, value)


def _behind(function: Callable[..., Column], *kinds: type) -> Builder:
    """Return a builder that passes the constants behind the first argument."""

    def build(call: Call, value: Column, *_: Column) -> Column:
        pairs = zip(call.arguments[1:], kinds, strict=True)
        return function(value, *[constant_of(argument, kind) for argument, kind in pairs])

    return build


def _split_index(value: Column, separator: str, index: int) -> Column:
    # Spark splits an empty text into one part, Flink into none
    known = sf.nullif(value, sf.lit(""))
    return sf.get(sf.split(known, escape(separator), -1), sf.lit(index))


def _regexp_extract(call: Call, value: Column, *_: Column) -> Column:
    group = group_of(call)
    assert group is not None, "other patterns are computed in Python"
    # Spark's function has an empty text where nothing is found
    return sf.when(value.rlike(group[0]), sf.regexp_extract(value, *group))


def _regexp_misses(call: Call, value: Column, *_: Column) -> Column:
    group = group_of(call)
    assert group is not None, "other patterns are computed in Python"
    return ~sf.coalesce(value.rlike(group[0]), sf.lit(False))  # noqa: FBT003


def _lower_ascii(_: Call, value: Column) -> Column:
    # LOWER of Python maps one character beyond ASCII to ASCII; any other one makes the result unequal to all ASCII texts.
    # Spark's own function goes by the locale where a text is not ASCII; for ASCII it is faster than translate.
    other = sf.translate(value, _KELVIN + ascii_uppercase, "k" + ascii_lowercase)
    is_ascii = sf.octet_length(value) == sf.char_length(value)
    return sf.when(is_ascii, sf.lower(value)).otherwise(other)


def _extract(call: Call, value: Column) -> Column:
    return scalars.part(_PARTS[call.parameters[0]])(call, value).cast("bigint")


def _date_format(value: Column, pattern: str) -> Column:
    part = part_of_moment(pattern)
    assert part is not None, "other patterns are computed in Python"
    # Spark's date_format would take the time to be one of the session's zone
    return sf.substring(value.cast("string"), part[0] + 1, part[1])


def _floor_to(call: Call, value: Column) -> Column:
    return scalars.truncate(replace(call, parameters=(call.parameters[0].lower(),)), value)


def _sql_shift(call: Call, value: Column, _: Column) -> Column:
    micros = constant_of(call.arguments[1], int) * _MICROS
    return scalars.shift(replace(call, parameters=(micros,)), value)


_KELVIN = "\N{KELVIN SIGN}"
_MICROS = 1000
_PARTS: dict[str, Callable[[Column], Column]] = {
    "YEAR": sf.year,
    "QUARTER": sf.quarter,
    "MONTH": sf.month,
    "WEEK": sf.weekofyear,
    "DAY": sf.day,
    "DAYOFMONTH": sf.day,
    "DOY": sf.dayofyear,
    "HOUR": sf.hour,
    "MINUTE": sf.minute,
    "SECOND": sf.second,
}

BUILDERS: dict[str, Builder] = {
    "add": _of_decimals(_plain(add)),
    "concat": _plain(sf.concat),
    "subtract": _of_decimals(_plain(sub)),
    "multiply": _of_decimals(_plain(lambda left, right: left * right)),
    "divide": _plain(lambda left, right: left / right),
    "modulo": numbers.modulo,
    "negate": _plain(sf.negate),
    "abs": _plain(sf.abs),
    "equal": _of_decimals(numbers.equal),
    "not_equal": _of_decimals(numbers.not_equal),
    "less": _of_decimals(numbers.below(lt)),
    "less_equal": _of_decimals(numbers.below(le)),
    "greater": _of_decimals(numbers.above(gt)),
    "greater_equal": _of_decimals(numbers.above(ge)),
    "and": _and,
    "or": _or,
    "not": _plain(lambda value: ~value),
    "is_null": _plain(sf.isnull),
    "is_nan": numbers.is_nan,
    "coalesce": _plain(sf.coalesce),
    "case": _case,
    "isin": _isin,
    "greatest": numbers.greatest,
    "least": numbers.least,
    "cast": cast,
    "floor": numbers.floor,
    "ceil": numbers.ceil,
    "round": numbers.round_half_even,
    "sqrt": numbers.sqrt,
    "length": _plain(sf.char_length),
    "ascii_lower": _plain(_lower),
    "ascii_upper": _plain(_upper),
    "strip": _constants(_strip(sf.trim)),
    "strip_start": _constants(_strip(sf.ltrim)),
    "strip_end": _constants(_strip(sf.rtrim)),
    "pad_start": _constants(_pad(sf.lpad)),
    "pad_end": _constants(_pad(sf.rpad)),
    "reverse": _plain(sf.reverse),
    "repeat": _constants(lambda value, count: sf.repeat(value, sf.lit(count))),
    "find": _constants(lambda value, part: sf.instr(value, sf.lit(part)) - sf.lit(1)),
    "slice": _constants(_slice),
    "starts_with": _constants(lambda value, text: value.startswith(sf.lit(text))),
    "ends_with": _constants(lambda value, text: value.endswith(sf.lit(text))),
    "contains": _constants(lambda value, text: value.contains(sf.lit(text))),
    "replace": _constants(_replace),
    "split": _constants(_split),
    "year": scalars.part(sf.year),
    "month": scalars.part(sf.month),
    "day": scalars.part(sf.day),
    "weekday": scalars.part(sf.weekday),
    "quarter": scalars.part(sf.quarter),
    "week": scalars.part(sf.weekofyear),
    "day_of_year": scalars.part(sf.dayofyear),
    "hour": scalars.part(sf.hour),
    "minute": scalars.part(sf.minute),
    "second": scalars.part(sf.second),
    "epoch_millis": scalars.epoch_millis,
    "truncate": scalars.truncate,
    "shift": scalars.shift,
    "days_since": _plain(sf.datediff),
    "list_length": _plain(sf.array_size),
    "list_contains": _constants(_list_contains),
    "get": _constants(_get),
    "field": _field,
    "struct": _struct,
    "bucket": numbers.bucket,
    "bits": numbers.bits,
    "tally": _plain(_tally),
    "sql_divide": _quotient,
    "sql_modulo": _remainder,
    "sql_cast": _sql_cast,
    "lower_ascii": _lower_ascii,
    "substring": _behind(sf.substring, int, int),
    "left": _behind(lambda value, length: sf.substring(value, 1, max(0, length)), int),
    "sql_replace": _behind(_replace, str, str),
    "like": _behind(Column.like, str),
    "regexp_extract": _regexp_extract,
    "regexp_misses": _regexp_misses,
    "split_index": _behind(_split_index, str, int),
    "sql_starts_with": _behind(lambda value, text: value.startswith(sf.lit(text)), str),
    "sql_ends_with": _behind(lambda value, text: value.endswith(sf.lit(text)), str),
    "extract": _extract,
    "floor_to": _floor_to,
    "sql_shift": _sql_shift,
    "date_format": _behind(_date_format, str),
    "cardinality": _plain(sf.array_size),
    "is_distinct": _plain(lambda left, right: ~left.eqNullSafe(right)),
}
"""Name of a function that Spark SQL computes to its builder."""
