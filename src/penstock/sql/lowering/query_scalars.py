r"""Scalar expressions in queries of Spark SQL: those of columns, and more that Spark SQL has with the same meaning.

| function | where it is the same |
|---|---|
| `MOD`, `%`, `/` | whole numbers: the quotient is truncated, the remainder has the sign of the dividend |
| `+`, `-`, `*` | decimals, if no digit is lost |
| comparisons | decimals and whole numbers |
| EXTRACT, HOUR, … | of DATE and TIMESTAMP |
| DATE_FORMAT | of TIMESTAMP, by a part of `yyyy-MM-dd HH:mm:ss` |
| LIKE, LEFT, SUBSTRING, REPLACE, SPLIT_INDEX, STARTSWITH, ENDSWITH | of constants beside the text |
| LOWER | where it is compared with constants of ASCII |
| REGEXP_EXTRACT | of constants, where the pattern means the same in Python and Java (`plain_pattern`) |
| `+` and `-` with INTERVAL, FLOOR … TO | of TIMESTAMP, from seconds to days |

What is not in it has another meaning for some values, such as other uses of LOWER, whose Unicode is Java's, most regular expressions, and all texts of
numbers.

Regular expressions that find the same in every text in Python and in Java.

    pattern = (item | group)+      group = ( item+ | item+ ... )      item = ^ | (character | escape | set) [* + ?]

Of both the first alternative wins and a repetition takes as much as it can. What is left out differs, or might: `.` and `$`, which know other ends of
lines; `\d`, `\w` and `\b`, which know other letters; repeated and nested groups, whose last text is not the same; flags; `&&` in a set.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from penstock.expressions.tree import Call, Expression, Field, Literal
from penstock.sql.column_types import (
    BIGINT,
    FLOATS,
    INT,
    MOST_DIGITS,
    STRING,
    WHOLE,
    SqlType,
    as_decimal,
)
from penstock.sql.scalars.columns import call_because, call_of_columns, constant_because
from penstock.sql.scalars.functions import COMPARED, INFIX
from penstock.sql.scalars.tree import Constant, InputColumn, Scalar, ScalarCall
from penstock.types import Types

_RANGE = r"(?:a-z|A-Z|0-9)"
_SET = rf"\[\^?(?:{_RANGE}|(?!&&)[A-Za-z0-9_ =/:;,@%&#?!<>.+*])+\]"
_ITEM = rf"(?:\^|(?:[A-Za-z0-9_ =/:;,@%&#!<>-]|\\[.?*+()\[\]{{}}|^$/]|{_SET})[*+?]?)"
_GROUP = rf"\({_ITEM}+(?:\|{_ITEM}+)*\)"
_PLAIN = re.compile(rf"(?:{_ITEM}|{_GROUP})+")


def groups_of_plain(pattern: str) -> int | None:
    """Return the number of groups of a pattern that means the same in Python and Java, each of which takes part in every match.

    None is a pattern that may mean something else.

    Example:
        >>> groups_of_plain("(&|^)channel_id=([^&]*)"), groups_of_plain(".*")
        (2, None)
    """
    return re.compile(pattern).groups if _PLAIN.fullmatch(pattern) else None


SPARK_TYPES = {
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

_EXACT = frozenset({*WHOLE, "DECIMAL"})
_MOMENT = "yyyy-MM-dd HH:mm:ss"
_TOKENS = re.compile(r"(?:yyyy|MM|dd|HH|mm|ss|[-: ])+")
_PARTS = {
    "YEAR": "year",
    "QUARTER": "quarter",
    "MONTH": "month",
    "WEEK": "week",
    "DAY": "day",
    "DAYOFMONTH": "day",
    "DOY": "day_of_year",
}
_PARTS_OF_DAYS = {"HOUR": "hour", "MINUTE": "minute", "SECOND": "second"}
_LOWER_ASCII = "lower_ascii"
"""LOWER that is compared with texts of ASCII."""

_TRUNCATED = frozenset({"SECOND", "MINUTE", "HOUR", "DAY"})

Made = Expression | None
Make = Callable[["QueryScalars", ScalarCall, tuple[Expression, ...]], Made]


def spark_type(kind: SqlType) -> str | None:
    """Return Spark's name of a type, None of one whose values queries do not have."""
    if kind.name == "DECIMAL":
        return f"decimal({kind.precision},{kind.scale})"
    return SPARK_TYPES.get(kind.name)


class QueryScalars:
    """Writes expressions of a query.

    Attributes:
        because: The first thing that Spark SQL does not have with the same meaning; None so far.
    """

    def __init__(self) -> None:
        """Begin."""
        self.because: str | None = None

    def written(self, scalar: Scalar) -> Made:
        """Return an expression that reads columns by their positions, None if there is none."""
        if isinstance(scalar, InputColumn):
            return Field(str(scalar.position), scalar.type.type_info)
        if isinstance(scalar, Constant):
            return self._constant(scalar)
        scalar = _of_ascii(scalar)
        arguments = tuple(map(self.written, scalar.arguments))
        known = tuple(each for each in arguments if each is not None)
        if len(known) < len(arguments):
            return None
        make = _MADE.get(scalar.function)
        found = None if make is None else make(self, scalar, known)
        if found is not None:
            return found
        reason = call_because(scalar)
        if reason is None:
            return call_of_columns(scalar, known)
        self.refuse(reason)
        return None

    def refuse(self, because: str) -> None:
        """Note why there is no query."""
        self.because = self.because or because

    def _constant(self, constant: Constant) -> Made:
        if constant.type.name == "DECIMAL" and constant.value is not None:
            text = Literal(f"{constant.value:f}", STRING.type_info)
            return _as_decimal(text, constant.type)
        reason = constant_because(constant)
        if reason is not None:
            self.refuse(reason)
            return None
        return Literal(constant.value, constant.type.type_info)


def _as_decimal(made: Expression, kind: SqlType) -> Expression:
    return Call("as_decimal", (made,), (kind.precision, kind.scale), kind.type_info)


def _exact(made: Expression, kind: SqlType) -> Expression:
    return made if kind.name == "DECIMAL" else _as_decimal(made, as_decimal(kind))


def _kinds(call: ScalarCall) -> set[str]:
    return {each.type.name for each in call.arguments}


def _constant_of(scalar: Scalar, kind: type) -> Any:
    """Return the value of a constant of a Python type, None if it is none."""
    is_one = isinstance(scalar, Constant) and type(scalar.value) is kind
    return scalar.value if is_one and isinstance(scalar, Constant) else None


def _whole(name: str) -> Make:
    def make(_: QueryScalars, call: ScalarCall, arguments: tuple[Expression, ...]) -> Made:
        if not _kinds(call) <= {*WHOLE} or call.type.name not in WHOLE:
            return None
        return Call(name, arguments, (SPARK_TYPES[call.type.name],), call.type.type_info)

    return make


def _decimal(name: str) -> Make:
    def make(_: QueryScalars, call: ScalarCall, arguments: tuple[Expression, ...]) -> Made:
        if call.type.name != "DECIMAL" or not _kinds(call) <= _EXACT:
            return None
        one, other = (as_decimal(each.type) for each in call.arguments)
        if name == "product":
            digits, scale = one.precision + other.precision + 1, one.scale + other.scale
        else:
            scale = max(one.scale, other.scale)
            digits = max(one.precision - one.scale, other.precision - other.scale) + scale + 1
        if digits > MOST_DIGITS or scale != call.type.scale:
            return None
        pairs = zip(arguments, call.arguments, strict=True)
        exact = tuple(_exact(made, each.type) for made, each in pairs)
        return _as_decimal(Call(name, exact, (), call.type.type_info), call.type)

    return make


def _comparison(_: QueryScalars, call: ScalarCall, arguments: tuple[Expression, ...]) -> Made:
    if "DECIMAL" not in _kinds(call) or not _kinds(call) <= _EXACT:
        return None
    kinds = [as_decimal(each.type) for each in call.arguments]
    wide = max(each.precision - each.scale for each in kinds) + max(each.scale for each in kinds)
    if wide > MOST_DIGITS:
        return None
    pairs = zip(arguments, call.arguments, strict=True)
    exact = tuple(_exact(made, each.type) for made, each in pairs)
    return Call(call.function, exact, (), Types.BOOLEAN())


def _cast(_: QueryScalars, call: ScalarCall, arguments: tuple[Expression, ...]) -> Made:
    source, target = call.arguments[0].type, call.type
    if target.name != "DECIMAL" or source.name not in _EXACT:
        return None
    exact = as_decimal(source)
    keeps = (
        target.scale >= exact.scale
        and target.precision - target.scale >= exact.precision - exact.scale
    )
    return _as_decimal(arguments[0], target) if keeps else None


def _extract(_: QueryScalars, call: ScalarCall, arguments: tuple[Expression, ...]) -> Made:
    known = dict(_PARTS)
    kind = call.arguments[0].type.name
    if kind == "TIMESTAMP":
        known |= _PARTS_OF_DAYS
    name = known.get(call.parameters[0])
    if name is None or kind not in {"DATE", "TIMESTAMP"} or call.type != BIGINT:
        return None
    return Call("as_bigint", (Call(name, arguments, (), INT.type_info),), (), BIGINT.type_info)


def _date_format(_: QueryScalars, call: ScalarCall, arguments: tuple[Expression, ...]) -> Made:
    pattern = _constant_of(call.arguments[1], str)
    is_time = call.arguments[0].type.name == "TIMESTAMP"
    if not is_time or not pattern or pattern not in _MOMENT or not _TOKENS.fullmatch(pattern):
        return None
    part = (_MOMENT.index(pattern), len(pattern))
    return Call("moment_text", arguments[:1], part, STRING.type_info)


def _of_constants(name: str, *kinds: type) -> Make:
    """Return what makes a call of a text and constants; a text that is empty has another meaning in Spark SQL."""

    def make(_: QueryScalars, call: ScalarCall, arguments: tuple[Expression, ...]) -> Made:
        values = [
            _constant_of(each, kind) for each, kind in zip(call.arguments[1:], kinds, strict=False)
        ]
        if len(call.arguments) != 1 + len(kinds) or None in values or values[0] == "":
            return None
        if any(type(each) is int and each < 0 for each in values):
            return None
        return Call(name, arguments[:1], tuple(values), call.type.type_info)

    return make


def _like(_: QueryScalars, call: ScalarCall, arguments: tuple[Expression, ...]) -> Made:
    pattern = _constant_of(call.arguments[1], str)
    if pattern is None or "\\" in pattern or len(call.arguments) > 2:  # noqa: PLR2004
        return None
    return Call("is_like", arguments[:1], (pattern,), call.type.type_info)


def _substring(_: QueryScalars, call: ScalarCall, arguments: tuple[Expression, ...]) -> Made:
    start, *length = (_constant_of(each, int) for each in call.arguments[1:])
    if start is None or start < 1 or len(length) != 1 or length[0] is None or length[0] < 0:
        return None
    part = (start - 1, start - 1 + length[0])
    return Call("slice", arguments[:1], part, STRING.type_info)


def _left(_: QueryScalars, call: ScalarCall, arguments: tuple[Expression, ...]) -> Made:
    length = _constant_of(call.arguments[1], int)
    if length is None:
        return None
    return Call("slice", arguments[:1], (0, max(0, length)), STRING.type_info)


def _is_distinct(_: QueryScalars, call: ScalarCall, arguments: tuple[Expression, ...]) -> Made:
    kinds = _kinds(call)
    if len(kinds) > 1 and not kinds <= {*WHOLE}:
        return None
    is_same = kinds <= (COMPARED - {*FLOATS}) | {"BOOLEAN"}
    return Call("is_distinct", arguments, (), Types.BOOLEAN()) if is_same else None


def _shift(_: QueryScalars, call: ScalarCall, arguments: tuple[Expression, ...]) -> Made:
    millis = _constant_of(call.arguments[1], int)
    if millis is None or call.arguments[0].type.name != "TIMESTAMP":
        return None
    return Call("shift", arguments[:1], (millis * 1000,), call.type.type_info)


def _floor_to(_: QueryScalars, call: ScalarCall, arguments: tuple[Expression, ...]) -> Made:
    unit = call.parameters[0]
    if unit not in _TRUNCATED or call.arguments[0].type.name != "TIMESTAMP":
        return None
    return Call("truncate", arguments, (unit.lower(),), call.type.type_info)


def _of_ascii(call: ScalarCall) -> ScalarCall:
    """Return a comparison of LOWER with constants of ASCII as one of `_LOWER_ASCII`, and any other call as it is."""
    if call.function not in {"equal", "not_equal", "isin"}:
        return call
    texts = [each.value for each in call.arguments if isinstance(each, Constant)]
    texts += call.parameters[0] if call.function == "isin" else ()
    if not all(type(each) is str and each.isascii() for each in texts) or not texts:
        return call
    return replace(call, arguments=tuple(map(_in_ascii, call.arguments)))


def _in_ascii(scalar: Scalar) -> Scalar:
    if isinstance(scalar, ScalarCall) and scalar.function == "lower":
        return replace(scalar, function=_LOWER_ASCII)
    return scalar


def _lower_ascii(_: QueryScalars, call: ScalarCall, arguments: tuple[Expression, ...]) -> Made:
    return Call(_LOWER_ASCII, arguments, (), call.type.type_info)


def _is_null(_: QueryScalars, call: ScalarCall, arguments: tuple[Expression, ...]) -> Made:
    (argument,) = arguments
    if not isinstance(argument, Call) or argument.function != "regexp_group":
        return None
    return Call("regexp_misses", argument.arguments, argument.parameters[:1], call.type.type_info)


def _regexp_extract(_: QueryScalars, call: ScalarCall, arguments: tuple[Expression, ...]) -> Made:
    pattern, *rest = call.arguments[1:]
    text, group = _constant_of(pattern, str), _constant_of(rest[0], int) if rest else 0
    groups = None if text is None else groups_of_plain(text)
    if groups is None or group is None or not 0 <= group <= groups:
        return None
    return Call("regexp_group", arguments[:1], (text, group), call.type.type_info)


_MADE: dict[str, Make] = {
    "modulo": _whole("remainder"),
    "divide": _whole("quotient"),
    "add": _decimal("sum_of"),
    "subtract": _decimal("difference_of"),
    "multiply": _decimal("product"),
    **dict.fromkeys(INFIX, _comparison),
    "cast": _cast,
    "extract": _extract,
    "date_format": _date_format,
    "replace": _of_constants("replace", str, str),
    "split_index": _of_constants("split_part", str, int),
    "starts_with": _of_constants("starts_with", str),
    "ends_with": _of_constants("ends_with", str),
    "like": _like,
    "substring": _substring,
    "left": _left,
    "is_distinct": _is_distinct,
    _LOWER_ASCII: _lower_ascii,
    "regexp_extract": _regexp_extract,
    "is_null": _is_null,
    "shift": _shift,
    "floor_to": _floor_to,
}
"""Function to what writes it where Spark SQL has the same meaning; what columns have is not in it."""
