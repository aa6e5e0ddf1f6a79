"""An external sort of records by key and time, for operators of the user's own.

Records are collected in memory. When they take their share of it they are sorted and written as a run,
in blocks, which are rows of a store. To read, all runs and the records in memory are merged:

    run 0        a1 a7 b2 │ b3 c1         read    a1 a4 a7 b2 b3 b5 c1 d0
    run 1        a4 b5                    memory holds one block of each run
    in memory    d0

    address      u32 run | u32 block
    block        frame of (key, value) with the order of each as its key, and timestamps

The order of a record is the bytes of its key (`penstock.wire.canonical.key_bytes`), then its timestamp; none
is Long.MIN. Merging takes the least, and of equal ones that of the earlier run: so the sort is stable.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator
from heapq import merge
from operator import itemgetter
from typing import Any

from penstock.errors import SpillError, TypeMismatchError
from penstock.runtime.spill.record_size import bytes_per_record, record_overhead
from penstock.runtime.spill.spill_space import Row, SpillCounts, SpillSpace, SpillStore
from penstock.types.list_key import immutable_key
from penstock.user_failure import short
from penstock.wire.canonical.key_bytes import encode_key
from penstock.wire.elements import MIN_TIMESTAMP
from penstock.wire.frame import (
    FrameHeader,
    FrameKind,
    decode_pairs,
    encode_segments,
    pack_segment,
    read_header,
)

BLOCK_RECORDS = 1024
"""Records per block, at most."""

_RUN = struct.Struct(">I")
_ADDRESS = struct.Struct(">II")
_KEY_BYTES = (
    120  # of a record's key as bytes, and its place in three lists, beside `record_overhead`
)
_OVERLAP_SHARE = 8  # of what fits in memory: blocks that are read at the same time
_FIRST_RUNS = 8
_SAMPLE = 64
_HALF = 2  # records are held a second time, in order, while a run is written

Entry = tuple[bytes, int, Any, Any]
"""(bytes of the key, timestamp, key, value)."""

_ORDER = itemgetter(0, 1)


class RecordSorter:
    """Implements `ExternalSorter` of the API."""

    def __init__(self, space: SpillSpace, counts: SpillCounts, share: float) -> None:
        """Start empty."""
        self._space = space
        self._counts = counts
        self._memory_bytes = int(space.memory_bytes * share)
        self._entries: list[Entry] = []
        self._store: SpillStore | None = None
        self._runs: list[int] = []
        self._in_store = 0
        self._record_bytes = 0
        self._look_at = 1
        self._is_read = self._is_closed = False
        self._filled = 0  # how often it was cleared: readers of before are refused

    @property
    def is_waiting(self) -> bool:
        """True if it has records and their reading has not begun."""
        return len(self) > 0 and not self._is_read

    def add(self, key: Any, value: Any, timestamp: int | None = None) -> None:
        """Add a record."""
        if self._is_read or self._is_closed:
            raise self._refused("a record was added to")
        stamp = MIN_TIMESTAMP if timestamp is None else timestamp
        if type(stamp) is not int:
            raise TypeMismatchError(
                f"a record was added to a sorter with the timestamp {short(timestamp)}",
                hint="Pass epoch milliseconds as an int, or None.",
            )
        entries = self._entries
        entries.append((encode_key(immutable_key(key)), stamp, key, value))
        if len(entries) >= self._look_at:
            self._measure()

    def __len__(self) -> int:
        return self._in_store + len(self._entries)

    def __repr__(self) -> str:
        return f"<{len(self)} records, {self._in_store} of them on disk>"

    def __iter__(self) -> Iterator[tuple[Any, int | None, Any]]:
        """Read all records in order, from the first."""
        if self._is_closed:
            raise self._refused("records were read from")
        if not self._is_read:
            self._is_read = True
            self._entries.sort(key=_ORDER)  # stable
        return self._read()

    def clear(self) -> None:
        """Remove all records."""
        if self._is_closed:
            raise self._refused("records were removed from")
        self._forget()

    def close(self) -> None:
        """Remove all records and files. Never raises."""
        self._is_closed = True
        self._forget()

    def _forget(self) -> None:
        self._entries, self._runs, self._in_store, self._is_read = [], [], 0, False
        self._filled += 1
        if self._store is not None:
            self._counts.add(self._store.size_bytes)
            self._store.remove()
            self._store = None

    def _read(self) -> Iterator[tuple[Any, int | None, Any]]:
        filled = self._filled
        runs = [self._run(run, blocks) for run, blocks in enumerate(self._runs)]
        for _, stamp, key, value in merge(*runs, self._entries, key=_ORDER):
            if filled != self._filled:
                raise self._refused("records of before were read from")
            yield key, None if stamp == MIN_TIMESTAMP else stamp, value

    def _run(self, run: int, blocks: int) -> Iterator[Entry]:
        """Yield the records of a run."""
        assert self._store is not None, "it has runs"
        count = 0
        for _, frame in self._store.read(_RUN.pack(run)):
            count += 1
            orders, pairs, stamps = decode_pairs(read_header(frame), frame)
            for order, (key, value), stamp in zip(orders, pairs, stamps or (), strict=True):
                yield order, stamp, key, value
        if count != blocks:
            raise self._store.damaged(f"run {run} has {count} blocks of {blocks}")

    def _measure(self) -> None:
        """Look at the size of some records; write a run if there are too many.

        Records are looked at the more seldom the more there are.
        """
        entries = self._entries
        newest = [entry[2:] for entry in entries[-_SAMPLE:]]
        self._record_bytes = max(self._record_bytes, bytes_per_record(newest))
        entry_bytes = self._record_bytes + record_overhead(stamped=True) + _KEY_BYTES
        fits = max(1, self._memory_bytes // (_HALF * entry_bytes))
        if len(entries) >= fits:
            self._write_run(fits)
            self._look_at = max(1, fits // 2)  # records may get larger
        else:
            self._look_at = min(2 * len(entries), fits)

    def _write_run(self, fits: int) -> None:
        if self._store is None:
            self._store = self._space.new_store()
        self._entries.sort(key=_ORDER)
        size = max(
            1, min(BLOCK_RECORDS, fits // (_OVERLAP_SHARE * (len(self._runs) + _FIRST_RUNS)))
        )
        self._store.put(self._blocks(size))
        self._runs.append(-(-len(self._entries) // size))
        self._in_store += len(self._entries)
        self._entries = []

    def _blocks(self, size: int) -> Iterator[Row]:
        run = len(self._runs)
        for block, start in enumerate(range(0, len(self._entries), size)):
            some = self._entries[start : start + size]
            segment = pack_segment([entry[0] for entry in some], [entry[2:] for entry in some])
            stamps = (array("q", [entry[1] for entry in some]).tobytes(),)
            header = FrameHeader(0, 0, 0, 0, FrameKind.RECORDS, len(some))
            yield _ADDRESS.pack(run, block), encode_segments(header, [segment], stamps, keyed=True)

    def _refused(self, what: str) -> SpillError:
        state = (
            "is closed" if self._is_closed else "has been read" if self._is_read else "was cleared"
        )
        return SpillError(
            f"{what} a sorter that {state}",
            hint="Add records, then read them, then call clear before others are added; use a sorter "
            "until its operator is closed.",
        )
