"""Parts and tables of the hash-map backend: the entries of one state, by key group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Any

from penstock.state.backends.deferred_groups import DeferredGroups
from penstock.state.log.blob import Section
from penstock.state.schema.entry_schema import StateSchema
from penstock.state.schema.evolution import Migration
from penstock.state.schema.stored_form import PlainCodec, held_codec, stored_values
from penstock.types.value_serializer import StoredForm


class _Removed(Enum):
    REMOVED = auto()


REMOVED = _Removed.REMOVED
"""Stands for the value of an entry that was removed."""


class HashSinglePart:
    """One value per key. `get` is the dictionary's own.

    Attributes:
        changed: Values that were put since the last `take_changes`, by key; `REMOVED` for removed ones.
            With the values, so that to take changes no entry is looked up: of a large state
            that would wait for memory at almost every key.
    """

    __slots__ = ("_has_removed", "changed", "entries", "get")

    def __init__(self) -> None:
        self.entries: dict[Any, Any] = {}
        self._has_removed = False
        self.changed: dict[Any, Any] = {}
        self.get = self.entries.get

    def put(self, key: Any, value: Any) -> None:
        """Set the value of `key`."""
        self.entries[key] = self.changed[key] = value

    def put_all(self, keys: Sequence[Any], values: Sequence[Any]) -> None:
        """Set the values of several keys."""
        self.entries.update(zip(keys, values, strict=True))
        self.changed.update(zip(keys, values, strict=True))

    def remove(self, key: Any) -> None:
        """Remove the value of `key`, if there is one."""
        if key in self.entries:
            del self.entries[key]
            self.changed[key] = REMOVED
            self._has_removed = True

    def keys(self) -> list[Any]:
        """Return all keys."""
        return list(self.entries)

    def is_clean(self) -> bool:
        """Return whether nothing changed since the last `take_changes`."""
        return not self.changed

    def has_entries(self) -> bool:
        """Return whether there is any entry."""
        return bool(self.entries)

    def forget(self) -> None:
        """Forget everything."""
        self.entries.clear()
        self.changed.clear()

    def take_changes(self, section: Callable[..., Section]) -> Section:
        """Return the changes and forget that they were made."""
        changed, removed = self.changed, []
        if self._has_removed:
            self._has_removed = False
            removed = [key for key, value in changed.items() if value is REMOVED]
            for key in removed:
                del changed[key]
        keys, values = list(changed), list(changed.values())
        changed.clear()
        return section(keys, None, values, removed)

    def all_entries(self, section: Callable[..., Section]) -> Section:
        """Return everything."""
        return section(list(self.entries), None, list(self.entries.values()))

    def apply(self, section: Section, values: list[Any]) -> None:
        """Apply a section whose plain values mean `values`."""
        self.entries.update(zip(section.keys, values, strict=True))
        for key in section.removed:
            self.entries.pop(key, None)

    def map_values(self, change: Callable[[list[Any]], list[Any]]) -> None:
        """Replace all values; not a change of the state."""
        entries = self.entries
        entries.update(zip(list(entries), change(list(entries.values())), strict=True))
        self.changed = {key: entries.get(key, REMOVED) for key in self.changed}


class HashNestedPart:
    """Entries by key and subkey.

    Changes are kept by key and subkey, with the coded bytes of the value if they are known.
    """

    __slots__ = ("_changed", "_cleared", "entries")

    def __init__(self) -> None:
        self.entries: dict[Any, dict[Any, Any]] = {}
        self._changed: dict[Any, dict[Any, bytes | None]] = {}
        self._cleared: set[Any] = set()

    def get(self, key: Any, subkey: Any, default: Any = None) -> Any:
        """Return one value."""
        inner = self.entries.get(key)
        return default if inner is None else inner.get(subkey, default)

    def put(self, key: Any, subkey: Any, value: Any, coded: bytes | None = None) -> None:
        """Set one value; `coded` is as in `NestedPart.put`."""
        inner = self.entries.get(key)
        if inner is None:
            inner = self.entries[key] = {}
        inner[subkey] = value
        self._touch(key, subkey, coded)

    def remove(self, key: Any, subkey: Any) -> None:
        """Remove one value, if it is there."""
        inner = self.entries.get(key)
        if inner is not None and subkey in inner:
            del inner[subkey]
            if not inner:
                del self.entries[key]
            self._touch(key, subkey)

    def clear(self, key: Any) -> None:
        """Remove all entries of `key`."""
        if self.entries.pop(key, None) is not None:
            self._cleared.add(key)
            self._changed.pop(key, None)

    def items(self, key: Any) -> list[tuple[Any, Any]]:
        """Return (subkey, value) of all entries of `key`."""
        inner = self.entries.get(key)
        return [] if inner is None else list(inner.items())

    def subkeys(self, key: Any) -> list[Any]:
        """Return the subkeys of `key`."""
        return list(self.entries.get(key, ()))

    def is_empty(self, key: Any) -> bool:
        """Return whether `key` has no entries."""
        return key not in self.entries

    def keys(self) -> list[Any]:
        """Return all keys that have entries."""
        return list(self.entries)

    def is_clean(self) -> bool:
        """Return whether nothing changed since the last `take_changes`."""
        return not self._changed and not self._cleared

    def has_entries(self) -> bool:
        """Return whether there is any entry."""
        return bool(self.entries)

    def forget(self) -> None:
        """Forget everything."""
        self.entries.clear()
        self._changed.clear()
        self._cleared.clear()

    def take_changes(self, section: Callable[..., Section]) -> Section:
        """Return the changes and forget that they were made."""
        keys, subkeys, values, coded = [], [], [], []
        removed, removed_subkeys = [], []
        for key, changed in self._changed.items():
            inner = self.entries.get(key, {})
            for subkey, data in changed.items():
                if subkey in inner:
                    keys.append(key)
                    subkeys.append(subkey)
                    values.append(inner[subkey])
                    coded.append(data)
                else:
                    removed.append(key)
                    removed_subkeys.append(subkey)
        cleared = list(self._cleared)
        self._changed.clear()
        self._cleared.clear()
        return section(keys, subkeys, values, removed, removed_subkeys, cleared, coded=coded)

    def all_entries(self, section: Callable[..., Section]) -> Section:
        """Return everything."""
        keys: list[Any] = []
        subkeys: list[Any] = []
        values: list[Any] = []
        for key, inner in self.entries.items():
            keys += [key] * len(inner)
            subkeys += inner
            values += inner.values()
        return section(keys, subkeys, values)

    def apply(self, section: Section, values: list[Any]) -> None:
        """Apply a section whose plain values mean `values`."""
        entries = self.entries
        for key in section.cleared:
            entries.pop(key, None)
        for key, subkey, value in zip(section.keys, section.subkeys or (), values, strict=True):
            inner = entries.get(key)
            if inner is None:
                entries[key] = {subkey: value}
            else:
                inner[subkey] = value
        for key, subkey in zip(section.removed, section.removed_subkeys or (), strict=True):
            inner = entries.get(key)
            if inner is not None:
                inner.pop(subkey, None)
                if not inner:
                    del entries[key]

    def map_values(self, change: Callable[[list[Any]], list[Any]]) -> None:
        """Replace all values; not a change of the state."""
        for inner in self.entries.values():
            inner.update(zip(list(inner), change(list(inner.values())), strict=True))
        self._changed = {key: dict.fromkeys(changed) for key, changed in self._changed.items()}

    def _touch(self, key: Any, subkey: Any, coded: bytes | None = None) -> None:
        changed = self._changed.get(key)
        if changed is None:
            self._changed[key] = {subkey: coded}
        else:
            changed[subkey] = coded


class HashTable:
    """One state of one operator.

    Attributes:
        schema: How values are held now.
        is_claimed: An operator has declared it; else the schema is the stored one.
    """

    def __init__(self, schema: StateSchema, deferred: DeferredGroups, *, is_claimed: bool) -> None:
        self.is_claimed = is_claimed
        self._deferred = deferred
        self._parts: dict[int, Any] = {}
        self._counts: dict[int, int] = {}
        self._count = 0
        self._make = HashNestedPart if schema.kind.is_nested else HashSinglePart
        self._use(schema)

    def __getitem__(self, key_group: int) -> Any:
        """Return the part of a key group, which restores the group."""
        part = self._parts.get(key_group)
        if part is None:
            part = self.quiet_part(key_group)
            self._deferred.restore(key_group)
        return part

    def quiet_part(self, key_group: int) -> Any:
        """Return the part of a key group as far as it was decoded."""
        part = self._parts.get(key_group)
        if part is None:
            part = self._parts[key_group] = self._make()
        return part

    def groups(self) -> list[int]:
        """Return the key groups that may have entries, ascending."""
        groups = {group for group, part in self._parts.items() if part.has_entries()}
        return sorted(groups.union(self._deferred.groups()))

    @property
    def key_count(self) -> int | None:
        """Return the keys with entries; None while a key group is deferred."""
        return None if self._deferred.groups() else self._count

    def count_keys(self, key_group: int) -> None:
        """Count the keys of a part anew, because it changed."""
        keys = len(self._parts[key_group].entries)
        self._count += keys - self._counts.get(key_group, 0)
        self._counts[key_group] = keys

    def parts(self) -> list[tuple[int, Any]]:
        """Return (key group, part) of all parts that were decoded."""
        return list(self._parts.items())

    def adopt(self, schema: StateSchema, change: Migration | None) -> None:
        """Hold values in the form of `schema` from now on."""
        # Coded bytes that may stay as they are can still mean rows with more columns.
        is_held_alike = schema.holds_plain == self.schema.holds_plain
        if change is not None or schema.form is StoredForm.CODED or not is_held_alike:
            codec, new = self.codec, held_codec(schema)

            def rich(values: list[Any]) -> list[Any]:
                stored = values if codec is None else codec.to_plain(values)
                changed = stored if change is None else change(stored)
                return changed if new is None else new.from_plain(changed)

            for part in self._parts.values():
                part.map_values(rich)
        self._use(schema)

    def section(
        self,
        state: str,
        keys: list[Any],
        subkeys: list[Any] | None,
        values: list[Any],
        *removals: Any,
        coded: list[bytes | None] | None = None,
    ) -> Section:
        """Return a section of entries of this table, with their values in stored form."""
        plain = stored_values(self.codec, values, coded)
        if self.schema.kind.is_nested and not removals:
            removals = ([], [])
        return Section(state, self.schema.text(), keys, subkeys, plain, *removals)

    def _use(self, schema: StateSchema) -> None:
        self.schema = schema
        self.codec: PlainCodec | None = held_codec(schema)
