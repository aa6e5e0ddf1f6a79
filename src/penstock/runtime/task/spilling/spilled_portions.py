"""Puts the records of one keyed operator aside, in portions that can be processed one by one.

A portion is a file of frames, with all records of its keys in the order of their arrival. Frames
are renumbered, and name some channel of the input they are for: which one it was does not matter
any more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

from penstock.runtime.exchange.level_input import InputTarget
from penstock.runtime.operators.keyed import KeyedOperator
from penstock.runtime.spill.record_size import bytes_per_record
from penstock.runtime.spill.spill_space import SpillSpace
from penstock.runtime.task.spilling.key_portions import KeyPortions
from penstock.wire.elements import MIN_TIMESTAMP
from penstock.wire.frame import FrameHeader, decode_records, encode_records, read_header
from penstock.wire.frame_file import FrameFile

_OVERHEAD = 160
_TIME_OVERHEAD = 120

FRAME_RECORDS = 4096
"""Records per frame of a file, at most."""


@dataclass(frozen=True, slots=True)
class Input:
    """One input of an operator, as portions know it.

    Attributes:
        target: Operator and input.
        header: Of the first frame; those of the file differ in number and count.
    """

    target: InputTarget
    header: FrameHeader

    @property
    def number(self) -> int:
        """Which input of the operator."""
        return self.target[2]


@dataclass(slots=True)
class Portion:
    """Some keys of an operator with all their records, on disk.

    Attributes:
        file: The frames.
        depth: How often records were split before they came here, from 1.
        inputs: Channel that frames name to the input they are for.
        stamped: Inputs that have records with a timestamp; the others of theirs have Long.MIN.
        is_one_key: All records have the same key.
        records: How many.
        memory_bytes: What they would take in memory.
    """

    file: FrameFile
    depth: int
    inputs: dict[int, Input]
    stamped: set[InputTarget]
    is_one_key: bool = False
    records: int = 0
    memory_bytes: int = 0


@dataclass(slots=True)
class _Bucket:
    values: list[Any] = field(default_factory=list)
    stamps: list[int] = field(default_factory=list)


class PortionWriter:
    """Takes the frames of one operator, in order of arrival, and writes portions."""

    def __init__(self, operator: KeyedOperator, space: SpillSpace, depth: int) -> None:
        """Create nothing yet.

        Args:
            operator: Whose records they are.
            space: Where to put the portions.
            depth: Of the portions, from 1.
        """
        self._operator = operator
        self._space = space
        self._depth = depth
        self._keys: KeyPortions | None = None
        self._inputs: dict[InputTarget, Input] = {}
        self._stamped: set[InputTarget] = set()
        self._buckets: dict[tuple[InputTarget, int], _Bucket] = defaultdict(_Bucket)
        self._portions: dict[int, Portion] = {}
        self._buffered = self._taken = self._look_at = 0
        self._record_bytes = 0
        self._largest_buffer = 1

    def add(self, target: InputTarget, header: FrameHeader, frame: bytes) -> None:
        """Take one frame.

        Raises:
            SpillError: It cannot be written.
            PenstockError: The key selector failed.
        """
        values, stamps = decode_records(header, frame)
        self._inputs.setdefault(target, Input(target, header))
        if stamps is not None and target not in self._stamped:
            self._flush()
            self._stamped.add(target)
        if stamps is None and target in self._stamped:
            stamps = list(repeat(MIN_TIMESTAMP, len(values)))
        self._measure(values)
        self._split(target, values, stamps)

    def portions(self) -> list[Portion]:
        """Return the portions; nothing can be added any more.

        Raises:
            SpillError: Something cannot be written.
        """
        self._flush()
        counts = self._operator.spilled
        counts.add_depth(self._depth)
        each = self._record_bytes + record_overhead(stamped=bool(self._stamped))
        several = set() if self._keys is None else self._keys.several
        for number, portion in self._portions.items():
            portion.file.finish()
            portion.is_one_key = number not in several
            portion.memory_bytes = portion.file.size_bytes + portion.records * each
            counts.add(portion.file)
        return list(self._portions.values())

    def _measure(self, values: list[Any]) -> None:
        """Look at the size of records, the more seldom the more there were."""
        if self._taken >= self._look_at:
            self._look_at = 2 * self._taken + 1
            self._record_bytes = max(self._record_bytes, bytes_per_record(values))
            each = self._record_bytes + record_overhead(stamped=True)
            self._largest_buffer = max(1, self._space.memory_bytes // (4 * each))
        self._taken += len(values)

    def _split(self, target: InputTarget, values: list[Any], stamps: list[int] | None) -> None:
        keys = self._operator.keys_of(target[2], values)
        if self._keys is None:
            self._keys = KeyPortions(self._depth, keys)
        buckets = self._buckets
        if stamps is None:
            for portion, value in zip(map(self._keys.__getitem__, keys), values, strict=True):
                buckets[target, portion].values.append(value)
        else:
            for portion, value, stamp in zip(
                map(self._keys.__getitem__, keys), values, stamps, strict=True
            ):
                bucket = buckets[target, portion]
                bucket.values.append(value)
                bucket.stamps.append(stamp)
        self._buffered += len(values)
        if self._buffered >= self._largest_buffer:
            self._flush()
        else:
            full = [place for place, b in buckets.items() if len(b.values) >= FRAME_RECORDS]
            for place in full:
                self._write(place)

    def _flush(self) -> None:
        for place in list(self._buckets):
            self._write(place)

    def _write(self, place: tuple[InputTarget, int]) -> None:
        target, number = place
        bucket = self._buckets.pop(place)
        portion = self._portions.get(number)
        if portion is None:
            portion = self._portions[number] = Portion(
                self._space.new_file(), self._depth, {}, self._stamped
            )
        source = self._inputs[target]
        portion.inputs[source.header.channel] = source
        for at in range(0, len(bucket.values), FRAME_RECORDS):
            values = bucket.values[at : at + FRAME_RECORDS]
            stamps = bucket.stamps[at : at + FRAME_RECORDS] or None
            portion.file.add(numbered(source.header, portion.file.frames, values, stamps))
        portion.records += len(bucket.values)
        self._buffered -= len(bucket.values)


def record_overhead(*, stamped: bool) -> int:
    """Return the bytes a record takes beside itself while its key group is processed.

    These are places in lists, its key, the state of a key of its own, and with a timestamp that
    and the pair of both. The numbers are the largest `tracemalloc` showed for tuples of four, in
    reduce, process, a window of all records and co-group, for unique keys and for a hundred.
    """
    return _OVERHEAD + _TIME_OVERHEAD if stamped else _OVERHEAD


def numbered(
    header: FrameHeader, sequence: int, values: list[Any], stamps: list[int] | None
) -> bytes:
    """Return the frame of some records in a file of ours."""
    fresh = FrameHeader(0, sequence, header.channel, header.target_level, header.kind, 0)
    return encode_records(fresh, values, stamps)


def batches_of(file: Iterable[bytes], channel: int) -> Iterator[tuple[list[Any], list[int] | None]]:
    """Yield values and timestamps of the frames that name a channel."""
    for frame in file:
        header = read_header(frame)
        if header.channel == channel:
            yield decode_records(header, frame)
