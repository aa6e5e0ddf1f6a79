"""Tallies of groups that are kept value by value: a micro-batch writes the counts that it changes, not all of a group.

the counts that came ──state──▶ values that came (1) and went (-1) ──derived──▶ sums over the different values
└─────▶ all values, where results read them
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.errors import CallSite
from penstock.expressions.arrow.records import ChainEvaluation
from penstock.expressions.keyed_aggregate import TALLY, ChangelogOutput, KeyedAggregate
from penstock.expressions.merging import merge_of
from penstock.runtime.fold.parts_merge import PartsMerge
from penstock.runtime.functions.state_handles import KeyedScope
from penstock.state.handles.key_context import Parts
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.state.schema.own_states import VALUES_PREFIX
from penstock.types import Types
from penstock.types.arrow import arrow_array
from penstock.types.arrow_lists import columns_to_lists
from penstock.types.containers import MapTypeInfo

Counts = dict[Any, int]
_added = merge_of(TALLY, "")


class KeptValues:
    """The tallies of one operator, each in a table of its own."""

    def __init__(
        self,
        aggregate: KeyedAggregate,
        merge: PartsMerge,
        scope: KeyedScope,
        uid: str,
        name: str,
        origin: CallSite | None,
    ) -> None:
        """Open the tables."""
        changes = aggregate.changes
        assert isinstance(changes, ChangelogOutput), "it emits changes"
        self._changes = changes
        self._merge = merge
        self._types = aggregate.parts.field_types
        self._names = aggregate.parts.field_names
        self._tables = {position: self._table(position, uid, scope) for position in changes.values}
        self._derived, self._folded = (
            None if chain is None else ChainEvaluation(chain, name, origin, keys=aggregate.keys)
            for chain in (changes.derived, changes.folded)
        )

    def _table(self, position: int, uid: str, scope: KeyedScope) -> Parts:
        kind = self._types[position]
        assert isinstance(kind, MapTypeInfo), "a tally is a map"
        ttl_ms = self._changes.ttl_ms
        schema = StateSchema(StateKind.MAP, Types.LONG(), kind.key_type, has_ttl=ttl_ms is not None)
        name = f"{VALUES_PREFIX}{self._names[position]}"
        return Parts(scope.table(uid, name, schema, ttl_ms))

    def settled(
        self,
        before: pa.RecordBatch,
        after: pa.RecordBatch,
        keys: Sequence[Any],
        groups: Sequence[int] | None,
    ) -> tuple[pa.RecordBatch, pa.RecordBatch, pa.RecordBatch]:
        """Return parts before and after as results read them, and those to store.

        The tallies of the argument `after` contain only the new counts. Without key groups there is no state.
        """
        stored = changed = after
        read: dict[int, tuple[list[Counts], list[Counts]]] = {}
        for position, of_group in self._tables.items():
            (came,) = columns_to_lists(after.select([position]))
            net: list[Counts] = []
            read[position] = earlier, later = [], []
            is_read = position in self._changes.read
            for number, counts in enumerate(came):
                table = None if groups is None else of_group[groups[number]]
                key = None if table is None else keys[number]
                if is_read:
                    known = {} if table is None else dict(table.items(key))
                    earlier.append(known)
                    later.append(_added(known, counts or {}))
                net.append(_applied(table, key, counts or {}))
            changed = self._with(changed, position, net)
            stored = self._with(stored, position, [None] * len(net))
        if self._derived is not None:
            derived, _ = self._derived.columns_of(changed)
            stored, _ = self._merge.merged([stored, derived])
        if self._folded is not None:
            stored, _ = self._folded.columns_of(stored)
        after = stored
        for position in self._changes.read:
            earlier, later = read[position]
            before = self._with(before, position, earlier)
            after = self._with(after, position, later)
        return before, after, stored

    def _with(
        self, rows: pa.RecordBatch, position: int, tallies: Sequence[Counts | None]
    ) -> pa.RecordBatch:
        column = arrow_array(
            self._names[position],
            self._types[position],
            [None if tally is None else list(tally.items()) for tally in tallies],
        )
        return rows.set_column(position, rows.schema.field(position), column)


def _applied(table: Any, key: Any, counts: Counts) -> Counts:
    """Add counts to those in state, and return the values that came (1) and went (-1)."""
    net: Counts = {}
    for value, count in counts.items():
        before = (table.get(key, value) or 0) if table is not None else 0
        now = before + count
        if table is not None:
            if now:
                table.put(key, value, now)
            else:
                table.remove(key, value)
        if (before > 0) is not (now > 0):
            net[value] = 1 if now > 0 else -1
    return net
