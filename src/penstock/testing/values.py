"""Values of every declared type, made from choices: those of Hypothesis in tests, or those of a seed in a check."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from penstock.errors import ArgumentError
from penstock.types import (
    BasicArrayTypeInfo,
    BasicTypeInfo,
    InferredTypeInfo,
    Instant,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowKind,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
    row_factory,
)

_DAY = 86_400_000_000
_MICROSECOND = timedelta(microseconds=1)
_USUAL_DAY = date(2024, 1, 1)
_FIRST = datetime.min  # noqa: DTZ901 - a timestamp without zone
_USUAL_TIME = (_USUAL_DAY - _FIRST.date()) // _MICROSECOND
_LAST_TIME = _DAY * date.max.toordinal() - 1
_DIGITS = (38, 18)


class Choices(ABC):
    """The choices from which a value is made."""

    row_kinds: Sequence[RowKind] = (RowKind.INSERT,)

    @abstractmethod
    def integer(self, low: int, high: int, usual: int = 0, step: int = 1) -> int:
        """Return an integer from `low` to `high`; values near `usual`, in steps, are like those of real records."""

    @abstractmethod
    def real(self, width: int) -> float:
        """Return a float of 32 or 64 bits."""

    @abstractmethod
    def text(self, least: int, most: int) -> str:
        """Return a text of some length."""

    @abstractmethod
    def pick(self, options: Sequence[Any]) -> Any:
        """Return one of the options, the first of which is the simplest."""

    @abstractmethod
    def is_null(self) -> bool:
        """Return whether a value that may be None is None."""

    def count(self, most: int = 3) -> int:
        """Return the number of elements of a collection."""
        return self.integer(0, most)


Maker = Callable[[Choices], Any]
"""Makes a value in its declared form."""


def maker_of(type_info: TypeInformation) -> Maker:
    """Return what makes values of a type."""
    make = _MAKERS.get(type(type_info))
    if make is None:
        raise ArgumentError.here(
            f"values of the type {type_info!r} cannot be generated",
            hint="Use types of `Types`; make values of a type of your own with hypothesis.strategies.builds.",
        )
    maker: Maker = make(type_info)
    return maker


def _whole(bits: int) -> Maker:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return lambda choices: choices.integer(low, high)


def _decimal(digits: tuple[int, int], choices: Choices) -> Decimal:
    precision, scale = digits
    places = choices.pick(sorted({0, min(2, scale), scale}))
    greatest = 10 ** (precision - scale + places) - 1
    # Not `scaleb`, which rounds to the digits of the context.
    unscaled = Decimal(choices.integer(-greatest, greatest)).as_tuple()
    return Decimal((unscaled.sign, unscaled.digits, -places))


def _instant(choices: Choices) -> Instant:
    # Within the years that columns have, in their microseconds.
    seconds = choices.integer(-62_000_000_000, 250_000_000_000, 1_704_067_200)
    return Instant(seconds, choices.integer(0, 999_999) * 1000)


def _datetime(choices: Choices, margin: int = 0) -> datetime:
    last = _LAST_TIME - margin
    since = choices.integer(margin, last, _USUAL_TIME, 1_000_000)
    return _FIRST + since * _MICROSECOND


def _time_of_day(choices: Choices) -> Any:
    return (_FIRST + choices.integer(0, _DAY - 1, 0, 1_000_000) * _MICROSECOND).time()


_BASIC: Mapping[str, Maker] = {
    "String": lambda choices: choices.text(0, 8),
    "Boolean": lambda choices: choices.pick((False, True)),
    "Byte": _whole(8),
    "Short": _whole(16),
    "Integer": _whole(32),
    "Long": _whole(64),
    "Float": lambda choices: choices.real(32),
    "Double": lambda choices: choices.real(64),
    "Char": lambda choices: choices.text(1, 1),
    "BigInteger": lambda choices: choices.integer(1 - 10**38, 10**38 - 1),
    "Instant": _instant,
    "SqlDate": lambda choices: date.fromordinal(
        choices.integer(1, date.max.toordinal(), _USUAL_DAY.toordinal())
    ),
    "SqlTime": _time_of_day,
    "SqlTimestamp": _datetime,
    # A day from the ends, so that it exists in every zone.
    "TimestampLtz": lambda choices: _datetime(choices, _DAY).replace(tzinfo=UTC),
}


def _of_basic(basic: BasicTypeInfo[Any]) -> Maker:
    return _BASIC.get(basic.name) or partial(_decimal, basic.digits or _DIGITS)


def _or_none(make: Maker, choices: Choices) -> Any:
    return None if choices.is_null() else make(choices)


def _of_row(row: RowTypeInfo) -> Maker:
    fields = [partial(_or_none, maker_of(field)) for field in row.field_types]
    rows_of = row_factory(row.field_names)

    def make(choices: Choices) -> Any:
        (value,) = rows_of([[field(choices) for field in fields]])
        value.set_row_kind(choices.pick(choices.row_kinds))
        return value

    return make


def _of_tuple(record: TupleTypeInfo) -> Maker:
    fields = [maker_of(field) for field in record.field_types]
    return lambda choices: tuple(field(choices) for field in fields)


def _of_list(sequence: Any) -> Maker:
    element = maker_of(sequence.element_type)
    if sequence.allows_none:
        element = partial(_or_none, element)
    return lambda choices: [element(choices) for _ in range(choices.count())]


def _of_primitives(array: PrimitiveArrayTypeInfo) -> Maker:
    if not array.is_bytes:
        return _of_list(array)
    return lambda choices: bytes(choices.integer(0, 255) for _ in range(choices.count(8)))


def _of_map(map_type: MapTypeInfo) -> Maker:
    key, value = maker_of(map_type.key_type), partial(_or_none, maker_of(map_type.value_type))
    return lambda choices: {key(choices): value(choices) for _ in range(choices.count())}


def _of_anything(_: PickledBytesTypeInfo) -> Maker:
    kinds = (
        Types.LONG(),
        Types.STRING(),
        Types.DOUBLE(),
        Types.BOOLEAN(),
        Types.ROW([Types.LONG()]),
    )
    makers = tuple(map(maker_of, kinds))
    return lambda choices: choices.pick(makers)(choices)


_MAKERS: Mapping[type, Callable[[Any], Maker]] = {
    BasicTypeInfo: _of_basic,
    PickledBytesTypeInfo: _of_anything,
    InferredTypeInfo: lambda inferred: maker_of(inferred.described),
    RowTypeInfo: _of_row,
    TupleTypeInfo: _of_tuple,
    ListTypeInfo: _of_list,
    ObjectArrayTypeInfo: _of_list,
    BasicArrayTypeInfo: _of_list,
    PrimitiveArrayTypeInfo: _of_primitives,
    MapTypeInfo: _of_map,
}
"""Type information to what makes values of such a type."""
