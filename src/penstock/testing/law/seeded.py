"""The choices of a seed: values like those of real records, of which few are the keys of most."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from penstock.testing.values import Choices

_WORDS = ("a", "b", "c", "d", "e", "f")
_FEW = 10
_MANY = 100_000
_RARE = 0.2


class SeededChoices(Choices):
    """Choices that a seed decides, without None, NaN and the ends of ranges: functions may refuse those rightly."""

    def __init__(self, rng: random.Random) -> None:
        """Take the numbers of a generator."""
        self._rng = rng

    def integer(self, low: int, high: int, usual: int = 0, step: int = 1) -> int:
        """Return one of a few numbers, and sometimes one of many."""
        most = _MANY if self._rng.random() < _RARE else _FEW
        return max(low, min(high, usual + step * self._rng.randrange(most)))

    def real(self, width: int) -> float:
        """Return a small number, of halves, so that both widths have it."""
        del width
        return self._rng.randrange(_FEW * _FEW) / 2

    def text(self, least: int, most: int) -> str:
        """Return a word; the first ones are frequent."""
        del least, most
        return _WORDS[min(self._rng.randrange(len(_WORDS)), self._rng.randrange(len(_WORDS)))]

    def pick(self, options: Sequence[Any]) -> Any:
        """Return any option."""
        return self._rng.choice(options)

    def is_null(self) -> bool:
        """Return False."""
        return False
