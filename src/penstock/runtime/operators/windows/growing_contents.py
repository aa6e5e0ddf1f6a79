"""The contents of a window that fires at the end of the input, of a key that comes in parts.

| what the function sees  | what is kept meanwhile                          |
|-------------------------|-------------------------------------------------|
| all records             | `SpilledValues`                                 |
| those of two inputs     | `SpilledValues` for each                        |
| one combination         | the combination of what has come so far         |
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


class GrowingContents(Protocol):
    """What has come of a key."""

    def extend(self, records: Iterator[Any]) -> None:
        """Add records."""

    def elements(self) -> list[Any] | SpilledValues:
        """Return what the function sees."""

    def close(self) -> None:
        """Forget everything."""


class _All:
    def __init__(self, make: Callable[[], SpilledValues]) -> None:
        self._values = make()

    def extend(self, records: Iterator[Any]) -> None:
        self._values.extend(records)

    def elements(self) -> SpilledValues:
        return self._values

    def close(self) -> None:
        self._values.close()


class _OfTwoInputs:
    def __init__(self, make: Callable[[], SpilledValues]) -> None:
        self._sides = [make(), make()]

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
    fold: Fold | None, window: WindowSpec, make: Callable[[], SpilledValues]
) -> GrowingContents:
    """Return what keeps the records of one key of a window until it fires.

    Args:
        fold: How they are folded; None if all are kept.
        window: The window operation.
        make: Returns an empty list that may outgrow memory.
    """
    if fold is not None:
        return _Folded(fold)
    return _OfTwoInputs(make) if window.second_type is not None else _All(make)
