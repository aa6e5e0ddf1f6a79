"""Checks of a log source against its promises: what the engine relies on, and cannot notice itself."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

from penstock.errors import ArgumentError, SourceError
from penstock.graph.hybrid import SnapshotPart
from penstock.graph.log_source import LogSource
from penstock.graph.log_values import LogBatch, LogSplit
from penstock.types.strict_equality import shape_of
from penstock.wire import user_code

_MOST_RECORDS = 2_000
_ALL_POSITIONS = 32
_CUTS = 24


def check_log_source(
    source: LogSource, *, most_records: int = _MOST_RECORDS, seed: int = 0
) -> None:
    """Check that a log source keeps its promises, with the records that it has now.

    It reads the first records of every split several times, as tasks do that are repeated, cut
    differently, or run in other processes:

    * A copy that was pickled reads the same records.
    * A range gives the same records and timestamps every time.
    * Wherever a range is cut, its parts give its records, none of them twice; holes belong to one part.
    * `discover` returns known splits again, and their heads do not fall.
    * `cost` is a count, and `position_at` finds the first record of a time.
    * `snapshot` writes files that are read like splits, and the splits go on from its positions. It is called once.
    * `confirm` may be called twice, and takes nothing away that is not before its positions. It is called
      with the start of every split.

    Args:
        source: The source; a split of it has records.
        most_records: Number of records to read per split, about.
        seed: Decides where ranges are cut.

    Raises:
        SourceError: The source breaks a promise, or has no records.
        UserCodeError: It cannot be pickled.

    Example:
        >>> class Letters(LogSource):
        ...     kind = "letters"
        ...
        ...     def get_produced_type(self):
        ...         return Types.STRING()
        ...
        ...     def discover(self, known):
        ...         return [LogSplit("all", earliest=0, head=5)]
        ...
        ...     def read(self, split, start, end):
        ...         return LogBatch("hello"[start:end], end)
        >>> check_log_source(Letters())
    """
    if not isinstance(source, LogSource):
        raise ArgumentError.here(
            f"{source!r} is no LogSource", hint="Pass an object of a class derived from LogSource."
        )
    _Check(source, most_records, random.Random(seed)).run()  # noqa: S311


@dataclass(frozen=True, slots=True)
class _Range:
    """Positions of a split, and what they have.

    Attributes:
        records: Records, in a form that is compared strictly.
        times: Their timestamps; None if they have none.
    """

    split: str
    start: int
    end: int
    records: tuple[Any, ...]
    times: tuple[int, ...] | None
    bounds: tuple[int, ...] = field(default=(), compare=False)


class _Check:
    """One check of a source."""

    def __init__(self, source: LogSource, most: int, chance: random.Random) -> None:
        self._source = source
        self._most = most
        self._chance = chance

    def run(self) -> None:
        """Check everything."""
        copy: LogSource = user_code.load(user_code.dump(self._source, self._source.describe()))
        if not self._source.takes_snapshot:
            self.run_on(copy, self._source.exact_discover({}), is_empty=True)
            return
        with TemporaryDirectory(prefix="penstock-") as name:
            captured = SnapshotPart(self._source).capture(Path(name))
            files = replace(SnapshotPart(self._source), captured=captured)
            has_records = any(records for _, records in captured.files)
            if has_records:
                whole = _Check(files, self._most, self._chance)
                whole.run_on(replace(files, source=copy), files.exact_discover({}), is_empty=True)
            begins = {cut.name or "": cut.start for cut in captured.tail}
            splits = [replace(s, start=begins[s.id]) for s in self._source.exact_discover(begins)]
            self.run_on(copy, tuple(splits), is_empty=not has_records)

    def run_on(self, copy: LogSource, splits: tuple[LogSplit, ...], *, is_empty: bool) -> None:
        """Check the splits; with `is_empty` it is a failure that they have no records."""
        ranges = [self._range(self._source, split) for split in splits]
        if is_empty and not any(whole.records for whole in ranges):
            self._fail(
                f"has no records to check, in {len(splits)} splits", "Add some before the check."
            )
        self._discovers(splits)
        for whole in ranges:
            self._reads(whole, copy)
            self._costs(whole)
            self._finds_times(whole)
        self._confirms(splits, ranges)

    def _range(self, source: LogSource, split: LogSplit) -> _Range:
        """Return the first records of a split."""
        assert split.start is not None, "it was checked"
        batches, count, end = [], 0, split.start
        for position, batch in source.batches(split.id, split.start, split.head):
            batches.append((position, batch))
            count, end = count + len(batch.records), batch.next_position
            if count >= self._most:
                break
        return _made(split.id, split.start, end, iter(batches))

    def _read(self, source: LogSource, split: str, start: int, end: int) -> _Range:
        return _made(split, start, end, source.batches(split, start, end))

    def _reads(self, whole: _Range, copy: LogSource) -> None:
        for who, how in ((self._source, "read again"), (copy, "read by a copy that was pickled")):
            again = self._read(who, whole.split, whole.start, whole.end)
            self._same(whole, again, how)
        for cut in self._cuts(whole):
            first = self._read(self._source, whole.split, whole.start, cut)
            second = self._read(self._source, whole.split, cut, whole.end)
            self._same(whole, _joined(first, second), f"cut at {cut}")
        for _ in range(_CUTS if whole.end > whole.start else 0):
            start, middle, end = sorted(
                self._chance.choices(range(whole.start, whole.end + 1), k=3)
            )
            part = self._read(self._source, whole.split, start, end)
            halves = [
                self._read(self._source, whole.split, *bounds)
                for bounds in ((start, middle), (middle, end))
            ]
            self._same(part, _joined(*halves), f"cut at {middle}")

    def _cuts(self, whole: _Range) -> list[int]:
        """Return positions at which to cut a range: all of a short one, else those of batches, and others."""
        if whole.end - whole.start <= _ALL_POSITIONS:
            return list(range(whole.start, whole.end + 1))
        near = {cut + off for cut in whole.bounds for off in (-1, 0, 1)}
        inside = sorted(cut for cut in near if whole.start <= cut <= whole.end)
        chosen = self._chance.sample(inside, min(len(inside), _CUTS))
        return sorted({whole.start, whole.start + 1, whole.end, *chosen})

    def _discovers(self, splits: tuple[LogSplit, ...]) -> None:
        for known in (
            {split.id: split.start or 0 for split in splits},
            {split.id: split.head for split in splits},
        ):
            again = {split.id: split for split in self._source.exact_discover(known)}
            for split in splits:
                if again[split.id].head < split.head:
                    self._fail(
                        f"gave head {again[split.id].head} for split {split.id!r}, and {split.head} "
                        "before",
                        "A head must not fall.",
                    )

    def _costs(self, whole: _Range) -> None:
        middle = (whole.start + whole.end) // 2
        for start, end in ((whole.start, whole.end), (whole.start, middle), (middle, whole.end)):
            self._source.exact_cost(whole.split, start, end)

    def _finds_times(self, whole: _Range) -> None:
        if not whole.times:
            return
        for time in {min(whole.times), self._chance.choice(whole.times), max(whole.times) + 1}:
            cut = self._source.exact_position_at(whole.split, time, whole.start, whole.end)
            before = self._read(self._source, whole.split, whole.start, cut)
            late = next((stamp for stamp in before.times or () if stamp >= time), None)
            following = self._read(self._source, whole.split, cut, min(cut + 1, whole.end))
            if late is not None or (cut < whole.end and min(following.times or (time - 1,)) < time):
                self._fail(
                    f"gave position {cut} of split {whole.split!r} for timestamp {time}, which is not "
                    "that of the first record from then on",
                    "Return the position of the first record whose timestamp is not less, or the end.",
                )

    def _confirms(self, splits: tuple[LogSplit, ...], ranges: list[_Range]) -> None:
        starts = {split.id: split.start or 0 for split in splits}
        for _ in range(2):
            self._source.exact_confirm(starts)
        self._source.exact_discover(starts)
        for whole in ranges:
            again = self._read(self._source, whole.split, whole.start, whole.end)
            self._same(whole, again, "read after confirm()")

    def _same(self, one: _Range, other: _Range, how: str) -> None:
        if one != other:
            what = "timestamps" if one.records == other.records else "records"
            self._fail(
                f"gave other {what} for positions [{one.start}, {one.end}) of split {one.split!r} when "
                f"they were {how}: {_difference(one, other, what)}",
                "read() must give the records whose positions are in the range, and the same ones "
                "every time.",
            )

    def _fail(self, what: str, hint: str) -> NoReturn:
        raise SourceError(f"{self._source.describe()} {what}", hint=hint)


def _made(split: str, start: int, end: int, batches: Iterator[tuple[int, LogBatch]]) -> _Range:
    records: list[Any] = []
    times: list[int] = []
    bounds: list[int] = []
    for _, batch in batches:
        records += map(shape_of, batch.records)
        times += batch.timestamps or ()
        bounds.append(batch.next_position)
    has_times = len(times) == len(records)
    return _Range(
        split, start, end, tuple(records), tuple(times) if has_times else None, tuple(bounds)
    )


def _joined(first: _Range, second: _Range) -> _Range:
    times = None
    if first.times is not None and second.times is not None:
        times = first.times + second.times
    return _Range(first.split, first.start, second.end, first.records + second.records, times)


def _difference(one: _Range, other: _Range, what: str) -> str:
    if what == "timestamps":
        return f"{one.times} and {other.times}"
    pairs = enumerate(zip(one.records, other.records, strict=False))
    first = next((number for number, (a, b) in pairs if a != b), None)
    counts = f"{len(one.records)} and {len(other.records)} of them"
    return counts if first is None else f"{counts}, from number {first + 1} on"
