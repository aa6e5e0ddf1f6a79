"""A source over iterators: a function returns one from any position."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, ClassVar

from penstock.errors import ArgumentError, CallSite, PenstockError, SourceError
from penstock.graph.endpoints import SplitSource
from penstock.types import TypeInformation, Types
from penstock.types.value_kinds import copy_value, gives_one_object_again, is_immutable
from penstock.user_failure import failure_as


@dataclass(frozen=True, slots=True)
class IteratorSource(SplitSource):
    """Reads records from iterators: `iterate(split, start)` yields those from position `start` on.

    The offset of a record is its position in its split. `iterate` must give the same records
    at the same positions at every call, in any process.

    Attributes:
        iterate: (split, position) to the records from that position on.
        counts: Number of records of each split; None never ends. One endless split by default.
        records_per_second: Rate limit in a live run, over all splits; None is as fast as
            possible. A batch run ignores it.
        type_info: Type of the records.

    Example:
        >>> source = IteratorSource(lambda split, start: range(start, 3), counts=(3,))
        >>> collect(env.from_source(source, WatermarkStrategy.no_watermarks(), "three"))
        [0, 1, 2]
    """

    kind: ClassVar[str] = "iterator"
    makes_records_anew: ClassVar[bool] = True
    iterate: Callable[[int, int], Iterable[Any]]
    counts: tuple[int | None, ...] = (None,)
    records_per_second: int | None = None
    type_info: TypeInformation = field(default_factory=Types.PICKLED_BYTE_ARRAY)

    def __post_init__(self) -> None:
        """Check the arguments."""
        counts = [count for count in self.counts if count is not None]
        problem = None
        if not callable(self.iterate):
            problem = f"{self.iterate!r} is not callable"
        elif not self.counts or any(type(n) is not int or n < 0 for n in counts):
            problem = f"the counts of the splits are {self.counts!r}"
        elif self.records_per_second is not None and (
            type(self.records_per_second) is not int or self.records_per_second < 1
        ):
            problem = f"records_per_second is {self.records_per_second!r}"
        if problem is not None:
            raise ArgumentError.here(
                problem,
                hint="Pass a function of (split, position), one count (or None) per split, and a "
                "rate of 1 or more (or None).",
            )

    @classmethod
    def of_generator(
        cls,
        function: Callable[[], Iterable[Any]],
        *,
        bounded: bool = True,
        records_per_second: int | None = None,
        type_info: TypeInformation | None = None,
    ) -> IteratorSource:
        """Return a source of the records that a generator function yields, in one split.

        A generator cannot start in its middle, so it runs from its start wherever a task
        begins, and then goes on; a bounded one also runs once here, to count. For large inputs
        pass a function that can start anywhere to `IteratorSource` itself.

        Args:
            function: Returns an iterator over all records, the same ones at every call.
            bounded: True if it ends.
            records_per_second: See the class.
            type_info: Type of the records.

        Raises:
            ArgumentError: `function` is no function.
            SourceError: The generator raised while it was counted.

        Example:
            >>> def letters():
            ...     yield "a"
            ...     yield "b"
            >>> source = IteratorSource.of_generator(letters)
            >>> collect(env.from_source(source, WatermarkStrategy.no_watermarks(), "letters"))
            ['a', 'b']
        """
        if not callable(function):
            raise ArgumentError.here(
                f"{function!r} is not a generator function",
                hint="Pass the function itself, without calling it.",
            )
        count = _count(function) if bounded else None
        declared = type_info or Types.PICKLED_BYTE_ARRAY()
        return cls(_FromItsStart(function), (count,), records_per_second, declared)

    @property
    def is_bounded(self) -> bool:
        """True if every split has a count."""
        return None not in self.counts

    def get_produced_type(self) -> TypeInformation:
        """Return the declared type."""
        return self.type_info

    def splits(self, parallelism: int) -> Sequence[tuple[int, int | None]]:
        """Return one range per count."""
        del parallelism
        return [(0, count) for count in self.counts]

    def read(self, split: int, start: int, end: int) -> Sequence[Any]:
        """Return the records at positions `[start, end)`.

        Raises:
            SourceError: The iterator raised; names the position.
        """
        records: list[Any] = []
        try:
            if isinstance(self.iterate, _FromItsStart):
                self.iterate.read_on(records, start, end)
                return records
            records.extend(islice(self.iterate(split, start), end - start))
            if gives_one_object_again(records):
                records.clear()
                again = islice(self.iterate(split, start), end - start)
                records.extend(copy_value(value) for value in again)
        except PenstockError:
            raise
        except BaseException as cause:
            raise failure_as(
                SourceError,
                f"the iterator of split {split} failed at position {start + len(records)} or behind",
                cause,
                None,
                hint="Correct the function that makes it.",
            ) from cause
        return records

    def describe(self) -> str:
        """Return the number of splits and of records."""
        counts = ["endless" if count is None else str(count) for count in self.counts]
        return f"iterators ({', '.join(counts)})"


@dataclass(slots=True)
class _FromItsStart:
    """Runs a generator function from its start and skips the records before a position.

    The iterator stays open between calls, because each read continues the previous one. A new
    iterator per call would skip all earlier records each time, which takes quadratic time.
    """

    function: Callable[[], Iterable[Any]]
    _kept: tuple[int, Iterator[Any]] | None = field(default=None, compare=False, repr=False)
    _copies: bool = field(default=False, compare=False, repr=False)

    def __call__(self, split: int, start: int) -> Iterable[Any]:
        del split
        return islice(self.function(), start, None)

    def read_on(self, records: list[Any], start: int, end: int) -> None:
        """Append the records at `[start, end)`, as many as there are before an error."""
        position, running = self._kept or (-1, iter(()))
        self._kept = None  # an iterator that raised cannot be continued
        if position != start:
            running = iter(self(0, start))
        if not self._copies:
            records.extend(islice(running, end - start))
            # The generator runs on after these records and could change objects that it yielded.
            if not all(map(is_immutable, records)):
                records.clear()
                self._copies = True
                running = iter(self(0, start))
        if self._copies:
            records.extend(map(copy_value, islice(running, end - start)))
        self._kept = end, running

    def __getstate__(self) -> Callable[[], Iterable[Any]]:
        return self.function

    def __setstate__(self, function: Callable[[], Iterable[Any]]) -> None:
        self.function, self._kept, self._copies = function, None, False


def _count(function: Callable[[], Iterable[Any]]) -> int:
    count = 0
    try:
        for count, _ in enumerate(function(), 1):  # noqa: B007 - what is left is the count
            pass
    except BaseException as cause:
        raise failure_as(
            SourceError,
            f"the generator failed at position {count}",
            cause,
            CallSite.of_caller(),
            hint="Correct the generator function.",
        ) from cause
    return count
