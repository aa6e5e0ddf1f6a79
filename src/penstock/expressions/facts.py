r"""Facts of functions: for which calls Arrow's kernel, and for which Spark SQL, has the meaning of the function in Python.

    modulo(a INT, b INT)          Spark SQL: the remainder has the sign of the dividend in both
    lower(name STRING)            Python only: Spark SQL has the Unicode of Java

A fact is about the call alone, whatever its arguments are; `functions.because` walks an expression. No fact contains functions that Spark SQL computes
differently for some values, such as most regular expressions and all texts of numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

from penstock.expressions.kinds import COMPUTED
from penstock.expressions.signatures import is_castable
from penstock.expressions.tree import Call, Expression, Literal
from penstock.types.scalars import BasicTypeInfo
from penstock.types.sql_types import (
    BIGINT,
    FLOATS,
    MOST_DIGITS,
    WHOLE,
    SqlType,
    as_decimal,
)

Fact = Callable[[Call], bool]
"""Returns whether an executor has the meaning of a call in Python."""

COMPARED = frozenset({*WHOLE, "DOUBLE", "STRING", "DATE", "TIMESTAMP", "TIMESTAMP_LTZ"})
"""Names of the types that are compared in one way everywhere."""
WHOLE_OR_DOUBLE = frozenset({*WHOLE, "DOUBLE"})
EXACT = frozenset({*WHOLE, "DECIMAL"})
_LONGEST_MEMBERS = 256


def everywhere(_: Call) -> bool:
    """Hold for each call."""
    return True


def nowhere(_: Call) -> bool:
    """Hold for no call."""
    return False


def either(*facts: Fact) -> Fact:
    """Return the fact that one of some facts holds."""
    return lambda call: any(fact(call) for fact in facts)


def kinds_of(call: Call) -> set[str]:
    """Return the names of the types of the arguments."""
    return {argument.type.name for argument in call.arguments}


def of(*names: str) -> Fact:
    """Return the fact that all arguments have one of some types."""
    allowed = frozenset(names)
    return lambda call: kinds_of(call) <= allowed


def result_of(names: Collection[str]) -> Fact:
    """Return the fact that the result has one of some types."""
    return lambda call: call.type.name in names


def of_two_texts(call: Call) -> bool:
    """Hold for two texts: kernels of `+` have two operands."""
    return kinds_of(call) <= {"STRING"} and len(call.arguments) == 2  # noqa: PLR2004


def same_comparison(call: Call) -> bool:
    """Hold for values that are compared in one way everywhere."""
    kinds = kinds_of(call)
    return kinds <= COMPARED or (call.function == "equal" and kinds == {"BOOLEAN"})


def few_members(call: Call) -> bool:
    """Hold for a membership that is looked up in one way everywhere."""
    return kinds_of(call) <= COMPARED - {*FLOATS} and len(call.parameters) <= _LONGEST_MEMBERS


def of_basic(call: Call) -> bool:
    """Hold for a value of a type that functions compute with."""
    type_info = call.arguments[0].type_info
    return isinstance(type_info, BasicTypeInfo) and type_info.name in COMPUTED


def same_cast(call: Call) -> bool:
    """Hold for whole numbers as numbers or texts."""
    source, target = call.arguments[0].type, call.type
    if source.name not in WHOLE:
        return False
    is_exact = target.name in {*WHOLE, "DOUBLE"}
    name = getattr(source.type_info, "name", "")
    return target.name == "STRING" or (is_exact and is_castable(name, target.type_info))


# Facts of Spark SQL


def whole_division(call: Call) -> bool:
    """Hold for whole numbers: the quotient is truncated, the remainder has the sign of the dividend."""
    return kinds_of(call) <= {*WHOLE} and call.type.name in WHOLE


def no_digit_is_lost(call: Call) -> bool:
    """Hold for a sum, difference or product of decimals that Spark SQL computes with all digits."""
    if call.type.name != "DECIMAL" or not kinds_of(call) <= EXACT:
        return False
    one, other = (as_decimal(argument.type) for argument in call.arguments)
    if call.function == "multiply":
        digits, scale = one.precision + other.precision + 1, one.scale + other.scale
    else:
        scale = max(one.scale, other.scale)
        digits = max(one.precision - one.scale, other.precision - other.scale) + scale + 1
    return digits <= MOST_DIGITS and scale == call.type.scale


def is_decimal_comparison(call: Call) -> bool:
    """Return whether decimals are compared, with each other or with whole numbers."""
    return "DECIMAL" in kinds_of(call) and kinds_of(call) <= EXACT


def common_digits(call: Call) -> bool:
    """Hold for decimals that one type of Spark SQL has."""
    if not is_decimal_comparison(call):
        return False
    kinds = [as_decimal(argument.type) for argument in call.arguments]
    whole = max(kind.precision - kind.scale for kind in kinds)
    return whole + max(kind.scale for kind in kinds) <= MOST_DIGITS


def widening_cast(call: Call) -> bool:
    """Hold for a cast to DECIMAL that keeps all digits."""
    source, target = call.arguments[0].type, call.type
    if target.name != "DECIMAL" or source.name not in EXACT:
        return False
    exact = as_decimal(source)
    whole = target.precision - target.scale
    return target.scale >= exact.scale and whole >= exact.precision - exact.scale


def same_distinct(call: Call) -> bool:
    """Hold for values that are the same in one way everywhere."""
    kinds = kinds_of(call)
    is_one = len(kinds) == 1 or kinds <= {*WHOLE}
    return is_one and kinds <= (COMPARED - {*FLOATS}) | {"BOOLEAN"}


_PARTS_OF_DATES = frozenset({"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFMONTH", "DOY"})
_PARTS_OF_DAYS = frozenset({"HOUR", "MINUTE", "SECOND"})
_MOMENT = "yyyy-MM-dd HH:mm:ss"
_TOKENS = re.compile(r"(?:yyyy|MM|dd|HH|mm|ss|[-: ])+")


def same_part(call: Call) -> bool:
    """Hold for parts of DATE and TIMESTAMP."""
    kind = call.arguments[0].type.name
    known = {"DATE": _PARTS_OF_DATES, "TIMESTAMP": _PARTS_OF_DATES | _PARTS_OF_DAYS}
    return call.parameters[0] in known.get(kind, ()) and call.type == BIGINT


def part_of_moment(pattern: Any) -> tuple[int, int] | None:
    """Return begin and length of a pattern in `yyyy-MM-dd HH:mm:ss`, None if it is no part of it."""
    is_part = type(pattern) is str and pattern and pattern in _MOMENT and _TOKENS.fullmatch(pattern)
    return (_MOMENT.index(pattern), len(pattern)) if is_part else None


def same_format(call: Call) -> bool:
    """Hold for a TIMESTAMP and a part of its usual form."""
    pattern = constant_of(call.arguments[1])
    return call.arguments[0].type.name == "TIMESTAMP" and part_of_moment(pattern) is not None


def same_shift(call: Call) -> bool:
    """Hold for a TIMESTAMP and a constant interval."""
    return call.arguments[0].type.name == "TIMESTAMP" and constant_length(call)


def same_floor(call: Call) -> bool:
    """Hold for a TIMESTAMP and units up to days."""
    is_same = call.parameters[0] in {*_PARTS_OF_DAYS, "DAY"}
    return is_same and call.arguments[0].type.name == "TIMESTAMP"


def constant_of(expression: Expression, kind: type = str) -> Any:
    """Return the value of a constant of a Python type, None if it is none."""
    is_one = isinstance(expression, Literal) and type(expression.value) is kind
    return expression.value if is_one and isinstance(expression, Literal) else None


def with_constants(*kinds: type) -> Fact:
    """Return the fact that constants are behind a text; one that is empty has another meaning in Spark SQL."""

    def fact(call: Call) -> bool:
        pairs = zip(call.arguments[1:], kinds, strict=False)
        values = [constant_of(argument, kind) for argument, kind in pairs]
        is_negative = any(type(value) is int and value < 0 for value in values)
        is_full = len(call.arguments) == 1 + len(kinds) and None not in values
        return is_full and values[0] != "" and not is_negative

    return fact


def same_like(call: Call) -> bool:
    """Hold for a pattern without escapes."""
    pattern = constant_of(call.arguments[1])
    return pattern is not None and "\\" not in pattern and len(call.arguments) == 2  # noqa: PLR2004


def same_substring(call: Call) -> bool:
    """Hold for a position from 1, and a length."""
    start, *length = (constant_of(argument, int) for argument in call.arguments[1:])
    if start is None or start < 1 or len(length) != 1:
        return False
    return length[0] is not None and length[0] >= 0


def constant_length(call: Call) -> bool:
    """Hold for a whole number behind the value that is a constant."""
    return constant_of(call.arguments[1], int) is not None


def group_of(call: Call) -> tuple[str, int] | None:
    """Return the pattern and the group of REGEXP_EXTRACT, None if they are not the same in Spark SQL."""
    pattern, *rest = call.arguments[1:]
    text, group = constant_of(pattern), constant_of(rest[0], int) if rest else 0
    groups = None if text is None else groups_of_plain(text)
    if groups is None or group is None or not 0 <= group <= groups:
        return None
    return text, group


def plain_pattern(call: Call) -> bool:
    """Hold for a regular expression that means the same in Python and in Java."""
    return group_of(call) is not None


_RANGE = r"(?:a-z|A-Z|0-9)"
_SET = rf"\[\^?(?:{_RANGE}|(?!&&)[A-Za-z0-9_ =/:;,@%&#?!<>.+*])+\]"
_ITEM = rf"(?:\^|(?:[A-Za-z0-9_ =/:;,@%&#!<>-]|\\[.?*+()\[\]{{}}|^$/]|{_SET})[*+?]?)"
_GROUP = rf"\({_ITEM}+(?:\|{_ITEM}+)*\)"
_PLAIN = re.compile(rf"(?:{_ITEM}|{_GROUP})+")


def groups_of_plain(pattern: str) -> int | None:
    r"""Return the number of groups of a pattern that means the same in Python and Java, each of which takes part in every match.

    None is a pattern that may mean something else.

        pattern = (item | group)+      group = ( item+ | item+ ... )      item = ^ | (character | escape | set) [* + ?]

    In both the first alternative wins and a repetition takes as much as it can. All other syntax differs, or might: `.` and `$`, which have other
    ends of lines; `\d`, `\w` and `\b`, which have other letters; repeated and nested groups, whose last text is not the same; flags; `&&` in a set.

    Example:
        >>> groups_of_plain("(&|^)channel_id=([^&]*)"), groups_of_plain(".*")
        (2, None)
    """
    return re.compile(pattern).groups if _PLAIN.fullmatch(pattern) else None


_SPARK_TYPES = {
    "BOOLEAN": "boolean",
    "TINYINT": "tinyint",
    "SMALLINT": "smallint",
    "INT": "int",
    "BIGINT": "bigint",
    "FLOAT": "float",
    "DOUBLE": "double",
    "STRING": "string",
    "DATE": "date",
    "TIMESTAMP": "timestamp_ntz",
    "TIMESTAMP_LTZ": "timestamp",
}
"""Name of a type to Spark's; decimals have digits beside it."""


def spark_type(kind: SqlType) -> str | None:
    """Return Spark's name of a type, None of one whose values queries do not have."""
    if kind.name == "DECIMAL":
        return f"decimal({kind.precision},{kind.scale})"
    return _SPARK_TYPES.get(kind.name)
