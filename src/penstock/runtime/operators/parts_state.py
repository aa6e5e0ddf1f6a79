"""The state of aggregates whose records are columns: read, merged and written for all keys of a micro-batch together.

    keys of the columns ──state──▶ a row of known parts per key ─┐
                                   the columns, in their order ──┴──merge──▶ a row per key ──▶ state

What is known of a key comes first, so sums of floats are those of its records one after the other. A key without state
has NULL parts, which change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.runtime.exchange.group_order import hashes_of_column
from penstock.runtime.fold.parts_merge import PartsMerge
from penstock.state.handles.parts import Parts
from penstock.state.level_state import CurrentGroup
from penstock.types.arrow import arrow_array
from penstock.types.arrow_lists import columns_to_lists
from penstock.wire.canonical.key_groups import groups_of, hashes_of

_Groups = npt.NDArray[np.uint16]


class PartsState:
    """The state of one operator.

    Attributes:
        merge: Merges columns of parts.
    """

    def __init__(
        self,
        merge: PartsMerge,
        parts: Parts,
        group_of: Callable[[Any], int],
        max_parallelism: int,
    ) -> None:
        """Bind."""
        self.merge = merge
        self._parts = parts
        self._group_of = group_of
        self._groups = max_parallelism
        kept = merge.kept
        self._types = list(zip(kept.field_names, kept.field_types, strict=True))
        self._nothing = (None,) * len(self._types)

    def begin(self, merged: pa.RecordBatch) -> pa.RecordBatch:
        """Write the state of keys that have none, and return their rows in the order of their key groups."""
        merged, keys, groups = self._in_group_order(merged)
        self._write(merged, keys, groups)
        return merged

    def update(
        self, batches: Sequence[pa.RecordBatch], see: Callable[[list[Any]], None]
    ) -> pa.RecordBatch:
        """Merge columns with what is known of their keys, write the state, and return a row per key.

        Raises:
            ExpressionError: A sum leaves its type; names the key.
        """
        found, keys, groups = self._in_group_order(self.merge.columns.distinct(batches))
        see(keys)
        known = self._known(found, keys, groups)
        merged, _ = self.merge.merged([known, *batches])
        merged, keys, groups = self._in_group_order(merged)
        self._write(merged, keys, groups)
        return merged

    def _known(self, found: pa.RecordBatch, keys: list[Any], groups: _Groups) -> pa.RecordBatch:
        """Return a row per key with its key and what state has of it, NULL if nothing."""
        known: list[Any] = []
        for group, start, end in _runs(groups):
            known += map(self._parts[group].get, keys[start:end], repeat(self._nothing))
        kept = list(zip(*known, strict=True))
        width = self.merge.columns.keys
        arrays = [
            arrow_array(name, kind, values)
            for (name, kind), values in zip(self._types[width:], kept[width:], strict=True)
        ]
        return pa.RecordBatch.from_arrays(
            [*found.columns, *arrays], schema=self.merge.columns.schema
        )

    def _write(self, merged: pa.RecordBatch, keys: list[Any], groups: _Groups) -> None:
        plain = list(zip(*columns_to_lists(merged), strict=True))
        for group, start, end in _runs(groups):
            self._parts[group].put_all(keys[start:end], plain[start:end])

    def _in_group_order(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, list[Any], _Groups]:
        """Return rows in order of their key groups, so that the state in use fits in the cache."""
        keys = self.merge.keys_of(batch)
        groups = self._groups_of(batch, keys)
        if isinstance(self._group_of, CurrentGroup):
            return batch, keys, groups
        order = np.argsort(groups, kind="stable")
        places = order.tolist()
        return batch.take(pa.array(order)), list(map(keys.__getitem__, places)), groups[order]

    def _groups_of(self, batch: pa.RecordBatch, keys: list[Any]) -> _Groups:
        if isinstance(self._group_of, CurrentGroup):
            return np.full(len(keys), self._group_of.group, dtype=np.uint16)
        single = self.merge.columns.keys == 1
        hashes = hashes_of_column(batch.column(0)) if single else None
        if hashes is None:
            hashes = hashes_of(keys)
        if hashes is not None:
            return groups_of(hashes, self._groups).astype(np.uint16)
        return np.array(list(map(self._group_of, keys)), dtype=np.uint16)


def _runs(groups: _Groups) -> list[tuple[int, int, int]]:
    """Return (key group, start, end) of each run of equal key groups."""
    starts = np.flatnonzero(np.diff(groups, prepend=groups[:1] + 1)).tolist()
    ends = [*starts[1:], len(groups)]
    return [(int(groups[at]), at, end) for at, end in zip(starts, ends, strict=True)]
