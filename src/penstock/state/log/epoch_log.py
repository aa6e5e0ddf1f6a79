r"""The epoch records of a live run, as its driver reads and puts them, and the mark of the last settled epoch.

    records/000000000012     the changes of epoch 12, and the entries of small changes
    segments/2-5-<hex>       entries of a large change of level 2, subtask 5
    segments/merged-<hex>    entries of several logs that were in records
    …/.<name>.tmp            incomplete files

An epoch whose record exists is committed; an epoch without a record never happened. The newest base and all
records after it describe the logs. A record is put exclusively: if two drivers put the same epoch, one of
them fails, changes nothing, and opens the log again.

A file is removed only after a base is durable that does not need it, and only by its name: an unknown file
may be the segment of a task of the driver that comes after this one. For the same reason an unneeded file that
`open` finds is removed only when a record of this driver is durable. Until then an older driver might put a
record that names it; from then on it can not.

An epoch is settled if all work that its record requires is done. A record is the commit of an epoch, but that
work follows it: sinks commit, a hand-over is recorded, a savepoint completed. While the job runs,
or starts again, its driver does that. A savepoint of a job that is not running, which continues without the job,
needs the mark:

    settled     "000000000012 5f2b8c01\n": number of the epoch, CRC-32 of it

The driver writes it after every epoch, in place and without a sync, in a few microseconds; in a store that is one
put. A power failure may lose it, and the epoch counts as unsettled then, which is always safe: the job settles it when it
starts. It cannot be ahead of the record, which is durable before.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any
from zlib import crc32

from penstock.errors import StateError
from penstock.failpoint import failpoint
from penstock.filesystem.stored_path import JobPath, StoredPath
from penstock.state.log.epoch_record import (
    HERE,
    RECORDS,
    EpochRecord,
    LogState,
    encode_record,
    file_of,
)
from penstock.state.log.extent import SEGMENTS, Extent, join_entries
from penstock.state.log.log_merge import Merge, adjacent_extents
from penstock.state.log.log_table import LogTable, Recent, load_records
from penstock.state.log.subtask_log import LogChange, LogName, LogView
from penstock.wire.atomic_file import (
    PRIVATE_DIRECTORY,
    PRIVATE_FILE,
    create_directory,
    put_exclusively,
    remove_temporaries,
)

SETTLED = "settled"
"""The file, in the directory of the epochs."""


def write_settled(directory: JobPath, epoch: int) -> None:
    """Note that an epoch is settled."""
    path = directory / SETTLED
    if isinstance(path, StoredPath):
        path.store.write(path.address, _encode(epoch))
        return
    # A file that is cut to nothing first is flushed by some file systems when it is closed.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        os.pwrite(descriptor, _encode(epoch), 0)
    finally:
        os.close(descriptor)


def read_settled(directory: JobPath) -> int | None:
    """Return the last epoch that is known to be settled, None if none is."""
    try:
        data = (directory / SETTLED).read_bytes()
    except FileNotFoundError:
        return None
    number = data.partition(b" ")[0]
    return int(number) if number.isdigit() and data == _encode(int(number)) else None


def _encode(epoch: int) -> bytes:
    number = b"%012d" % epoch
    return b"%s %08x\n" % (number, crc32(number))


MAX_EXTENTS = 64
"""A log with more extents is merged."""

MAX_RECORDS = 128
"""After as many records all logs are merged, and the next one is a base."""

NEWEST_RECORDS = 8
"""Records that stay, and whose extents are not merged."""

_MERGE_STEP = 32
_SWEPT_PER_PUT = 8  # a base may make hundreds of files superfluous, and an epoch is short


class EpochLog:
    """The records of one live run. All methods are called by one thread, `open` first."""

    def __init__(self, directory: JobPath) -> None:
        """Make the log."""
        self._directory = directory
        self._table = LogTable()
        self._next = 0
        self._base_epoch = 0
        self._is_base_due = True
        self._files: set[str] = set()
        self._garbage: deque[str] = deque()
        self._planned: Merge | None = None

    @property
    def next_epoch(self) -> int:
        """The epoch whose record is put next."""
        return self._next

    def open(self) -> EpochRecord | None:
        """Read what is there and return the newest record, None if there is none.

        It may be called again, after another driver has put the record of an epoch.
        """
        create_directory(self._directory, PRIVATE_DIRECTORY)
        for folder in (RECORDS, SEGMENTS):
            create_directory(self._directory / folder, PRIVATE_DIRECTORY)
            # Before the records are listed: a put that has only its temporary file fails then.
            remove_temporaries(self._directory / folder)
        failpoint("epoch.temporaries-removed")
        records = load_records(self._directory)
        self._table = LogTable()
        self._table.replay(records)
        self._next = records[-1].epoch + 1 if records else 0
        self._base_epoch = records[0].epoch if records else 0
        self._is_base_due = not records
        self._planned = None
        self._files = self._needed()
        files = {
            f"{folder}/{path.name}"
            for folder in (RECORDS, SEGMENTS)
            for path in (self._directory / folder).iterdir()
        }
        self._garbage = deque(sorted(files - self._files))
        return records[-1] if records else None

    def drop_logs(self) -> None:
        """Let the next record be a base with its own changes only: of new logs, of other subtasks."""
        self._table = LogTable()
        self._planned = None
        self._is_base_due = True

    def view(self, name: LogName) -> LogView:
        """Return the log of a subtask, for its next task."""
        return self._table.view(name)

    def put(
        self,
        epoch: int,
        positions: dict[str, Any],
        changes: Iterable[LogChange],
        outcome: bytes,
        *,
        may_put: Callable[[], None] | None = None,
    ) -> EpochRecord:
        """Put the record of the next epoch, durably, and return it.

        After any exception the log is to be opened again: the record may be there or not.

        It raises FileExistsError if another driver has put the record.
        """
        if epoch != self._next:
            raise _misused(f"the record of epoch {epoch} was put, the next one is {self._next}")
        logs, inline, recent = _layout(changes, len(outcome))
        changed = self._table.after(logs)
        base = {**self._table.states(), **changed} if self._is_base_due else None
        draft = EpochRecord(epoch, positions, logs, base, outcome)
        record, data = encode_record(draft, inline)
        failpoint("epoch.encoded")
        path = self._directory / file_of(epoch)
        put_exclusively(path, data, may_put, place="epoch.record")
        self._table.apply(record.logs, recent)
        self._next += 1
        self._files.add(file_of(epoch))
        self._files.update(one.file for _, extents in record.logs.values() for one in extents)
        if record.base is not None:
            self._is_base_due = False
            self._base_epoch = epoch
            needed = self._needed()
            self._garbage.extend(sorted(self._files - needed))
            self._files = needed
        self._sweep()
        return record

    def plan_merge(self) -> Merge | None:
        """Return the next merge, None if there is nothing to do. It takes no time to speak of.

        The caller calls `write` of the merge, in any thread, then `adopt`, and only then this method
        again. A merge that is not adopted has no effect.

        A merge without sources has only a base.
        """
        is_long = self._next - self._base_epoch > MAX_RECORDS
        if self._is_base_due or not (is_long or self._table.is_due(MAX_EXTENTS, _MERGE_STEP)):
            return None
        newest = frozenset(map(file_of, self._newest()))
        failpoint("epoch.merge-planned")
        self._planned = Merge(self._directory, adjacent_extents(self._table.states(), newest))
        return self._planned

    def adopt(self, merge: Merge) -> None:
        """Use the files of a merge; the next record is a base.

        A merge that was planned before the log was opened again has no effect: its files are among
        the unneeded ones.
        """
        if merge is not self._planned:
            return
        self._planned = None
        if merge.merged is None:
            raise _misused("a merge of change logs was adopted before it was written")
        for one, extent in zip(merge.plan, merge.merged, strict=True):
            self._table.merged(one.name, one.sources, extent)
            self._files.add(extent.file)
        self._table.merge_ended()
        self._is_base_due = True
        failpoint("epoch.merge-adopted")

    def _newest(self) -> range:
        return range(max(0, self._next - NEWEST_RECORDS), self._next)

    def _needed(self) -> set[str]:
        """Return the files that must stay."""
        first = min(self._base_epoch, self._newest().start)
        return self._table.files() | {file_of(epoch) for epoch in range(first, self._next)}

    def _sweep(self) -> None:
        """Remove some of the unneeded files."""
        for _ in range(min(_SWEPT_PER_PUT, len(self._garbage))):
            failpoint("epoch.sweep")
            (self._directory / self._garbage.popleft()).unlink(missing_ok=True)


def _layout(
    changes: Iterable[LogChange], offset: int
) -> tuple[dict[LogName, LogState], list[bytes], dict[LogName, Recent]]:
    """Return changed logs, the bytes of the extents within the record, and their entries."""
    logs: dict[LogName, LogState] = {}
    inline: list[bytes] = []
    recent: dict[LogName, Recent] = {}
    for change in changes:
        if change.name in logs:
            raise _misused(f"an epoch has two changes of the log {change.name}")
        extents = change.extents
        if change.entries:
            data = join_entries(change.entries)
            last = change.first + len(change.entries) - 1
            extents = (*extents, Extent(change.first, last, HERE, offset, len(data), crc32(data)))
            inline.append(data)
            offset += len(data)
            recent[change.name] = tuple(enumerate(change.entries, change.first))
        logs[change.name] = change.head, extents
    return logs, inline, recent


def _misused(problem: str) -> StateError:
    return StateError(
        problem, hint="Start the job again; if it happens again, report it as a bug of Penstock."
    )
