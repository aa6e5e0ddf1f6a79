"""Sources over elements held in memory, with and without timestamps of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.errors import ArgumentError
from penstock.graph.endpoints import SplitSource
from penstock.types import TypeInformation, Types, find_mismatch
from penstock.types.record_form import record_form


@dataclass(frozen=True, slots=True)
class CollectionSource(SplitSource):
    """Reads the elements of a collection in order, in one split.

    Attributes:
        values: The elements; shipped with the program, so there should not be very many.
        type_info: Their type.

    Example:
        >>> source = CollectionSource.of([1, 2, 3], Types.INT())
        >>> collect(env.from_source(source, WatermarkStrategy.no_watermarks(), "three"))
        [1, 2, 3]
    """

    kind: ClassVar[str] = "collection"
    has_declared_form: ClassVar[bool] = True
    values: tuple[Any, ...]
    type_info: TypeInformation

    @classmethod
    def of(
        cls, collection: Iterable[Any], type_info: TypeInformation | None = None
    ) -> CollectionSource:
        """Return a source of the elements of a collection.

        Args:
            collection: Is read now.
            type_info: Type the elements are converted to; None leaves them as they are.

        Raises:
            ArgumentError: `collection` cannot be iterated, or an element does not have the
                type; names its position.

        Example:
            >>> CollectionSource.of(["a", "b"]).describe()
            'a collection of 2'
        """
        if not isinstance(collection, Iterable):
            raise ArgumentError.here(
                f"{collection!r} is not a collection", hint="Pass a list or another iterable."
            )
        values = list(collection)
        declared = type_info or Types.PICKLED_BYTE_ARRAY()
        refused = find_mismatch(declared, values)
        if refused is not None:
            index, reason = refused
            raise ArgumentError.here(
                f"element {index} of the collection, {values[index]!r}, is not of type {declared}: "
                f"{reason}",
                hint="Correct the element or the type.",
            )
        return cls(tuple(declared.coerce_batch(values)), declared)

    def __reduce__(self) -> Any:
        form = record_form(self.type_info)
        values = self.values if form is None else form.pack(list(self.values))
        return _unpickled, (type(self), values, self.type_info)

    @property
    def is_bounded(self) -> bool:
        """True if the source ends; a collection does."""
        return True

    @property
    def known_records(self) -> int:
        """The number of its records."""
        return len(self.values)

    def get_produced_type(self) -> TypeInformation:
        """Return the declared type."""
        return self.type_info

    def splits(self, parallelism: int) -> Sequence[tuple[int, int | None]]:
        """Return one split over everything."""
        return ((0, len(self.values)),)

    def read(self, split: int, start: int, end: int) -> Sequence[Any]:
        """Return the elements at positions `[start, end)`."""
        return list(self.values[start:end])

    def describe(self) -> str:
        """Return the number of elements."""
        return f"a collection of {len(self.values)}"


def _unpickled(
    source: type[CollectionSource], values: Iterable[Any], type_info: TypeInformation
) -> CollectionSource:
    return source(tuple(values), type_info)


@dataclass(frozen=True, slots=True)
class RecordedSource(SplitSource):
    """Reads elements in order, in one split.

    Attributes:
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
        """Return a source of the elements, coerced to `type_info`."""
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
