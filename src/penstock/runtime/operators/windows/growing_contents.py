"""The contents of a window at the end of the input, for a key whose records are passed in parts.

| elements of the function | stored in between                               |
|--------------------------|-------------------------------------------------|
| all records              | `SpilledValues`                                 |
| records of two inputs    | `SpilledValues` for each                        |
| one folded value         | the accumulator of the records so far           |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import compress
from typing import Any, Protocol

from penstock.program.folding.fold import Fold
from penstock.program.window_operation import WindowSpec
from penstock.runtime.fold.loops import fold_one, result_of
from penstock.runtime.spill.spilled_values import SpilledValues
from penstock.state.backends.base import ABSENT
from penstock.types.information import TypeInformation


class GrowingContents(Protocol):
    """The contents of the records of a key so far."""

    def extend(self, records: Iterator[Any]) -> None:
        """Add records."""

    def elements(self) -> list[Any] | SpilledValues:
        """Return the elements for the function."""

    def close(self) -> None:
        """Remove the contents."""


class _All:
    def __init__(self, values: SpilledValues) -> None:
        self._values = values

    def extend(self, records: Iterator[Any]) -> None:
        self._values.extend(records)

    def elements(self) -> SpilledValues:
        return self._values

    def close(self) -> None:
        self._values.close()


class _OfTwoInputs:
    def __init__(self, *sides: SpilledValues) -> None:
        self._sides = sides

    def extend(self, records: Iterator[Any]) -> None:
        tagged = list(records)
        numbers = [number for number, _ in tagged]
        values = [value for _, value in tagged]
        self._sides[0].extend(compress(values, map((0).__eq__, numbers)))
        self._sides[1].extend(compress(values, numbers))

    def elements(self) -> list[Any]:
        return list(self._sides)

    def close(self) -> None:
        for side in self._sides:
            side.close()


class _Folded:
    def __init__(self, fold: Fold) -> None:
        self._fold = fold
        self._kept = ABSENT

    def extend(self, records: Iterator[Any]) -> None:
        self._kept = fold_one(self._fold, self._kept, records)

    def elements(self) -> list[Any]:
        return [result_of(self._fold, self._kept)]

    def close(self) -> None:
        self._kept = ABSENT


def growing_contents(
    fold: Fold | None, window: WindowSpec, make: Callable[[TypeInformation], SpilledValues]
) -> GrowingContents:
    """Return empty contents of one key."""
    if fold is not None:
        return _Folded(fold)
    first = make(window.kept_type)
    return (
        _All(first) if window.second_type is None else _OfTwoInputs(first, make(window.second_type))
    )
