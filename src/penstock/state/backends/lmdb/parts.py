"""Parts of the LMDB backend: what a micro-batch reads and changes of one state and key group.

A part remembers in memory what the micro-batch read or wrote, including that there is no value:
one object per entry, as in the hash-map backend. At the end of the micro-batch all of it goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from penstock.state.backends.base import ABSENT
from penstock.state.backends.lmdb.format import nested_prefix
from penstock.state.schema.key_coder import Coders


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
        coded: Of nested kinds, per value its coded bytes where they are known.
    """

    keys: list[Any] = field(default_factory=list)
    subkeys: list[Any] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    coded: list[bytes | None] = field(default_factory=list)
    removed: list[Any] = field(default_factory=list)
    removed_subkeys: list[Any] = field(default_factory=list)
    cleared: list[Any] = field(default_factory=list)


class _Fetched(dict[Any, Any]):
    """Key to value or `ABSENT`, fetched when first asked for."""

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
        changed: Subkeys written or removed, with the coded bytes of what was written if known.
        is_whole: Nothing that is not here is stored.
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
    """Entries by key and subkey; each is read when it is asked for."""

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
        """Set one value; `coded` as `NestedPart.put` says."""
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
        found = [subkey for subkey, value in inner.items() if value is not ABSENT]
        if not inner.is_whole:
            addresses = self._source.addresses(inner.prefix)
            found += [subkey for _, subkey in addresses if subkey not in inner]
        return found

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

    def knows(self, key: Any, subkey: Any) -> bool:
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
