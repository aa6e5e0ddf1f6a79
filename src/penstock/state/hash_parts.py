"""Parts and tables of the hash-map backend: the entries of one state, by key group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.state.blob import Section
from penstock.state.evolution import Migration
from penstock.state.schema import StateSchema
from penstock.state.stored_form import stored_codec
from penstock.types.plain import PlainCodec


class HashSinglePart:
    """One value per key. `get` is the dictionary's own."""

    __slots__ = ("_entries", "changed", "get")

    def __init__(self) -> None:
        self._entries: dict[Any, Any] = {}
        self.changed: set[Any] = set()
        self.get = self._entries.get

    def put(self, key: Any, value: Any) -> None:
        """Set the value of `key`."""
        self._entries[key] = value
        self.changed.add(key)

    def remove(self, key: Any) -> None:
        """Remove the value of `key`, if there is one."""
        if key in self._entries:
            del self._entries[key]
            self.changed.add(key)

    def keys(self) -> list[Any]:
        """Return all keys."""
        return list(self._entries)

    def is_clean(self) -> bool:
        """Return whether nothing changed since the last `take_changes`."""
        return not self.changed

    def has_entries(self) -> bool:
        """Return whether there is any entry."""
        return bool(self._entries)

    def forget(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self.changed.clear()

    def take_changes(self, section: Callable[..., Section]) -> Section:
        """Return the changes and forget that they were made."""
        entries = self._entries
        keys = [key for key in self.changed if key in entries]
        removed = [key for key in self.changed if key not in entries]
        self.changed.clear()
        return section(keys, None, [entries[key] for key in keys], removed)

    def all_entries(self, section: Callable[..., Section]) -> Section:
        """Return everything."""
        return section(list(self._entries), None, list(self._entries.values()))

    def apply(self, section: Section, values: list[Any]) -> None:
        """Apply a section whose plain values mean `values`."""
        self._entries.update(zip(section.keys, values, strict=True))
        for key in section.removed:
            self._entries.pop(key, None)

    def map_values(self, change: Callable[[list[Any]], list[Any]]) -> None:
        """Replace all values; not a change of the state."""
        entries = self._entries
        entries.update(zip(list(entries), change(list(entries.values())), strict=True))


class HashNestedPart:
    """Entries by key and subkey."""

    __slots__ = ("_changed", "_cleared", "_entries")

    def __init__(self) -> None:
        self._entries: dict[Any, dict[Any, Any]] = {}
        self._changed: dict[Any, set[Any]] = {}
        self._cleared: set[Any] = set()

    def get(self, key: Any, subkey: Any, default: Any = None) -> Any:
        """Return one value."""
        inner = self._entries.get(key)
        return default if inner is None else inner.get(subkey, default)

    def put(self, key: Any, subkey: Any, value: Any) -> None:
        """Set one value."""
        inner = self._entries.get(key)
        if inner is None:
            inner = self._entries[key] = {}
        inner[subkey] = value
        self._touch(key, subkey)

    def remove(self, key: Any, subkey: Any) -> None:
        """Remove one value, if it is there."""
        inner = self._entries.get(key)
        if inner is not None and subkey in inner:
            del inner[subkey]
            if not inner:
                del self._entries[key]
            self._touch(key, subkey)

    def clear(self, key: Any) -> None:
        """Remove all entries of `key`."""
        if self._entries.pop(key, None) is not None:
            self._cleared.add(key)
            self._changed.pop(key, None)

    def items(self, key: Any) -> list[tuple[Any, Any]]:
        """Return (subkey, value) of all entries of `key`."""
        inner = self._entries.get(key)
        return [] if inner is None else list(inner.items())

    def subkeys(self, key: Any) -> list[Any]:
        """Return the subkeys of `key`."""
        return list(self._entries.get(key, ()))

    def is_empty(self, key: Any) -> bool:
        """Return whether `key` has no entries."""
        return key not in self._entries

    def keys(self) -> list[Any]:
        """Return all keys that have entries."""
        return list(self._entries)

    def is_clean(self) -> bool:
        """Return whether nothing changed since the last `take_changes`."""
        return not self._changed and not self._cleared

    def has_entries(self) -> bool:
        """Return whether there is any entry."""
        return bool(self._entries)

    def forget(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self._changed.clear()
        self._cleared.clear()

    def take_changes(self, section: Callable[..., Section]) -> Section:
        """Return the changes and forget that they were made."""
        keys, subkeys, values = [], [], []
        removed, removed_subkeys = [], []
        for key, changed in self._changed.items():
            inner = self._entries.get(key, {})
            for subkey in changed:
                if subkey in inner:
                    keys.append(key)
                    subkeys.append(subkey)
                    values.append(inner[subkey])
                else:
                    removed.append(key)
                    removed_subkeys.append(subkey)
        cleared = list(self._cleared)
        self._changed.clear()
        self._cleared.clear()
        return section(keys, subkeys, values, removed, removed_subkeys, cleared)

    def all_entries(self, section: Callable[..., Section]) -> Section:
        """Return everything."""
        keys: list[Any] = []
        subkeys: list[Any] = []
        values: list[Any] = []
        for key, inner in self._entries.items():
            keys += [key] * len(inner)
            subkeys += inner
            values += inner.values()
        return section(keys, subkeys, values)

    def apply(self, section: Section, values: list[Any]) -> None:
        """Apply a section whose plain values mean `values`."""
        entries = self._entries
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
        for inner in self._entries.values():
            inner.update(zip(list(inner), change(list(inner.values())), strict=True))

    def _touch(self, key: Any, subkey: Any) -> None:
        changed = self._changed.get(key)
        if changed is None:
            self._changed[key] = {subkey}
        else:
            changed.add(subkey)


class HashTable:
    """One state of one operator.

    Attributes:
        schema: How values are held now.
        is_claimed: An operator asked for it; else the schema is the stored one.
    """

    def __init__(self, schema: StateSchema, *, is_claimed: bool) -> None:
        self.is_claimed = is_claimed
        self._parts: dict[int, Any] = {}
        self._make = HashNestedPart if schema.kind.is_nested else HashSinglePart
        self._use(schema)

    def __getitem__(self, key_group: int) -> Any:
        """Return the part of a key group."""
        part = self._parts.get(key_group)
        if part is None:
            part = self._parts[key_group] = self._make()
        return part

    def groups(self) -> list[int]:
        """Return the key groups that have entries, ascending."""
        return sorted(group for group, part in self._parts.items() if part.has_entries())

    def parts(self) -> list[tuple[int, Any]]:
        """Return (key group, part) of all parts."""
        return list(self._parts.items())

    def adopt(self, schema: StateSchema, change: Migration | None) -> None:
        """Hold values as `schema` says from now on."""
        if change is not None:
            codec, new = self.codec, stored_codec(schema)

            def rich(values: list[Any]) -> list[Any]:
                plain = change(values if codec is None else codec.to_plain(values))
                return plain if new is None else new.from_plain(plain)

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
    ) -> Section:
        """Return a section of entries of this table, with their values in plain form."""
        plain = values if self.codec is None else self.codec.to_plain(values)
        if self.schema.kind.is_nested and not removals:
            removals = ([], [])
        return Section(state, self.schema.text(), keys, subkeys, plain, *removals)

    def _use(self, schema: StateSchema) -> None:
        self.schema = schema
        self.codec: PlainCodec | None = stored_codec(schema)
