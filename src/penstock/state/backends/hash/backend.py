"""The hash-map backend: state and timers as Python objects in dictionaries of the worker process.

Tables are partitioned by key group, because that is how state is written, compacted and moved:
draining costs in proportion to the keys touched, and a snapshot of one group to the group. In a copy
that is built from the log, key groups are decoded at their first access (`deferred_groups`).

The copy lives in one process. Another worker of the same subtask has a copy of its own and
applies what it missed. A copy of a failed attempt is half changed and is dropped.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from penstock.state.backends.base import TIMERS_SCHEMA, CopyUse
from penstock.state.backends.deferred_groups import DeferredGroups, may_defer
from penstock.state.backends.hash.parts import HashTable
from penstock.state.log.blob import (
    Section,
    StateFormat,
    checked,
    decode_blob,
    encode_blobs,
    key_group_of,
    operator_of,
)
from penstock.state.log.change_log import ChangeLog, Position
from penstock.state.schema.entry_schema import BROADCAST_GROUP, StateKind, StateSchema
from penstock.state.schema.evolution import common_schema, migration_of
from penstock.state.schema.own_states import described
from penstock.types import TypeInformation


class HashTimers:
    """Timers in order: a heap beside the table, made when first needed.

    Entries whose timer is gone are skipped when they surface.
    """

    def __init__(self, table: HashTable) -> None:
        self._table = table
        self._heap: list[tuple[int, int, int, Any]] | None = None
        self._number = 0

    def add(self, key_group: int, key: Any, timestamp: int) -> None:
        """Add a timer; nothing changes if it is there."""
        part = self._table[key_group]
        if part.get(key, timestamp) is None:
            part.put(key, timestamp, True)  # noqa: FBT003 - that the timer is there
            self._push(key_group, key, timestamp)

    def remove(self, key_group: int, key: Any, timestamp: int) -> None:
        """Remove a timer, if it is there."""
        self._table[key_group].remove(key, timestamp)

    def of_key(self, key_group: int, key: Any) -> list[int]:
        """Return the timestamps of one key, ascending."""
        return sorted(self._table[key_group].subkeys(key))

    def pop_due(self, until: int) -> tuple[int, int, Any] | None:
        """Remove and return (timestamp, key group, key) of the earliest timer up to `until`."""
        heap = self._heap if self._heap is not None else self._build()
        while heap and heap[0][0] <= until:
            timestamp, _, group, key = heapq.heappop(heap)
            part = self._table[group]
            if part.get(key, timestamp) is not None:
                part.remove(key, timestamp)
                return timestamp, group, key
        return None

    def next_due(self) -> int | None:
        """Return the timestamp of the earliest timer, None if there is none."""
        heap = self._heap if self._heap is not None else self._build()
        while heap:
            timestamp, _, group, key = heap[0]
            if self._table[group].get(key, timestamp) is not None:
                return timestamp
            heapq.heappop(heap)
        return None

    def loaded(self, key_group: int, section: Section) -> None:
        """Take note of timers that came from a blob."""
        if self._heap is not None:
            for key, timestamp in zip(section.keys, section.subkeys or (), strict=True):
                self._push(key_group, key, timestamp)

    def forget_order(self) -> None:
        """The table was emptied."""
        self._heap = None

    def _build(self) -> list[tuple[int, int, int, Any]]:
        self._heap = []
        for group, part in self._table.parts():
            for key in part.keys():  # noqa: SIM118 - a part is no dictionary
                for timestamp in part.subkeys(key):
                    self._push(group, key, timestamp)
        return self._heap

    def _push(self, key_group: int, key: Any, timestamp: int) -> None:
        # The running number breaks ties, because keys need not be comparable.
        if self._heap is not None:
            self._number += 1
            heapq.heappush(self._heap, (timestamp, self._number, key_group, key))


Address = tuple[str, str]
"""(operator uid, state name)."""

_NOT_COUNTED = frozenset({StateKind.TIMERS, StateKind.BROADCAST})
"""Kinds of state whose keys are not counted."""


class HashBackend:
    """Implements `KeyedStateBackend` with dictionaries.

    Attributes:
        format: How entries are written; set it before the first table.
    """

    def __init__(self) -> None:
        self.format = StateFormat()
        self._tables: dict[Address, HashTable] = {}
        self._timers: dict[Address, HashTimers] = {}
        self._deferred: dict[str, DeferredGroups] = {}
        self._position: Position | None = None

    def table(self, operator: str, state: str, schema: StateSchema) -> HashTable:
        """Return the table of one state, made empty at first use."""
        schema = self.format.of(schema)
        table = self._tables.get((operator, state))
        if table is None or not table.is_claimed or table.schema.text() != schema.text():
            self._deferred_of(operator).restore_all()
            table = self._tables.get((operator, state))
        if table is None:
            deferred = self._deferred_of(operator)
            table = self._tables[operator, state] = HashTable(schema, deferred, is_claimed=True)
        elif not table.is_claimed or table.schema.text() != schema.text():
            table.adopt(schema, migration_of(table.schema, schema, operator, state))
            table.is_claimed = True
        return table

    def declare_keys(self, operator: str, key_type: TypeInformation) -> None:
        """Do nothing: keys are objects here."""

    def timers(self, operator: str, state: str) -> HashTimers:
        """Return the timers an operator keeps under a name."""
        timers = self._timers.get((operator, state))
        if timers is None:
            table = self.table(operator, state, TIMERS_SCHEMA)
            timers = self._timers[operator, state] = HashTimers(table)
        return timers

    def catch_up(self, log: ChangeLog) -> CopyUse:
        """Bring the copy to the head of the log."""
        missing = log.missing_after(self._position)
        close = log.is_close(self._position) or log.is_new
        if missing is None:
            self.discard()
            self.load(log.all_blobs())
        else:
            self.load(log.blobs(missing))
        self._position = log.position()
        if missing is None and not log.is_new:
            return CopyUse.REBUILD
        return CopyUse.HIT if close else CopyUse.CATCH_UP

    def load(self, blobs: Iterable[bytes]) -> None:
        """Take entries; they do not count as changes."""
        for blob in blobs:
            operator, group = operator_of(blob), key_group_of(blob)
            deferred = self._deferred_of(operator)
            is_needed = group == BROADCAST_GROUP or deferred.is_restored(group)
            if is_needed or not may_defer(checked(blob), self._declared(operator)):
                self._apply_now(operator, group, decode_blob(blob))
            else:
                deferred.defer(group, blob)

    def drain(self) -> list[bytes]:
        """Return the changes since the last call, blobs of each touched key group in order."""
        sections: dict[tuple[int, str], list[Section]] = {}
        for (operator, state), table in self._tables.items():
            for group, part in table.parts():
                if not part.is_clean():
                    section = part.take_changes(partial(table.section, state))
                    table.count_keys(group)
                    sections.setdefault((group, operator), []).append(section)
        return [
            blob
            for group, operator in sorted(sections)
            for blob in encode_blobs(
                operator, group, sections[group, operator], self.format.compression
            )
        ]

    def written(self, position: Position) -> None:
        """Remember how far the copy is, should the log confirm it."""
        self._position = position

    def discard(self) -> None:
        """Forget all entries; tables stay valid."""
        self._position = None
        self.forget_keys()
        for table in self._tables.values():
            table[BROADCAST_GROUP].forget()
            table.count_keys(BROADCAST_GROUP)

    def forget_keys(self) -> None:
        """Empty every table but broadcast state: the next key group of a batch run begins."""
        for deferred in self._deferred.values():
            deferred.forget()
        for table in self._tables.values():
            for group, part in table.parts():
                if group != BROADCAST_GROUP:
                    part.forget()
                    table.count_keys(group)
        for timers in self._timers.values():
            timers.forget_order()

    def snapshot_group(self, key_group: int) -> Iterator[bytes]:
        """Yield the blobs of one key group."""
        for deferred in self._deferred.values():
            deferred.restore(key_group)
        # Timers have blobs of their own, because those of other states may be deferred.
        sections: dict[tuple[str, bool], list[Section]] = {}
        for (operator, state), table in self._tables.items():
            part = table[key_group]
            if part.has_entries():
                section = part.all_entries(partial(table.section, state))
                is_timers = table.schema.kind is StateKind.TIMERS
                sections.setdefault((operator, is_timers), []).append(section)
        for operator, is_timers in sorted(sections):
            own = sections[operator, is_timers]
            yield from encode_blobs(operator, key_group, own, self.format.compression)

    def snapshot(self) -> Iterator[bytes]:
        """Yield all entries, one key group after the other."""
        for group in self.groups():
            yield from self.snapshot_group(group)

    def groups(self) -> list[int]:
        """Return the key groups that have entries, ascending."""
        groups = {group for table in self._tables.values() for group in table.groups()}
        return sorted(groups.union(*(deferred.groups() for deferred in self._deferred.values())))

    def key_counts(self) -> dict[str, int | None]:
        """Return uid to keys of its state with most keys; None while a key group of it is deferred."""
        counts: dict[str, int | None] = {}
        for (operator, _), table in self._tables.items():
            if table.schema.kind not in _NOT_COUNTED:
                keys, others = table.key_count, counts.get(operator, 0)
                counts[operator] = None if keys is None or others is None else max(keys, others)
        return counts

    def close(self) -> None:
        """Forget everything."""
        self.discard()

    def _deferred_of(self, operator: str) -> DeferredGroups:
        deferred = self._deferred.get(operator)
        if deferred is None:

            def decode(key_group: int, blob: bytes) -> None:
                for section in decode_blob(blob):
                    self._apply(operator, key_group, section)

            deferred = self._deferred[operator] = DeferredGroups(decode)
        return deferred

    def _declared(self, operator: str) -> dict[str, StateSchema]:
        return {
            state: table.schema
            for (owner, state), table in self._tables.items()
            if owner == operator and table.is_claimed
        }

    def _apply_now(self, operator: str, key_group: int, sections: list[Section]) -> None:
        schemas = (StateSchema.parse(section.schema) for section in sections)
        if any(schema.kind is not StateKind.TIMERS for schema in schemas):
            self._deferred_of(operator).restore(key_group)
        for section in sections:
            self._apply(operator, key_group, section)

    def _apply(self, operator: str, key_group: int, section: Section) -> None:
        table = self._tables.get((operator, section.state))
        stored = StateSchema.parse(section.schema)
        if table is None:
            table = HashTable(stored, self._deferred_of(operator), is_claimed=False)
            self._tables[operator, section.state] = table
        values = section.values
        if section.schema != table.schema.text():
            if not table.is_claimed:
                # Blobs of a state that is declared later are in no order of schemas.
                subject = f"{described(section.state)} of operator {operator!r}"
                wide = common_schema([stored, table.schema], subject)
                table.adopt(wide, migration_of(table.schema, wide, operator, section.state))
            change = migration_of(stored, table.schema, operator, section.state)
            values = values if change is None else change(values)
        if table.codec is not None:
            values = table.codec.from_plain(values)
        table.quiet_part(key_group).apply(section, values)
        table.count_keys(key_group)
        timers = self._timers.get((operator, section.state))
        if timers is not None:
            timers.loaded(key_group, section)
