"""The table of scalar functions: name to what computes it in Python, and its name among expressions of columns.

A function that expressions of columns have too is computed there, on batches, if all others of its operator are.
`evaluation` has the functions that do not compute all of their arguments.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from penstock.errors import ExpressionError
from penstock.sql.column_types import DOUBLE, WHOLE
from penstock.sql.scalars import arithmetic, texts, times
from penstock.sql.scalars.casts import cast, shown
from penstock.sql.scalars.json_paths import steps_of
from penstock.sql.scalars.tree import ScalarCall


@dataclass(frozen=True, slots=True)
class ScalarFunction:
    """One function.

    Attributes:
        make: Returns what computes a typed call, given the values of its arguments.
        is_strict: Whether it is NULL if an argument is, and is then not called.
        column: The function of expressions of columns that is the same; None if there is none.
        column_for: Names of the types of arguments for which it is the same; empty is all.
    """

    make: Callable[[ScalarCall], Callable[..., Any]]
    is_strict: bool = True
    column: str | None = None
    column_for: frozenset[str] = frozenset()


def _plain(function: Callable[..., Any], **facts: Any) -> ScalarFunction:
    return ScalarFunction(lambda _: function, **facts)


def _typed(make: Callable[[Any], Callable[..., Any]], **facts: Any) -> ScalarFunction:
    """Return a function whose implementation depends on the type of its result."""
    return ScalarFunction(lambda call: make(call.type), **facts)


def _parameter(make: Callable[..., Callable[..., Any]], **facts: Any) -> ScalarFunction:
    """Return a function whose implementation depends on its parameters."""
    return ScalarFunction(lambda call: make(*call.parameters), **facts)


_WHOLE_OR_DOUBLE = frozenset({*WHOLE, "DOUBLE"})
_COMPARED = frozenset({*WHOLE, "DOUBLE", "STRING", "DATE", "TIMESTAMP", "TIMESTAMP_LTZ"})
_TEXT = frozenset({"STRING"})


def _cast(call: ScalarCall) -> Callable[[Any], Any]:
    found = cast(call.arguments[0].type, call.type, *call.parameters)
    assert found is not None, "the typing rule has refused others"
    return found


def _try_cast(call: ScalarCall) -> Callable[[Any], Any]:
    inside = _cast(call)

    def made(value: Any) -> Any:
        try:
            return inside(value)
        except ExpressionError:
            return None

    return made


def _member(members: frozenset[Any]) -> Callable[[Any], bool]:
    return members.__contains__


def _field(_: str, position: int) -> Callable[[Any], Any]:
    return lambda row: row[position]


def _element(values: list[Any], index: int) -> Any:
    return values[index - 1] if 1 <= index <= len(values) else None


def _array_contains(values: list[Any] | None, wanted: Any) -> bool | None:
    return None if values is None else any(each == wanted for each in values)


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


def _json_value(text: str, path: str) -> str | None:
    found: Any
    try:
        found = json.loads(text, parse_float=Decimal)
    except ValueError:
        return None
    for step in steps_of(path):
        try:
            found = found[step]
        except (KeyError, IndexError, TypeError):
            return None
    if isinstance(found, bool):
        return "true" if found else "false"
    if isinstance(found, Decimal):
        return str(shown(DOUBLE)(float(found)))
    return None if isinstance(found, dict | list) or found is None else str(found)


FUNCTIONS: dict[str, ScalarFunction] = {
    "add": _typed(arithmetic.add, column="add", column_for=_WHOLE_OR_DOUBLE),
    "subtract": _typed(arithmetic.subtract, column="subtract", column_for=_WHOLE_OR_DOUBLE),
    "multiply": _typed(arithmetic.multiply, column="multiply", column_for=_WHOLE_OR_DOUBLE),
    "divide": _typed(arithmetic.divide),
    "modulo": _typed(arithmetic.modulo),
    "negate": _typed(arithmetic.negate, column="negate", column_for=_WHOLE_OR_DOUBLE),
    "abs": _typed(arithmetic.absolute, column="abs", column_for=_WHOLE_OR_DOUBLE),
    "floor": _typed(arithmetic.floor, column="floor", column_for=frozenset({"DOUBLE"})),
    "ceil": _typed(arithmetic.ceil, column="ceil", column_for=frozenset({"DOUBLE"})),
    "round": _typed(arithmetic.rounded),
    "sign": _typed(arithmetic.sign),
    "power": _plain(arithmetic.power),
    "sqrt": _plain(arithmetic.of_floats("SQRT", math.sqrt)),
    "exp": _plain(arithmetic.of_floats("EXP", math.exp)),
    "ln": _plain(arithmetic.logarithm(math.log)),
    "log10": _plain(arithmetic.logarithm(math.log10)),
    "log2": _plain(arithmetic.logarithm(math.log2)),
    "log": _plain(arithmetic.log),
    "greatest": _plain(arithmetic.greatest),
    "least": _plain(arithmetic.least),
    "cast": ScalarFunction(_cast),
    "try_cast": ScalarFunction(_try_cast),
    "isin": _parameter(_member),
    "upper": _plain(str.upper),
    "lower": _plain(str.lower),
    "initcap": _plain(texts.initcap),
    "reverse": _plain(lambda text: text[::-1]),
    "strip": _plain(texts.strip),
    "lstrip": _plain(texts.lstrip),
    "rstrip": _plain(texts.rstrip),
    "length": _plain(len, column="length", column_for=_TEXT),
    "concat": _plain(lambda *parts: "".join(parts), column="concat", column_for=_TEXT),
    "concat_ws": _plain(texts.concat_ws, is_strict=False),
    "substring": _plain(texts.substring),
    "left": _plain(texts.left),
    "right": _plain(texts.right),
    "lpad": _plain(texts.lpad),
    "rpad": _plain(texts.rpad),
    "repeat": _plain(texts.repeat),
    "replace": _plain(str.replace),
    "position": _plain(texts.position),
    "like": _plain(texts.like),
    "matches": _plain(texts.matches),
    "regexp_extract": _plain(texts.regexp_extract),
    "regexp_replace": _plain(texts.regexp_replace),
    "split_index": _plain(texts.split_index),
    "split": _plain(texts.split),
    "digest": _parameter(texts.digest),
    "starts_with": _plain(str.startswith),
    "ends_with": _plain(str.endswith),
    "extract": _parameter(times.PARTS.__getitem__),
    "floor_to": _parameter(times.floor_to),
    "ceil_to": _parameter(times.ceil_to),
    "shift": _plain(times.shifted),
    "shift_months": _plain(times.shifted_months),
    "timestampdiff": _parameter(times.difference),
    "date_format": _plain(times.date_format),
    "to_timestamp": _plain(times.to_timestamp),
    "to_date": _plain(times.to_date),
    "to_timestamp_ltz": _plain(times.to_timestamp_ltz),
    "from_unixtime": _parameter(times.from_unixtime),
    "unix_timestamp": _parameter(times.unix_timestamp),
    "field": _parameter(_field, column="field"),
    "element_at": _plain(_element),
    "map_get": _plain(lambda values, key: values.get(key)),
    "element": _plain(_only),
    "cardinality": _plain(len, column="list_length", column_for=frozenset({"ARRAY"})),
    "array": _plain(lambda *values: list(values), is_strict=False),
    "map": _plain(_map, is_strict=False),
    "array_contains": _plain(_array_contains, is_strict=False),
    "json_value": _plain(_json_value),
}
"""Name to function, those that do not compute all arguments excepted."""

INFIX = {
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}
"""Comparisons: name to Python's operator. They are those of expressions of columns too."""

COMPARED = _COMPARED
"""Names of the types that expressions of columns compare in the same way."""

LOGIC = frozenset({"and", "or", "not", "is_null", "case", "coalesce", "is_distinct"})
"""Functions that `evaluation` computes, because they take NULL or do not compute all arguments."""

USER = "user:"
"""Prefix of the names of functions of the user; the parameter is the function itself."""
