"""The builder of every function of expressions: from the columns of its arguments to a Spark column."""

from __future__ import annotations

from collections.abc import Callable
from operator import add, ge, gt, le, lt, sub
from re import escape
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as sf

from penstock.expressions.functions import can_fail
from penstock.expressions.kinds import name_of
from penstock.expressions.tree import Call
from penstock.spark.expressions import numbers, scalars
from penstock.spark.expressions.constants import constant
from penstock.spark.expressions.numbers import Builder
from penstock.spark.expressions.scalars import cast


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
    made: Any = sf
    for condition, value in zip(pairs[::2], pairs[1::2], strict=True):
        made = made.when(condition, value)
    found: Column = made.otherwise(last)
    return found


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
    name = name_of(call.arguments[0])
    return value.isin(*[constant(name, member) for member in call.parameters])


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
        *[each.alias(name) for each, name in zip(values, call.parameters, strict=True)]
    )


def _list_contains(value: Column, wanted: Any) -> Column:
    found = sf.array_contains(value, sf.lit(wanted))
    # Spark's is NULL where a list has NULL and not the element
    return sf.when(value.isNotNull(), sf.coalesce(found, sf.lit(False)))  # noqa: FBT003


def _slice(value: Column, start: int, stop: int) -> Column:
    return sf.substring(value, start + 1, max(stop - start, 0))


def _replace(value: Column, old: str, new: str) -> Column:
    return sf.replace(value, sf.lit(old), sf.lit(new))


def _split(value: Column, separator: str) -> Column:
    return sf.split(value, escape(separator), -1)


def _get(value: Column, index: int) -> Column:
    return sf.get(value, sf.lit(index))


def _field(value: Column, name: str) -> Column:
    return value.getField(name)


def _tally(value: Column) -> Column:
    return sf.when(value.isNotNull(), sf.create_map(value, sf.lit(1).cast("bigint")))


BUILDERS: dict[str, Builder] = {
    "add": _plain(add),
    "concat": _plain(sf.concat),
    "subtract": _plain(sub),
    "multiply": _plain(lambda left, right: left * right),
    "divide": _plain(lambda left, right: left / right),
    "modulo": numbers.modulo,
    "negate": _plain(sf.negate),
    "abs": _plain(sf.abs),
    "equal": numbers.equal,
    "not_equal": numbers.not_equal,
    "less": numbers.below(lt),
    "less_equal": numbers.below(le),
    "greater": numbers.above(gt),
    "greater_equal": numbers.above(ge),
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
    "field": _constants(_field),
    "struct": _struct,
    "bucket": numbers.bucket,
    "bits": numbers.bits,
    "tally": _plain(_tally),
}
"""Name of a function that Spark SQL computes to its builder."""
