"""Writes the records of one keyed operator in order of key: in runs, of what fits in memory.

A run is sorted by key, and by time if the parts of a key are wanted so. It is cut into blocks, which are rows of
the store of the group. Where a block begins is its address, so the store has the blocks of all runs in
order of their begins; they end where they like, beyond the begins of others:

    run 0        a a a b │ b c d e │ f
    run 1        a b c c │ c c d g │ g h
    in order     a a a b │ a b c c │ b c d e │ c c d g │ f │ g h

    address      u32 operator | u8 length of key | key | u64 time | u16 input | u32 run | u32 block
    input        that of the records; of all but results of a bounded region it is `REST` more
    block        frame of records with keys, each of these: u8 length of key | key

Integers are big-endian. Keys are as `penstock.wire.canonical.key_bytes` has them, times count from Long.MIN and
are 0 where parts are not wanted by time. Equal ones stay as they arrived, by run and block. Results come first
whatever their time: it is in their record, a pair.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

from penstock.runtime.operators.keyed import KeyedOperator
from penstock.runtime.spill.record_size import bytes_per_record, record_overhead
from penstock.runtime.spill.spill_space import Row, SpillStore
from penstock.types import Types
from penstock.types.record_form import RecordForm, record_form
from penstock.wire.canonical.key_bytes import encode_key
from penstock.wire.elements import MIN_TIMESTAMP
from penstock.wire.frame import (
    FrameHeader,
    FrameKind,
    decode_records,
    encode_segments,
    pack_segment,
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
        operator: Whose records they are.
        stamped: Inputs that have records with a timestamp; the others of theirs have Long.MIN.
        runs: How many were written.
        rows: Blocks they have.
        records: Records they have.
        size_bytes: What the blocks take.
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
        return self.operator.takes_keys_in_parts and self.operator.wants_parts_by_time

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
        """Take one frame of input `number`.

        Raises:
            SpillError: It cannot be written.
            PenstockError: The key selector failed.
        """
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
        """Write what waits.

        Raises:
            SpillError: It cannot be written.
            PenstockError: The key selector failed.
        """
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
        for block, at in enumerate(range(0, len(order), size)):
            some = order[at : at + size]
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
