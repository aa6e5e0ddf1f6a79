"""A source of consecutive integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.errors import ArgumentError
from penstock.graph.endpoints import SplitSource
from penstock.types import TypeInformation, Types


@dataclass(frozen=True, slots=True)
class NumberSequenceSource(SplitSource):
    """Reads the integers from `start` to `end`, both included (as in Flink).

    Each subtask reads a range of its own, in order.

    Attributes:
        start: The first integer.
        end: The last integer.

    Example:
        >>> source = NumberSequenceSource(1, 3)
        >>> collect(env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers"))
        [1, 2, 3]
    """

    kind: ClassVar[str] = "sequence"
    makes_records_anew: ClassVar[bool] = True
    has_declared_form: ClassVar[bool] = True
    start: int
    end: int

    def __post_init__(self) -> None:
        """Check the bounds.

        Raises:
            ArgumentError: A bound is not an integer, or `end` is less than `start`.
        """
        for bound in (self.start, self.end):
            if type(bound) is not int:
                raise ArgumentError.here(
                    f"a bound of a number sequence is {bound!r}", hint="Pass integers."
                )
        if self.end < self.start:
            raise ArgumentError.here(
                f"a number sequence ends ({self.end}) before it starts ({self.start})",
                hint="Swap the bounds; both are included.",
            )

    @property
    def is_bounded(self) -> bool:
        """True if the source ends; a sequence does."""
        return True

    @property
    def known_records(self) -> int:
        """The number of its records."""
        return self.end - self.start + 1

    def get_produced_type(self) -> TypeInformation:
        """Return LONG."""
        return Types.LONG()

    def splits(self, parallelism: int) -> Sequence[tuple[int, int | None]]:
        """Return one contiguous range per subtask."""
        return even_splits(self.end - self.start + 1, parallelism)

    def read(self, split: int, start: int, end: int) -> Sequence[Any]:
        """Return the integers at positions `[start, end)`."""
        return list(range(self.start + start, self.start + end))

    def describe(self) -> str:
        """Return the bounds."""
        return f"the numbers {self.start} to {self.end}"


def even_splits(count: int, parallelism: int) -> list[tuple[int, int | None]]:
    """Return `[0, count)` cut into at most `parallelism` ranges of nearly equal length."""
    pieces = max(1, min(count, parallelism))
    return [(count * i // pieces, count * (i + 1) // pieces) for i in range(pieces)]
