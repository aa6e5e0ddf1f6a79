"""Comparison of two answers of one sink: the records that only one of them has, and floats that are almost equal."""

from __future__ import annotations

import math
import pickle
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Number
from typing import Any

from penstock.testing.law.rules import SinkAnswer, SinkRule
from penstock.testing.law.ways import Way, WayMode
from penstock.testing.results import last_per_key
from penstock.types.row import TAKEN_BACK, Row, RowKind, rows_to_values
from penstock.types.strict_equality import only_in_one

ROUNDING = 1e-9
"""Greatest difference of two floats, relative to them, that the order of additions may explain."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Two answers that differ.

    Attributes:
        rounding: The greatest difference of two floats, if the answers are equal but for such ones; else None.
        are_forms: Whether the answers are equal but for the forms of equal numbers, such as 1 and 1.0.
    """

    first: tuple[Any, ...]
    second: tuple[Any, ...]
    rounding: float | None = None
    are_forms: bool = False

    @property
    def breaks_law(self) -> bool:
        """True unless the order of additions or the form of equal keys explains it."""
        return self.rounding is None and not self.are_forms


class Received:
    """The records of one sink in one way, whose answer and marks are computed once.

    Attributes:
        records: The records, in order of commit.
    """

    def __init__(self, way: Way, records: Sequence[Any], rule: SinkRule) -> None:
        """Keep the records."""
        self.way = way
        self.records = records
        self._rule = rule

    @cached_property
    def answer(self) -> Sequence[Any]:
        """The records that are compared."""
        if self._rule.answer is SinkAnswer.LAST_PER_KEY:
            assert self._rule.key is not None, "upserts have a key"
            return last_per_key(self.records, self._rule.key)
        if self._rule.answer is SinkAnswer.FINAL:
            return _results(self.records)
        return _net(self.records) if self._rule.answer is SinkAnswer.NET_CHANGES else self.records

    @cached_property
    def marks(self) -> Counter[bytes]:
        """The pickles of the answer. Records with the same pickle are the same; others may be, too."""
        return Counter(map(_mark, self.answer))


def compare(rule: SinkRule, one: Received, other: Received) -> Difference | None:
    """Return the difference between the answers of one sink in two ways; None if they are the same."""
    if rule.answer is SinkAnswer.NONE:
        return None
    is_final, is_other_final = (of.way.mode is WayMode.BATCH for of in (one, other))
    if rule.answer is SinkAnswer.FINAL and not (is_final and is_other_final):
        if is_final is is_other_final or not rule.is_contained:
            return None  # results in between depend on the order in which keys and splits arrive
        return _lacking(one, other) if is_final else _swapped(_lacking(other, one))
    if one.marks == other.marks:
        return None
    first = _rest(one.answer, one.marks - other.marks)
    return _difference(*only_in_one(first, _rest(other.answer, other.marks - one.marks)))


def _lacking(final: Received, stream: Received) -> Difference | None:
    """Return the final results that a stream does not have, None if it has all."""
    left = _rest(final.answer, final.marks - stream.marks)
    if not left:
        return None
    missing, others = only_in_one(left, _rest(stream.answer, stream.marks - final.marks))
    return _difference(missing, _nearest(missing, others)) if missing else None


def _swapped(difference: Difference | None) -> Difference | None:
    if difference is None:
        return None
    return replace(difference, first=difference.second, second=difference.first)


def _results(records: Sequence[Any]) -> Sequence[Any]:
    """Return the results that were ever there, as INSERT: the last one of a key is an update in a live run."""
    if all(
        not isinstance(record, Row) or record.get_row_kind() is RowKind.INSERT for record in records
    ):
        return records
    return [
        _inserted(record)
        for record in records
        if not isinstance(record, Row) or record.get_row_kind() not in TAKEN_BACK
    ]


def _net(records: Sequence[Any]) -> list[Any]:
    """Return the rows that are left, as INSERT, and those that are taken back without being there."""
    if not any(
        isinstance(record, Row) and record.get_row_kind() in TAKEN_BACK for record in records
    ):
        return list(map(_inserted, records))
    taken: list[Any] = []
    added: list[Any] = []
    for record in records:
        kind = record.get_row_kind() if isinstance(record, Row) else RowKind.INSERT
        (taken if kind in TAKEN_BACK else added).append(_inserted(record))
    left, owed = only_in_one(added, taken)
    return [*left, *(("taken back", row) for row in owed)]


def _inserted(record: Any) -> Any:
    if not isinstance(record, Row) or record.get_row_kind() is RowKind.INSERT:
        return record
    inserted = pickle.loads(pickle.dumps(record))
    inserted.set_row_kind(RowKind.INSERT)
    return inserted


def _nearest(missing: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """Return the results in between that are equal to final ones but for rounding or forms."""
    left = list(others)
    nearest: list[Any] = []
    for record in missing:
        index = next(
            (n for n, other in enumerate(left) if closeness(record, other) is not None), None
        )
        if index is not None:
            nearest.append(left.pop(index))
    return nearest


def _mark(record: Any) -> bytes:
    return pickle.dumps(record, pickle.HIGHEST_PROTOCOL)


def _rest(records: Sequence[Any], counts: Counter[bytes]) -> list[Any]:
    rest: list[Any] = []
    for record in records if counts else ():
        mark = _mark(record)
        if counts.get(mark, 0) > 0:
            counts[mark] -= 1
            rest.append(record)
    return rest


def _difference(first: Sequence[Any], second: Sequence[Any]) -> Difference | None:
    if not first and not second:
        return None
    left, worst = list(second), 0.0
    for record in first:
        near = ((closeness(record, other), index) for index, other in enumerate(left))
        close = min(((by, index) for by, index in near if by is not None), default=None)
        if close is None:
            return Difference(tuple(first), tuple(second))
        worst = max(worst, close[0])
        left.pop(close[1])
    if left:
        return Difference(tuple(first), tuple(second))
    is_rounded = worst > 0.0
    return Difference(
        tuple(first), tuple(second), worst if is_rounded else None, are_forms=not is_rounded
    )


def closeness(one: Any, other: Any) -> float | None:
    """Return the greatest difference of floats in two values that are equal but for them; None if they differ.

    Numbers of other classes are equal as in Python: 1, 1.0 and True.

    Example:
        >>> closeness((1, 0.1 + 0.2), (1.0, 0.3)) < 1e-15, closeness([1], [2])
        (True, None)
    """
    if isinstance(one, Row) and isinstance(other, Row):
        if one.get_row_kind() is not other.get_row_kind():
            return None
        one, other = (tuple(rows_to_values((row,))[0]) for row in (one, other))
    if isinstance(one, Number) and isinstance(other, Number):
        return _number_closeness(one, other)
    if type(one) is not type(other):
        return None
    if isinstance(one, (list, tuple)):
        return _each(one, other)
    if isinstance(one, Mapping):
        return (
            _each([one[k] for k in one], [other[k] for k in one])
            if one.keys() == other.keys()
            else None
        )
    return 0.0 if bool(one == other) else None


def _number_closeness(one: Any, other: Any) -> float | None:
    if one == other:
        return 0.0
    if not (isinstance(one, float) and isinstance(other, float)):
        return None
    if math.isnan(one) and math.isnan(other):
        return 0.0
    return abs(one - other) if math.isclose(one, other, rel_tol=ROUNDING) else None


def _each(one: Sequence[Any], other: Sequence[Any]) -> float | None:
    if len(one) != len(other):
        return None
    gaps = [closeness(a, b) for a, b in zip(one, other, strict=True)]
    return None if any(by is None for by in gaps) else max((by or 0.0 for by in gaps), default=0.0)
