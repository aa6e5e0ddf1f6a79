"""View of one micro-batch of an LMDB copy: one read transaction, whatever others do.

Restoring a deferred key group goes on to a later transaction, in which the file holds the same in
another way. Values that were read, or are being read, from an earlier one stay right.

Entries and timers have checksums over key and value, but a damaged key is not found in the first
place, and a damaged inner page leads past it. So where an entry is not found its neighbours are
looked at: keys must ascend there, and be what was written. A key that was damaged is itself one
of the neighbours of where it should be; next to a wrong turn the order is broken. It does not find
a page whose own count of entries is damaged so that its last ones are never seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NoReturn

import lmdb

from penstock.errors import StateError
from penstock.state.backends.lmdb.deferred import DeferredBlobs
from penstock.state.backends.lmdb.directory import CopyDirectory
from penstock.state.backends.lmdb.file import LocalFile, Transaction
from penstock.state.backends.lmdb.format import (
    Catalog,
    behind,
    entry_prefix,
    group_prefix,
    is_intact,
    is_timer_intact,
    place_of,
    timers_prefix,
)
from penstock.state.backends.lmdb.writer import CodersOf, EntryWriter, rewrite
from penstock.state.schema.entry_schema import StateSchema

Stored = tuple[bytes, bytes]
"""Key and value of an entry in the database."""

Intact = Callable[[bytes, bytes], bool]
"""True if key and value are what was written."""


class View:
    """A state of a copy.

    Attributes:
        get: Returns the stored value of an entry, None if there is none; another one behind `restore`
            and `declare`, which do nothing if the view is settled.
        is_settled: No blob is deferred.
    """

    def __init__(
        self, directory: CopyDirectory, file: LocalFile, txn: Transaction, coders_of: CodersOf
    ) -> None:
        self._directory = directory
        self._coders_of = coders_of
        self._file = file
        self._txn = txn
        header = file.header(txn)
        assert header is not None, "a copy was found to be where the micro-batch begins"
        self._header = header
        self._first = txn
        self._prefixes: dict[str, set[bytes]] = {}
        self._see(txn)
        self.is_settled = not any(self._prefixes.values())

    def close(self) -> None:
        """End the transactions, so that the pages they saw can be used again."""
        self._txn.abort()
        self._first.abort()

    def deferred_prefixes(self, operator: str) -> set[bytes]:
        """Return `group_prefix` of an operator's deferred key groups; it follows `restore`."""
        return self._prefixes.setdefault(operator, set())

    def deferred_groups(self) -> set[int]:
        """Return the key groups of which something is deferred."""
        return {group for one in self._deferred.all() for group in one.groups}

    def deferred_blobs(self, key_group: int) -> Iterator[bytes]:
        """Yield the blobs of a key group that are still to be applied, in order."""
        for one in self._deferred.all():
            for key in one.keys(key_group):
                blob = self._txn.get(key, None, self._file.deferred)
                if blob is None or not one.is_intact(key_group, blob):
                    self.damaged(f"blob {key.hex()} does not match its checksum or place")
                yield blob

    def restore(self, operator: str, key_group: int) -> None:
        """Apply what is deferred of a key group, before anything of it is read."""
        self._rewrite(lambda writer: writer.restore(operator, key_group))

    def declare(self, operator: str, declared: Mapping[str, StateSchema]) -> None:
        """Restore what may not be deferred: it has entries of these states under other schemas."""
        blobs = self._deferred.of(operator)
        if blobs is None:
            return
        texts = {state: schema.text() for state, schema in declared.items()}
        if not texts.items() <= blobs.declared.items():
            self._rewrite(lambda writer: writer.declare(operator, declared))

    def scan(self, prefix: bytes) -> Iterator[Stored]:
        """Yield all entries that begin with `prefix`, in order, intact."""
        return self._range(prefix, self._file.entries, is_intact)

    def timers(self, table: int) -> Iterator[Stored]:
        """Yield the timers of a table in their order."""
        return self._range(timers_prefix(table), self._file.timers, is_timer_intact)

    def groups(self) -> Iterator[int]:
        """Yield the key groups that have entries, ascending; one step per group."""
        return (place_of(raw)[0] for raw in self.first_of_each(b"", len(group_prefix(0))))

    def groups_of(self, table: int) -> list[int]:
        """Return the key groups in which a table has entries, ascending."""
        groups = []
        for group in self.groups():
            prefix = entry_prefix(group, table)
            if next(self.scan(prefix), None) is not None:
                groups.append(group)
        return groups

    def first_of_each(self, prefix: bytes, size: int | Callable[[bytes], int]) -> Iterator[bytes]:
        """Yield the first of the entries that share their first bytes, without reading the rest."""
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
        """Make sure that an entry that was not found is not there."""
        try:
            if self._seek(self._probe, raw, is_intact) and self._probe.key() == raw:
                self.damaged(f"entry {raw.hex()} is only found from beside it")
        except lmdb.Error as cause:
            self.damaged(str(cause))

    def damaged(self, reason: str) -> NoReturn:
        """Throw the copy away and raise."""
        with self._directory.locked():
            self._directory.remove()
        raise StateError(
            f"the local copy of state in {self._directory.path} is damaged: {reason}",
            hint="No action is needed: it was thrown away and the next attempt builds it "
            "again from the log. If it happens again, check the disk.",
        )

    def _rewrite(self, step: Callable[[EntryWriter], bool]) -> None:
        try:
            txn = rewrite(self._directory, self._file, self._header, self._coders_of, step)
        except lmdb.CorruptedError as cause:
            self.damaged(str(cause))
        before, self._txn = self._txn, txn
        if before is not self._first:  # iterators and tables may still read from the first
            before.abort()
        self._see(txn)

    def _see(self, txn: Transaction) -> None:
        self.get: Callable[[bytes], bytes | None] = txn.get
        self.catalog = Catalog(self._file.catalog_bytes(txn))
        self._probe = txn.cursor()
        try:
            self._deferred = DeferredBlobs(self._file.deferred_bytes(txn))
        except ValueError as cause:
            self.damaged(str(cause))
        for operator in self._prefixes:
            self._prefixes[operator].clear()
        for one in self._deferred.all():
            self.deferred_prefixes(one.operator).update(map(group_prefix, one.groups))

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
        has_entry = cursor.set_range(start)
        if has_entry:
            raw, stored = cursor.item()
            if raw < start or not intact(raw, stored):
                self.damaged(f"entry {raw.hex()} does not match its checksum or place")
        if cursor.prev() if has_entry else cursor.last():
            raw, stored = cursor.item()
            if raw >= start or not intact(raw, stored):
                self.damaged(f"entry {raw.hex()} does not match its checksum or place")
            if has_entry:
                cursor.next()
        elif has_entry:
            cursor.first()
        return has_entry
