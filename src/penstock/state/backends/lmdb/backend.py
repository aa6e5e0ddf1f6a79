"""The LMDB backend: state in a memory-mapped file, shared by the worker processes of a host.

State may be larger than memory: a micro-batch reads the entries it needs and keeps in memory
those it touched. Any worker process of the host finds the file as the last one left it, so Spark
may hand a subtask to any of them.

A micro-batch changes memory only. The file follows when a later micro-batch finds the changes in
the log: see `lmdb_apply`. In a copy that is built anew, key groups stay encoded until their first
access (`deferred.py`).

Timers are in the order of a database, and new ones in a heap.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from penstock.errors import StateError
from penstock.state.backends.base import TIMERS_SCHEMA, CopyUse
from penstock.state.backends.lmdb.directory import CopyDirectory
from penstock.state.backends.lmdb.format import StoredTable, unpack_timer
from penstock.state.backends.lmdb.snapshot import Address, Overlay, snapshot_group
from penstock.state.backends.lmdb.table import LmdbTable
from penstock.state.backends.lmdb.view import View
from penstock.state.backends.lmdb.writer import catch_up
from penstock.state.log.blob import (
    Section,
    StateFormat,
    decode_blob,
    encode_blobs,
    key_group_of,
    operator_of,
)
from penstock.state.log.change_log import ChangeLog, Position
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.state.schema.evolution import Migration, migration_of
from penstock.state.schema.key_coder import ANY_KEYS, Coders, key_coder
from penstock.types import TypeInformation
from penstock.types.description import describe_type

_Timer = tuple[int, int, bytes, Any]
"""(timestamp, key group, bytes of the key, key): ordered, since no two keys share their bytes."""


class LmdbTimers:
    """Timers of one operator. Memory: in proportion to the timers a micro-batch touches."""

    def __init__(self, table: LmdbTable) -> None:
        self._table = table
        self._view: View | None = None
        self._added: list[_Timer] = []
        self._stored: Iterator[_Timer] = iter(())
        self._next: _Timer | None = None

    def add(self, key_group: int, key: Any, timestamp: int) -> None:
        """Add a timer; nothing changes if it is there."""
        part = self._table[key_group]
        if part.get(key, timestamp) is None:
            part.put(key, timestamp, True)  # noqa: FBT003 - that the timer is there
            heapq.heappush(
                self._added, (timestamp, key_group, self._table.coders.keys.encode(key), key)
            )

    def remove(self, key_group: int, key: Any, timestamp: int) -> None:
        """Remove a timer, if it is there."""
        self._table[key_group].remove(key, timestamp)

    def of_key(self, key_group: int, key: Any) -> list[int]:
        """Return the timestamps of one key, ascending."""
        return sorted(self._table[key_group].subkeys(key))

    def pop_due(self, until: int) -> tuple[int, int, Any] | None:
        """Remove and return (timestamp, key group, key) of the earliest timer up to `until`."""
        while True:
            added, stored = self._added, self._next
            if stored is not None and (not added or stored[:3] <= added[0][:3]):
                if stored[0] > until:
                    return None
                self._next = next(self._stored, None)
                timer, is_stored = stored, True
            elif added and added[0][0] <= until:
                timer, is_stored = heapq.heappop(added), False
            else:
                return None
            timestamp, group, _, key = timer
            part = self._table[group]
            is_new = not part.has_seen(key, timestamp)
            if part.get(key, timestamp) is not None:
                part.remove(key, timestamp)
                return timestamp, group, key
            if is_stored and is_new and self._view is not None:
                self._view.damaged(f"the timer {timestamp} of key {key!r} is only in the order")

    def next_due(self) -> int | None:
        """Return the timestamp of the earliest timer, None if there is none."""
        while self._next is not None and self._is_gone(self._next):
            self._next = next(self._stored, None)
        while self._added and self._is_gone(self._added[0]):
            heapq.heappop(self._added)
        heads = [timer for timer in (self._next, *self._added[:1]) if timer is not None]
        return min(heads)[0] if heads else None

    def _is_gone(self, timer: _Timer) -> bool:
        timestamp, group, _, key = timer
        return self._table[group].get(key, timestamp) is None

    def begin(self, view: View) -> None:
        """A micro-batch begins."""
        self.end()
        table = view.catalog.ids.get((self._table.operator, self._table.state))
        self._view = view
        if table is not None:
            keys = self._table.coders.keys
            self._stored = (unpack_timer(*stored, keys) for stored in view.timers(table))
            self._next = next(self._stored, None)

    def end(self) -> None:
        """The micro-batch ended."""
        self._view = None
        self._added = []
        self._stored = iter(())
        self._next = None


class LmdbBackend:
    """Implements `KeyedStateBackend` with an LMDB file.

    A subtask has one directory: all processes of a host that run it give the same.
    A copy of another owner (job, run, program, level, subtask) in the directory is thrown away.

    Attributes:
        format: How entries are written; set it before the first table.
    """

    def __init__(self, directory: Path, owner: str) -> None:
        self.format = StateFormat()
        self._directory = CopyDirectory(directory, owner)
        self._owner = self._directory.owner
        self._keys: dict[str, TypeInformation] = {}
        self._tables: dict[Address, LmdbTable] = {}
        self._timers: dict[Address, LmdbTimers] = {}
        self._view: View | None = None
        self._drained: list[bytes] = []
        self._unclaimed: list[tuple[str, int, Section]] = []

    def table(self, operator: str, state: str, schema: StateSchema) -> LmdbTable:
        """Return the table of one state, made empty at first use."""
        schema = self.format.of(schema)
        table = self._tables.get((operator, state))
        if table is None:
            table = LmdbTable(operator, state, schema, self._coders(operator, schema))
            if self._view is not None:
                self._view.declare(operator, {state: schema})
                table.begin(self._view)
            self._tables[operator, state] = table
            self._claim(operator, state)
        elif table.schema.text() != schema.text():
            migration_of(table.schema, schema, operator, state)
            if self._view is not None:
                self._view.declare(operator, {state: schema})
            table.declare(schema)
        return table

    def declare_keys(self, operator: str, key_type: TypeInformation) -> None:
        """Declare the type of the keys of an operator; see `key_coder`."""
        if key_coder(key_type) is not ANY_KEYS:
            self._keys[operator] = key_type

    def timers(self, operator: str, state: str) -> LmdbTimers:
        """Return the timers an operator keeps under a name."""
        timers = self._timers.get((operator, state))
        if timers is None:
            table = self.table(operator, state, TIMERS_SCHEMA)
            timers = self._timers[operator, state] = LmdbTimers(table)
            if self._view is not None:
                timers.begin(self._view)
        return timers

    def catch_up(self, log: ChangeLog) -> CopyUse:
        """Bring the copy to the head of the log; a micro-batch begins."""
        self._end()
        self._directory.owner = self._owner + self._addresses()
        file, txn, use = catch_up(self._directory, log, self._coders, self._schemas_of)
        self._view = View(self._directory, file, txn, self._coders)
        try:
            for operator in {operator for operator, _ in self._tables}:
                self._view.declare(operator, self._schemas_of(operator))
            for table in self._tables.values():
                table.begin(self._view)
            for timers in self._timers.values():
                timers.begin(self._view)
        except BaseException:
            self._end()
            raise
        return use

    def load(self, blobs: Iterable[bytes]) -> None:
        """Take entries from outside a log: they count as changes of this micro-batch."""
        for blob in blobs:
            operator, group = operator_of(blob), key_group_of(blob)
            for section in decode_blob(blob):
                self._take(operator, group, section)

    def drain(self) -> list[bytes]:
        """Return the changes since the last call, blobs of each touched key group in order."""
        sections: dict[tuple[int, str], list[Section]] = {}
        for operator, group, section in self._unclaimed:
            sections.setdefault((group, operator), []).append(section)
        self._unclaimed = []
        for (operator, _), table in self._tables.items():
            for group, part in table.parts():
                if not part.is_clean():
                    changed = table.changes(part)
                    sections.setdefault((group, operator), []).append(changed)
        blobs = [
            blob
            for group, operator in sorted(sections)
            for blob in encode_blobs(
                operator, group, sections[group, operator], self.format.compression
            )
        ]
        self._drained += blobs
        return blobs

    def written(self, position: Position) -> None:
        """Forget the micro-batch: its changes come back from the log once it is confirmed."""
        self._end()

    def discard(self) -> None:
        """Forget everything this micro-batch did: the attempt failed."""
        self._end()

    def snapshot_group(self, key_group: int) -> Iterator[bytes]:
        """Yield the blobs of one key group, as it was when the micro-batch began."""
        return self._snapshot_of(key_group, ())

    def snapshot(self) -> Iterator[bytes]:
        """Yield all entries, those of this micro-batch included; after `drain`."""
        changes: dict[int, list[bytes]] = {}
        for blob in self._drained:
            changes.setdefault(key_group_of(blob), []).append(blob)
        for group in sorted(self._stored_groups().union(changes)):
            yield from self._snapshot_of(group, changes.get(group, ()))

    def key_counts(self) -> dict[str, int | None]:
        """Return nothing: to count, it would look for each changed key in the file."""
        return {}

    def groups(self) -> list[int]:
        """Return the key groups that have entries, ascending.

        A group whose entries were all removed in this micro-batch may be among them.
        """
        groups = self._stored_groups()
        for table in self._tables.values():
            groups.update(group for group, part in table.parts() if part.has_entries())
        groups.update(group for _, group, _ in self._unclaimed)
        return sorted(groups)

    def close(self) -> None:
        """Let go of the copy, which stays for other processes."""
        self._end()
        self._directory.close()

    def _stored_groups(self) -> set[int]:
        view = self._current_view()
        return view.deferred_groups().union(view.groups())

    def _schemas_of(self, operator: str) -> dict[str, StateSchema]:
        return {
            state: table.schema
            for (owner, state), table in self._tables.items()
            if owner == operator
        }

    def _snapshot_of(self, key_group: int, changes: Iterable[bytes]) -> Iterator[bytes]:
        view, compression = self._current_view(), self.format.compression
        # Deferred blobs are laid over stored entries, and stay deferred.
        overlay = Overlay(self._coders, chain(view.deferred_blobs(key_group), changes))
        return snapshot_group(view, key_group, self._declared, overlay, self._coders, compression)

    def _addresses(self) -> str:
        """Return a text that differs between copies that write their addresses in different ways."""
        if not self.format.coded_rows:
            return ""
        known = {name: describe_type(key_type) for name, key_type in sorted(self._keys.items())}
        return f", coded keys {json.dumps(known)}"

    def _coders(self, operator: str, schema: StateSchema) -> Coders:
        """Return how the addresses of a state are written in this copy, by whomever."""
        if not self.format.coded_rows:
            return Coders()
        own = schema.kind is not StateKind.BROADCAST
        return _coders_of(self._keys.get(operator) if own else None, schema.subkey_type)

    def _end(self) -> None:
        for table in self._tables.values():
            table.end()
        for timers in self._timers.values():
            timers.end()
        self._drained = []
        self._unclaimed = []
        if self._view is not None:
            self._view.close()
            self._view = None

    def _current_view(self) -> View:
        if self._view is None:
            raise StateError(
                f"the state in {self._directory.path} was read outside a micro-batch",
                hint="Call catch_up first.",
            )
        return self._view

    def _declared(self, stored: StoredTable) -> tuple[str, list[Migration | None]] | None:
        table = self._tables.get((stored.operator, stored.state))
        return None if table is None else (table.schema.text(), table.migrations)

    def _take(self, operator: str, group: int, section: Section) -> None:
        table = self._tables.get((operator, section.state))
        if table is None:
            self._unclaimed.append((operator, group, section))
            return
        stored = StateSchema.parse(section.schema)
        change = migration_of(stored, table.schema, operator, section.state)
        table.take(group, section, section.values if change is None else change(section.values))

    def _claim(self, operator: str, state: str) -> None:
        """Give a new table the entries that were loaded before it was declared."""
        loaded, self._unclaimed = self._unclaimed, []
        for owner, group, section in loaded:
            if (owner, section.state) == (operator, state):
                self._take(owner, group, section)
            else:
                self._unclaimed.append((owner, group, section))


@cache
def _coders_of(key_type: TypeInformation | None, subkey_type: TypeInformation | None) -> Coders:
    return Coders(key_coder(key_type), key_coder(subkey_type))
