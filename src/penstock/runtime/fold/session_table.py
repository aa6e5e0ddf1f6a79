"""Results of the records of one task so far, session by session.

The sessions of one task are pieces of those of all: what travels is the time from the first record of a
piece to the last, and the reader merges pieces that overlap or touch, as it merges the windows of records.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from penstock.program.folding.fold import Fold
from penstock.runtime.fold.fold_table import Entries, EntryLimit
from penstock.state.backends.base import ABSENT

_first = attrgetter("first")


@dataclass(slots=True)
class SessionPiece:
    """Records of a key without a gap between them.

    Attributes:
        first: Time of the earliest record.
        last: Time of the latest.
        kept: The accumulator.
    """

    first: int
    last: int
    kept: Any


class SessionTable:
    """A table that records of a batch run are folded into, by key and session.

    Attributes:
        fold: What turns records into one value.
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
        """Fold records.

        Raises:
            Exception: Whatever the function, or the hash or equality of a key, raises.
        """
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
            made = SessionPiece(stamp, stamp, ABSENT)
        else:
            made = SessionPiece(
                min(stamp, touched[0].first),
                max(stamp, touched[-1].last),
                touched[0].kept,
            )
            for other in touched[1:]:
                made.kept = self.fold.merge(made.kept, other.kept)
        pieces[begin:end] = [made]
        return made
