"""Sessions of the records of one task: pieces of those of all tasks, by rows and by columns.

A piece is sent as the time from its first record to its last. The reader merges pieces that overlap or
touch, as it merges the windows of records.

    key   time                piece
    a       0       gap 5     0 to 5     and what it touches, as windows of records touch
    a      20                 20
    a       5                 0 to 5

A late record belongs to a session only if one is there that it touches when it arrives. So it is a piece of
its own, between the pieces of the records of its key before it and behind it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.program.fold import Fold
from penstock.runtime.fold.fold_table import Entries, EntryLimit
from penstock.runtime.fold.parts_merge import PartsMerge
from penstock.state.backends.base import ABSENT
from penstock.wire.elements import MIN_TIMESTAMP

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Pieces(NamedTuple):
    """Merged parts of pieces, those of a key in the order in which they arrived.

    Attributes:
        parts: A row for each piece.
        firsts: Time of the first record of each.
        lasts: Time of the last one.
    """

    parts: pa.RecordBatch
    firsts: list[int]
    lasts: list[int]


def merged_pieces(
    merge: PartsMerge, batches: list[pa.RecordBatch], times: list[int], gap_ms: int, watermark: int
) -> Pieces:
    """Merge the parts of records piece by piece."""
    stamps = np.array(times, dtype=np.int64)
    is_late = stamps <= max(watermark - gap_ms + 1, MIN_TIMESTAMP)
    keys = pa.Table.from_batches(batches).select(range(merge.columns.keys))
    pieces = pieces_of(_codes_of(keys.columns), stamps, is_late, gap_ms)
    parts, (runs, firsts, lasts) = merge.merged(batches, *pieces)
    order = np.argsort(runs, kind="stable")
    taken = parts.take(pa.array(order))
    return Pieces(taken, firsts[order].tolist(), lasts[order].tolist())


def pieces_of(
    codes: Numbers, times: Numbers, is_late: Flags, gap_ms: int
) -> tuple[Numbers, Numbers, Numbers]:
    """Return the run, and the first and the last time of the piece of each record, given the number of its key.

    Runs of a key are what came between its late records, and those.

    Examples:
        >>> times, none = np.array([0, 5, 0, 11]), np.zeros(4, dtype=bool)
        >>> [each.tolist() for each in pieces_of(np.array([0, 0, 1, 0]), times, none, 5)]
        [[0, 0, 1, 0], [0, 0, 0, 11], [5, 5, 0, 11]]
    """
    arrived = np.argsort(codes, kind="stable")
    late = is_late[arrived].astype(np.int64)
    run_of = np.empty_like(codes)
    run_of[arrived] = _begun(codes[arrived], 2 * np.cumsum(late) - late)
    order = np.lexsort((times, run_of))
    runs, sorted_times = run_of[order], times[order]
    # Without a sign, so that the difference of times far apart is exact.
    unsigned = sorted_times.astype(np.uint64)
    is_apart = np.diff(unsigned, prepend=unsigned[:1]) > np.uint64(gap_ms)
    piece_of = _begun(runs, np.cumsum(is_apart))
    begins = np.flatnonzero(np.diff(piece_of, prepend=-1))
    ends = np.append(begins[1:], len(order)) - 1
    firsts, lasts = np.empty_like(times), np.empty_like(times)
    firsts[order], lasts[order] = sorted_times[begins][piece_of], sorted_times[ends][piece_of]
    return run_of, firsts, lasts


def _begun(one: Numbers, other: Numbers) -> Numbers:
    """Return numbers from 0 on, another one wherever one of two columns changes."""
    changes = (one[1:] != one[:-1]) | (other[1:] != other[:-1])
    return np.concatenate(([0], np.cumsum(changes)))


def _codes_of(columns: list[pa.ChunkedArray]) -> Numbers:
    """Return a number for each row that is equal for equal keys."""
    codes: Numbers | None = None
    for column in columns:
        coded = column.combine_chunks().dictionary_encode(null_encoding="encode")
        own = coded.indices.to_numpy().astype(np.int64)
        if codes is not None:
            _, own = np.unique(codes * (own.max() + 1) + own, return_inverse=True)
        codes = own
    assert codes is not None, "a key has a column"
    return codes


_first = attrgetter("first")


@dataclass(slots=True)
class SessionPiece:
    """Records of a key without a gap between them.

    Attributes:
        kept: The accumulator.
    """

    first: int
    last: int
    kept: Any


class SessionTable:
    """A table that records of a batch run are folded into, by key and session.

    Attributes:
        fold: Fold of records into one value.
        records: How many were folded into it since it was taken.
    """

    __slots__ = ("_gap", "_limit", "_pieces", "fold", "records")

    def __init__(self, fold: Fold, memory_bytes: int, gap_ms: int) -> None:
        """Begin empty."""
        self.fold = fold
        self.records = 0
        self._gap = gap_ms
        self._pieces: defaultdict[Any, list[SessionPiece]] = defaultdict(list)
        self._limit = EntryLimit(memory_bytes)

    def add(self, keys: Sequence[Any], values: Iterator[Any], stamps: Sequence[int]) -> None:
        """Fold records."""
        create, add, gap = self.fold.create, self.fold.add, self._gap
        for value, key, stamp in zip(values, keys, stamps, strict=True):
            pieces = self._pieces[key]
            piece = pieces[-1] if pieces else None
            # Records mostly come in order of time: of the last piece, or behind it.
            if piece is None or not piece.first <= stamp <= piece.last + gap:
                piece = self._piece_at(pieces, stamp)
            elif stamp > piece.last:
                piece.last = stamp
            before = piece.kept
            if create is not None:
                piece.kept = add(value, create() if before is ABSENT else before)
            else:
                piece.kept = value if before is ABSENT else add(before, value)
        self.records += len(keys)

    @property
    def is_full(self) -> bool:
        """True if the table takes more memory than it may."""
        return self._limit.is_reached((self._pieces,), self.records)

    def take(self) -> Entries:
        """Return time of the first record to key to (accumulator, time of the last); begin empty."""
        entries: Entries = defaultdict(dict)
        for key, pieces in self._pieces.items():
            for piece in pieces:
                entries[piece.first][key] = (piece.kept, piece.last)
        self._pieces.clear()
        self.records = 0
        self._limit.start()
        return entries

    def _piece_at(self, pieces: list[SessionPiece], stamp: int) -> SessionPiece:
        """Return the piece that a record at `stamp` belongs to, made of all that it touches."""
        gap = self._gap
        begin = end = bisect_left(pieces, stamp, key=_first)
        while begin and pieces[begin - 1].last + gap >= stamp:
            begin -= 1
        while end < len(pieces) and pieces[end].first <= stamp + gap:
            end += 1
        touched = pieces[begin:end]
        if not touched:
            piece = SessionPiece(stamp, stamp, ABSENT)
        else:
            piece = SessionPiece(
                min(stamp, touched[0].first),
                max(stamp, touched[-1].last),
                touched[0].kept,
            )
            for other in touched[1:]:
                piece.kept = self.fold.merge(piece.kept, other.kept)
        pieces[begin:end] = [piece]
        return piece
