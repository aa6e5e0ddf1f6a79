"""The differences of two sets of rows, which may be larger than memory.

Both are divided by the hash of what identifies a row (its key, or the columns that have to be equal) into as many parts
as their size needs. Parts spill to disk, and those of one number are in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from heapq import nsmallest
from itertools import chain
from typing import Any

from penstock.errors import ArgumentError, PenstockError, UnknownFieldError, did_you_mean
from penstock.runtime.spill.spill_space import SpillCounts, SpillSpace
from penstock.runtime.spill.spilled_values import SpilledValues
from penstock.types.strict_equality import only_in_one, shape_of

Columns = Mapping[str, Any]
"""A row: column to value."""

_Epoch = tuple[int, str]
"""Place of an epoch in an output, and its name."""

_Written = tuple[_Epoch | None, Columns]
"""A row, and the epoch in which it was written."""

MEMORY_BYTES = 256 << 20
"""Rows of both sides in memory while they are divided, about."""

PART_BYTES = 8 << 20
MOST_PARTS = 128
"""Files of so many bytes are one part, up to so many parts: a part may have two open files."""


@dataclass(frozen=True, slots=True)
class OutputComparison:
    """The way to compare rows.

    Attributes:
        keys: Columns by which a row replaces an earlier one. Without them the keys of the sink count; if it has none,
            each row as often as it occurs.
        tolerances: Column to the greatest difference of two numbers that are equal.
        ignored: Columns that are left out.
        time: Column whose least value in a row that differs is returned.
        limit: Greatest number of rows that differ to return.

    Example:
        >>> OutputComparison(keys=["carrier"], tolerances={"delay": "1e-9"}).limit
        5
    """

    keys: Sequence[str] = ()
    tolerances: Mapping[str, Any] = field(default_factory=dict)
    ignored: Sequence[str] = ()
    time: str | None = None
    limit: int = 5

    def __post_init__(self) -> None:
        """Check the tolerances.

        Raises:
            ArgumentError: One is no number from 0.
        """
        for column, given in self.tolerances.items():
            number = _number(given)
            if number is None or number < 0:
                raise ArgumentError(
                    f"the tolerance of column {column!r} is {given!r}",
                    hint="Give a number from 0, such as 1e-9.",
                )


def columns_differing(
    how: OutputComparison, one: Columns, other: Columns
) -> tuple[Columns, Columns]:
    """Return the columns of two rows that only one has, or that have other values."""
    shared = one.keys() & other.keys()
    same = {name for name in shared if _is_same(how, name, one[name], other[name])}
    return (
        {name: value for name, value in one.items() if name not in same},
        {name: value for name, value in other.items() if name not in same},
    )


def check_columns(names: Iterable[str], known: Iterable[str]) -> None:
    """Check that names are columns."""
    for name in names:
        if name not in known:
            columns = tuple(known)
            raise UnknownFieldError(
                f"no row has a column {name!r}{did_you_mean(name, columns)}",
                hint=f"The columns are {', '.join(columns)}.",
            )


def _is_same(how: OutputComparison, name: str, one: Any, other: Any) -> bool:
    if shape_of(one) == shape_of(other):
        return True
    numbers = [_number(value) for value in (one, other, how.tolerances.get(name))]
    if None in numbers:
        return False
    left, right, most = map(Decimal, numbers)  # type: ignore[arg-type]
    return abs(left - right) <= most


def _identity(how: OutputComparison, row: Columns) -> Any:
    """Return the hashable value that rows share if they are compared with each other."""
    if not how.keys:
        return shape_of({n: v for n, v in row.items() if n not in how.tolerances})
    check_columns(how.keys, row)
    return shape_of([row[name] for name in how.keys])


@dataclass(frozen=True, slots=True)
class RowChange:
    """A row that differs.

    Attributes:
        key: The columns that identify it; None without keys.
        before: The row of the first output; None if it has none.
        after: The row of the second output; None if it has none.
    """

    key: Columns | None
    before: Columns | None
    after: Columns | None


@dataclass(slots=True)
class OutputDifference:
    """The comparison of two outputs of a sink.

    Attributes:
        sink: Uid of the sink, or the name that was given.
        how: The way in which they were compared.
        problem: Reason why they were not compared; None if they were.
        rows_a: Rows of the first output; with keys, the number of keys.
        rows_b: Those of the second.
        only_in_a: Rows or keys that only the first has.
        only_in_b: Those that only the second has.
        different: Keys with other values.
        first_time: Least time of a row that differs; None if there is none.
        first_epoch_a: Name of the first epoch in which the first job has written a row that differs, such as `1-17`: run and
            number. None if there is none, or if the output does not have it.
        first_epoch_b: That of the second.
        digests: The digests of both, if one has no rows.
        examples: The first rows that differ, in the order of their keys or columns.
        columns: Columns of all rows.
    """

    sink: str
    how: OutputComparison
    problem: PenstockError | None = None
    rows_a: int = 0
    rows_b: int = 0
    only_in_a: int = 0
    only_in_b: int = 0
    different: int = 0
    first_time: Any = None
    first_epoch_a: str | None = None
    first_epoch_b: str | None = None
    digests: tuple[str, str] | None = None
    examples: list[RowChange] = field(default_factory=list)
    columns: dict[str, None] = field(default_factory=dict)
    _epochs: list[_Epoch | None] = field(default_factory=lambda: [None, None], repr=False)

    @property
    def verdict(self) -> str:
        """The result: `equal`, `different` or `not compared`."""
        if self.problem is not None:
            return "not compared"
        is_other = self.digests is not None and self.digests[0] != self.digests[1]
        differs = is_other or self.only_in_a or self.only_in_b or self.different
        return "different" if differs else "equal"

    def compare(
        self,
        first: Iterable[Sequence[Columns]],
        second: Iterable[Sequence[Columns]],
        size_bytes: int = 0,
    ) -> None:
        """Compare rows that come in lists, of which later ones replace earlier ones with their key.

        Args:
            first: Rows of the first output.
            second: Rows of the second output.
            size_bytes: Size of both, about.

        Raises:
            UnknownFieldError: A row lacks a key.
            SpillError: There is no room on disk.

        Example:
            >>> found = OutputDifference("out", OutputComparison())
            >>> found.compare([[{"n": 1}, {"n": 2}]], [[{"n": 2}, {"n": 3}]])
            >>> found.verdict, found.only_in_a, found.examples[0].before
            ('different', 1, {'n': 1})
        """
        count = min(MOST_PARTS, 1 + size_bytes // PART_BYTES)
        space = SpillSpace(2 * MEMORY_BYTES // count)
        try:
            sides = [self._divided(rows, count, space) for rows in (first, second)]
            for parts in zip(*sides, strict=True):
                self._add(*map(list, parts))
                for part in parts:
                    part.close()
        finally:
            space.close()

    def _divided(
        self, rows: Iterable[Sequence[Columns]], count: int, space: SpillSpace
    ) -> list[SpilledValues]:
        parts = [SpilledValues(space, SpillCounts()) for _ in range(count)]
        for some in rows:
            epoch = getattr(some, "epoch", None)
            waiting: list[list[_Written]] = [[] for _ in parts]
            for whole in some:
                row = {name: value for name, value in whole.items() if name not in self.how.ignored}
                self.columns.update(dict.fromkeys(row))
                waiting[hash(_identity(self.how, row)) % count].append((epoch, row))
            for part, of_part in zip(parts, waiting, strict=True):
                part.extend(of_part)
        return parts

    def _add(self, one: list[_Written], other: list[_Written]) -> None:
        """Add what differs in two parts."""
        compare = self._by_key if self.how.keys else self._as_often
        changes = compare([row for _, row in one], [row for _, row in other])
        self._note_epochs(0, one, [change.before for change in changes])
        self._note_epochs(1, other, [change.after for change in changes])
        self.first_epoch_a, self.first_epoch_b = (epoch and epoch[1] for epoch in self._epochs)
        self.only_in_a += sum(change.after is None for change in changes)
        self.only_in_b += sum(change.before is None for change in changes)
        self.different += sum(None not in (change.before, change.after) for change in changes)
        self.examples = nsmallest(self.how.limit, [*self.examples, *changes], key=_place)
        rows = chain.from_iterable((change.before, change.after) for change in changes)
        times = [row.get(self.how.time or "") for row in rows if row is not None]
        known_times = [time for time in (self.first_time, *times) if time is not None]
        self.first_time = min(known_times, key=order_of, default=None)

    def _note_epochs(
        self, side: int, written: list[_Written], changed: list[Columns | None]
    ) -> None:
        """Note the first epoch of rows that differ."""
        shapes = {shape_of(row) for row in changed if row is not None}
        if shapes:
            known = [self._epochs[side], *(e for e, row in written if shape_of(row) in shapes)]
            self._epochs[side] = min(filter(None, known), default=None)

    def _by_key(self, one: list[Columns], other: list[Columns]) -> list[RowChange]:
        how = self.how
        # Not `last_per_key`, for which 1 and True are one key.
        before, after = ({_identity(how, row): row for row in rows} for rows in (one, other))
        self.rows_a += len(before)
        self.rows_b += len(after)
        return [
            RowChange({name: row[name] for name in how.keys}, before.get(key), after.get(key))
            for key, row in (before | after).items()
            if key not in before
            or key not in after
            or columns_differing(how, before[key], after[key]) != ({}, {})
        ]

    def _as_often(self, one: list[Columns], other: list[Columns]) -> list[RowChange]:
        self.rows_a += len(one)
        self.rows_b += len(other)
        gone, come = self._near(one, other) if self.how.tolerances else only_in_one(one, other)
        return [RowChange(None, row, None) for row in gone] + [
            RowChange(None, None, row) for row in come
        ]

    def _near(
        self, one: list[Columns], other: list[Columns]
    ) -> tuple[list[Columns], list[Columns]]:
        """Return the rows without a partner: the least one that is left and equal but for tolerances."""
        groups: dict[Any, list[Columns]] = {}
        for row in sorted(other, key=_order):
            groups.setdefault(_identity(self.how, row), []).append(row)
        gone = []
        for row in sorted(one, key=_order):
            left = groups.get(_identity(self.how, row), [])
            near = (
                index
                for index, o in enumerate(left)
                if columns_differing(self.how, row, o) == ({}, {})
            )
            index = next(near, None)
            if index is None:
                gone.append(row)
            else:
                del left[index]
        return gone, list(chain.from_iterable(groups.values()))


def order_of(value: Any) -> tuple[Any, ...]:
    """Return the place of a value among those of any class: None, then numbers and texts of numbers, then others.

    Examples:
        >>> sorted(["10", "9", None, "b", 9.5], key=order_of)
        [None, '9', 9.5, '10', 'b']
    """
    if value is None:
        return (0,)
    number = _number(value)
    return (2, str(value)) if number is None else (1, number)


def _order(row: Columns) -> list[tuple[Any, ...]]:
    return list(map(order_of, row.values()))


def _place(change: RowChange) -> tuple[list[tuple[Any, ...]], bool]:
    row = next(row for row in (change.key, change.before, change.after) if row is not None)
    return _order(row), change.before is None


def _number(value: Any) -> Decimal | None:
    """Return a number, or the number that a text is; None if it is none, or not finite."""
    if not isinstance(value, int | float | Decimal | str):
        return None
    try:
        number = Decimal(value)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
