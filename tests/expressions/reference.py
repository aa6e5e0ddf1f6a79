"""The third evaluator of expressions: slow and obvious, one record and one function at a time.

It shares the typing rules with the others, and no evaluation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

from penstock.expressions.tree import Call, Expression, Field, Literal
from penstock.types import Row, TypeInformation

BITS = {"Byte": 8, "Short": 16, "Integer": 32, "Long": 64}
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - without zone


class NoValueError(Exception):
    """The expression has no value for the record."""


def evaluate(expression: Expression, record: Mapping[str, Any]) -> Any:
    """Return the value of a typed expression for one record."""
    if isinstance(expression, Field):
        return record[expression.name]
    if isinstance(expression, Literal):
        return expression.value
    lazy = LAZY.get(expression.function)
    if lazy is not None:
        return lazy(expression, record)
    values = [evaluate(each, record) for each in expression.arguments]
    if expression.function == "is_null":
        return values[0] is None
    if any(value is None for value in values):
        return None
    return REFERENCE[expression.function](expression, *values)


def _and(call: Call, record: Mapping[str, Any]) -> Any:
    left = evaluate(call.arguments[0], record)
    if left is False:
        return False
    right = evaluate(call.arguments[1], record)
    if right is False:
        return False
    return None if left is None or right is None else True


def _or(call: Call, record: Mapping[str, Any]) -> Any:
    left = evaluate(call.arguments[0], record)
    if left is True:
        return True
    right = evaluate(call.arguments[1], record)
    if right is True:
        return True
    return None if left is None or right is None else False


def _coalesce(call: Call, record: Mapping[str, Any]) -> Any:
    for each in call.arguments:
        value = evaluate(each, record)
        if value is not None:
            return value
    return None


def _case(call: Call, record: Mapping[str, Any]) -> Any:
    *pairs, last = call.arguments
    for condition, value in zip(pairs[::2], pairs[1::2], strict=True):
        if evaluate(condition, record) is True:
            return evaluate(value, record)
    return evaluate(last, record)


def _struct(call: Call, record: Mapping[str, Any]) -> Any:
    values = (evaluate(each, record) for each in call.arguments)
    return Row(**dict(zip(call.parameters, values, strict=True)))


LAZY: dict[str, Callable[[Call, Mapping[str, Any]], Any]] = {
    "and": _and,
    "or": _or,
    "coalesce": _coalesce,
    "case": _case,
    "struct": _struct,
}


def _name(type_info: TypeInformation | None) -> str:
    return getattr(type_info, "name", "")


def fitted(call: Call, value: Any) -> Any:
    """Return a number of the type of a call."""
    name = _name(call.type_info)
    if name in BITS:
        limit = 1 << (BITS[name] - 1)
        if not -limit <= value < limit:
            raise NoValueError("overflow")
        return value
    if name == "Float":
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.float32(value))
    return value


def _arithmetic(compute: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def apply(call: Call, left: Any, right: Any) -> Any:
        if isinstance(left, Decimal):
            if max(abs(left), abs(right)) >= 10**19:
                raise NoValueError("a summand has more than 19 digits")
            with localcontext(prec=80):
                return compute(left, right)
        if isinstance(left, float):
            with np.errstate(all="ignore"):
                return fitted(call, float(compute(np.float64(left), np.float64(right))))
        return fitted(call, compute(left, right))

    return apply


def _divide(_: Call, left: float, right: float) -> float:
    if right == 0:
        raise NoValueError("divide by zero")
    with np.errstate(all="ignore"):
        return float(np.float64(left) / np.float64(right))


def _bits(call: Call, value: int) -> int:
    start, count = call.parameters
    above = math.floor(Fraction(value, 2**start))
    return above if count is None else above % 2**count


def _modulo(call: Call, left: Any, right: Any) -> Any:
    if right == 0:
        raise NoValueError("divide by zero")
    if not isinstance(left, float):
        return left % right
    if math.isinf(left) or math.isnan(left) or math.isnan(right):
        return math.nan
    return fitted(call, left % right)


def _unary(compute: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda call, value: fitted(call, compute(value))


def _rounded(compute: Callable[[float], Any]) -> Callable[..., Any]:
    def apply(_: Call, value: float) -> float:
        return float(compute(value)) if math.isfinite(value) else value

    return apply


def _sqrt(call: Call, value: float) -> float:
    if value < 0 or math.isnan(value):
        return math.nan
    return fitted(call, math.sqrt(value))  # type: ignore[no-any-return]


def _cast(call: Call, value: Any) -> Any:
    source, target = _name(call.arguments[0].type_info), _name(call.type_info)
    if source == target:
        return value
    return CASTS[target](call, value)


def _to_whole(call: Call, value: Any) -> Any:
    if isinstance(value, str):
        digits = value[1:] if value[:1] in ("+", "-") else value
        if not (digits and digits.isascii() and digits.isdigit()):
            raise NoValueError("no number")
        return fitted(call, int(value))
    if isinstance(value, float) and not math.isfinite(value):
        raise NoValueError("out of range")
    return fitted(call, int(value))


def _to_float(call: Call, value: Any) -> Any:
    with np.errstate(over="ignore"):
        if isinstance(value, int):
            wanted = np.float32 if _name(call.type_info) == "Float" else np.float64
            return float(wanted(np.int64(value)))
    return fitted(call, value)


def _to_double(call: Call, value: Any) -> Any:
    if isinstance(value, str):
        digits = value[1:] if value[:1] in ("+", "-") else value
        parts = digits.split(".")
        if len(parts) > 2 or not all(p and p.isascii() and p.isdigit() for p in parts):
            raise NoValueError("no number")
        return float(value)
    return _to_float(call, value)


def _to_text(_: Call, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, date) else str(value)


def _from_iso(value: str, form: str, of: Callable[[str], Any]) -> Any:
    shape = "".join("9" if each.isascii() and each.isdigit() else each for each in value)
    whole, _, fraction = shape.partition(".")
    seconds = (len(fraction) <= 6 and set(fraction) <= {"9"}) and bool(fraction) == ("." in shape)
    if whole.replace("T", " ") != form or not seconds or ("." in shape and form == "9999-99-99"):
        raise NoValueError("not in the form of ISO 8601")
    try:
        return of(value)
    except ValueError:
        raise NoValueError("no such day or time") from None


def _to_date(_: Call, value: Any) -> date:
    if isinstance(value, str):
        made: date = _from_iso(value, "9999-99-99", date.fromisoformat)
        return made
    return value.date()  # type: ignore[no-any-return]


def _to_timestamp(_: Call, value: Any) -> datetime:
    if isinstance(value, str):
        point = value.find(".")
        padded = value if point < 0 else value.ljust(point + 7, "0")
        made: datetime = _from_iso(padded, "9999-99-99 99:99:99", datetime.fromisoformat)
        if value.endswith("."):
            raise NoValueError("a point without digits")
        return made
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None)
    return datetime(value.year, value.month, value.day)  # noqa: DTZ001 - without zone


CASTS: dict[str, Callable[[Call, Any], Any]] = {
    **dict.fromkeys(BITS, _to_whole),
    "Float": _to_float,
    "Double": _to_double,
    "BigDecimal": lambda _, value: Decimal(value),
    "String": _to_text,
    "SqlTimestamp": _to_timestamp,
    "TimestampLtz": lambda _, value: value.replace(tzinfo=UTC),
    "SqlDate": _to_date,
}


def _java_order(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    is_nan = math.isnan(value)
    return (is_nan, 0.0 if is_nan else value, math.copysign(1.0, value))


def _extreme(chosen: Callable[..., Any]) -> Callable[..., Any]:
    return lambda _, left, right: chosen(left, right, key=_java_order)


def _past(value: datetime) -> timedelta:
    return value.replace(tzinfo=None) - EPOCH


_UNITS = {
    "second": {"microsecond": 0},
    "minute": {"microsecond": 0, "second": 0},
    "hour": {"microsecond": 0, "second": 0, "minute": 0},
    "day": {"microsecond": 0, "second": 0, "minute": 0, "hour": 0},
}
LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
UPPER = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")

REFERENCE: dict[str, Callable[..., Any]] = {
    "add": _arithmetic(lambda a, b: a + b),
    "subtract": _arithmetic(lambda a, b: a - b),
    "multiply": _arithmetic(lambda a, b: a * b),
    "divide": _divide,
    "modulo": _modulo,
    "bits": _bits,
    "negate": _unary(lambda a: -a),
    "abs": _unary(abs),
    "concat": lambda _, a, b: a + b,
    "equal": lambda _, a, b: a == b,
    "not_equal": lambda _, a, b: a != b,
    "less": lambda _, a, b: a < b,
    "less_equal": lambda _, a, b: a <= b,
    "greater": lambda _, a, b: a > b,
    "greater_equal": lambda _, a, b: a >= b,
    "not": lambda _, a: not a,
    "is_nan": lambda _, a: math.isnan(a),
    "greatest": _extreme(max),
    "least": _extreme(min),
    "isin": lambda call, a: a in call.parameters,
    "cast": _cast,
    "floor": _rounded(math.floor),
    "ceil": _rounded(math.ceil),
    "round": _rounded(round),
    "sqrt": _sqrt,
    "length": lambda _, a: len(a),
    "ascii_lower": lambda _, a: a.translate(LOWER),
    "ascii_upper": lambda _, a: a.translate(UPPER),
    "strip": lambda call, a: a.strip(call.parameters[0]) if call.parameters[0] else a,
    "strip_start": lambda call, a: a.lstrip(call.parameters[0]) if call.parameters[0] else a,
    "strip_end": lambda call, a: a.rstrip(call.parameters[0]) if call.parameters[0] else a,
    "pad_start": lambda call, a: a.rjust(*call.parameters),
    "pad_end": lambda call, a: a.ljust(*call.parameters),
    "reverse": lambda _, a: a[::-1],
    "repeat": lambda call, a: a * call.parameters[0],
    "find": lambda call, a: a.find(call.parameters[0]),
    "slice": lambda call, a: a[call.parameters[0] : call.parameters[1]],
    "starts_with": lambda call, a: a.startswith(call.parameters[0]),
    "ends_with": lambda call, a: a.endswith(call.parameters[0]),
    "contains": lambda call, a: call.parameters[0] in a,
    "replace": lambda call, a: a.replace(*call.parameters),
    "split": lambda call, a: a.split(call.parameters[0]),
    "year": lambda _, a: a.year,
    "month": lambda _, a: a.month,
    "day": lambda _, a: a.day,
    "weekday": lambda _, a: a.weekday(),
    "quarter": lambda _, a: (a.month + 2) // 3,
    "week": lambda _, a: a.isocalendar().week,
    "day_of_year": lambda _, a: a.timetuple().tm_yday,
    "hour": lambda _, a: a.hour,
    "minute": lambda _, a: a.minute,
    "second": lambda _, a: a.second,
    "epoch_millis": lambda _, a: _past(a) // timedelta(milliseconds=1),
    "truncate": lambda call, a: a.replace(**_UNITS[call.parameters[0]]),
    "shift": lambda call, a: a + timedelta(microseconds=call.parameters[0]),
    "days_since": lambda _, a, b: (a - b).days,
    "list_contains": lambda call, a: call.parameters[0] in a,
    "list_length": lambda _, a: len(a),
    "get": lambda call, a: a[call.parameters[0]] if call.parameters[0] < len(a) else None,
    "field": lambda call, a: a[call.parameters[0]],
}

EVALUATED = frozenset({*REFERENCE, *LAZY, "is_null"})
