"""What one micro-batch sees of an LMDB copy: one read transaction, whatever others do.

Entries and timers have checksums over key and value, but a damaged key is not found in the first
place, and a damaged inner page leads past it. So where an entry is not found its neighbours are
looked at: keys must ascend there, and be what was written. A key that was damaged is itself one
of the neighbours of where it should be; next to a wrong turn the order is broken. What is left is
a page whose own count of entries is damaged so that its last ones are never seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NoReturn

import lmdb

from penstock.errors import StateError
from penstock.state.lmdb_directory import CopyDirectory
from penstock.state.lmdb_file import LocalFile, Transaction
from penstock.state.lmdb_format import (
    Catalog,
    behind,
    entry_prefix,
    group_prefix,
    is_intact,
    is_timer_intact,
    place_of,
    timers_prefix,
)

Stored = tuple[bytes, bytes]
"""Key and value of an entry in the database."""

Intact = Callable[[bytes, bytes], bool]
"""Whether key and value are what was written."""


class View:
    """A read transaction on a copy.

    Attributes:
        catalog: The tables of the copy.
        get: Returns the stored value of an entry, None if there is none.
    """

    def __init__(self, directory: CopyDirectory, file: LocalFile, txn: Transaction) -> None:
        self._directory = directory
        self._file = file
        self._txn = txn
        self.get: Callable[[bytes], bytes | None] = txn.get
        self.catalog = Catalog(file.catalog_bytes(txn))
        self._probe = txn.cursor()

    def close(self) -> None:
        """End the transaction, so that the pages it saw can be used again."""
        self._txn.abort()

    def scan(self, prefix: bytes) -> Iterator[Stored]:
        """Yield all entries that begin with `prefix`, in order, intact.

        Raises:
            StateError: The copy is damaged.
        """
        return self._range(prefix, self._file.entries, is_intact)

    def timers(self, table: int) -> Iterator[Stored]:
        """Yield the timers of a table in their order.

        Raises:
            StateError: The copy is damaged.
        """
        return self._range(timers_prefix(table), self._file.timers, is_timer_intact)

    def groups(self) -> Iterator[int]:
        """Yield the key groups that have entries, ascending; one step per group."""
        return (place_of(raw)[0] for raw in self.first_of_each(b"", len(group_prefix(0))))

    def groups_of(self, table: int) -> list[int]:
        """Return the key groups in which a table has entries, ascending."""
        found = []
        for group in self.groups():
            prefix = entry_prefix(group, table)
            if next(self.scan(prefix), None) is not None:
                found.append(group)
        return found

    def first_of_each(self, prefix: bytes, size: int | Callable[[bytes], int]) -> Iterator[bytes]:
        """Yield the first of the entries that share their first bytes, without reading the rest.

        Args:
            prefix: What they all begin with.
            size: How many bytes make entries alike; may depend on the entry.

        Raises:
            StateError: The copy is damaged.
        """
        start: bytes | None = prefix
        try:
            with self._txn.cursor() as cursor:
                while start is not None and self._seek(cursor, start, is_intact):
                    raw = cursor.key()
                    if not raw.startswith(prefix):
                        return
                    yield raw
                    start = behind(raw[: size if isinstance(size, int) else size(raw)])
        except lmdb.Error as cause:
            self.damaged(str(cause))

    def check_absent(self, raw: bytes) -> None:
        """Make sure that an entry that was not found is not there.

        Raises:
            StateError: The copy is damaged.
        """
        try:
            if self._seek(self._probe, raw, is_intact) and self._probe.key() == raw:
                self.damaged(f"entry {raw.hex()} is only found from beside it")
        except lmdb.Error as cause:
            self.damaged(str(cause))

    def damaged(self, reason: str) -> NoReturn:
        """Throw the copy away and raise.

        Raises:
            StateError: Always.
        """
        with self._directory.locked():
            self._directory.remove()
        raise StateError(
            f"the local copy of state in {self._directory.path} is damaged: {reason}",
            hint="Nothing needs to be done: it was thrown away and the next attempt builds it "
            "again from the log. If it happens again, check the disk.",
        )

    def _range(self, prefix: bytes, database: object, intact: Intact) -> Iterator[Stored]:
        try:
            with self._txn.cursor(database) as cursor:  # type: ignore[arg-type]
                if not self._seek(cursor, prefix, intact):
                    return
                last = b""
                for raw, stored in cursor.iternext():
                    if raw <= last or not intact(raw, stored):
                        self.damaged(f"entry {raw.hex()} does not match its checksum or place")
                    if not raw.startswith(prefix):
                        return
                    last = raw
                    yield raw, stored
        except lmdb.Error as cause:
            self.damaged(str(cause))

    def _seek(self, cursor: lmdb.Cursor[bytes], start: bytes, intact: Intact) -> bool:
        """Go to the first entry from `start` on; return whether there is one."""
        found = cursor.set_range(start)
        if found:
            raw, stored = cursor.item()
            if raw < start or not intact(raw, stored):
                self.damaged(f"entry {raw.hex()} does not match its checksum or place")
        if cursor.prev() if found else cursor.last():
            raw, stored = cursor.item()
            if raw >= start or not intact(raw, stored):
                self.damaged(f"entry {raw.hex()} does not match its checksum or place")
            if found:
                cursor.next()
        elif found:
            cursor.first()
        return found
