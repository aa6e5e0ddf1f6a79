"""The state of aggregates whose records are columns: read, merged and written for all keys of a micro-batch together.

    keys of the columns ──state──▶ a row of known parts per key ─┐
                                   the columns, in their order ──┴──merge──▶ a row per key ──▶ state

The row of known parts comes first, so sums of floats are those of its records one after the other. A key without state
has NULL parts, which change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.expressions.aggregates import is_name_of_part
from penstock.expressions.keyed_aggregate import ChangelogOutput, KeyedAggregate
from penstock.runtime.exchange.group_order import hashes_of_column
from penstock.runtime.fold.parts_merge import PartsMerge
from penstock.runtime.functions.state_handles import KeyedScope
from penstock.runtime.operators.kept_values import KeptValues
from penstock.state.handles.key_context import Parts
from penstock.state.level_state import CurrentGroup
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.state.schema.own_states import REDUCE_AGGREGATE
from penstock.types.arrow import arrow_array
from penstock.types.arrow_lists import columns_to_lists
from penstock.types.row import row_factory, values_of_row
from penstock.wire.canonical.key_groups import groups_of, hashes_of

_Groups = npt.NDArray[np.uint16]


class StoredParts:
    """The table of the parts of one operator: a tuple per key, the plain form of their row.

    Tuples take half the memory and time of rows, and a micro-batch looks at many.

    Attributes:
        of_group: Key group to its state map.
    """

    def __init__(self, uid: str, aggregate: KeyedAggregate, scope: KeyedScope) -> None:
        changes = aggregate.changes or ChangelogOutput()
        schema = StateSchema(
            StateKind.REDUCING,
            aggregate.parts,
            has_ttl=changes.ttl_ms is not None,
            holds_plain=True,
            is_part=is_name_of_part,
        )
        self.of_group = Parts(scope.table(uid, REDUCE_AGGREGATE, schema, changes.ttl_ms))
        self._rows = changes.rows

    def put_all(self, group: int, keys: Sequence[Any], parts: Sequence[tuple[Any, ...]]) -> None:
        """Write the parts of keys of a key group, and remove those of keys without rows."""
        of_group, rows = self.of_group[group], self._rows
        if rows is None or all(of_key[rows] for of_key in parts):
            of_group.put_all(keys, parts)
            return
        for key, of_key in zip(keys, parts, strict=True):
            if of_key[rows]:
                of_group.put(key, of_key)
            else:
                of_group.remove(key)


class Update(NamedTuple):
    """The parts of some keys before and after a micro-batch, in the same order.

    Attributes:
        before: A row of parts per key.
        was_known: Whether there was state of each key; without it the row before has no parts.
        after: A row of parts per key.
    """

    before: pa.RecordBatch
    was_known: list[bool]
    after: pa.RecordBatch

    def slice(self, start: int, length: int) -> Update:
        """Return that of some keys."""
        known = self.was_known[start : start + length]
        return Update(self.before.slice(start, length), known, self.after.slice(start, length))


class PartsState:
    """The state of one operator."""

    def __init__(
        self,
        merge: PartsMerge,
        parts: StoredParts,
        group_of: Callable[[Any], int],
        max_parallelism: int,
        values: KeptValues | None = None,
    ) -> None:
        """Bind."""
        self.merge = merge
        self._values = values
        self._parts = parts
        self._group_of = group_of
        self._groups = max_parallelism
        kept = merge.kept
        self._types = list(zip(kept.field_names, kept.field_types, strict=True))
        self._nothing = (None,) * len(self._types)
        self._rows = row_factory(kept.field_names)

    def begin(self, merged: pa.RecordBatch, *, is_last: bool) -> Update:
        """Write the state of keys that have none, unless it is not needed; rows are in the order of their key groups.

        Keys without rows have no state.
        """
        if is_last:
            return self._settled(Update(merged, [False] * merged.num_rows, merged), None, None)
        merged, keys, groups = self._in_group_order(merged)
        return self._settled(Update(merged, [False] * merged.num_rows, merged), keys, groups)

    def update(self, batches: Sequence[pa.RecordBatch], see: Callable[[list[Any]], None]) -> Update:
        """Merge columns with the known parts of their keys, write the state, and return both."""
        distinct, keys, groups = self._in_group_order(self.merge.columns.distinct(batches))
        see(keys)
        known, was_known = self._known(distinct, keys, groups)
        # The known parts come first, once per key, and keys are merged in the order in which they first come.
        merged, _ = self.merge.merged([known, *batches])
        return self._settled(Update(known, was_known, merged), keys, groups)

    def finish(
        self, keys: list[Any], before: list[Any], after: list[Any], *, is_last: bool
    ) -> Update:
        """Return the update of keys whose parts are records, None before if there was no state; write it unless it is the last."""
        width = self.merge.columns.keys
        known = self._rows(
            [*values_of_row(now)[:width], *self._nothing[width:]]
            if was is None
            else values_of_row(was)
            for was, now in zip(before, after, strict=True)
        )
        batches = [self.merge.of_records(records) for records in (known, after)]
        update = Update(batches[0], [part is not None for part in before], batches[1])
        groups = None if is_last else np.array(list(map(self._group_of, keys)), dtype=np.uint16)
        return self._settled(update, keys, groups)

    def _settled(self, update: Update, keys: list[Any] | None, groups: _Groups | None) -> Update:
        """Write parts, and return them as results read them."""
        before, was_known, after = update
        stored = after
        if self._values is not None:
            of_groups = None if groups is None else groups.tolist()
            before, after, stored = self._values.settled(before, after, keys or [], of_groups)
        if keys is not None and groups is not None:
            self._write(stored, keys, groups)
        return Update(before, was_known, after)

    def _known(
        self, stored: pa.RecordBatch, keys: list[Any], groups: _Groups
    ) -> tuple[pa.RecordBatch, list[bool]]:
        """Return a row per key with its key and what state has of it, NULL if nothing; and whether it has anything."""
        known: list[Any] = []
        nothing = self._nothing
        for group, start, end in _runs(groups):
            known += map(self._parts.of_group[group].get, keys[start:end], repeat(nothing))
        kept = list(zip(*known, strict=True))
        width = self.merge.columns.keys
        arrays = [
            arrow_array(name, kind, values)
            for (name, kind), values in zip(self._types[width:], kept[width:], strict=True)
        ]
        rows = pa.RecordBatch.from_arrays(
            [*stored.columns, *arrays], schema=self.merge.columns.schema
        )
        return rows, [part is not nothing for part in known]

    def _write(self, merged: pa.RecordBatch, keys: list[Any], groups: _Groups) -> None:
        plain = list(zip(*columns_to_lists(merged), strict=True))
        for group, start, end in _runs(groups):
            self._parts.put_all(group, keys[start:end], plain[start:end])

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
    return [(int(groups[start]), start, end) for start, end in zip(starts, ends, strict=True)]
