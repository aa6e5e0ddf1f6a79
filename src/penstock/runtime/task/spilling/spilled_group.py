"""A key group that does not fit in memory: its limit, and its records on disk in portions of keys."""

from __future__ import annotations

import logging
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby, islice, repeat
from operator import attrgetter
from typing import Any

from penstock.runtime.exchange.channel_writer import ResultsFirst, results_among
from penstock.runtime.exchange.level_input import Batch, InputTarget, LevelInput
from penstock.runtime.operators.keyed import KeyedOperator
from penstock.runtime.spill.record_size import bytes_per_record, record_overhead
from penstock.runtime.spill.spill_space import SpillSpace, SpillStore
from penstock.runtime.task.spilling.sorted_runs import OPERATOR, PLACE, REST, RunWriter
from penstock.wire.elements import MIN_TIMESTAMP
from penstock.wire.frame import FrameHeader, decode_pairs, decode_records, read_header

_LARGEST_GROWTH = 512  # bytes in memory per byte of a frame: beyond what any records need


class HeldMemory:
    """Compares what a level holds with a limit."""

    def __init__(self, limit_bytes: int) -> None:
        """Know no sizes yet."""
        self._limit = limit_bytes
        self._look_at = 0
        self._sizes: dict[InputTarget, int] = {}
        self._measured_at: dict[InputTarget, int] = {}
        self.start_group()

    def start_group(self) -> None:
        """Begin with the next key group; the sizes of records stay known."""
        self._look_at = self._limit // _LARGEST_GROWTH

    def is_exceeded_by(self, arrived: LevelInput) -> bool:
        """Return whether the frames held of a key group are too many; call after each."""
        held = arrived.held_bytes
        if held <= self._look_at:
            return False
        estimated = 0
        for target, frames in arrived.held().items():
            stamped = any(header.has_timestamps for header, _ in frames)
            each = self._size(target, frames, held) + record_overhead(stamped=stamped)
            estimated += sum(len(frame) + header.count * each for header, frame in frames)
        if estimated > self._limit:
            return True
        until_limit = held * (self._limit - estimated) // max(1, estimated)
        self._look_at = held + max(held // 8, until_limit // 2)
        return False

    def _size(self, target: InputTarget, frames: list[tuple[FrameHeader, bytes]], held: int) -> int:
        known = self._sizes.get(target)
        if known is None or held >= 2 * self._measured_at[target]:
            values, _ = decode_records(*frames[-1])
            known = self._sizes[target] = max(known or 0, bytes_per_record(values))
            self._measured_at[target] = held
        return known


PART_RECORDS = 4096
"""Records per part of a key, at most."""

_PART_SHARE = 4  # of the memory: functions that get parts keep some of what they were given


@dataclass(frozen=True, slots=True)
class Portion:
    """Some keys with all their records, or one key.

    Attributes:
        batches: One per input, or parts in the order in which they are processed. To be read
            once, before the next portion; nothing else refers to the records.
        in_parts: It is one key, in parts.
    """

    batches: Iterator[Batch]
    in_parts: bool


@dataclass(slots=True)
class _Block:
    """Records in order of key.

    Attributes:
        place: (input, run, block): their place in order of arrival.
        time: Of the first one, if parts are wanted by time.
        keys: Key of each, as written.
        values: The records.
        stamps: Their timestamps; None if no record of the input has one.
    """

    place: tuple[int, int, int]
    time: int
    keys: list[bytes]
    values: list[Any]
    stamps: list[int] | None

    def take(self, end: int) -> Batch:
        """Return the first records, which are then not here any more."""
        values, self.values = self.values[:end], self.values[end:]
        stamps = None
        if self.stamps is not None:
            stamps, self.stamps = self.stamps[:end], self.stamps[end:]
        del self.keys[:end]
        return self.place[0], values, stamps


class KeyPortions:
    """The records of one operator."""

    def __init__(self, writer: RunWriter, store: SpillStore) -> None:
        """Begin to read.

        Raises:
            SpillError: Something cannot be read back.
        """
        self._writer = writer
        self._by_time = writer.by_time and bool(writer.stamped)
        self._blocks = self._read(store)
        self._next = next(self._blocks, None)
        self._held: list[_Block] = []

    def portions(self) -> Iterator[Portion]:
        """Yield keys that fit in memory together, and those that do not one by one.

        Raises:
            SpillError: Something cannot be read back.
        """
        while self._hold(self._writer.memory_records):
            edge = None if self._next is None else self._next.keys[0]
            if edge is None or any(block.keys[0] < edge for block in self._held):
                yield Portion(_by_input(self._before(edge)), in_parts=False)
            elif self._writer.operator.takes_keys_in_parts:
                yield Portion(_read_back(self._parts(edge)), in_parts=True)
            else:
                yield Portion(_by_input(self._parts(edge)), in_parts=False)

    def _read(self, store: SpillStore) -> Iterator[_Block]:
        rows = 0
        for address, frame in store.read(OPERATOR.pack(self._writer.operator.spec.id)):
            keys, values, stamps = decode_pairs(read_header(frame), frame)
            time, *place = PLACE.unpack(address[-PLACE.size :])
            if stamps is None and place[0] in self._writer.stamped:
                stamps = [MIN_TIMESTAMP] * len(values)
            rows += 1
            yield _Block(tuple(place), time + MIN_TIMESTAMP, keys, values, stamps)
        if rows != self._writer.rows:
            raise store.damaged(f"it has {rows} rows of {self._writer.rows}")

    def _hold(self, most: int) -> bool:
        """Hold another block, and more until there are many records; whether any is held."""
        held = sum(len(block.values) for block in self._held)
        most = max(most, 2 * held)  # so that what is held again and again is not looked at as often
        is_first = True
        while self._next is not None and (is_first or held + len(self._next.values) <= most):
            self._held.append(self._next)
            held += len(self._next.values)
            self._next = next(self._blocks, None)
            is_first = False
        return bool(self._held)

    def _cut(self, end_of: Callable[[_Block], int]) -> list[Batch]:
        """Return the first records of each block, in order of arrival; they are not held any more."""
        self._held.sort(key=attrgetter("place"))
        taken = [block.take(end) for block in self._held if (end := end_of(block))]
        self._held = [block for block in self._held if block.values]
        return taken

    def _before(self, edge: bytes | None) -> Iterator[Batch]:
        """Yield the records of the keys that are less than `edge`, block by block."""
        if edge is None:
            yield from self._cut(lambda block: len(block.values))
        else:
            yield from self._cut(lambda block: bisect_left(block.keys, edge))

    def _parts(self, key: bytes) -> Iterator[Batch]:
        """Yield the records of the first key that is held, while they are read."""
        most = self._writer.memory_records // _PART_SHARE
        while self._next is not None and self._next.keys[0] == key:
            yield from self._in_order(self._cut(partial(self._complete, key=key, edge=self._next)))
            self._hold(most)
        yield from self._in_order(self._cut(lambda block: bisect_right(block.keys, key)))

    def _complete(self, block: _Block, key: bytes, edge: _Block) -> int:
        """Return how many records of a key come before any that is not held."""
        end = bisect_right(block.keys, key)
        is_earlier = block.place < edge.place
        if block.stamps is None or not self._by_time:
            return end if is_earlier or edge.time > MIN_TIMESTAMP else 0
        find = bisect_right if is_earlier else bisect_left
        return find(block.stamps, edge.time, 0, end)

    def _in_order(self, taken: list[Batch]) -> Iterator[Batch]:
        numbers = list(chain.from_iterable(repeat(n, len(values)) for n, values, _ in taken))
        values = list(chain.from_iterable(values for _, values, _ in taken))
        times = [
            time for batch in taken for time in batch[2] or repeat(MIN_TIMESTAMP, len(batch[1]))
        ]
        order: Iterable[int] = range(len(values))
        if self._by_time:
            order = sorted(order, key=times.__getitem__)  # stable: equal times stay as they came
        for number, some in groupby(order, key=numbers.__getitem__):
            while part := list(islice(some, PART_RECORDS)):
                is_stamped = number in self._writer.stamped
                stamps = list(map(times.__getitem__, part)) if is_stamped else None
                yield number, list(map(values.__getitem__, part)), stamps


def _read_back(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Yield batches with the input that they are of; results with their time, and marked as such."""
    for number, values, stamps in batches:
        if number >= REST:
            yield number - REST, values, stamps
            continue
        results = [value for value, _ in values]
        times = [MIN_TIMESTAMP if time is None else time for _, time in values]
        has_time = any(time is not None for _, time in values)
        yield number, ResultsFirst(results, len(results)), times if has_time else None


def _by_input(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Yield one batch per input of those given, the results in it first."""
    by_input: dict[int, list[Batch]] = {}
    for batch in _read_back(batches):
        by_input.setdefault(batch[0], []).append(batch)
    for number in sorted(by_input):
        some = by_input.pop(number)  # nothing else refers to the records
        values = list(chain.from_iterable(of_batch for _, of_batch, _ in some))
        results = sum(results_among(of_batch) for _, of_batch, _ in some)
        stamps = None
        if any(times is not None for _, _, times in some):
            stamps = [
                time
                for _, of_batch, times in some
                for time in times or repeat(MIN_TIMESTAMP, len(of_batch))
            ]
        del some
        yield number, ResultsFirst(values, results) if results else values, stamps


_logger = logging.getLogger("penstock.spill")


class SpilledGroup:
    """The records of a key group, or of a few, that share a route."""

    def __init__(
        self, operators: Mapping[int, KeyedOperator], space: SpillSpace, route: int
    ) -> None:
        """Begin without records.

        Raises:
            SpillError: There is no directory for spill files.
        """
        self._operators = operators
        self._memory_bytes = space.memory_bytes
        self._route = route
        self._store = space.new_store()
        self._writers: dict[int, RunWriter] = {}

    def take(self, arrived: LevelInput) -> None:
        """Take the frames that are held, which are then not held any more.

        Raises:
            SpillError: They cannot be written.
        """
        for (number, _, of_input), frames in arrived.held().items():
            writer = self._writers.get(number)
            if writer is None:
                operator = self._operators[number]
                writer = RunWriter(operator, self._store, self._memory_bytes)
                self._writers[number] = writer
            for header, frame in frames:
                writer.add(of_input, header, frame, are_results=arrived.are_results(header))
                buffered = sum(writer.buffered_bytes for writer in self._writers.values())
                if 2 * buffered >= self._memory_bytes:
                    self._write_runs()
        arrived.forget_held()

    def portions(self) -> Iterator[tuple[KeyedOperator, Portion]]:
        """Yield each portion that is to be processed with its operator, upstream first.

        Raises:
            SpillError: Something cannot be written, or not be read back.
        """
        self._write_runs()
        for _, writer in sorted(self._writers.items()):
            operator = writer.operator
            operator.spilled.add(writer.size_bytes)
            operator.spilled.add_depth(writer.runs)
            _logger.info(
                "operator %r: %d records of key group %d do not fit in %d bytes; spilled %d bytes, "
                "in %d sorted runs",
                operator.spec.name,
                writer.records,
                self._route,
                self._memory_bytes,
                writer.size_bytes,
                writer.runs,
            )
            for portion in KeyPortions(writer, self._store).portions():
                yield operator, portion
        self._store.remove()

    def _write_runs(self) -> None:
        for writer in self._writers.values():
            writer.write_run()
