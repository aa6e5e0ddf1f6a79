"""The records of one key that do not fit in memory, in the order in which they are processed.

Without timestamps that is the first input and then the second, each in order of arrival. With
timestamps it is the order of time, records of equal time as before:

    records of an input ──sort what fits──▶ runs ──merge, 32 at a time──▶ at most 32 runs
    runs of all inputs ──merge──▶ batches

A run that begins where the last one ended is added to it, so input that is in order is one run
and is not merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import groupby, islice, repeat
from operator import itemgetter
from typing import Any

from penstock.runtime.exchange.level_input import Batch
from penstock.runtime.spill.spill_space import SpillCounts, SpillSpace
from penstock.runtime.task.spilling.spilled_portions import (
    FRAME_RECORDS,
    Input,
    Portion,
    batches_of,
    numbered,
)
from penstock.wire.elements import MIN_TIMESTAMP
from penstock.wire.frame_file import FrameFile

FAN_IN = 32
"""Runs of an input that are merged at a time."""

_Timed = tuple[int, Any]
"""(timestamp, record)."""

_Placed = tuple[int, int, Any]
"""(timestamp, input, record)."""

_time = itemgetter(0)
_number = itemgetter(1)


class LargeKey:
    """Puts the records of a portion with one key in order."""

    def __init__(self, portion: Portion, space: SpillSpace, counts: SpillCounts) -> None:
        """Do nothing yet.

        Args:
            portion: With one key.
            space: Where to put runs.
            counts: Counts them.
        """
        self._portion = portion
        self._space = space
        self._counts = counts
        each = max(1, portion.memory_bytes // max(1, portion.records))
        share = max(1, space.memory_bytes // 4)
        self._run_records = max(1, share // each)
        inputs = max(1, len(portion.inputs))
        in_frame = share // (each * FAN_IN * inputs)
        self._frame_records = max(1, min(FRAME_RECORDS, in_frame))

    def first_record(self) -> tuple[int, Any]:
        """Return an input and its first record: of the first input that has any."""
        first = self._inputs()[0]
        values, _ = next(self._arrived(first))
        return first.number, values[0]

    def batches(self, *, by_time: bool) -> Iterator[Batch]:
        """Yield all records.

        Args:
            by_time: In order of time, if they have timestamps.

        Raises:
            SpillError: Runs cannot be written, or something cannot be read back.
        """
        inputs = self._inputs()
        if not by_time or not any(map(self._is_stamped, inputs)):
            for found in inputs:
                filled = self._is_stamped(found)
                for values, stamps in self._arrived(found):
                    missing = [MIN_TIMESTAMP] * len(values) if filled else None
                    yield found.number, values, missing if stamps is None else stamps
            return
        ways: list[Iterator[_Placed]] = []
        for found in inputs:
            if self._is_stamped(found):
                runs = self._few(found, self._sorted_runs(found))
                ways += (_placed(found.number, _read(found, run)) for run in runs)
            else:
                records = _with_time(self._arrived(found))
                ways.append(_placed(found.number, records))
        stamped = {found.number for found in inputs if self._is_stamped(found)}
        for number, entries in groupby(merge(*ways, key=_time), key=_number):
            while some := list(islice(entries, FRAME_RECORDS)):
                stamps = [stamp for stamp, _, _ in some] if number in stamped else None
                yield number, [value for _, _, value in some], stamps

    def _inputs(self) -> list[Input]:
        return sorted(self._portion.inputs.values(), key=lambda found: found.number)

    def _is_stamped(self, found: Input) -> bool:
        return found.target in self._portion.stamped

    def _arrived(self, found: Input) -> Iterator[tuple[list[Any], list[int] | None]]:
        return batches_of(self._portion.file, found.header.channel)

    def _sorted_runs(self, found: Input) -> list[FrameFile]:
        runs: list[FrameFile] = []
        last = MIN_TIMESTAMP
        records = _with_time(self._arrived(found))
        while chunk := list(islice(records, self._run_records)):
            chunk.sort(key=_time)  # stable: records of equal time keep their order
            if not runs or chunk[0][0] < last:
                if runs:
                    runs[-1].finish()  # so that few files are open at a time
                runs.append(self._space.new_file())
            last = chunk[-1][0]
            self._write(runs[-1], found, chunk)
        return self._finished(runs)

    def _few(self, found: Input, runs: list[FrameFile]) -> list[FrameFile]:
        """Merge neighbours until there are few: that keeps records of equal time in order."""
        while len(runs) > FAN_IN:
            fewer: list[FrameFile] = []
            for at in range(0, len(runs), FAN_IN):
                some = runs[at : at + FAN_IN]
                merged = merge(*(_read(found, run) for run in some), key=_time)
                fewer.append(self._space.new_file())
                while chunk := list(islice(merged, self._frame_records)):
                    self._write(fewer[-1], found, chunk)
                fewer[-1].finish()
                for run in some:
                    run.remove()
            runs = self._finished(fewer)
        return runs

    def _write(self, run: FrameFile, found: Input, chunk: list[_Timed]) -> None:
        for at in range(0, len(chunk), self._frame_records):
            stamps, values = zip(*chunk[at : at + self._frame_records], strict=True)
            run.add(numbered(found.header, run.frames, list(values), list(stamps)))

    def _finished(self, runs: list[FrameFile]) -> list[FrameFile]:
        for run in runs:
            run.finish()
            self._counts.add(run)
        return runs


def _read(found: Input, run: FrameFile) -> Iterator[_Timed]:
    return _with_time(batches_of(run, found.header.channel))


def _with_time(batches: Iterable[tuple[list[Any], list[int] | None]]) -> Iterator[_Timed]:
    for values, stamps in batches:
        yield from zip(stamps or repeat(MIN_TIMESTAMP), values, strict=False)


def _placed(number: int, records: Iterator[_Timed]) -> Iterator[_Placed]:
    return ((stamp, number, value) for stamp, value in records)
