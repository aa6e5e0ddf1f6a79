"""Bringing an LMDB copy to the head of the log, and reading from it there.

Only what the log has confirmed ever reaches a file, so a retry, a zombie or a killed process
finds nothing of a failed attempt in it. All that a micro-batch reads comes from one read
transaction that was found to be at the position the micro-batch started from.

Entries are applied in transactions of bounded size: the pages a transaction changes stay in
memory until it is committed. While there are several, the header has a `target`, or no position
in the case of a rebuild, so a copy left like that is continued or thrown away. To continue is
right because entries say what is, not what to add: applying some of them again changes nothing.

A copy that is built anew defers key groups (`deferred.py`). To restore one changes how the
file holds what it holds, not what that is, so the position stays, and it may be done whenever the
file is where the micro-batch began.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import lmdb

from penstock.errors import StateError
from penstock.failpoint import failpoint
from penstock.state.backends.base import CopyUse
from penstock.state.backends.lmdb.directory import CopyDirectory
from penstock.state.backends.lmdb.file import EMPTY, Header, LocalFile, Transaction
from penstock.state.backends.lmdb.writer import CodersOf, Declared, EntryWriter
from penstock.state.log.change_log import ChangeLog, Position

_ahead: dict[str, Position | None] = {}
"""Path of a copy to the position, beyond the log, at which this process last found it."""


def catch_up(
    directory: CopyDirectory, log: ChangeLog, coders_of: CodersOf, declared: Declared
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
        file, use = _advance(directory, log, wanted, coders_of, declared)
        return file, file.begin(), use


def rewrite(
    directory: CopyDirectory,
    file: LocalFile,
    header: Header,
    coders_of: CodersOf,
    step: Callable[[EntryWriter], bool],
) -> Transaction:
    """Change how a copy holds what it holds; return a read transaction that sees it.

    Raises:
        StateError: Another attempt has gone on with the copy, or the disk cannot be used.
        lmdb.CorruptedError: The copy is damaged.
    """
    is_done = False
    with directory.locked():
        while not is_done:
            with file.begin(write=True) as txn:
                if file.header(txn) != header:
                    raise StateError(
                        f"the local copy of state in {directory.path} is in use by a later attempt",
                        hint="Nothing needs to be done: what this attempt did does not count.",
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
    wanted: Position,
    coders_of: CodersOf,
    declared: Declared,
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
            _apply(file, log.blobs(missing), coders_of, during, final, None)
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
