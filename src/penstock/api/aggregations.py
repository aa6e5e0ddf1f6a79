"""The built-in rolling aggregations, as functions of (aggregate, record).

They work on tuples, lists, `Row`s, and (for position 0) plain values. Results are new objects:
unlike PyFlink, records are never changed in place, because a record may have other readers.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from penstock.errors import ArgumentError, CallSite
from penstock.types import Row


class Aggregation(Enum):
    """What to compute of a field."""

    SUM = auto()
    MIN = auto()
    MAX = auto()
    MIN_BY = auto()
    MAX_BY = auto()


_COMBINE: dict[Aggregation, Callable[[Any, Any], Any]] = {
    Aggregation.SUM: lambda a, b: a + b,
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
        position: Position or name of the field.
    """

    aggregation: Aggregation
    position: int | str

    def __call__(self, aggregate: Any, record: Any) -> Any:
        """Return the aggregate with `record` added."""
        combine = _COMBINE[self.aggregation]
        position = self.position
        if isinstance(aggregate, tuple):
            index = int(position)
            combined = combine(aggregate[index], record[index])
            return (*aggregate[:index], combined, *aggregate[index + 1 :])
        if isinstance(aggregate, Row | list):
            result: Any = copy(aggregate)
            result[position] = combine(aggregate[position], record[position])  # type: ignore[index]
            return result
        return combine(aggregate, record)


@dataclass(frozen=True, slots=True)
class RecordAggregate:
    """Chooses one of two records by a field; picklable.

    Attributes:
        aggregation: MIN_BY or MAX_BY.
        position: Position or name of the field.
    """

    aggregation: Aggregation
    position: int | str

    def __call__(self, aggregate: Any, record: Any) -> Any:
        """Return the better one; the first of equal ones."""
        better = _BETTER[self.aggregation]
        if isinstance(aggregate, tuple | list | Row):
            position: Any = self.position
            new, old = record[position], aggregate[position]
        else:
            new, old = record, aggregate
        return record if better(new, old) else aggregate


def aggregate_function(
    aggregation: Aggregation, position: int | str
) -> FieldAggregate | RecordAggregate:
    """Return the reduce function of an aggregation.

    Raises:
        ArgumentError: `position` is neither an int nor a str.
    """
    if isinstance(position, bool) or not isinstance(position, int | str):
        raise ArgumentError(
            f"{aggregation.name.lower()} takes a field position or name, got {position!r}",
            hint="Pass an int or a str.",
            origin=CallSite.of_caller(),
        )
    if aggregation in _COMBINE:
        return FieldAggregate(aggregation, position)
    return RecordAggregate(aggregation, position)
