"""Snapshots of the LMDB backend: stored entries, with or without the changes of a micro-batch.

Entries are read in the order they are stored, some thousand at a time, and leave as blobs. Those
of a state that an operator declared leave in the form of its schema, others as they were stored.
The changes of the micro-batch are laid over them in memory: changed entries are skipped where they
are stored, and their new values follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from penstock.state.backends.lmdb.format import (
    GROUP_BYTES,
    PREFIX_BYTES,
    StoredTable,
    address_of,
    group_prefix,
    nested_prefix,
    place_of,
    unpack_entry,
)
from penstock.state.backends.lmdb.view import Stored, View
from penstock.state.backends.lmdb.writer import CodersOf
from penstock.state.log.blob import Compression, Section, decode_blob, encode_blobs, operator_of
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.state.schema.evolution import Migration
from penstock.state.schema.key_coder import Coders

_ENTRIES = 20_000
_BYTES = 8 << 20

Address = tuple[str, str]
"""(operator uid, state name)."""

Current = Callable[[StoredTable], "tuple[str, list[Migration | None]] | None"]
"""Stored table to the schema text it is declared with and the migrations of stored values, by schema
number; None for a state that is not declared."""


_Entry = tuple[str, Any, Any, Any]
"""(schema text, key, subkey, plain value)."""


@dataclass(slots=True)
class _TableChanges:
    """Changes of a micro-batch to one state in one key group; by key behind the table's prefix.

    Attributes:
        written: Beginning of a key with subkeys, to key, to entry; all
            keys without subkeys are under b"".
        removed: Keys of entries that are gone.
        cleared: Beginnings of keys of which everything before `written` is gone.
    """

    written: dict[bytes, dict[bytes, _Entry]] = field(default_factory=dict)
    removed: set[bytes] = field(default_factory=set)
    cleared: set[bytes] = field(default_factory=set)

    def hides(self, key: bytes, *, is_nested: bool) -> bool:
        """Return whether a stored entry is no longer, or not as it is stored."""
        start = key[: 1 + key[0]] if is_nested else b""
        return key in self.written.get(start, ()) or key in self.removed or start in self.cleared

    def add(self, section: Section, coders: Coders) -> None:
        """Apply a later section."""
        is_nested = section.subkeys is not None
        for key in section.cleared:
            start = nested_prefix(b"", coders.keys.encode(key))
            self.cleared.add(start)
            self.written.pop(start, None)
        subkeys = section.subkeys or [None] * len(section.keys)
        for key, subkey, value in zip(section.keys, subkeys, section.values, strict=True):
            place, _ = address_of(b"", key, subkey, coders, is_nested=is_nested)
            start = place[: 1 + place[0]] if is_nested else b""
            self.written.setdefault(start, {})[place] = section.schema, key, subkey, value
        subkeys = section.removed_subkeys or [None] * len(section.removed)
        for key, subkey in zip(section.removed, subkeys, strict=True):
            place, _ = address_of(b"", key, subkey, coders, is_nested=is_nested)
            start = place[: 1 + place[0]] if is_nested else b""
            self.written.get(start, {}).pop(place, None)
            self.removed.add(place)

    def sections(self, state: str) -> Iterator[Section]:
        """Yield the entries that were written."""
        by_schema: dict[str, list[_Entry]] = {}
        for of_start in self.written.values():
            for entry in of_start.values():
                by_schema.setdefault(entry[0], []).append(entry)
        for schema, entries in by_schema.items():
            _, keys, subkeys, values = map(list, zip(*entries, strict=True))
            yield Section.of_entries(state, schema, keys, subkeys, values)


class Overlay:
    """Changes over the stored entries of a key group, from blobs in order.

    Attributes:
        changes: Changes of each state.
    """

    def __init__(self, coders_of: CodersOf, blobs: Iterable[bytes]) -> None:
        self.changes: dict[Address, _TableChanges] = {}
        for blob in blobs:
            for section in decode_blob(blob):
                address = operator_of(blob), section.state
                coders = coders_of(address[0], StateSchema.parse(section.schema))
                self.changes.setdefault(address, _TableChanges()).add(section, coders)


def snapshot_group(
    view: View,
    key_group: int,
    current: Current,
    overlay: Overlay,
    coders_of: CodersOf,
    compression: Compression = Compression.NONE,
) -> Iterator[bytes]:
    """Yield the entries of one key group as blobs.

    Timers have blobs of their own, because those of other states may be deferred when they are loaded.
    """
    changes = overlay.changes
    entries = view.scan(group_prefix(key_group))
    while some := _bounded(entries):
        sections: list[tuple[str, Section]] = []
        for table_id, rows in _by_table(some).items():
            table = view.catalog.tables[table_id]
            change = changes.get((table.operator, table.state))
            coders = coders_of(table.operator, StateSchema.parse(table.schemas[0]))
            table_sections = _stored_sections(table, rows, change, current(table), coders)
            sections += [(table.operator, section) for section in table_sections]
        yield from _blobs(key_group, sections, compression)
    written = [
        (operator, section)
        for (operator, state), change in changes.items()
        for section in change.sections(state)
    ]
    yield from _blobs(key_group, written, compression)


def _blobs(
    key_group: int, sections: list[tuple[str, Section]], compression: Compression
) -> Iterator[bytes]:
    together: dict[tuple[str, bool], list[Section]] = {}
    for operator, section in sections:
        is_timers = StateSchema.parse(section.schema).kind is StateKind.TIMERS
        together.setdefault((operator, is_timers), []).append(section)
    for (operator, _), own in together.items():
        yield from encode_blobs(operator, key_group, own, compression)


def _bounded(entries: Iterator[Stored]) -> list[Stored]:
    """Return the next entries: some thousand, fewer if they are large."""
    some: list[Stored] = []
    size = 0
    for entry in islice(entries, _ENTRIES):
        some.append(entry)
        size += len(entry[1])
        if size > _BYTES:
            break
    return some


def _by_table(entries: list[Stored]) -> dict[int, list[Stored]]:
    tables: dict[int, list[Stored]] = {}
    last = b""
    rows: list[Stored] = []
    for entry in entries:
        table = entry[0][GROUP_BYTES:PREFIX_BYTES]
        if table != last:
            last = table
            rows = tables.setdefault(place_of(entry[0])[1], [])
        rows.append(entry)
    return tables


def _stored_sections(
    table: StoredTable,
    rows: list[Stored],
    change: _TableChanges | None,
    current: tuple[str, list[Migration | None]] | None,
    coders: Coders,
) -> Iterator[Section]:
    is_nested = table.is_nested
    by_number: dict[int, list[tuple[int, Any, Any, Any]]] = {}
    for raw, stored in rows:
        if change is None or not change.hides(raw[PREFIX_BYTES:], is_nested=is_nested):
            entry = unpack_entry(raw, stored, coders, is_nested=is_nested)
            by_number.setdefault(entry[0], []).append(entry)
    for number, entries in by_number.items():
        _, keys, subkeys, values = map(list, zip(*entries, strict=True))
        text = table.schemas[number]
        if current is not None:
            text, migrations = current
            change_values = migrations[number]
            values = values if change_values is None else change_values(values)
        yield Section.of_entries(table.state, text, keys, subkeys if is_nested else None, values)
