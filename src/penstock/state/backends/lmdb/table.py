"""One state of the LMDB backend: its parts, and stored entries as values of the declared type."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any
from zlib import crc32

import lmdb

from penstock.errors import StateError, StateMigrationError
from penstock.state.backends.base import ABSENT
from penstock.state.backends.lmdb.format import (
    ADDRESSED,
    GROUP_BYTES,
    HEAD_BYTES,
    PREFIX_BYTES,
    RAW,
    entry_prefix,
    group_of,
    read_head,
    unpack_entry,
)
from penstock.state.backends.lmdb.parts import LmdbNestedPart, LmdbSinglePart
from penstock.state.backends.lmdb.view import View
from penstock.state.log.blob import Section
from penstock.state.schema.coded_change import Migration
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.state.schema.evolution import migration_of
from penstock.state.schema.key_coder import Coders
from penstock.state.schema.stored_form import held_codec, stored_values

_AT_ONCE = 1000
_NO_TABLE = 0xFFFF

Column = Callable[[list[Any]], list[Any]]


class LmdbTable:
    """One state of one operator.

    Attributes:
        operator: Uid of the operator.
        state: Name of the state.
        schema: How its entries are read now; stored ones may be older.
        coders: How the addresses of its entries are written.
        migrations: Schema number to what makes plain values of `schema` of stored ones.
    """

    def __init__(self, operator: str, state: str, schema: StateSchema, coders: Coders) -> None:
        self.operator = operator
        self.state = state
        self.coders = coders
        self.migrations: list[Migration | None] = []
        self._parts: dict[int, Any] = {}
        self._id = _NO_TABLE
        self._view: View | None = None
        self._deferred: set[bytes] = set()
        self._get: Callable[[bytes], bytes | None] = self._outside
        self._decoders: list[Column | None] = []
        self._use(schema)

    def __getitem__(self, key_group: int) -> Any:
        """Return the part of a key group."""
        part = self._parts.get(key_group)
        if part is None:
            part = self._parts[key_group] = self._make(self, entry_prefix(key_group, self._id))
        return part

    def groups(self) -> list[int]:
        """Return the key groups that may have entries, ascending."""
        own = {group for group, part in self._parts.items() if part.has_entries()}
        if self._view is not None and self._id != _NO_TABLE:
            own.update(self._view.groups_of(self._id))
        own.update(map(group_of, self._deferred))
        return sorted(own)

    def parts(self) -> list[tuple[int, Any]]:
        """Return (key group, part) of all parts."""
        return list(self._parts.items())

    def declare(self, schema: StateSchema) -> None:
        """Read entries as `schema` from now on; nothing was changed yet.

        Raises:
            StateMigrationError: Stored entries cannot be read so.
        """
        self._use(schema)
        view = self._view
        self.end()
        if view is not None:
            self.begin(view)

    def begin(self, view: View) -> None:
        """A micro-batch begins: read from `view`.

        Raises:
            StateMigrationError: Stored entries cannot be read as `schema`.
        """
        self._view = view
        self._id = view.catalog.ids.get((self.operator, self.state), _NO_TABLE)
        self._forget()
        self._get = _nothing
        # Timers are never deferred.
        is_timers = self.schema.kind is StateKind.TIMERS
        self._deferred = set() if is_timers else view.deferred_prefixes(self.operator)
        if self._id != _NO_TABLE:
            texts = view.catalog.tables[self._id].schemas
            self.migrations = [self._migration(number, text) for number, text in enumerate(texts)]
            self._decoders = list(map(self._decoder, self.migrations))
            self._get = view.get if view.is_settled else self._get_restored

    def end(self) -> None:
        """The micro-batch ended: forget everything it read and changed."""
        self._view = None
        self._get = self._outside
        self._deferred = set()
        self._forget()

    def _forget(self) -> None:
        for group, part in self._parts.items():
            part.forget(entry_prefix(group, self._id))

    def changes(self, part: Any) -> Section:
        """Return what changed in a part, with values in plain form."""
        found = part.take_changes()
        values = stored_values(self._codec, found.values, found.coded or None)
        text = self.schema.text()
        if not self.schema.kind.is_nested:
            return Section(self.state, text, found.keys, None, values, found.removed)
        return Section(
            self.state,
            text,
            found.keys,
            found.subkeys,
            values,
            found.removed,
            found.removed_subkeys,
            found.cleared,
        )

    def take(self, key_group: int, section: Section, values: list[Any]) -> None:
        """Make the entries of a section changes of this micro-batch."""
        part = self[key_group]
        rich = values if self._codec is None else self._codec.from_plain(values)
        if not self.schema.kind.is_nested:
            for key, value in zip(section.keys, rich, strict=True):
                part.put(key, value)
            for key in section.removed:
                part.remove(key)
            return
        for key in section.cleared:
            part.clear(key)
        for key, subkey, value in zip(section.keys, section.subkeys or (), rich, strict=True):
            part.put(key, subkey, value)
        for key, subkey in zip(section.removed, section.removed_subkeys or (), strict=True):
            part.remove(key, subkey)

    # The methods of `lmdb.parts.EntrySource`.

    def fetch(self, raw: bytes) -> Any:
        """Return one stored value, `ABSENT` if there is none.

        Raises:
            StateError: The copy is damaged.
        """
        try:
            stored = self._get(raw)
        except lmdb.Error as cause:
            self._in_view.damaged(str(cause))
        if stored is None:
            if self._id != _NO_TABLE:
                self._in_view.check_absent(raw)
            return ABSENT
        body = stored[HEAD_BYTES:]
        # The checks of `is_intact` and `unpack_entry`, without their calls.
        if len(stored) >= HEAD_BYTES:
            checksum, code = read_head(stored)
            if crc32(body, crc32(raw) ^ code) == checksum:
                if code & RAW:
                    value = body
                    code ^= RAW
                else:
                    value = pickle.loads(body)
                    if code & ADDRESSED:
                        value = value[0]
                        code ^= ADDRESSED
                decoder = self._decoders[code]
                return value if decoder is None else decoder([value])[0]
        return self._in_view.damaged(f"entry {raw.hex()} does not match its checksum")

    def items(self, prefix: bytes) -> Iterator[tuple[Any, Any, Any]]:
        """Yield (key, subkey, value) of all stored entries that begin with `prefix`."""
        found = self._entries(prefix)
        while some := list(islice(found, _AT_ONCE)):
            by_number: dict[int, list[tuple[int, Any, Any, Any]]] = {}
            for entry in some:
                by_number.setdefault(entry[0], []).append(entry)
            for number, entries in by_number.items():
                _, keys, subkeys, values = map(list, zip(*entries, strict=True))
                decoder = self._decoders[number]
                rich = values if decoder is None else decoder(values)
                yield from zip(keys, subkeys, rich, strict=True)

    def addresses(self, prefix: bytes) -> Iterator[tuple[Any, Any]]:
        """Yield (key, subkey) of all stored entries that begin with `prefix`."""
        for _, key, subkey, _ in self._entries(prefix):
            yield key, subkey

    def keys(self, prefix: bytes) -> Iterator[Any]:
        """Yield the stored keys of a table with subkeys, each once."""
        if self._id == _NO_TABLE:
            return
        self._restore(prefix)
        view = self._in_view
        start = PREFIX_BYTES + 1
        for raw in view.first_of_each(prefix, lambda raw: start + raw[PREFIX_BYTES]):
            inner = raw[: start + raw[PREFIX_BYTES]]
            first = view.get(raw)
            if first is not None and read_head(first)[1] & ADDRESSED:
                yield next(iter(self.addresses(inner)))[0]
            else:
                yield self.coders.keys.decode(inner[start:])

    def _entries(self, prefix: bytes) -> Iterator[tuple[int, Any, Any, Any]]:
        if self._id == _NO_TABLE:
            return
        is_nested = self.schema.kind.is_nested
        self._restore(prefix)
        for raw, stored in self._in_view.scan(prefix):
            yield unpack_entry(raw, stored, self.coders, is_nested=is_nested)

    def _get_restored(self, raw: bytes) -> bytes | None:
        self._restore(raw)
        return self._in_view.get(raw)

    def _restore(self, raw: bytes) -> None:
        """Restore the key group of an entry, if it is deferred."""
        if raw[:GROUP_BYTES] in self._deferred:
            self._in_view.restore(self.operator, group_of(raw))

    @property
    def _in_view(self) -> View:
        if self._view is None:
            raise _no_view(self.operator, self.state)
        return self._view

    def _outside(self, raw: bytes) -> bytes | None:
        raise _no_view(self.operator, self.state)

    def _use(self, schema: StateSchema) -> None:
        self.schema = schema
        self._codec = held_codec(schema)
        self._make = LmdbNestedPart if schema.kind.is_nested else LmdbSinglePart

    def _migration(self, number: int, text: str) -> Migration | None:
        try:
            return migration_of(StateSchema.parse(text), self.schema, self.operator, self.state)
        except StateMigrationError:
            if self._is_used(number):
                raise
            return None  # only entries since rewritten had that schema

    def _decoder(self, change: Migration | None) -> Column | None:
        codec = self._codec
        if change is None or codec is None:
            return change if codec is None else codec.from_plain
        return lambda stored: codec.from_plain(change(stored))

    def _is_used(self, number: int) -> bool:
        """Return whether any entry is stored under a schema; reads all of them."""
        view = self._in_view
        return any(
            read_head(stored)[1] & ~(ADDRESSED | RAW) == number
            for group in view.groups()
            for _, stored in view.scan(entry_prefix(group, self._id))
        )


def _nothing(_: bytes) -> None:
    """Nothing is stored of a table the copy does not know."""


def _no_view(operator: str, state: str) -> StateError:
    return StateError(
        f"state {state!r} of operator {operator!r} was used outside a micro-batch",
        hint="Use state in process_element, on_timer and the like only.",
    )
