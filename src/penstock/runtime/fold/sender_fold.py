"""Folds the records of one task by key, before they are exchanged.

    records ──▶ table: key, pane by pane, to what its records gave ──▶ keys and values
                  │
                  └ memory is used up: all entries leave, and if they are more than half as many
                    as the records, folding ends

Per key, entries leave in the order of their first records. The fold is judged only when memory is used up,
because the first records of a task prove little: if a million keys come in turn, the first key comes again
after a million records (`docs/decisions/0013-limits-of-batch.md`).

An entry of a pane leaves with a time inside of the pane, by which the reader finds the pane again. An entry of
a session leaves with the time of its first record, as a pair with the time of the last.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, repeat
from typing import Any

from penstock.errors import CallSite, PenstockError
from penstock.metrics.job_metrics import COMBINED_IN, COMBINED_OUT
from penstock.metrics.values import CounterValue, MetricValue
from penstock.program.fold import ChannelFold, Fold
from penstock.runtime.flow.coercion import coercing_function
from penstock.runtime.fold.fold_table import Entries, FoldTable
from penstock.runtime.fold.loops import failing_place
from penstock.runtime.fold.panes import pane_starts
from penstock.runtime.fold.sessions import SessionTable
from penstock.user_failure import failure_at
from penstock.wire.elements import MIN_TIMESTAMP

Batch = tuple[list[Any], list[Any], list[int] | None]
"""(keys, values, timestamps)."""


class SenderFold:
    """A table of folded records.

    Attributes:
        is_useful: Enough records have one key for folding to be worth its time.
    """

    def __init__(self, spec: ChannelFold) -> None:
        self.is_useful = spec.folds
        self._spec = spec
        self._subject = f"operator {spec.name!r}"
        fold, gap = _coerced(spec, self._subject), spec.session_gap_ms
        self._table: FoldTable | SessionTable = (
            FoldTable(fold, spec.memory_bytes)
            if gap is None
            else SessionTable(fold, spec.memory_bytes, gap)
        )
        self._records_in = 0
        self._records_out = 0

    @property
    def is_by_time(self) -> bool:
        """True if the results have timestamps: the folded records belong to a pane or a session."""
        return self._spec.panes is not None or self._spec.session_gap_ms is not None

    @property
    def origin(self) -> CallSite | None:
        """The user's line that created the reader."""
        return self._spec.origin

    @property
    def sends_records(self) -> bool:
        """True if records may leave as they are: they look like what was folded of them."""
        return self._spec.fold.create is None

    def unfolded(
        self, values: list[Any], stamps: list[int] | None
    ) -> tuple[list[Any], list[int] | None]:
        """Return records as they leave one by one, and their timestamps."""
        if self._spec.session_gap_ms is None:
            return values, stamps if self.is_by_time else None
        assert stamps is not None, "what was folded before had timestamps"
        return list(zip(values, stamps, strict=True)), stamps

    def add(self, keys: list[Any], values: Iterator[Any], stamps: list[int] | None) -> None:
        """Fold a batch into the table."""
        if isinstance(self._table, FoldTable) and self._spec.panes is None:
            self._table.add(keys, values)
            return
        if stamps is None or MIN_TIMESTAMP in stamps:
            refuse_untimed(self._spec.assigner, values, stamps)
        assert stamps is not None, "records without timestamps are refused"
        shape = self._spec.panes
        self._table.add(keys, values, stamps if shape is None else pane_starts(stamps, shape))

    @property
    def is_full(self) -> bool:
        """True if the entries of the table have to leave."""
        return self._table.is_full

    def take(self, size: int) -> Iterator[Batch]:
        """Empty the table: yield what leaves, up to `size` entries at a time."""
        was_full, taken = self.is_full, self._table.records
        entries = self._table.take()
        count = sum(map(len, entries.values()))
        if was_full:
            self.is_useful = 2 * count <= taken
        self._records_in += taken
        self._records_out += count
        yield from batches_of(entries, size)

    def take_metrics(self) -> dict[str, MetricValue]:
        """Return what it folded since the last call, by full name."""
        if not self._spec.folds:
            return {}
        uid = self._spec.uid
        taken: dict[str, MetricValue] = {
            f"{uid}.{COMBINED_IN}": CounterValue(self._records_in),
            f"{uid}.{COMBINED_OUT}": CounterValue(self._records_out),
        }
        self._records_in = self._records_out = 0
        return taken

    def failed(
        self, cause: BaseException, key: Any, values: list[Any], position: Iterator[Any]
    ) -> PenstockError:
        """Return the error for a function that raised: the one its reader would have raised."""
        where = failing_place(cause, values, position, key)
        return failure_at(self._subject, where, cause, self._spec.origin)


def batches_of(entries: Entries, size: int) -> Iterator[Batch]:
    """Yield the entries of a table as they travel, up to `size` at a time."""
    keys: list[Any] = []
    values: list[Any] = []
    stamps: list[int] = []
    for pane, table in entries.items():
        keys += table
        values += table.values()
        if pane is not None:
            # The first pane of time may begin before it.
            stamps += repeat(max(pane, MIN_TIMESTAMP + 1), len(table))
        if len(keys) >= size:
            whole = len(keys) // size * size
            for start in range(0, whole, size):
                end = start + size
                yield keys[start:end], values[start:end], stamps[start:end] or None
            keys, values, stamps = keys[whole:], values[whole:], stamps[whole:]
    if keys:
        yield keys, values, stamps or None


def refuse_untimed(assigner: Any, values: Iterator[Any], stamps: list[int] | None) -> None:
    """Call an assigner of windows with the first record without timestamp; it may refuse it."""
    position = 0 if stamps is None else stamps.index(MIN_TIMESTAMP)
    record = next(islice(values, position, None))
    assigner.assign_windows(record, MIN_TIMESTAMP, None)
    raise AssertionError("assigners of event time refuse records without timestamps")


def _coerced(spec: ChannelFold, subject: str) -> Fold:
    """Return the fold of a channel with results of the declared type, if they are records."""
    fold = spec.fold
    if fold.create is not None or fold.accumulator_type is None:
        return fold
    add = coercing_function(fold.add, fold.accumulator_type, subject, spec.origin)
    return replace(fold, add=add, merge=add)
