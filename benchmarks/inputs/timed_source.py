"""A source whose records have timestamps of their own, as those of Flink's sources have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.connectors.python.data_generator import DataGeneratorSource


@dataclass(frozen=True, slots=True)
class TimedSource(DataGeneratorSource):
    """A generator whose record `i` happened at millisecond `i`."""

    def read_timestamped(
        self, split: int, start: int, end: int
    ) -> tuple[Sequence[Any], Sequence[int]]:
        """Return the records of a range, and when they happened."""
        return self.read(split, start, end), range(start, end)
