"""The built-in rolling aggregations, as functions of (aggregate, record).

They work on tuples, lists, `Row`s, and (for position 0) plain values. Results are new objects:
unlike PyFlink, records are never changed in place, because a record may have other readers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from penstock.errors import ArgumentError, UnknownFieldError, did_you_mean
from penstock.types import Row, TypeInformation, Types
from penstock.types.records import RowTypeInfo, TupleTypeInfo


class Aggregation(Enum):
    """Aggregation of a field; `KeyedStream.AccumulateType`."""

    MIN = 1
    MAX = 2
    MIN_BY = 3
    MAX_BY = 4
    SUM = 5


_COMBINE: dict[Aggregation, Callable[[Any, Any], Any]] = {
    Aggregation.SUM: operator.add,
    Aggregation.MIN: min,
    Aggregation.MAX: max,
}
"""Field-wise aggregations: the other fields stay those of the first record."""

_BETTER: dict[Aggregation, Callable[[Any, Any], bool]] = {
    Aggregation.MIN_BY: lambda new, old: new < old,
    Aggregation.MAX_BY: lambda new, old: new > old,
}
"""Record-wise aggregations: whether the new record replaces the old one."""


@dataclass(frozen=True, slots=True)
class FieldAggregate:
    """Combines one field of two records; picklable.

    Attributes:
        aggregation: SUM, MIN or MAX.
    """

    aggregation: Aggregation
    position: int | str
    _combine: Callable[[Any, Any], Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Looked up once: the hash of an enum member is a function in Python.
        object.__setattr__(self, "_combine", _COMBINE[self.aggregation])

    @property
    def of_column(self) -> tuple[str, int | str]:
        """The aggregation, as SQL names it, and the position or name of the field."""
        return self.aggregation.name.lower(), self.position

    def __call__(self, aggregate: Any, record: Any) -> Any:
        """Return the aggregate with `record` added."""
        place: Any = self.position
        if type(aggregate) is tuple and type(place) is int and place < len(aggregate):
            # As below, with nothing left to find out.
            combined = self._combine(aggregate[place], record[place])
            return (*aggregate[:place], combined, *aggregate[place + 1 :])
        place = _field_of(aggregate, self.position)
        if place is None:
            return self._combine(aggregate, record)
        combined = self._combine(aggregate[place], record[place])
        if isinstance(aggregate, tuple):
            return aggregate._make((*aggregate[:place], combined, *aggregate[place + 1 :]))  # type: ignore[attr-defined]
        result = copy(aggregate)
        result[place] = combined
        return result


@dataclass(frozen=True, slots=True)
class RecordAggregate:
    """Chooses one of two records by a field; picklable.

    Attributes:
        aggregation: MIN_BY or MAX_BY.
    """

    aggregation: Aggregation
    position: int | str

    def __call__(self, aggregate: Any, record: Any) -> Any:
        """Return the better one; the first of equal ones."""
        better = _BETTER[self.aggregation]
        place = _field_of(aggregate, self.position)
        new, old = (record, aggregate) if place is None else (record[place], aggregate[place])
        return record if better(new, old) else aggregate


_INTEGERS = frozenset(map(repr, (Types.BYTE(), Types.SHORT(), Types.INT(), Types.LONG())))
_UNLIMITED = frozenset({repr(Types.BIG_INT())})
_ORDERED = _INTEGERS | _UNLIMITED | {repr(Types.STRING()), repr(Types.BOOLEAN())}


def associative_because(
    aggregation: Aggregation, position: int | str, records: TypeInformation
) -> str | None:
    """Return why an aggregation is associative; None if its declared type does not prove it.

    Sums of floats depend on the order of additions, and NaN is neither less nor greater. A number
    by itself is checked after every addition, so sums that may leave their range are left alone.

    Examples:
        >>> associative_because(Aggregation.SUM, 1, Types.TUPLE([Types.STRING(), Types.INT()]))
        'field 1 is declared as Integer, whose sum is the same in any grouping'
        >>> associative_because(Aggregation.SUM, 1, Types.TUPLE([Types.STRING(), Types.FLOAT()]))
    """
    is_sum = aggregation is Aggregation.SUM
    if isinstance(records, RowTypeInfo | TupleTypeInfo):
        kind = _field_type(position, records)
        exact = _INTEGERS | _UNLIMITED if is_sum else _ORDERED
    elif position == 0:
        kind = records
        exact = _UNLIMITED if is_sum else _ORDERED
    else:
        return None
    if repr(kind) not in exact:
        return None
    name = aggregation.name.lower()
    return f"field {position!r} is declared as {kind!r}, whose {name} is the same in any grouping"


def _field_type(position: int | str, records: RowTypeInfo | TupleTypeInfo) -> TypeInformation:
    if isinstance(position, str):
        assert isinstance(records, RowTypeInfo), "checked before"
        position = records.get_field_index(position)
    return records.get_field_types()[position]


def _field_of(record: Any, position: int | str) -> Any:
    """Return the index of the field in `record`, None if the record is the field itself."""
    if type(record) is tuple and type(position) is int and position < len(record):
        return position
    if isinstance(record, Row):
        return position
    if isinstance(record, tuple) and isinstance(position, str):
        names: tuple[str, ...] = getattr(record, "_fields", ())
        if position in names:
            return names.index(position)
    elif isinstance(record, tuple | list):
        if isinstance(position, int) and position < len(record):
            return position
    elif position == 0:
        return None
    raise UnknownFieldError(
        f"a record of class {type(record).__name__} has no field {position!r}"
        + did_you_mean(str(position), getattr(record, "_fields", ())),
        hint="Aggregate rows by name, tuples by position, and plain values without either; map "
        "other records to one of these.",
    )


def aggregate_function(
    aggregation: Aggregation, position: int | str, records: TypeInformation
) -> FieldAggregate | RecordAggregate:
    """Return the reduce function of an aggregation.

    Raises:
        ArgumentError: `position` is neither an int nor a str, or negative, or the records have
            no such field.
    """
    if isinstance(position, int) and position < 0:
        raise ArgumentError.here(
            f"{aggregation.name.lower()} got the field position {position}",
            hint="Count fields from 0, at the front.",
        )
    if isinstance(position, bool) or not isinstance(position, int | str):
        raise ArgumentError.here(
            f"{aggregation.name.lower()} takes a field position or name, got {position!r}",
            hint="Pass an int or a str.",
        )
    _check_field(aggregation, position, records)
    if aggregation in _COMBINE:
        return FieldAggregate(aggregation, position)
    return RecordAggregate(aggregation, position)


def _check_field(aggregation: Aggregation, position: int | str, records: TypeInformation) -> None:
    if not isinstance(records, RowTypeInfo | TupleTypeInfo):
        return
    count = len(records.get_field_types())
    names = records.get_field_names() if isinstance(records, RowTypeInfo) else []
    if position in names or (isinstance(position, int) and position < count):
        return
    raise ArgumentError.here(
        f"{aggregation.name.lower()} got the field {position!r}, which {records} does not have"
        + (did_you_mean(position, tuple(names)) if isinstance(position, str) else ""),
        hint=f"Pass a position from 0 to {count - 1}"
        + (f", or one of {', '.join(names)}." if names else "."),
    )
