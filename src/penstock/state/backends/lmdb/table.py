"""One state of the LMDB backend: its parts, and stored entries as values of the declared type.

A part is the entries of one state and key group that a micro-batch reads or changes. It keeps them in memory,
missing ones too: one object per entry, as in the hash-map backend. At the end of the micro-batch it drops them.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol
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
    nested_prefix,
    read_head,
    unpack_entry,
)
from penstock.state.backends.lmdb.view import View
from penstock.state.log.blob import Section
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.state.schema.evolution import Migration, migration_of
from penstock.state.schema.key_coder import Coders
from penstock.state.schema.stored_form import held_codec, stored_values


class EntrySource(Protocol):
    """The stored entries of a table, as values.

    Attributes:
        coders: How their addresses are written.
    """

    coders: Coders

    def fetch(self, raw: bytes) -> Any:
        """Return one value, `ABSENT` if there is none."""

    def items(self, prefix: bytes) -> Iterable[tuple[Any, Any, Any]]:
        """Yield (key, subkey, value) of all entries that begin with `prefix`."""

    def addresses(self, prefix: bytes) -> Iterable[tuple[Any, Any]]:
        """Yield (key, subkey) of all entries that begin with `prefix`."""

    def keys(self, prefix: bytes) -> Iterable[Any]:
        """Yield the keys of a table with subkeys, each once."""


@dataclass(slots=True)
class Changes:
    """The entries of one part that a micro-batch changed.

    Attributes:
        coded: For nested kinds, per value its coded bytes where they are known.
    """

    keys: list[Any] = field(default_factory=list)
    subkeys: list[Any] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    coded: list[bytes | None] = field(default_factory=list)
    removed: list[Any] = field(default_factory=list)
    removed_subkeys: list[Any] = field(default_factory=list)
    cleared: list[Any] = field(default_factory=list)


class _Fetched(dict[Any, Any]):
    """Key to value or `ABSENT`, fetched at the first access."""

    __slots__ = ("_encode", "_fetch", "prefix")

    def __init__(
        self, fetch: Callable[[bytes], Any], encode: Callable[[Any], bytes], prefix: bytes
    ) -> None:
        super().__init__()
        self._fetch = fetch
        self._encode = encode
        self.prefix = prefix

    def __missing__(self, key: Any) -> Any:
        value = self[key] = self._fetch(self.prefix + self._encode(key))
        return value


class LmdbSinglePart:
    """One value per key."""

    __slots__ = ("_changed", "_source", "_values")

    def __init__(self, source: EntrySource, prefix: bytes) -> None:
        self._source = source
        self._values = _Fetched(source.fetch, source.coders.keys.encode, prefix)
        self._changed: set[Any] = set()

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the value of `key`."""
        value = self._values[key]
        return default if value is ABSENT else value

    def put(self, key: Any, value: Any) -> None:
        """Set the value of `key`."""
        self._values[key] = value
        self._changed.add(key)

    def put_all(self, keys: Sequence[Any], values: Sequence[Any]) -> None:
        """Set the values of several keys."""
        self._values.update(zip(keys, values, strict=True))
        self._changed.update(keys)

    def remove(self, key: Any) -> None:
        """Remove the value of `key`, if there is one."""
        if self._values[key] is not ABSENT:
            self._values[key] = ABSENT
            self._changed.add(key)

    def keys(self) -> list[Any]:
        """Return all keys."""
        values = self._values
        stored = [key for key, _ in self._source.addresses(values.prefix) if key not in values]
        return stored + [key for key, value in values.items() if value is not ABSENT]

    def is_clean(self) -> bool:
        """Return whether nothing changed since the last `take_changes`."""
        return not self._changed

    def take_changes(self) -> Changes:
        """Return the changes and forget that they were made."""
        values, changes = self._values, Changes()
        for key in self._changed:
            value = values[key]
            if value is ABSENT:
                changes.removed.append(key)
            else:
                changes.keys.append(key)
                changes.values.append(value)
        self._changed.clear()
        return changes

    def has_entries(self) -> bool:
        """Return whether there is a value in memory; stored ones are not looked at."""
        return any(value is not ABSENT for value in self._values.values())

    def forget(self, prefix: bytes) -> None:
        """Forget everything read and written; stored entries begin with `prefix` now."""
        self._values.clear()
        self._values.prefix = prefix
        self._changed.clear()


class _Inner(_Fetched):
    """The entries of one key.

    Attributes:
        changed: Subkeys written or removed, with the coded bytes of written values if known.
        is_whole: All stored entries of the key are here.
        is_cleared: All that is stored was removed.
    """

    __slots__ = ("changed", "is_cleared", "is_whole")

    def __init__(
        self, fetch: Callable[[bytes], Any], encode: Callable[[Any], bytes], prefix: bytes
    ) -> None:
        super().__init__(fetch, encode, prefix)
        self.changed: dict[Any, bytes | None] = {}
        self.is_whole = False
        self.is_cleared = False

    def __missing__(self, key: Any) -> Any:
        return ABSENT if self.is_whole else super().__missing__(key)


class LmdbNestedPart:
    """Entries by key and subkey; each is read at its first access."""

    __slots__ = ("_changed", "_encode", "_encode_subkey", "_inner", "_prefix", "_source")

    def __init__(self, source: EntrySource, prefix: bytes) -> None:
        self._source = source
        self._encode = source.coders.keys.encode
        self._encode_subkey = source.coders.subkeys.encode
        self._prefix = prefix
        self._inner: dict[Any, _Inner] = {}
        self._changed: set[Any] = set()

    def get(self, key: Any, subkey: Any, default: Any = None) -> Any:
        """Return one value."""
        inner = self._inner.get(key)
        value = (self._open(key) if inner is None else inner)[subkey]
        return default if value is ABSENT else value

    def put(self, key: Any, subkey: Any, value: Any, coded: bytes | None = None) -> None:
        """Set one value; `coded` is as in `NestedPart.put`."""
        inner = self._inner.get(key)
        if inner is None:
            inner = self._open(key)
        inner[subkey] = value
        inner.changed[subkey] = coded
        self._changed.add(key)

    def remove(self, key: Any, subkey: Any) -> None:
        """Remove one value, if it is there."""
        if self.get(key, subkey, ABSENT) is not ABSENT:
            self.put(key, subkey, ABSENT)

    def clear(self, key: Any) -> None:
        """Remove all entries of `key`."""
        if not self.is_empty(key):
            inner = self._inner[key]
            inner.clear()
            inner.changed.clear()
            inner.is_whole = inner.is_cleared = True
            self._changed.add(key)

    def items(self, key: Any) -> list[tuple[Any, Any]]:
        """Return (subkey, value) of all entries of `key`."""
        return [pair for pair in self._load(key).items() if pair[1] is not ABSENT]

    def subkeys(self, key: Any) -> list[Any]:
        """Return the subkeys of `key`."""
        inner = self._open(key)
        subkeys = [subkey for subkey, value in inner.items() if value is not ABSENT]
        if not inner.is_whole:
            addresses = self._source.addresses(inner.prefix)
            subkeys += [subkey for _, subkey in addresses if subkey not in inner]
        return subkeys

    def is_empty(self, key: Any) -> bool:
        """Return whether `key` has no entries."""
        inner = self._open(key)
        if any(value is not ABSENT for value in inner.values()):
            return False
        if inner.is_whole:
            return True
        addresses = self._source.addresses(inner.prefix)
        return all(subkey in inner for _, subkey in addresses)

    def keys(self) -> list[Any]:
        """Return all keys that have entries."""
        stored = [key for key in self._source.keys(self._prefix) if key not in self._inner]
        return stored + [key for key in self._inner if not self.is_empty(key)]

    def has_seen(self, key: Any, subkey: Any) -> bool:
        """Return whether the entry was read or written in this micro-batch."""
        inner = self._inner.get(key)
        return inner is not None and (inner.is_whole or subkey in inner)

    def is_clean(self) -> bool:
        """Return whether nothing changed since the last `take_changes`."""
        return not self._changed

    def take_changes(self) -> Changes:
        """Return the changes and forget that they were made."""
        changes = Changes()
        for key in self._changed:
            inner = self._inner[key]
            if inner.is_cleared:
                changes.cleared.append(key)
            for subkey, data in inner.changed.items():
                value = inner[subkey]
                if value is not ABSENT:
                    changes.keys.append(key)
                    changes.subkeys.append(subkey)
                    changes.values.append(value)
                    changes.coded.append(data)
                elif not inner.is_cleared:
                    changes.removed.append(key)
                    changes.removed_subkeys.append(subkey)
            inner.changed.clear()
            inner.is_cleared = False
        self._changed.clear()
        return changes

    def has_entries(self) -> bool:
        """Return whether there is a value in memory; stored ones are not looked at."""
        inners = self._inner.values()
        return any(value is not ABSENT for inner in inners for value in inner.values())

    def forget(self, prefix: bytes) -> None:
        """Forget everything read and written; stored entries begin with `prefix` now."""
        self._inner.clear()
        self._prefix = prefix
        self._changed.clear()

    def _open(self, key: Any) -> _Inner:
        inner = self._inner.get(key)
        if inner is None:
            prefix = nested_prefix(self._prefix, self._encode(key))
            inner = self._inner[key] = _Inner(self._source.fetch, self._encode_subkey, prefix)
        return inner

    def _load(self, key: Any) -> _Inner:
        """Read all entries of a key."""
        inner = self._open(key)
        if not inner.is_whole:
            for _, subkey, value in self._source.items(inner.prefix):
                inner.setdefault(subkey, value)
            inner.is_whole = True
        return inner


_AT_ONCE = 1000
_NO_TABLE = 0xFFFF

Column = Callable[[list[Any]], list[Any]]


class LmdbTable:
    """One state of one operator.

    Attributes:
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
        """Read entries as `schema` from now on; there are no changes yet."""
        self._use(schema)
        view = self._view
        self.end()
        if view is not None:
            self.begin(view)

    def begin(self, view: View) -> None:
        """A micro-batch begins: read from `view`."""
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
        changes = part.take_changes()
        values = stored_values(self._codec, changes.values, changes.coded or None)
        text = self.schema.text()
        if not self.schema.kind.is_nested:
            return Section(self.state, text, changes.keys, None, values, changes.removed)
        return Section(
            self.state,
            text,
            changes.keys,
            changes.subkeys,
            values,
            changes.removed,
            changes.removed_subkeys,
            changes.cleared,
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
        """Return one stored value, `ABSENT` if there is none."""
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
        stored_entries = self._entries(prefix)
        while some := list(islice(stored_entries, _AT_ONCE)):
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
    """Return None: the copy has no entries of this table."""


def _no_view(operator: str, state: str) -> StateError:
    return StateError(
        f"state {state!r} of operator {operator!r} was used outside a micro-batch",
        hint="Use state in process_element, on_timer and the like only.",
    )
