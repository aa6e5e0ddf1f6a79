"""A source over elements held in memory that may have timestamps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.connectors.python.collection import CollectionSource
from penstock.graph.endpoints import SplitSource
from penstock.types import TypeInformation


@dataclass(frozen=True, slots=True)
class RecordedSource(SplitSource):
    """Reads elements in order, in one split.

    Attributes:
        elements: The elements.
        timestamps: Their event times in epoch milliseconds; None if they have none.
    """

    kind: ClassVar[str] = "recorded"
    has_declared_form: ClassVar[bool] = True
    elements: CollectionSource
    timestamps: tuple[int, ...] | None = None

    @classmethod
    def of(
        cls, values: Sequence[Any], timestamps: Sequence[int] | None, type_info: TypeInformation
    ) -> RecordedSource:
        """Return a source of the elements, coerced to `type_info`.

        Raises:
            ArgumentError: An element does not have the type; names its position.
        """
        stamps = None if timestamps is None else tuple(timestamps)
        return cls(CollectionSource.of(values, type_info), stamps)

    @property
    def is_bounded(self) -> bool:
        """True if the source ends; the elements do."""
        return True

    @property
    def gives_timestamps(self) -> bool:
        """True if the elements have timestamps."""
        return self.timestamps is not None

    def get_produced_type(self) -> TypeInformation:
        """Return the declared type."""
        return self.elements.type_info

    def splits(self, parallelism: int) -> Sequence[tuple[int, int | None]]:
        """Return one split over everything."""
        return self.elements.splits(parallelism)

    def read(self, split: int, start: int, end: int) -> Sequence[Any]:
        """Return the elements of a range."""
        return self.elements.read(split, start, end)

    def read_timestamped(
        self, split: int, start: int, end: int
    ) -> tuple[Sequence[Any], Sequence[int] | None]:
        """Return the elements of a range with their timestamps."""
        stamps = self.timestamps
        return self.read(split, start, end), None if stamps is None else stamps[start:end]

    def describe(self) -> str:
        """Return the number of elements."""
        return f"{len(self.elements.values)} recorded elements"
