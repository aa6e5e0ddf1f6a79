"""A key group that does not fit in memory: its limit, and its records on disk in order of key, read in portions of keys.

Records are written in runs, each as large as fits in memory. A run is sorted by key, and by time if the parts of a
key are read so. It is cut into blocks, which are rows of the store of the group. The begin of a block is its
address, so the store has the blocks of all runs in order of their begins. A block may end beyond the begins of
others:

    run 0        a a a b │ b c d e │ f
    run 1        a b c c │ c c d g │ g h
    in order     a a a b │ a b c c │ b c d e │ c c d g │ f │ g h

    address      u32 operator | u8 length of key | key | u64 time | u16 input | u32 run | u32 block
    input        that of the records; of all but results of a bounded region it is `REST` more
    block        frame of records with keys, each of these: u8 length of key | key

Integers are big-endian. Keys are in the form of `penstock.wire.canonical.key_bytes`, times count from Long.MIN and
are 0 where parts are not read by time. Equal ones stay as they arrived, by run and block. Results come first
whatever their time: it is in their record, a pair.
"""

from __future__ import annotations

import logging
import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, groupby, islice, repeat
from operator import attrgetter
from typing import Any

from penstock.runtime.exchange.channel_writer import ResultsFirst, results_among
from penstock.runtime.exchange.level_input import Batch, InputTarget, LevelInput
from penstock.runtime.operators.keyed import KeyedOperator
from penstock.runtime.spill.record_size import bytes_per_record, record_overhead
from penstock.runtime.spill.spill_space import Row, SpillSpace, SpillStore
from penstock.types import Types
from penstock.types.record_form import RecordForm, record_form
from penstock.wire.canonical.key_bytes import encode_key
from penstock.wire.elements import MIN_TIMESTAMP
from penstock.wire.frame import (
    FrameHeader,
    FrameKind,
    decode_pairs,
    decode_records,
    encode_segments,
    pack_segment,
    read_header,
)

REST = 1 << 15
"""Suffix of the input of records that are no results, so that they come behind those."""

BLOCK_RECORDS = 1024
"""Records per block, at most."""

OPERATOR = struct.Struct(">I")
PLACE = struct.Struct(">QHII")
"""(time from Long.MIN, input, run, block): how an address ends."""

_KEY_BYTES = 80  # of a record that is sorted, beside `record_overhead`
_OVERLAP_SHARE = 8  # of what fits in memory: records of blocks of which others are not read yet
_FIRST_RUNS = 8


@dataclass(slots=True)
class _RunBuffer:
    values: list[Any] = field(default_factory=list)
    stamps: list[int] | None = None


class RunWriter:
    """Takes the frames of one operator, in order of arrival, and writes sorted runs.

    Attributes:
        stamped: Inputs that have records with a timestamp; the others of theirs have Long.MIN.
        runs: How many were written.
        rows: Blocks they have.
        size_bytes: Size of the blocks.
    """

    def __init__(self, operator: KeyedOperator, store: SpillStore, memory_bytes: int) -> None:
        """Write nothing yet."""
        self.operator = operator
        self.stamped: set[int] = set()
        self.runs = self.rows = self.records = self.size_bytes = 0
        self._store = store
        self._memory_bytes = memory_bytes
        self._waiting: dict[int, _RunBuffer] = {}
        self._buffered = self._look_at = self._record_bytes = 0

    @property
    def by_time(self) -> bool:
        """True if the operator is given the parts of a key in order of time."""
        return self.operator.takes_keys_in_parts and self.operator.has_parts_by_time

    @property
    def buffered_bytes(self) -> int:
        """Memory of the records that wait to be written."""
        return self._buffered * self._bytes_each

    @property
    def memory_records(self) -> int:
        """Number of records that fit in memory, at least one."""
        return max(1, self._memory_bytes // self._bytes_each)

    @property
    def _bytes_each(self) -> int:
        return self._record_bytes + record_overhead(stamped=bool(self.stamped)) + _KEY_BYTES

    def add(
        self, number: int, header: FrameHeader, frame: bytes, *, are_results: bool = False
    ) -> None:
        """Take one frame of input `number`."""
        values, stamps = decode_records(header, frame)
        if are_results:
            times = repeat(None) if stamps is None else stamps
            values, stamps = list(zip(values, times, strict=False)), None
        else:
            number += REST
        waiting = self._waiting.setdefault(number, _RunBuffer())
        if stamps is not None:
            self.stamped.add(number)
            if waiting.stamps is None:
                waiting.stamps = [MIN_TIMESTAMP] * len(waiting.values)
        waiting.values += values
        if waiting.stamps is not None:
            waiting.stamps += [MIN_TIMESTAMP] * len(values) if stamps is None else stamps
        self._measure(values)
        self._buffered += len(values)

    def write_run(self) -> None:
        """Write what waits."""
        if not self._buffered:
            return
        # While one run is read, a block of each other waits in memory. It is not known how many follow,
        # so blocks get smaller: all together take 3/8 of the memory with 160 runs, 5/8 with 1,000.
        share = self.memory_records // (_OVERLAP_SHARE * (self.runs + _FIRST_RUNS))
        size = max(1, min(BLOCK_RECORDS, share))
        for number, waiting in sorted(self._waiting.items()):
            self._store.put(self._blocks(number, waiting, size))
        self.records += self._buffered
        self.runs += 1
        self._waiting, self._buffered = {}, 0

    def _measure(self, values: list[Any]) -> None:
        """Look at the size of records, the more seldom the more there were."""
        taken = self.records + self._buffered
        if taken >= self._look_at:
            self._look_at = 2 * taken + 1
            self._record_bytes = max(self._record_bytes, bytes_per_record(values))

    def _blocks(self, number: int, waiting: _RunBuffer, size: int) -> Iterator[Row]:
        values, stamps = waiting.values, waiting.stamps
        keys = self._keys_of(number, values)
        order = list(range(len(values)))
        times = stamps if self.by_time else None
        if times is not None:
            order.sort(key=times.__getitem__)
        order.sort(key=keys.__getitem__)  # stable
        prefix, form = OPERATOR.pack(self.operator.spec.id), self._form_of(number)
        for block, start in enumerate(range(0, len(order), size)):
            some = order[start : start + size]
            time = 0 if times is None else times[some[0]] - MIN_TIMESTAMP
            place = PLACE.pack(time, number, self.runs, block)
            segment = pack_segment([keys[n] for n in some], [values[n] for n in some], form)
            packed = () if stamps is None else (array("q", [stamps[n] for n in some]).tobytes(),)
            header = FrameHeader(0, 0, 0, 0, FrameKind.RECORDS, len(some))
            frame = encode_segments(header, [segment], packed, keyed=True)
            self.rows += 1
            self.size_bytes += len(frame)
            yield prefix + keys[some[0]] + place, frame

    def _form_of(self, number: int) -> RecordForm | None:
        declared = self.operator.spec.input_type(number % REST)
        if declared is not None and number < REST:
            declared = Types.TUPLE([declared, Types.LONG()])
        return record_form(declared)

    def _keys_of(self, number: int, values: list[Any]) -> list[bytes]:
        if number < REST:
            values = [value for value, _ in values]
        keys = self.operator.keys_of(number % REST, values)
        encoded = {key: _sized(encode_key(key)) for key in set(keys)}
        return list(map(encoded.__getitem__, keys))


def _sized(encoded: bytes) -> bytes:
    return bytes((len(encoded),)) + encoded


_LARGEST_GROWTH = 512  # bytes in memory per byte of a frame: beyond what any records need


class HeldMemory:
    """Compares what a level holds with a limit."""

    def __init__(self, limit_bytes: int) -> None:
        """Begin without sizes."""
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
            record_bytes = self._size(target, frames, held) + record_overhead(stamped=stamped)
            estimated += sum(len(frame) + header.count * record_bytes for header, frame in frames)
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

_PART_SHARE = 4  # of the memory: functions that get parts keep some of their records


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
        time: Time of the first one, if parts are read by time.
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
        """Begin to read."""
        self._writer = writer
        self._by_time = writer.by_time and bool(writer.stamped)
        self._blocks = self._read(store)
        self._next = next(self._blocks, None)
        self._held: list[_Block] = []

    def portions(self) -> Iterator[Portion]:
        """Yield keys that fit in memory together, and those that do not one by one."""
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
        """Begin without records."""
        self._operators = operators
        self._memory_bytes = space.memory_bytes
        self._route = route
        self._store = space.new_store()
        self._writers: dict[int, RunWriter] = {}

    def take(self, arrived: LevelInput) -> None:
        """Take the frames that are held, which are then not held any more."""
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
        """Yield each portion that is to be processed with its operator, upstream first."""
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
