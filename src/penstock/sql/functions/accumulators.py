"""The table of aggregates of OVER: what each keeps of the values of a frame, and how a value is taken back.

An accumulator is a list of parts that have types, so state has a schema. Adding with the sign -1 undoes adding with 1, in any
order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from penstock.errors import ExpressionError
from penstock.expressions import exact_sums
from penstock.expressions.merging import order_of
from penstock.expressions.python.arithmetic import EXACT, in_range, single, to_scale
from penstock.types import TypeInformation, Types
from penstock.types.sql_types import BIGINT, FLOATS, WHOLE, SqlType, decimal

Parts = list[Any]
Add = Callable[[Parts, Any, int], None]
"""Changes parts by a value that is not NULL, added (1) or taken away (-1)."""


@dataclass(frozen=True, slots=True)
class Accumulator:
    """Computation of an aggregate of values of one type.

    Attributes:
        start: The parts of no values.
    """

    types: tuple[TypeInformation, ...]
    start: tuple[Any, ...]
    add: Add
    result: Callable[[Parts], Any]


def _count(_: SqlType, __: SqlType) -> Accumulator:
    def add(parts: Parts, _: Any, sign: int) -> None:
        parts[0] += sign

    return Accumulator((Types.LONG(),), (0,), add, lambda parts: max(parts[0], 0))


def _add_exact(parts: Parts, value: Any, sign: int) -> None:
    parts[0] += sign
    parts[1] += value if sign > 0 else -value


def _add_decimal(parts: Parts, value: Any, sign: int) -> None:
    parts[0] += sign
    parts[1] = EXACT.add(parts[1], value) if sign > 0 else EXACT.subtract(parts[1], value)


_FLOAT_TYPES = (
    Types.LONG(),
    Types.BIG_INT(),
    Types.LONG(),
    Types.LONG(),
    Types.LONG(),
    Types.LONG(),
)
_NAN, _UP, _DOWN = 3, 4, 5


def _add_float(parts: Parts, value: float, sign: int) -> None:
    parts[0] += sign
    if math.isfinite(value):
        parts[1], parts[2] = exact_sums.added(
            (parts[1], parts[2]), exact_sums.parts_of(value), sign
        )
    else:
        index = _NAN if math.isnan(value) else _UP if value > 0 else _DOWN
        parts[index] += sign


def _quotient_of(target: SqlType) -> Callable[[Parts, int], float]:
    """Return the quotient of a sum of floats in the type of the result."""
    if target.name != "FLOAT":
        return _float_quotient
    return lambda parts, divisor: single(_float_quotient(parts, divisor))


def _float_quotient(parts: Parts, divisor: int) -> float:
    if parts[_NAN] > 0 or (parts[_UP] > 0 and parts[_DOWN] > 0):
        return math.nan
    if parts[_UP] > 0 or parts[_DOWN] > 0:
        return math.inf if parts[_UP] > 0 else -math.inf
    return exact_sums.quotient((parts[1], parts[2]), divisor)


def _sum(source: SqlType, target: SqlType) -> Accumulator:
    if source.name in FLOATS:
        quotient = _quotient_of(target)
        return Accumulator(
            _FLOAT_TYPES,
            (0,) * 6,
            _add_float,
            lambda parts: quotient(parts, 1) if parts[0] > 0 else None,
        )
    if source.name == "DECIMAL":
        return Accumulator(
            (Types.LONG(), Types.BIG_DEC()),
            (0, Decimal(0)),
            _add_decimal,
            lambda parts: to_scale(parts[1], target) if parts[0] > 0 else None,
        )
    return Accumulator(
        (Types.LONG(), Types.BIG_INT()),
        (0, 0),
        _add_exact,
        lambda parts: in_range(parts[1], target.name, "SUM") if parts[0] > 0 else None,
    )


def _avg(source: SqlType, target: SqlType) -> Accumulator:
    total, float_quotient = _sum(source, target), _quotient_of(target)

    def of_whole(parts: Parts) -> Any:
        if parts[0] <= 0:
            return None
        quotient = abs(parts[1]) // parts[0]
        return quotient if parts[1] >= 0 else -quotient

    def of_decimal(parts: Parts) -> Any:
        return to_scale(EXACT.divide(parts[1], parts[0]), target) if parts[0] > 0 else None

    def of_float(parts: Parts) -> Any:
        return float_quotient(parts, parts[0]) if parts[0] > 0 else None

    result = (
        of_whole if source.name in WHOLE else of_decimal if source.name == "DECIMAL" else of_float
    )
    return Accumulator(total.types, total.start, total.add, result)


def _variance(*, is_sample: bool, is_root: bool) -> Callable[[SqlType, SqlType], Accumulator]:
    """Return the accumulator of a variance: exact sums of values and of their squares."""

    def accumulator(_: SqlType, __: SqlType) -> Accumulator:
        def add(parts: Parts, value: Any, sign: int) -> None:
            number = float(value)
            if not math.isfinite(number):
                raise ExpressionError(
                    f"a variance got {number}", hint="Filter values that are not finite."
                )
            pair = exact_sums.parts_of(number)
            parts[0] += sign
            parts[1], parts[2] = exact_sums.added((parts[1], parts[2]), pair, sign)
            parts[3], parts[4] = exact_sums.added(
                (parts[3], parts[4]), exact_sums.squared(pair), sign
            )

        def result(parts: Parts) -> float | None:
            count = parts[0]
            divisor = count - 1 if is_sample else count
            if divisor <= 0:
                return None
            # count * sum of squares - square of the sum, over count * divisor
            squares = (parts[3] * count, parts[4])
            spread = exact_sums.added(squares, exact_sums.squared((parts[1], parts[2])), -1)
            variance = exact_sums.quotient(spread, count * divisor)
            return math.sqrt(variance) if is_root else variance

        types = (Types.LONG(), Types.BIG_INT(), Types.LONG(), Types.BIG_INT(), Types.LONG())
        return Accumulator(types, (0,) * 5, add, result)

    return accumulator


ACCUMULATORS: dict[str, Callable[[SqlType, SqlType], Accumulator]] = {
    "COUNT": _count,
    "SUM": _sum,
    "AVG": _avg,
    "STDDEV_POP": _variance(is_sample=False, is_root=True),
    "STDDEV_SAMP": _variance(is_sample=True, is_root=True),
    "VAR_POP": _variance(is_sample=False, is_root=False),
    "VAR_SAMP": _variance(is_sample=True, is_root=False),
}
"""Aggregates that need no values: name to accumulator, given the types of value and result."""


OF_VALUES: dict[str, Callable[[Iterable[Any]], Any]] = {
    "MIN": partial(min, key=order_of, default=None),
    "MAX": partial(max, key=order_of, default=None),
}
"""Aggregates of different values: None of none."""


def sum_result(source: SqlType) -> SqlType:
    """Return the type of SUM: BIGINT, that of floats, or a decimal of 38 digits."""
    if source.name == "DECIMAL":
        return decimal(38, source.scale)
    return source if source.name in FLOATS else BIGINT


def avg_result(source: SqlType) -> SqlType:
    """Return the type of AVG: that of the values, or a decimal of 38 digits."""
    return SqlType("DECIMAL", 38, max(6, source.scale)) if source.name == "DECIMAL" else source
