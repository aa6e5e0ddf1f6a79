"""Sources that compute records from their index, and sequences of integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import length_hint
from typing import Any, ClassVar

from penstock.errors import ArgumentError, PenstockError, SourceError
from penstock.graph.endpoints import SplitSource
from penstock.program.operator_kind import PROMISE
from penstock.types import TypeInformation, Types
from penstock.types.value_kinds import copy_value, gives_one_object_again
from penstock.user_failure import failure_as


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
        """Check the bounds."""
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


@dataclass(frozen=True, slots=True)
class DataGeneratorSource(SplitSource):
    """Reads `generator(0)`, `generator(1)`, … as records.

    Attributes:
        generator: Index to record; must return the same record for an index at every call. Records that
            can be changed are copied, unless it promises in `is_output_value_stored`, a method or an
            attribute of it, that it stores none of them.
        count: Number of records; None never ends.
        records_per_second: Rate limit in a live run, over all subtasks; None is as fast as
            possible. A batch run ignores it.
        type_info: Type of the records.

    Example:
        >>> source = DataGeneratorSource(lambda index: index * index, count=4)
        >>> collect(env.from_source(source, WatermarkStrategy.no_watermarks(), "squares"))
        [0, 1, 4, 9]
    """

    kind: ClassVar[str] = "generator"
    generator: Callable[[int], Any]
    count: int | None = None
    records_per_second: int | None = None
    type_info: TypeInformation = field(default_factory=Types.PICKLED_BYTE_ARRAY)

    def __post_init__(self) -> None:
        """Check the arguments."""
        if not callable(self.generator):
            raise ArgumentError.here(
                f"{self.generator!r} is not callable", hint="Pass a function from index to record."
            )
        for name in ("count", "records_per_second"):
            number = getattr(self, name)
            if number is not None and type(number) is not int:
                raise ArgumentError.here(f"{name} is {number!r}", hint="Pass an integer, or None.")
        if self.count is not None and self.count < 0:
            raise ArgumentError.here(f"count is {self.count}", hint="Pass 0 or more, or None.")
        if self.records_per_second is not None and self.records_per_second < 1:
            raise ArgumentError.here(
                f"records_per_second is {self.records_per_second}", hint="Pass 1 or more, or None."
            )

    @property
    def is_bounded(self) -> bool:
        """True if a count was given."""
        return self.count is not None

    @property
    def known_records(self) -> int | None:
        """The count, if one was given."""
        return self.count

    @property
    def record_function(self) -> Callable[[int], Any]:
        """The generator."""
        return self.generator

    def get_produced_type(self) -> TypeInformation:
        """Return the declared type."""
        return self.type_info

    def splits(self, parallelism: int) -> Sequence[tuple[int, int | None]]:
        """Return one range per subtask; a generator without end has a single split."""
        if self.count is None:
            return [(0, None)]
        return even_splits(self.count, parallelism)

    def read(self, split: int, start: int, end: int) -> Sequence[Any]:
        """Return the records at positions `[start, end)`.

        Raises:
            SourceError: The generator raised; names the index.
        """
        generator, consumed = self.generator, iter(range(start, end))
        try:
            records = [generator(index) for index in consumed]
            if _may_store(generator) and gives_one_object_again(records):
                consumed = iter(range(start, end))
                records = [copy_value(generator(index)) for index in consumed]
        except PenstockError:
            raise
        except BaseException as cause:
            index = end - length_hint(consumed) - 1
            raise failure_as(
                SourceError,
                f"the generator failed on index {index}",
                cause,
                None,
                hint="Correct the generator function.",
            ) from cause
        return records

    def describe(self) -> str:
        """Return count and rate."""
        count = "endless" if self.count is None else str(self.count)
        rate = f", {self.records_per_second}/s" if self.records_per_second else ""
        return f"{count} generated records{rate}"


def _may_store(generator: Any) -> bool:
    """Return whether a function may fill an object again that it returned."""
    promise = None if isinstance(generator, type) else getattr(generator, PROMISE, None)
    return promise is None or bool(promise())
