"""Writes blobs into an LMDB copy within one write transaction, and brings a copy to the head of the log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import lmdb

from penstock.errors import StateError
from penstock.failpoint import failpoint
from penstock.state.backends.base import CopyUse
from penstock.state.backends.deferred_groups import may_defer
from penstock.state.backends.lmdb.deferred import DeferredBlobs, OperatorBlobs
from penstock.state.backends.lmdb.directory import CopyDirectory
from penstock.state.backends.lmdb.file import EMPTY, Header, LocalFile, Transaction
from penstock.state.backends.lmdb.format import (
    Catalog,
    address_of,
    entry_prefix,
    nested_prefix,
    pack_entry,
    pack_timer,
    timer_order,
)
from penstock.state.log.blob import Section, checked, decode_blob, key_group_of, operator_of
from penstock.state.log.change_log import ChangeLog, Position
from penstock.state.schema.entry_schema import BROADCAST_GROUP, StateKind, StateSchema
from penstock.state.schema.key_coder import Coders
from penstock.wire.canonical.key_bytes import encode_key

_ENTRIES_PER_TRANSACTION = 32_768
_BYTES_PER_TRANSACTION = 32 << 20

CodersOf = Callable[[str, StateSchema], Coders]
"""Operator and schema of a state to how its addresses are written."""

Declared = Callable[[str], Mapping[str, StateSchema]]
"""Operator to the states it has declared."""


class EntryWriter:
    """Writes blobs within one transaction, until it is large enough."""

    def __init__(
        self,
        file: LocalFile,
        txn: Transaction,
        coders_of: CodersOf,
        declared: Declared | None = None,
    ) -> None:
        """Begin."""
        self._file = file
        self._txn = txn
        self._coders_of = coders_of
        self._declared = declared
        self._catalog = Catalog(file.catalog_bytes(txn))
        self._deferred = DeferredBlobs(file.deferred_bytes(txn))
        self._n_entries = self._n_bytes = 0

    @property
    def is_full(self) -> bool:
        """True if the transaction is large enough."""
        return (
            self._n_entries >= _ENTRIES_PER_TRANSACTION or self._n_bytes >= _BYTES_PER_TRANSACTION
        )

    def finish(self) -> None:
        """Write the changes of the catalogue, and the list of deferred blobs."""
        if self._catalog.is_changed:
            self._file.write_catalog(self._txn, self._catalog)
        if self._deferred.is_changed:
            self._file.write_deferred(self._txn, self._deferred)

    def apply_some(self, blobs: Iterator[bytes]) -> tuple[Iterator[bytes], bool]:
        """Take blobs until the transaction is full; return those left and whether there are none."""
        for blob in blobs:
            if not self._take(blob):
                return chain([blob], blobs), False
            if self.is_full:
                return blobs, False
        return blobs, True

    def restore(self, operator: str, key_group: int) -> bool:
        """Apply what is deferred of a key group until the transaction is full; return whether all is."""
        operator_blobs = self._deferred.of(operator)
        if operator_blobs is None:
            return True
        for key in operator_blobs.keys(key_group):
            if self.is_full:
                return False
            blob = self._blob(operator_blobs, key_group, key)
            self._txn.delete(key, db=self._file.deferred)
            operator_blobs.drop_first(key_group)
            self._deferred.is_changed = True
            self._apply(operator, key_group, blob, decode_blob(blob))
        return True

    def declare(self, operator: str, declared: Mapping[str, StateSchema]) -> bool:
        """Restore the key groups of an operator that may not be deferred, now that more is declared.

        Return whether all are restored; if not, the transaction is full.
        """
        operator_blobs = self._deferred.of(operator)
        if operator_blobs is None:
            return True
        for key_group in list(operator_blobs.groups):
            blobs = (
                self._blob(operator_blobs, key_group, key) for key in operator_blobs.keys(key_group)
            )
            if not all(may_defer(blob, declared) for blob in blobs) and not self.restore(
                operator, key_group
            ):
                return False
        self._claim(operator_blobs, declared)
        return True

    def _take(self, blob: bytes) -> bool:
        """Apply a blob or defer it; False if others come first and there is no room."""
        operator, group = operator_of(blob), key_group_of(blob)
        if self._declared is not None and group != BROADCAST_GROUP:
            declared = self._declared(operator)
            if may_defer(checked(blob), declared):
                texts = {state: schema.text() for state, schema in declared.items()}
                own = self._deferred.to_add(operator, texts)
                self._claim(own, declared)
                self._txn.put(own.next_key(group), blob, db=self._file.deferred)
                self._n_entries += 1
                self._n_bytes += len(blob)
                return True
        sections = decode_blob(blob)
        kinds = {StateSchema.parse(section.schema).kind for section in sections}
        if kinds != {StateKind.TIMERS} and not self.restore(operator, group):
            return False
        self._apply(operator, group, blob, sections)
        return True

    def _claim(self, own: OperatorBlobs, declared: Mapping[str, StateSchema]) -> None:
        """Give states their place in the file, which they need before their entries have one."""
        for state, schema in declared.items():
            self._catalog.claim(own.operator, state, schema.text())
            own.declared[state] = schema.text()
        self._deferred.is_changed = True

    def _blob(self, own: OperatorBlobs, key_group: int, key: bytes) -> bytes:
        blob = self._txn.get(key, None, self._file.deferred)
        if blob is None or not own.is_intact(key_group, blob):
            raise lmdb.CorruptedError(f"blob {key.hex()} does not match its checksum or place")
        return blob

    def _apply(self, operator: str, group: int, blob: bytes, sections: list[Section]) -> None:
        self._n_bytes += len(blob)
        for section in sections:
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
            self._n_entries += len(section)

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
            has_entry = cursor.set_range(prefix)
            while has_entry and (raw := cursor.key()).startswith(prefix):
                delete(timer_order(table, raw[len(prefix) :], group, encoded), db=order)
                has_entry = cursor.next()
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


_ahead: dict[str, Position | None] = {}
"""Path of a copy to the position, beyond the log, at which this process last found it."""


def catch_up(
    directory: CopyDirectory, log: ChangeLog, coders_of: CodersOf, declared: Declared
) -> tuple[LocalFile, Transaction, CopyUse]:
    """Return a copy at the head of `log`, a read transaction on it, and its use."""
    head = log.position() or EMPTY
    file = directory.opened()
    if file is not None:
        txn = file.begin()
        if file.header(txn) == Header(directory.owner, head):
            return file, txn, CopyUse.HIT
        txn.abort()
    with directory.locked():
        file, use = _advance(directory, log, head, coders_of, declared)
        return file, file.begin(), use


def rewrite(
    directory: CopyDirectory,
    file: LocalFile,
    header: Header,
    coders_of: CodersOf,
    step: Callable[[EntryWriter], bool],
) -> Transaction:
    """Change how a copy holds what it holds; return a read transaction that sees it."""
    is_done = False
    with directory.locked():
        while not is_done:
            with file.begin(write=True) as txn:
                if file.header(txn) != header:
                    raise StateError(
                        f"the local copy of state in {directory.path} is in use by a later attempt",
                        hint="No action is needed: this attempt does not count.",
                    )
                try:
                    writer = EntryWriter(file, txn, coders_of)
                    is_done = step(writer)
                    writer.finish()
                except lmdb.CorruptedError:
                    raise
                except lmdb.Error as cause:
                    raise _full(directory, cause) from cause
                failpoint("lmdb-in-restore")
            file.settle()
        return file.begin()


def _advance(
    directory: CopyDirectory,
    log: ChangeLog,
    head: Position,
    coders_of: CodersOf,
    declared: Declared,
) -> tuple[LocalFile, CopyUse]:
    file, header = directory.obtain()
    position = header.position
    use = _worth(log, header)
    if position == head and header.target is None:
        return file, use
    final = Header(directory.owner, head)
    missing = log.missing_after(position)
    if missing is not None and _is_known(log, header.target):
        during = Header(directory.owner, position, head)
        try:
            _apply(file, log.blobs(missing), coders_of, during, final, None)
        except lmdb.Error:
            file, _ = directory.recreate()
            use = CopyUse.REBUILD
        else:
            return file, use
    elif _is_ahead(directory, header, head):
        # This attempt is a zombie: another one has gone on. It must not disturb that one.
        file = directory.private()
    elif position != EMPTY:
        file, _ = directory.recreate()
    try:
        _apply(file, log.all_blobs(), coders_of, Header(directory.owner, None), final, declared)
    except lmdb.Error as cause:
        raise _full(directory, cause) from cause
    return file, use


def _full(directory: CopyDirectory, cause: Exception) -> StateError:
    return StateError(
        f"the local copy of state in {directory.path} cannot be written: {cause}",
        hint="Make space on the executors' local disk, or set state.backend.type to hashmap.",
    )


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


def _is_ahead(directory: CopyDirectory, header: Header, head: Position) -> bool:
    """Return whether a copy is beyond the log, and was not so at the same place before.

    A copy in use does not stay where it is. One that does has been left behind by a job that
    began anew under the same name, and is thrown away.
    """
    position = header.target or header.position
    is_beyond = position is not None and position[0] > head[0]
    path = str(directory.path)
    known = _ahead.pop(path, None)
    if is_beyond and known != position:
        _ahead[path] = position
        return True
    return False


def _apply(
    file: LocalFile,
    blobs: Iterable[bytes],
    coders_of: CodersOf,
    during: Header,
    final: Header,
    declared: Declared | None,
) -> None:
    """Apply blobs, or defer them if the file is new and it is known what is declared.

    The last transaction, often the only one, writes `final`.
    """
    file.free_dead_readers()
    left = iter(blobs)
    is_last = False
    while not is_last:
        with file.begin(write=True) as txn:
            writer = EntryWriter(file, txn, coders_of, declared)
            left, is_last = writer.apply_some(left)
            writer.finish()
            failpoint("lmdb-in-transaction")
            file.write_header(txn, final if is_last else during)
        file.settle()
        if not is_last:
            failpoint("lmdb-between-transactions")
