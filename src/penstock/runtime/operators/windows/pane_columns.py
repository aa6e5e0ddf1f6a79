"""Windows at regular distances whose parts are columns: those of a key group that end in a batch run fire together.

    key  pane  n           key  end  n             key  end  n
    a    0     1           a    10   1             a    10   1
    b    0     2    ──▶    a    20   1      ──▶    b    10   2
    a    10    4           b    10   2             a    20   5
                           …                       …
    one row per pane       one per window of it    merged by key and window

Results are those of `windows.panes` for the same parts, which is slower by a Python object per pane and per window. The
panes of windows that end later become rows, and are stored there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.expressions.keyed_aggregate import KeyedAggregate
from penstock.program.fold import Place
from penstock.program.level import OperatorSpec
from penstock.program.window_operation import Evaluation
from penstock.program.windows import RegularWindows
from penstock.runtime.fold.fold_table import Entries
from penstock.runtime.fold.parts_merge import PartsMerge
from penstock.types.arrow import one_batch
from penstock.wire.row_columns import ColumnRecords, rows_of

_Times = npt.NDArray[np.int64]

_MOST_WINDOWS = 64
"""Windows of a pane up to which a row for each takes less time and memory than Python's objects."""

_SAFE = 1 << 62
"""Ends of windows of panes nearer to 0 than this are numbers of 64 bits."""


def takes_columns(spec: OperatorSpec) -> bool:
    """Return whether columns are folded as columns: results are those of kernels, without a function of the user."""
    window, folding = spec.window, spec.folding
    if window is None or folding is None or folding.panes is None:
        return False
    shape = folding.panes
    return (
        folding.as_columns
        and Place.RECEIVER_GROUP in folding.places
        and window.evaluation is Evaluation.NONE
        and window.results is not None
        and isinstance(window.fold_function, KeyedAggregate)
        and not shape.grows
        and shape.size <= _MOST_WINDOWS * shape.slide
    )


class ColumnWindows:
    """The parts of one key group, pane by pane."""

    def __init__(self, spec: OperatorSpec, keys_of: Callable[[list[Any]], list[Any]]) -> None:
        """Begin empty."""
        assert spec.folding is not None, "the plan decides where an operator folds"
        assert spec.folding.panes is not None, "windows are at regular distances"
        assert spec.window is not None
        self._merge = PartsMerge(spec.window.fold_function, spec.name, spec.origin)
        self._shape: RegularWindows = spec.folding.panes
        self._folding = spec.folding
        self._keys_of = keys_of
        self._batches: list[pa.RecordBatch] = []
        self._panes: list[_Times] = []

    def __bool__(self) -> bool:
        return bool(self._batches)

    def add(self, values: ColumnRecords, timestamps: list[int]) -> bool:
        """Add parts with their timestamps; return False, and add none, if windows end too far from 1970 for kernels."""
        times = np.array(timestamps, dtype=np.int64)
        reach = self._shape.size + abs(self._shape.offset)
        if max(-int(times.min()), int(times.max())) + 2 * reach >= _SAFE:
            return False
        batch = self._merge.columns.prepared(one_batch(values.batches))
        if not self._folding.ignores_order:
            batch, times = _sorted(batch, times)
        self._batches.append(batch)
        self._panes.append(self._shape.pane_of(times))
        return True

    def take(self) -> tuple[pa.RecordBatch, _Times]:
        """Remove and return the parts of each key and pane, with the begin of the pane, in order of these."""
        batches, self._batches = self._batches, []
        panes, self._panes = self._panes, []
        if self._folding.is_merged:
            return _sorted(one_batch(batches), np.concatenate(panes))
        batch, (starts,) = self._merge.merged(batches, np.concatenate(panes))
        return _sorted(batch, starts)

    def windows_before(
        self, limit: int | None, batch: pa.RecordBatch, panes: _Times
    ) -> tuple[pa.RecordBatch, _Times]:
        """Return the parts of each window that ends before a limit, None for all, with its end, in order of these."""
        shape: Any = self._shape  # whose arithmetic is that of arrays too
        firsts, lasts = shape.end_behind(panes + shape.width), shape.last_end(panes)
        if limit is not None:
            lasts = np.minimum(lasts, limit - 1)
        parts: list[tuple[pa.RecordBatch, _Times]] = []
        # The oldest pane of a window first, as in state: sums of floats depend on it.
        for number in reversed(range(-(-shape.size // shape.slide))):
            ends: _Times = firsts + number * shape.slide
            parts.append(_where(ends <= lasts, batch, ends))
        if shape.is_tumbling:
            return parts[0]
        ends = np.concatenate([part_ends for _, part_ends in parts])
        if not len(ends):
            return parts[0]
        merged, (ends,) = self._merge.merged([rows for rows, _ in parts], ends)
        return _sorted(merged, ends)

    def entries_from(self, limit: int, batch: pa.RecordBatch, panes: _Times) -> Entries:
        """Return the entries of panes with windows that do not end before a limit."""
        shape: Any = self._shape
        left: _Times = shape.last_end(panes)
        return self.entries(*_where(left >= limit, batch, panes))

    def entries(self, batch: pa.RecordBatch, panes: _Times) -> Entries:
        """Return parts as rows, by pane and key."""
        entries: Entries = {}
        rows = rows_of(batch)
        for pane, key, row in zip(panes.tolist(), self._keys_of(rows), rows, strict=True):
            entries.setdefault(pane, {})[key] = row
        return entries


def _sorted(batch: pa.RecordBatch, times: _Times) -> tuple[pa.RecordBatch, _Times]:
    if (times[1:] >= times[:-1]).all():
        return batch, times
    order = np.argsort(times, kind="stable")
    return batch.take(pa.array(order)), times[order]


def _where(
    mask: npt.NDArray[np.bool_], batch: pa.RecordBatch, times: _Times
) -> tuple[pa.RecordBatch, _Times]:
    if mask.all():
        return batch, times
    return batch.filter(pa.array(mask)), times[mask]
