"""Random typed expressions and records, for the law that all evaluators agree."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from penstock.common import Row, Types
from penstock.expressions.kinds import MICROS_PER_DAY
from penstock.expressions.signatures import CASTS, TRUNCATED
from penstock.expressions.tree import Call, Expression, Field, Literal
from penstock.types import TypeInformation

WHOLE = {"Byte": Types.BYTE(), "Short": Types.SHORT(), "Integer": Types.INT(), "Long": Types.LONG()}
BASIC: dict[str, TypeInformation] = {
    **WHOLE,
    "Float": Types.FLOAT(),
    "Double": Types.DOUBLE(),
    "BigDecimal": Types.BIG_DEC(),
    "String": Types.STRING(),
    "Boolean": Types.BOOLEAN(),
    "SqlDate": Types.SQL_DATE(),
    "SqlTimestamp": Types.SQL_TIMESTAMP(),
    "TimestampLtz": Types.TIMESTAMP_LTZ(),
}
TEXTS = Types.LIST(Types.STRING())
INNER = Types.ROW_NAMED(["x", "y z"], [Types.INT(), Types.STRING()])
FIELDS: dict[str, TypeInformation] = {
    **{f"{name.lower()}_{n}": kind for name, kind in BASIC.items() for n in (1, 2)},
    "texts": TEXTS,
    "inner": INNER,
}
ROW = Types.ROW_NAMED(list(FIELDS), list(FIELDS.values()))

NUMBERS = [*WHOLE, "Float", "Double", "BigDecimal"]
COUNTED = [*WHOLE, "Float", "Double"]
TIMES = ["SqlTimestamp", "TimestampLtz"]
ORDERED = [*NUMBERS, *TIMES, "String", "SqlDate"]

words = st.text(st.sampled_from("aZé ß😀,-+19İ\n."), max_size=6)
DAYS = [
    "2024-02-29",
    "2023-02-29",
    "0001-01-01",
    "0000-01-01",
    "1969-12-31",
    "2024-2-9",
    "2024-13-01",
]
MOMENTS = [
    *(
        "2024-02-29 23:59:59",
        "2024-02-29T23:59:59.5",
        "1969-12-31 23:59:59.999999",
        "2024-02-29 24:00:00",
    ),
    *(
        "2024-02-29 1:00:00",
        "2024-02-29 01:00",
        "2024-02-29 01:00:00.",
        "2024-02-29 01:00:00.1234567",
    ),
]
texts = words | st.sampled_from(
    ["12", "-7", "+5", " 12", "1.5", "007", "300", "1e3", "", *DAYS, *MOMENTS]
)
_times = st.datetimes(datetime(1880, 1, 1), datetime(2120, 1, 1))  # noqa: DTZ001


def _whole(bits: int) -> st.SearchStrategy[int]:
    limit = 1 << (bits - 1)
    return (
        st.integers(-3, 3) | st.integers(-limit, limit - 1) | st.sampled_from([-limit, limit - 1])
    )


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "Byte": _whole(8),
    "Short": _whole(16),
    "Integer": _whole(32),
    "Long": _whole(64),
    "Float": st.floats(width=32) | st.sampled_from([0.0, -0.0, 1.5, math.nan, math.inf]),
    "Double": st.floats() | st.sampled_from([0.0, -0.0, 2.5, math.nan, -math.inf, 2.0**63]),
    "BigDecimal": st.decimals(-(10**20) + 1, 10**20 - 1, places=3)
    | st.sampled_from([Decimal("0.000000000000000001"), Decimal(3)]),
    "String": texts,
    "Boolean": st.booleans(),
    "SqlDate": st.dates(date(1880, 1, 1), date(2120, 1, 1)),
    "SqlTimestamp": _times,
    "TimestampLtz": _times.map(lambda at: at.replace(tzinfo=UTC)),
}


def records() -> st.SearchStrategy[Row]:
    """Return rows of `ROW`; any field may be None."""
    values = {
        name: VALUES[kind.name]  # type: ignore[attr-defined]
        for name, kind in FIELDS.items()
        if name not in ("texts", "inner")
    }
    values["texts"] = st.lists(st.none() | texts, max_size=3)
    values["inner"] = st.builds(
        lambda x, y: Row(**{"x": x, "y z": y}), st.none() | VALUES["Integer"], st.none() | texts
    )
    nullable = {name: st.none() | each for name, each in values.items()}
    return st.fixed_dictionaries(nullable).map(lambda fields: Row(**fields))


@st.composite
def expressions(draw: st.DrawFn, name: str | None = None, depth: int = 3) -> Expression:
    """Return an expression of a basic type, without types.

    Args:
        draw: Hypothesis.
        name: Name of the type; None draws one.
        depth: Most calls inside each other.
    """
    if name is None:
        name = draw(st.sampled_from(list(BASIC)))
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        return draw(_leaf(name))
    made = draw(st.sampled_from(_PRODUCTIONS[name]))
    function, arguments, parameters = draw(made(name))
    inside = tuple(draw(expressions(each, depth - 1)) for each in arguments)
    if function in ("list_length", "get", "list_contains"):
        inside = (draw(st.just(Field("texts")) | _split(depth)),)
    if function == "field":
        inside = (draw(st.just(Field("inner")) | _struct(depth)),)
    return Call("length" if function == "list_length" else function, inside, parameters)


@st.composite
def _split(draw: st.DrawFn, depth: int) -> Expression:
    return Call("split", (draw(expressions("String", depth - 1)),), (draw(st.sampled_from(",a-")),))


@st.composite
def _struct(draw: st.DrawFn, depth: int) -> Expression:
    kinds = {"x": "Integer", "y z": "String"}
    fields = tuple(draw(expressions(kind, depth - 1)) for kind in kinds.values())
    none = [
        Call("cast", (each,), (BASIC[kind],)) if each == Literal(None) else each
        for each, kind in zip(fields, kinds.values(), strict=True)
    ]
    return Call("struct", tuple(none), tuple(kinds))


@st.composite
def _leaf(draw: st.DrawFn, name: str) -> Expression:
    if draw(st.integers(0, 3)):
        return Field(f"{name.lower()}_{draw(st.integers(1, 2))}")
    value = draw(st.none() | VALUES[name])
    if value is None or name in (*WHOLE, "Float"):
        plain = Literal(value)

        if name == "Float" and value is not None:
            return Call("cast", (Literal(value),), (BASIC[name],))
        return Call("cast", (plain,), (BASIC[name],))
    return Literal(value)


def _made(
    function: str, *arguments: str, parameters: st.SearchStrategy[tuple[Any, ...]] | None = None
) -> Any:
    given_parameters = st.just(()) if parameters is None else parameters

    def production(name: str) -> st.SearchStrategy[tuple[str, tuple[str, ...], tuple[Any, ...]]]:
        inside = tuple(name if each == "=" else each for each in arguments)
        return given_parameters.map(lambda given: (function, inside, given))

    return production


def _of_any(function: str, names: list[str], count: int) -> Any:
    def production(_: str) -> st.SearchStrategy[tuple[str, tuple[str, ...], tuple[Any, ...]]]:
        return st.sampled_from(names).map(lambda found: (function, (found,) * count, ()))

    return production


def _isin(_: str) -> st.SearchStrategy[tuple[str, tuple[str, ...], tuple[Any, ...]]]:
    def members(found: str) -> st.SearchStrategy[Any]:
        known = VALUES[found].filter(lambda value: not same(value, math.nan))
        return st.lists(known, min_size=1, max_size=12).map(
            lambda given: ("isin", (found,), tuple(given))
        )

    return st.sampled_from([*NUMBERS, "String", "SqlDate", "Boolean", *TIMES]).flatmap(members)


def _cast(name: str) -> st.SearchStrategy[tuple[str, tuple[str, ...], tuple[Any, ...]]]:
    sources = [source for source, targets in CASTS.items() if name in targets]
    return st.sampled_from(sources).map(lambda source: ("cast", (source,), (BASIC[name],)))


_ANY = [_made("coalesce", "=", "="), _made("case", "Boolean", "=", "Boolean", "=", "=")]
_EXTREME = [_made("greatest", "=", "="), _made("least", "=", "=")]
_MATH = [_made(each, "=", "=") for each in ("add", "subtract")]
_SIGNED = [*_MATH, _made("negate", "="), _made("abs", "=")]
_PRODUCT = [*_SIGNED, _made("multiply", "=", "="), _made("modulo", "=", "=")]
_ROUNDED = [_made(each, "=") for each in ("floor", "ceil", "round", "sqrt")]
_DATED = ["SqlDate", *TIMES]
_one = st.tuples(words)
_days = st.tuples(st.integers(-9999, 9999).map(lambda days: days * MICROS_PER_DAY))
_shift = st.tuples(st.integers(-(10**15), 10**15))

_PRODUCTIONS: dict[str, list[Any]] = {
    **{name: [*_ANY, *_EXTREME, _cast, *_PRODUCT] for name in WHOLE},
    "Float": [*_ANY, *_EXTREME, _cast, *_PRODUCT, *_ROUNDED],
    "Double": [
        *_ANY,
        *_EXTREME,
        _cast,
        *_PRODUCT,
        *_ROUNDED,
        _of_any("divide", COUNTED, 2),
    ],
    "BigDecimal": [*_ANY, *_EXTREME, _cast, *_SIGNED],
    "String": [
        *_ANY,
        *_EXTREME,
        _made("strip_start", "=", parameters=st.tuples(st.sampled_from([" ", "", "a-", "é9"]))),
        _made("strip_end", "=", parameters=st.tuples(st.sampled_from([" ", "", "a-", "é9"]))),
        _made("pad_start", "=", parameters=st.tuples(st.integers(0, 8), st.sampled_from(" 0é😀"))),
        _made("pad_end", "=", parameters=st.tuples(st.integers(0, 8), st.sampled_from(" 0é😀"))),
        _made("reverse", "="),
        _made("repeat", "=", parameters=st.tuples(st.integers(0, 3))),
        _cast,
        _made("add", "=", "="),
        _made("ascii_lower", "="),
        _made("ascii_upper", "="),
        _made("strip", "=", parameters=st.tuples(st.sampled_from([" ", "", "a-", "é9"]))),
        _made("slice", "=", parameters=st.tuples(st.integers(0, 4), st.integers(0, 6))),
        _made("replace", "=", parameters=st.tuples(words.filter(bool), words)),
        _made("get", parameters=st.tuples(st.integers(0, 3))),
        _made("field", parameters=st.just(("y z",))),
    ],
    "Boolean": [
        *_ANY,
        *(_of_any(each, [*ORDERED, "Boolean"], 2) for each in ("equal", "not_equal")),
        *(_of_any(each, ORDERED, 2) for each in ("less", "less_equal", "greater", "greater_equal")),
        _made("and", "=", "="),
        _made("or", "=", "="),
        _made("not", "="),
        _of_any("is_null", list(BASIC), 1),
        _of_any("is_nan", ["Float", "Double"], 1),
        _isin,
        _made("list_contains", parameters=_one),
        *(_made(f, "String", parameters=_one) for f in ("starts_with", "ends_with", "contains")),
    ],
    "SqlDate": [*_ANY, *_EXTREME, _cast, _made("shift", "=", parameters=_days)],
    **{
        name: [
            *_ANY,
            *_EXTREME,
            _cast,
            _made("truncate", "=", parameters=st.tuples(st.sampled_from(TRUNCATED))),
            _made("shift", "=", parameters=_shift),
        ]
        for name in TIMES
    },
}
_DATE_PARTS = ("year", "month", "day", "weekday", "quarter", "week", "day_of_year")
_PRODUCTIONS["Integer"] += [
    _made("find", "String", parameters=st.tuples(words.filter(bool))),
    _made("days_since", "SqlDate", "SqlDate"),
    _made("length", "String"),
    _made("list_length"),
    _made("field", parameters=st.just(("x",))),
    *(_of_any(each, _DATED, 1) for each in _DATE_PARTS),
    *(_of_any(each, TIMES, 1) for each in ("hour", "minute", "second")),
]
_PRODUCTIONS["Long"] += [
    _of_any("epoch_millis", TIMES, 1),
    _made("bits", "=", parameters=st.tuples(st.integers(0, 63), st.none() | st.integers(1, 62))),
]


def same(left: Any, right: Any) -> bool:
    """Return whether two results are equal and of one class; NaN is NaN."""
    if type(left) is not type(right):
        return False
    if isinstance(left, float) and math.isnan(left):
        return math.isnan(right)
    return bool(left == right)
