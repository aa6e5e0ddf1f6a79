"""The builders of the functions that only queries have: from the columns of their arguments to a Spark column."""

from __future__ import annotations

from re import escape
from string import ascii_lowercase, ascii_uppercase

from pyspark.sql import Column
from pyspark.sql import functions as sf

from penstock.expressions.queries import may_fail
from penstock.expressions.tree import Call
from penstock.spark.expressions.numbers import Builder

_KELVIN = "\N{KELVIN SIGN}"


def _remainder(call: Call, left: Column, right: Column) -> Column:
    return (left % right).cast(call.parameters[0])


def _quotient(call: Call, left: Column, right: Column) -> Column:
    return sf.call_function("div", left, right).cast(call.parameters[0])


def _as_decimal(call: Call, value: Column) -> Column:
    digits, scale = call.parameters
    return value.cast(f"decimal({digits},{scale})")


def _as_bigint(_: Call, value: Column) -> Column:
    return value.cast("bigint")


def _product(_: Call, left: Column, right: Column) -> Column:
    return left * right


def _sum(_: Call, left: Column, right: Column) -> Column:
    return left + right


def _difference(_: Call, left: Column, right: Column) -> Column:
    return left - right


def _moment_text(call: Call, value: Column) -> Column:
    # Spark's date_format would take the time to be one of the session's zone
    start, length = call.parameters
    return sf.substring(value.cast("string"), start + 1, length)


def _is_distinct(_: Call, left: Column, right: Column) -> Column:
    return ~left.eqNullSafe(right)


def _is_like(call: Call, value: Column) -> Column:
    return value.like(call.parameters[0])


def _split_part(call: Call, value: Column) -> Column:
    separator, index = call.parameters
    # Of an empty text Spark has one part, Flink none
    known = sf.nullif(value, sf.lit(""))
    return sf.get(sf.split(known, escape(separator), -1), sf.lit(index))


def _regexp_group(call: Call, value: Column) -> Column:
    # Spark's function has an empty text where nothing is found
    pattern, group = call.parameters
    return sf.when(value.rlike(pattern), sf.regexp_extract(value, pattern, group))


def _regexp_misses(call: Call, value: Column) -> Column:
    return ~sf.coalesce(value.rlike(call.parameters[0]), sf.lit(False))  # noqa: FBT003


def _lower_ascii(_: Call, value: Column) -> Column:
    # Of what is not ASCII, Python makes one character ASCII in LOWER; any other makes the result equal to no text of ASCII.
    # Spark's own function goes by the locale where a text is not ASCII; where it is, it is faster than translate.
    other = sf.translate(value, _KELVIN + ascii_uppercase, "k" + ascii_lowercase)
    is_ascii = sf.octet_length(value) == sf.char_length(value)
    return sf.when(is_ascii, sf.lower(value)).otherwise(other)


def _and(call: Call, left: Column, right: Column) -> Column:
    if not may_fail(call.arguments[1]):
        return left & right
    # As in `builders`: of branches Spark computes only the one that it takes
    return sf.when(~left, sf.lit(False)).otherwise(left & right)  # noqa: FBT003


def _or(call: Call, left: Column, right: Column) -> Column:
    if not may_fail(call.arguments[1]):
        return left | right
    return sf.when(left, sf.lit(True)).otherwise(left | right)  # noqa: FBT003


QUERY_BUILDERS: dict[str, Builder] = {
    "and": _and,
    "or": _or,
    "remainder": _remainder,
    "quotient": _quotient,
    "as_decimal": _as_decimal,
    "as_bigint": _as_bigint,
    "product": _product,
    "sum_of": _sum,
    "difference_of": _difference,
    "moment_text": _moment_text,
    "is_distinct": _is_distinct,
    "is_like": _is_like,
    "split_part": _split_part,
    "regexp_group": _regexp_group,
    "regexp_misses": _regexp_misses,
    "lower_ascii": _lower_ascii,
}
"""Name of a function of `expressions.queries.QUERY_FUNCTIONS` to its builder, and those that ask whether one may fail."""
