"""The table of functions: one row per meaning, for columns and for SQL.

A row has the typing rule of columns, the meaning in Python, which is that of SQL, and where other executors have the same meaning; `because` reads it
for an expression. `penstock.expressions.arrow.kernels` and the Spark package have the implementations by the same names; tests compare all of them.
A function of SQL whose name columns have with another meaning is called `sql_…`.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any

from penstock.errors import ExpressionError
from penstock.expressions import facts
from penstock.expressions import signatures as rules
from penstock.expressions.facts import Fact, either, everywhere, nowhere
from penstock.expressions.kinds import (
    BOOLEAN,
    COMPUTED,
    DOUBLE,
    FLOATS,
    INT,
    LONG,
    NUMBERS,
    ORDERED,
    TIMESTAMPS,
    WHOLE,
    name_of,
)
from penstock.expressions.python import arithmetic, texts, times
from penstock.expressions.python.casts import cast, shown
from penstock.expressions.tree import Call, Expression, Field, Literal, arguments_of
from penstock.types import sql_types
from penstock.types.scalars import BasicTypeInfo
from penstock.types.sql_types import SqlType

Made = Callable[..., Any]
"""Computes a call, given the values of its arguments."""


class ScalarExecutor(Enum):
    """Executor of scalar expressions."""

    SPARK_SQL = "Spark SQL"
    ARROW = "Arrow"
    PYTHON = "Python"


@dataclass(frozen=True, slots=True)
class FunctionRow:
    """One function.

    Attributes:
        rule: Types a call of columns; None if only SQL has the function, whose binder types it.
        python: Returns what computes a typed call; None if only columns have it, or `row_values` writes it.
        sql: Its names and types in SQL, `NAME|OTHER(TYPE, OPTIONAL?, REPEATED*) RESULT`; empty if the binder has a rule for it.
        is_strict: Whether it is NULL if an argument is, and is then not called in Python.
        fails: Whether a typed call can fail for some values of its arguments.
        arrow: Where Arrow has the meaning of SQL.
        spark: Where Spark SQL has the meaning of SQL; `nowhere` if it has not that of columns either.
    """

    rule: rules.Rule | None = None
    python: Callable[[Call], Made] | None = None
    sql: str = ""
    is_strict: bool = True
    fails: Callable[[Call], bool] = nowhere
    arrow: Fact = nowhere
    spark: Fact = nowhere


def _plain(function: Made) -> Callable[[Call], Made]:
    return lambda _: function


def _typed(make: Callable[[SqlType], Made]) -> Callable[[Call], Made]:
    """Return an implementation that depends on the type of the result."""
    return lambda call: make(call.type)


def _parameter(make: Callable[..., Made]) -> Callable[[Call], Made]:
    """Return an implementation that depends on the parameters."""
    return lambda call: make(*call.parameters)


def _columns(
    rule: rules.Rule, python: Callable[[Call], Made] | None = None, **more: Any
) -> FunctionRow:
    """Return a function of columns, which Arrow and Spark SQL have by default."""
    return FunctionRow(rule, python, **{"arrow": everywhere, "spark": everywhere, **more})


def _sql(python: Callable[[Call], Made], spark: Fact = nowhere, **more: Any) -> FunctionRow:
    """Return a function that only SQL has."""
    return FunctionRow(python=python, spark=spark, **more)


def _exact(call: Call) -> bool:
    """Return whether it computes with whole numbers or decimals, which can overflow; a decimal of SQL is NULL then."""
    is_decimal = isinstance(call.kind, SqlType) and call.type.name == "DECIMAL"
    return name_of(call.arguments[0]) not in FLOATS and not is_decimal


def _narrowing(call: Call) -> bool:
    source, target = name_of(call.arguments[0]), name_of(call)
    if source in WHOLE and target in WHOLE:
        return WHOLE.index(target) < WHOLE.index(source)
    return (source in FLOATS and target in WHOLE) or (source == "String" and target != "String")


def _divides_by_any(call: Call) -> bool:
    divisor = call.arguments[1]
    return not isinstance(divisor, Literal) or divisor.value in {None, 0, -1}


def _cast(call: Call) -> Callable[[Any], Any]:
    conversion = cast(call.arguments[0].type, call.type, *call.parameters)
    assert conversion is not None, "the typing rule has refused others"
    return conversion


def _try_cast(call: Call) -> Callable[[Any], Any]:
    inside = _cast(call)

    def convert(value: Any) -> Any:
        try:
            return inside(value)
        except ExpressionError:
            return None

    return convert


def _member(*members: Any) -> Callable[[Any], bool]:
    return frozenset(members).__contains__


def _field(_: str, position: int) -> Callable[[Any], Any]:
    return lambda row: row[position]


def _element(values: list[Any], index: int) -> Any:
    return values[index - 1] if 1 <= index <= len(values) else None


def _array_contains(values: list[Any] | None, element: Any) -> bool | None:
    return None if values is None else any(value == element for value in values)


def _map(*pairs: Any) -> dict[Any, Any]:
    keys = pairs[::2]
    if None in keys:
        raise ExpressionError("a key of MAP[…] is NULL", hint="Guard the key with COALESCE.")
    return dict(zip(keys, pairs[1::2], strict=True))


def _only(values: list[Any]) -> Any:
    if len(values) > 1:
        raise ExpressionError(
            f"ELEMENT got {len(values)} elements", hint="Pass an array of one, or of none."
        )
    return values[0] if values else None


def _misses(text: str | None, *pattern: Any) -> bool:
    return text is None or texts.regexp_extract(text, *pattern) is None


def _json_value(text: str, path: str) -> str | None:
    value: Any
    try:
        value = json.loads(text, parse_float=Decimal)
    except ValueError:
        return None
    for step in texts.steps_of(path):
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return str(shown(sql_types.DOUBLE)(float(value)))
    return None if isinstance(value, dict | list) or value is None else str(value)


_WHOLE_OR_FLOAT = frozenset({*WHOLE, *FLOATS})
_DATES = TIMESTAMPS | {"SqlDate"}
_NUMBER = facts.of(*facts.WHOLE_OR_DOUBLE)
_TEXT = facts.of("STRING")
_CHOSEN = facts.result_of(facts.COMPARED | {"BOOLEAN"})


def _compared(python: Made, allowed: frozenset[str]) -> FunctionRow:
    """Return the row of a comparison."""
    spark = either(facts.same_comparison, facts.common_digits)
    return FunctionRow(
        rules.comparison(allowed), _plain(python), arrow=facts.same_comparison, spark=spark
    )


FUNCTIONS: dict[str, FunctionRow] = {
    "add": _columns(
        rules.plus,
        _typed(arithmetic.add),
        fails=_exact,
        arrow=_NUMBER,
        spark=either(_NUMBER, facts.no_digit_is_lost),
    ),
    "concat": _columns(
        rules.plus,
        _plain(lambda *parts: "".join(parts)),
        arrow=facts.of_two_texts,
        spark=facts.of_two_texts,
        sql="CONCAT(STRING*) STRING",
    ),
    "subtract": _columns(
        rules.arithmetic(NUMBERS),
        _typed(arithmetic.subtract),
        fails=_exact,
        arrow=_NUMBER,
        spark=either(_NUMBER, facts.no_digit_is_lost),
    ),
    "multiply": _columns(
        rules.arithmetic(_WHOLE_OR_FLOAT),
        _typed(arithmetic.multiply),
        fails=_exact,
        arrow=_NUMBER,
        spark=either(_NUMBER, facts.no_digit_is_lost),
    ),
    "divide": _columns(rules.division, fails=everywhere),
    "modulo": _columns(rules.arithmetic(_WHOLE_OR_FLOAT), fails=everywhere),
    "negate": _columns(
        rules.unary(NUMBERS),
        _typed(arithmetic.negate),
        fails=_exact,
        arrow=_NUMBER,
        spark=_NUMBER,
    ),
    "abs": _columns(
        rules.unary(NUMBERS),
        _typed(arithmetic.absolute),
        fails=_exact,
        arrow=_NUMBER,
        spark=_NUMBER,
    ),
    "equal": _compared(operator.eq, COMPUTED),
    "not_equal": _compared(operator.ne, COMPUTED),
    "less": _compared(operator.lt, ORDERED),
    "less_equal": _compared(operator.le, ORDERED),
    "greater": _compared(operator.gt, ORDERED),
    "greater_equal": _compared(operator.ge, ORDERED),
    "and": _columns(rules.logic),
    "or": _columns(rules.logic),
    "not": _columns(rules.logic),
    "is_null": _columns(rules.null_test, arrow=facts.of_basic, spark=facts.of_basic),
    "is_nan": _columns(rules.unary(FLOATS, BOOLEAN)),
    "coalesce": _columns(rules.first_known, arrow=_CHOSEN, spark=_CHOSEN),
    "case": _columns(rules.choice, arrow=_CHOSEN, spark=_CHOSEN),
    "isin": _columns(
        rules.membership,
        _parameter(_member),
        arrow=facts.few_members,
        spark=facts.few_members,
    ),
    "greatest": _columns(rules.extreme),
    "least": _columns(rules.extreme),
    "cast": _columns(rules.cast, fails=_narrowing),
    "floor": _columns(
        rules.of_float,
        _typed(arithmetic.floor),
        arrow=facts.of("DOUBLE"),
        spark=facts.of("DOUBLE"),
    ),
    "ceil": _columns(
        rules.of_float,
        _typed(arithmetic.ceil),
        arrow=facts.of("DOUBLE"),
        spark=facts.of("DOUBLE"),
    ),
    "round": _columns(rules.of_float),
    "sqrt": _columns(rules.of_float),
    "length": _columns(
        rules.count,
        _plain(len),
        arrow=_TEXT,
        spark=_TEXT,
        sql="CHAR_LENGTH|CHARACTER_LENGTH(STRING) INT",
    ),
    "ascii_lower": _columns(rules.text()),
    "ascii_upper": _columns(rules.text()),
    "strip": _columns(rules.text(str)),
    "strip_start": _columns(rules.text(str)),
    "strip_end": _columns(rules.text(str)),
    "pad_start": _columns(rules.padded),
    "pad_end": _columns(rules.padded),
    "reverse": _columns(
        rules.text(), _plain(lambda text: text[::-1]), sql="REVERSE(STRING) STRING"
    ),
    "repeat": _columns(rules.text(int)),
    "find": _columns(rules.text(str, result=INT, filled=True)),
    "slice": _columns(rules.text(int, int)),
    "starts_with": _columns(rules.text(str, result=BOOLEAN)),
    "ends_with": _columns(rules.text(str, result=BOOLEAN)),
    "contains": _columns(rules.text(str, result=BOOLEAN)),
    "replace": _columns(rules.text(str, str, filled=True)),
    "split": _columns(rules.text(str, result=rules.LIST_OF_TEXTS, filled=True)),
    "year": _columns(rules.unary(_DATES, INT)),
    "month": _columns(rules.unary(_DATES, INT)),
    "day": _columns(rules.unary(_DATES, INT)),
    "weekday": _columns(rules.unary(_DATES, INT)),
    "quarter": _columns(rules.unary(_DATES, INT)),
    "week": _columns(rules.unary(_DATES, INT)),
    "day_of_year": _columns(rules.unary(_DATES, INT)),
    "hour": _columns(rules.unary(TIMESTAMPS, INT)),
    "minute": _columns(rules.unary(TIMESTAMPS, INT)),
    "second": _columns(rules.unary(TIMESTAMPS, INT)),
    "epoch_millis": _columns(rules.unary(TIMESTAMPS, LONG)),
    "truncate": _columns(rules.truncated),
    "shift": _columns(rules.shifted),
    "days_since": _columns(rules.difference_of_dates),
    "list_length": _columns(rules.count),
    "list_contains": _columns(rules.contained),
    "get": _columns(rules.element),
    "field": _columns(rules.member, _parameter(_field)),
    "struct": _columns(rules.made_row),
    "sql_divide": _sql(_typed(arithmetic.divide), facts.whole_division, fails=_divides_by_any),
    "sql_modulo": _sql(_typed(arithmetic.modulo), facts.whole_division, fails=_divides_by_any),
    "sql_round": _sql(_typed(arithmetic.rounded)),
    "sign": _sql(_typed(arithmetic.sign)),
    "power": _sql(_plain(arithmetic.power), sql="POWER(DOUBLE, DOUBLE) DOUBLE"),
    "sql_sqrt": _sql(_plain(arithmetic.of_floats("SQRT", math.sqrt)), sql="SQRT(DOUBLE) DOUBLE"),
    "exp": _sql(_plain(arithmetic.of_floats("EXP", math.exp)), sql="EXP(DOUBLE) DOUBLE"),
    "ln": _sql(_plain(arithmetic.logarithm(math.log)), sql="LN(DOUBLE) DOUBLE"),
    "log10": _sql(_plain(arithmetic.logarithm(math.log10)), sql="LOG10(DOUBLE) DOUBLE"),
    "log2": _sql(_plain(arithmetic.logarithm(math.log2)), sql="LOG2(DOUBLE) DOUBLE"),
    "log": _sql(_plain(arithmetic.log), sql="LOG(DOUBLE, DOUBLE) DOUBLE"),
    "sql_greatest": _sql(_plain(arithmetic.greatest)),
    "sql_least": _sql(_plain(arithmetic.least)),
    "sql_cast": _sql(
        _cast, either(facts.same_cast, facts.widening_cast), arrow=facts.same_cast, fails=_narrowing
    ),
    "try_cast": _sql(_try_cast),
    "upper": _sql(_plain(str.upper), sql="UPPER(STRING) STRING"),
    "lower": _sql(_plain(str.lower), sql="LOWER(STRING) STRING"),
    "lower_ascii": _sql(_plain(str.lower), everywhere),
    "initcap": _sql(_plain(texts.initcap), sql="INITCAP(STRING) STRING"),
    "sql_strip": _sql(_plain(texts.strip), sql="TRIM|BTRIM(STRING, STRING?) STRING"),
    "lstrip": _sql(_plain(texts.lstrip), sql="LTRIM(STRING, STRING?) STRING"),
    "rstrip": _sql(_plain(texts.rstrip), sql="RTRIM(STRING, STRING?) STRING"),
    "concat_ws": _sql(_plain(texts.concat_ws), is_strict=False, sql="CONCAT_WS(STRING*) STRING"),
    "substring": _sql(
        _plain(texts.substring),
        facts.same_substring,
        sql="SUBSTRING|SUBSTR(STRING, INT, INT?) STRING",
    ),
    "left": _sql(_plain(texts.left), facts.constant_length, sql="LEFT(STRING, INT) STRING"),
    "right": _sql(_plain(texts.right), sql="RIGHT(STRING, INT) STRING"),
    "lpad": _sql(_plain(texts.lpad), sql="LPAD(STRING, INT, STRING) STRING"),
    "rpad": _sql(_plain(texts.rpad), sql="RPAD(STRING, INT, STRING) STRING"),
    "sql_repeat": _sql(_plain(texts.repeat), sql="REPEAT(STRING, INT) STRING"),
    "sql_replace": _sql(
        _plain(str.replace),
        facts.with_constants(str, str),
        sql="REPLACE(STRING, STRING, STRING) STRING",
    ),
    "position": _sql(_plain(texts.position), sql="POSITION|LOCATE(STRING, STRING, INT?) INT"),
    "like": _sql(_plain(texts.like), facts.same_like, sql="LIKE(STRING, STRING, STRING?) BOOLEAN"),
    "matches": _sql(_plain(texts.matches), sql="REGEXP(STRING, STRING) BOOLEAN"),
    "regexp_extract": _sql(
        _plain(texts.regexp_extract),
        facts.plain_pattern,
        sql="REGEXP_EXTRACT(STRING, STRING, INT?) STRING",
    ),
    "regexp_misses": _sql(_plain(_misses), facts.plain_pattern, is_strict=False),
    "regexp_replace": _sql(
        _plain(texts.regexp_replace), sql="REGEXP_REPLACE(STRING, STRING, STRING) STRING"
    ),
    "split_index": _sql(
        _plain(texts.split_index),
        facts.with_constants(str, int),
        sql="SPLIT_INDEX(STRING, STRING, INT) STRING",
    ),
    "sql_split": _sql(_plain(texts.split), sql="SPLIT(STRING, STRING) ARRAY<STRING>"),
    "digest": _sql(_parameter(texts.digest)),
    "sql_starts_with": _sql(
        _plain(str.startswith), facts.with_constants(str), sql="STARTSWITH(STRING, STRING) BOOLEAN"
    ),
    "sql_ends_with": _sql(
        _plain(str.endswith), facts.with_constants(str), sql="ENDSWITH(STRING, STRING) BOOLEAN"
    ),
    "extract": _sql(_parameter(times.PARTS.__getitem__), facts.same_part),
    "floor_to": _sql(_parameter(times.floor_to), facts.same_floor),
    "ceil_to": _sql(_parameter(times.ceil_to)),
    "sql_shift": _sql(_plain(times.shifted), facts.same_shift),
    "shift_months": _sql(_plain(times.shifted_months)),
    "timestampdiff": _sql(_parameter(times.difference)),
    "date_format": _sql(_plain(times.date_format), facts.same_format),
    "to_timestamp": _sql(_plain(times.to_timestamp)),
    "to_date": _sql(_plain(times.to_date)),
    "to_timestamp_ltz": _sql(_plain(times.to_timestamp_ltz)),
    "from_unixtime": _sql(_parameter(times.from_unixtime)),
    "unix_timestamp": _sql(_parameter(times.unix_timestamp)),
    "element_at": _sql(_plain(_element)),
    "map_get": _sql(_plain(lambda values, key: values.get(key))),
    "element": _sql(_plain(_only)),
    "cardinality": _sql(_plain(len), facts.of("ARRAY"), arrow=facts.of("ARRAY")),
    "array": _sql(_plain(lambda *values: list(values)), is_strict=False),
    "map": _sql(_plain(_map), is_strict=False),
    "array_contains": _sql(_plain(_array_contains), is_strict=False),
    "json_value": _sql(_plain(_json_value), sql="JSON_VALUE(STRING, STRING) STRING"),
    "is_distinct": FunctionRow(spark=facts.same_distinct),
    "bucket": _columns(rules.bucketed),
    "bits": _columns(rules.unary({"Long"}, LONG)),
    "tally": _columns(rules.tallied),
    "weight": _columns(rules.of_sums, spark=nowhere),
    "joined": _columns(rules.of_sums, fails=everywhere, spark=nowhere),
    "quotient": _columns(rules.of_sums, spark=nowhere),
    "tally_size": _columns(rules.of_tally(LONG), spark=nowhere),
    "quantile": _columns(rules.of_tally(DOUBLE), spark=nowhere),
    "variance": _columns(rules.of_moments, spark=nowhere),
    "limbs": _columns(rules.limbs, fails=everywhere, spark=nowhere),
    "times": _columns(rules.first_argument, spark=nowhere),
    "limb_quotient": _columns(rules.of_tally(DOUBLE), spark=nowhere),
    "limb_variance": _columns(rules.of_moments, spark=nowhere),
    "ordinal": _columns(rules.unary({"Double"}, LONG), spark=nowhere),
    "of_ordinal": _columns(rules.unary({"Long"}, DOUBLE), spark=nowhere),
    "decimal_limbs": _columns(rules.limbs, spark=nowhere),
    "decimal_quotient": _columns(rules.of_last_parameter, spark=nowhere),
    "packed": _columns(rules.of_calls, spark=nowhere),
    "folded": _columns(rules.of_calls, fails=everywhere, spark=nowhere),
    "user_result": _columns(rules.of_last_parameter, fails=everywhere, spark=nowhere),
    "of_values": _columns(rules.of_last_parameter, spark=nowhere),
    "over_values": _columns(rules.over_values, spark=nowhere),
}
"""Name to function: those of columns in the order of their page, those that only SQL has, those of aggregates."""


INFIX = {
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}
"""Comparisons: name to Python's operator."""

LOGIC = frozenset({"and", "or", "not", "is_null", "case", "coalesce", "is_distinct"})
"""Functions that `row_values` writes, because they take NULL or do not compute all arguments."""

USER = "user:"
"""Prefix of the names of functions of the user; the parameter is the function itself."""


def because(expression: Expression, executor: ScalarExecutor) -> str | None:
    """Return the part of an expression that an executor lacks or computes otherwise than Python; None if it may compute all.

    An expression of columns has the meaning of its kernels, whatever its types are.
    """
    if isinstance(expression, Field) or executor is ScalarExecutor.PYTHON:
        return None
    if isinstance(expression, Literal):
        return _constant_because(expression, executor)
    reason = next(
        (why for argument in expression.arguments if (why := because(argument, executor))), None
    )
    return reason or _call_because(expression, executor)


def _constant_because(constant: Literal, executor: ScalarExecutor) -> str | None:
    type_info = constant.type_info
    is_decimal = constant.type.name == "DECIMAL"
    if is_decimal and constant.value is not None and executor is ScalarExecutor.SPARK_SQL:
        return None
    if isinstance(type_info, BasicTypeInfo) and type_info.name in COMPUTED and not is_decimal:
        return None
    return f"a constant of type {constant.type}"


def _call_because(call: Call, executor: ScalarExecutor) -> str | None:
    row = FUNCTIONS.get(call.function)
    if row is None:
        return call.name
    fact = row.spark if executor is ScalarExecutor.SPARK_SQL else row.arrow
    if fact is not nowhere and (not isinstance(call.kind, SqlType) or fact(call)):
        return None
    if row.arrow is nowhere:
        return call.name
    kinds = ", ".join(dict.fromkeys(str(argument.type) for argument in call.arguments))
    target = f" as {call.type}" if call.function == "sql_cast" else ""
    return f"{call.name} of {kinds}{target}"


def can_fail(expression: Expression) -> bool:
    """Return whether some values of the fields make a typed expression fail.

    Such an expression is evaluated only for the records that need it: behind a condition that chooses it.
    """
    if isinstance(expression, Call) and FUNCTIONS[expression.function].fails(expression):
        return True
    return any(can_fail(argument) for argument in arguments_of(expression))
