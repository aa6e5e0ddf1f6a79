"""The hash-map backend: keyed state as Python objects in dictionaries.

One `KeyedStore` holds the state of one subtask (live run) or of one key group (batch run). A
table is one named state of one operator. Handles given to users write through tables, and a
table remembers which keys changed, so that a micro-batch costs in proportion to the keys it
touched and not to the state.

A value read is the object itself, not a copy. Changing it in place without `update` is not
recorded and is lost at the next restart, as in PyFlink.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.state.blob import Section, decode_blob, encode_blob

_ENTRIES_PER_BLOB = 50_000


class StateTable:
    """Entries of one state of one operator.

    Attributes:
        entries: Key to value. Writers must also record the key in `changed`.
        changed: Keys written or removed since the last drain.
    """

    __slots__ = ("changed", "entries")

    def __init__(self) -> None:
        self.entries: dict[Any, Any] = {}
        self.changed: set[Any] = set()


class KeyedStore:
    """All tables of one subtask or key group."""

    def __init__(self) -> None:
        self._tables: dict[tuple[str, str], StateTable] = {}

    def table(self, operator: str, state: str) -> StateTable:
        """Return the table of one state, made empty at first use.

        The same object for the life of the store: `clear` and `load` change it in place.
        """
        found = self._tables.get((operator, state))
        if found is None:
            found = self._tables[operator, state] = StateTable()
        return found

    def clear(self) -> None:
        """Forget everything; tables stay valid."""
        for table in self._tables.values():
            table.entries.clear()
            table.changed.clear()

    def load(self, blob: bytes) -> None:
        """Apply one blob. Blobs must come in the order they were written.

        Raises:
            StateError: The blob is damaged.
        """
        _, sections = decode_blob(blob)
        for section in sections:
            entries = self.table(section.operator, section.state).entries
            entries.update(section.entries)
            for key in section.removed:
                entries.pop(key, None)

    def drain(self, key_group: Callable[[Any], int]) -> list[bytes]:
        """Return the changes since the last drain, one blob per touched key group."""
        sections: dict[int, list[Section]] = defaultdict(list)
        for (operator, state), table in self._tables.items():
            if not table.changed:
                continue
            groups: dict[int, Section] = {}
            entries = table.entries
            for key in table.changed:
                group = key_group(key)
                section = groups.get(group)
                if section is None:
                    section = groups[group] = Section(operator, state, {}, [])
                if key in entries:
                    section.entries[key] = entries[key]
                else:
                    section.removed.append(key)
            table.changed.clear()
            for group, section in groups.items():
                sections[group].append(section)
        return [encode_blob(group, sections[group]) for group in sorted(sections)]

    def snapshot(self, key_group: Callable[[Any], int]) -> Iterator[bytes]:
        """Yield everything as blobs of bounded size."""
        for (operator, state), table in self._tables.items():
            groups: dict[int, dict[Any, Any]] = defaultdict(dict)
            for key, value in table.entries.items():
                groups[key_group(key)][key] = value
            for group in sorted(groups):
                for part in _parts(groups[group]):
                    yield encode_blob(group, [Section(operator, state, part, [])])


def _parts(entries: dict[Any, Any]) -> Iterable[dict[Any, Any]]:
    if len(entries) <= _ENTRIES_PER_BLOB:
        return (entries,)
    items = list(entries.items())
    return (
        dict(items[at : at + _ENTRIES_PER_BLOB]) for at in range(0, len(items), _ENTRIES_PER_BLOB)
    )
