"""Bringing an LMDB copy to the head of the log, and reading from it there.

Only what the log has confirmed ever reaches a file, so a retry, a zombie or a killed process
finds nothing of a failed attempt in it. All that a micro-batch reads comes from one read
transaction that was found to be at the position the micro-batch started from.

Entries are applied in transactions of bounded size: the pages a transaction changes stay in
memory until it is committed. While there are several, the header has a `target`, or no position
in the case of a rebuild, so a copy left like that is continued or thrown away. To continue is
right because entries say what is, not what to add: applying some of them again changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import lmdb

from penstock.errors import StateError
from penstock.failpoint import failpoint
from penstock.serde.key_bytes import encode_key
from penstock.state.backend import CopyUse
from penstock.state.blob import Section, decode_blob, key_group_of, operator_of
from penstock.state.change_log import ChangeLog, Position
from penstock.state.key_coder import Coders
from penstock.state.lmdb_directory import CopyDirectory
from penstock.state.lmdb_file import EMPTY, Header, LocalFile, Transaction
from penstock.state.lmdb_format import (
    Catalog,
    address_of,
    entry_prefix,
    nested_prefix,
    pack_entry,
    pack_timer,
    timer_order,
)
from penstock.state.schema import StateKind, StateSchema

CodersOf = Callable[[str, StateSchema], Coders]
"""Operator and schema of a state to how its addresses are written."""

_ENTRIES_PER_TRANSACTION = 32_768
_BYTES_PER_TRANSACTION = 32 << 20

_ahead: dict[str, Position | None] = {}
"""Path of a copy to the position, beyond the log, at which this process last found it."""


def catch_up(
    directory: CopyDirectory, log: ChangeLog, coders_of: CodersOf
) -> tuple[LocalFile, Transaction, CopyUse]:
    """Return a copy at the head of `log`, a read transaction on it, and what it was worth.

    Raises:
        StateError: The log is damaged, or the disk cannot be used.
    """
    wanted = log.position() or EMPTY
    file = directory.opened()
    if file is not None:
        txn = file.begin()
        if file.header(txn) == Header(directory.owner, wanted):
            return file, txn, CopyUse.HIT
        txn.abort()
    with directory.locked():
        file, use = _advance(directory, log, wanted, coders_of)
        return file, file.begin(), use


def _advance(
    directory: CopyDirectory, log: ChangeLog, wanted: Position, coders_of: CodersOf
) -> tuple[LocalFile, CopyUse]:
    file, header = directory.obtain()
    position = header.position
    use = _worth(log, header)
    if position == wanted and header.target is None:
        return file, use
    final = Header(directory.owner, wanted)
    missing = log.missing_after(position)
    if missing is not None and _is_known(log, header.target):
        during = Header(directory.owner, position, wanted)
        try:
            _apply(file, log.blobs(missing), coders_of, during, final)
        except lmdb.Error:
            file, _ = directory.recreate()
            use = CopyUse.REBUILD
        else:
            return file, use
    elif _is_ahead(directory, header, wanted):
        # This attempt is a zombie: another one has gone on. It must not disturb that one.
        file = directory.private()
    elif position != EMPTY:
        file, _ = directory.recreate()
    try:
        _apply(file, log.all_blobs(), coders_of, Header(directory.owner, None), final)
    except lmdb.Error as cause:
        raise StateError(
            f"the local copy of state in {directory.path} cannot be written: {cause}",
            hint="Make space on the executors' local disk, or set state.backend.type to hashmap.",
        ) from cause
    return file, use


def _worth(log: ChangeLog, header: Header) -> CopyUse:
    position = header.position
    if log.is_new or log.is_close(position):
        return CopyUse.HIT
    if position == EMPTY and len(log.head.recent) == 1:
        return CopyUse.HIT
    return CopyUse.REBUILD if log.missing_after(position) is None else CopyUse.CATCH_UP


def _is_known(log: ChangeLog, target: Position | None) -> bool:
    """Return whether the entries someone began to apply are those of this log."""
    return target is None or log.missing_after(target) is not None


def _is_ahead(directory: CopyDirectory, header: Header, wanted: Position) -> bool:
    """Return whether a copy is beyond the log, and was not so at the same place before.

    A copy in use does not stay where it is. One that does has been left behind by a job that
    began anew under the same name, and is thrown away.
    """
    found = header.target or header.position
    is_beyond = found is not None and found[0] > wanted[0]
    path = str(directory.path)
    known = _ahead.pop(path, None)
    if is_beyond and known != found:
        _ahead[path] = found
        return True
    return False


def _apply(
    file: LocalFile,
    blobs: Iterable[bytes],
    coders_of: CodersOf,
    during: Header,
    final: Header,
) -> None:
    """Apply blobs; the last transaction, often the only one, writes `final`."""
    file.free_dead_readers()
    left = iter(blobs)
    is_last = False
    while not is_last:
        with file.begin(write=True) as txn:
            writer = EntryWriter(file, txn, coders_of)
            is_last = writer.apply_some(left)
            writer.finish()
            failpoint("lmdb-in-transaction")
            file.write_header(txn, final if is_last else during)
        file.settle()
        if not is_last:
            failpoint("lmdb-between-transactions")


class EntryWriter:
    """Applies blobs within one write transaction."""

    def __init__(self, file: LocalFile, txn: Transaction, coders_of: CodersOf) -> None:
        self._file = file
        self._coders_of = coders_of
        self._txn = txn
        self._catalog = Catalog(file.catalog_bytes(txn))

    def apply_some(self, blobs: Iterator[bytes]) -> bool:
        """Apply blobs until the transaction is large enough; return whether these were all."""
        n_entries = n_bytes = 0
        for blob in blobs:
            n_entries += self.apply(blob)
            n_bytes += len(blob)
            if n_entries >= _ENTRIES_PER_TRANSACTION or n_bytes >= _BYTES_PER_TRANSACTION:
                return False
        return True

    def finish(self) -> None:
        """Write what was learned about tables."""
        if self._catalog.is_changed:
            self._file.write_catalog(self._txn, self._catalog)

    def apply(self, blob: bytes) -> int:
        """Apply one blob and return how many entries it changed.

        Raises:
            StateError: The blob is damaged.
        """
        operator, group = operator_of(blob), key_group_of(blob)
        n_entries = 0
        for section in decode_blob(blob):
            table, number = self._catalog.claim(operator, section.state, section.schema)
            schema = StateSchema.parse(section.schema)
            coders = self._coders_of(operator, schema)
            if schema.kind is StateKind.TIMERS:
                self._apply_timers(group, table, section, coders)
            self._clear(group, table, section, coders)
            if schema.kind.is_nested:
                self._apply_nested(entry_prefix(group, table), number, section, coders)
            else:
                self._apply_single(entry_prefix(group, table), number, section, coders)
            n_entries += len(section)
        return n_entries

    def _apply_single(self, prefix: bytes, number: int, section: Section, coders: Coders) -> None:
        rows = []
        encode, is_decodable = coders.keys.encode, coders.keys.is_decodable
        for key, value in zip(section.keys, section.values, strict=True):
            encoded = encode(key)
            address = None if is_decodable(key, encoded) else (key, None)
            raw = prefix + encoded
            rows.append((raw, pack_entry(raw, number, value, address)))
        self._put(rows, self._file.entries)
        delete = self._txn.delete
        for key in section.removed:
            delete(prefix + encode(key))

    def _apply_nested(self, prefix: bytes, number: int, section: Section, coders: Coders) -> None:
        rows = []
        subkeys = section.subkeys or ()
        for key, subkey, value in zip(section.keys, subkeys, section.values, strict=True):
            raw, address = address_of(prefix, key, subkey, coders, is_nested=True)
            rows.append((raw, pack_entry(raw, number, value, address)))
        self._put(rows, self._file.entries)
        delete = self._txn.delete
        for key, subkey in zip(section.removed, section.removed_subkeys or (), strict=True):
            raw, _ = address_of(prefix, key, subkey, coders, is_nested=True)
            delete(raw)

    def _clear(self, group: int, table: int, section: Section, coders: Coders) -> None:
        cursor = self._txn.cursor()
        for key in section.cleared:
            prefix = nested_prefix(entry_prefix(group, table), coders.keys.encode(key))
            if cursor.set_range(prefix):
                while cursor.key().startswith(prefix) and cursor.delete():
                    pass
        cursor.close()

    def _apply_timers(self, group: int, table: int, section: Section, coders: Coders) -> None:
        """Keep the order of timers; called before the entries themselves change."""
        order = self._file.timers
        encode = coders.keys.encode
        delete = self._txn.delete
        cursor = self._txn.cursor()
        for key in section.cleared:
            encoded = encode(key)
            prefix = nested_prefix(entry_prefix(group, table), encoded)
            found = cursor.set_range(prefix)
            while found and (raw := cursor.key()).startswith(prefix):
                delete(timer_order(table, raw[len(prefix) :], group, encoded), db=order)
                found = cursor.next()
        cursor.close()
        rows = []
        for key, time in zip(section.keys, section.subkeys or (), strict=True):
            encoded = encode(key)
            raw = timer_order(table, encode_key(time), group, encoded)
            rows.append((raw, pack_timer(raw, key, encoded, coders.keys)))
        self._put(rows, order)
        for key, time in zip(section.removed, section.removed_subkeys or (), strict=True):
            delete(timer_order(table, encode_key(time), group, encode(key)), db=order)

    def _put(self, rows: list[tuple[bytes, bytes]], database: Any) -> None:
        # In order: neighbours share pages, and only the pages of one transaction are in memory.
        rows.sort()
        with self._txn.cursor(database) as cursor:
            cursor.putmulti(rows)
