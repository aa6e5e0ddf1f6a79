"""A list of records that may be larger than memory.

Records are appended and then read in order, any number of times. The last ones are in memory,
as many as fit into a share of `execution.sorted-inputs.memory`; the others are in a file.

    values = operator.spilled_values()
    values.extend(batch)            # any number of times
    len(values), bool(values)
    for record in values: ...       # again and again, also nested
    values.close()

`co_group` and functions of windows that fire at the end of the input see these, in place of
lists, for keys whose records do not fit in memory.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

from penstock.errors import SpillError
from penstock.runtime.spill.record_size import bytes_per_record
from penstock.runtime.spill.spill_space import Row, SpillCounts, SpillSpace, SpillStore
from penstock.types.record_form import RecordForm
from penstock.wire.frame import FrameHeader, FrameKind, decode_records, encode_records, read_header

_FRAME_RECORDS = 4096
_FIRST_LOOK = 64
_PLACE_BYTES = 16  # in a list that grows
_ADDRESS = struct.Struct(">Q")  # the number of the first record
_HEADER = FrameHeader(0, 0, 0, 0, FrameKind.RECORDS, 0)


class SpilledValues:
    """Records in the order they were appended.

    Equal records that were one object may be several when they are read back. A change of a record
    that was read may apply to this reading only, or to all: copy the record instead.
    """

    def __init__(
        self, space: SpillSpace, counts: SpillCounts, form: RecordForm | None = None
    ) -> None:
        """Start empty."""
        self._space = space
        self._counts = counts
        self._form = form
        self._tail: list[Any] = []
        self._store: SpillStore | None = None
        self._in_store = 0
        self._is_closed = False
        self._look_at = _FIRST_LOOK
        self._record_bytes = 0

    def append(self, value: Any) -> None:
        """Append a record."""
        self.extend((value,))

    def extend(self, values: Iterable[Any]) -> None:
        """Append records; not while they are being read."""
        self._check_open()
        self._tail += values
        if len(self._tail) < self._look_at:
            return
        newest = self._tail[-self._look_at :]
        self._record_bytes = max(self._record_bytes, bytes_per_record(newest))
        fits = self._space.memory_bytes // (4 * (self._record_bytes + _PLACE_BYTES))
        if len(self._tail) > fits:
            self._spill()
            self._look_at = max(1, min(self._look_at, fits))
        else:
            self._look_at = min(2 * len(self._tail), fits + 1)

    def __len__(self) -> int:
        return self._in_store + len(self._tail)

    def __iter__(self) -> Iterator[Any]:
        """Read all records from the first."""
        self._check_open()
        if self._store is not None:
            for _, frame in self._store.read():
                yield from decode_records(read_header(frame), frame)[0]
                self._check_open()
        yield from self._tail

    def __repr__(self) -> str:
        return f"<{len(self)} records, {self._in_store} of them on disk>"

    def close(self) -> None:
        """Forget all records and remove the file. Never raises."""
        self._is_closed = True
        self._tail = []
        if self._store is not None:
            self._counts.add(self._store.size_bytes)
            self._store.remove()
            self._store = None

    def _spill(self) -> None:
        if self._store is None:
            self._store = self._space.new_store()
        self._store.put(self._rows())
        self._in_store += len(self._tail)
        self._tail = []

    def _rows(self) -> Iterator[Row]:
        for start in range(0, len(self._tail), _FRAME_RECORDS):
            some = self._tail[start : start + _FRAME_RECORDS]
            yield (
                _ADDRESS.pack(self._in_store + start),
                encode_records(_HEADER, some, None, self._form),
            )

    def _check_open(self) -> None:
        if self._is_closed:
            raise SpillError(
                "the records of a key were read after the function that got them had returned",
                hint="Read them before it returns, and keep copies of those that are needed later.",
            )
