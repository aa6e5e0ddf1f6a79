"""The logs of all subtasks of a live run, as of the newest epoch record: in memory, and as a process reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias, TypeVar

from penstock.errors import RESTORE_CHECKPOINTS, StateError
from penstock.filesystem.stored_path import JobPath
from penstock.state.log.change_log import Head
from penstock.state.log.epoch_record import RECORDS, EpochRecord, LogState, file_of, read_record
from penstock.state.log.extent import Extent
from penstock.state.log.subtask_log import LogName, LogView

Recent: TypeAlias = tuple[tuple[int, bytes], ...]
"""Number and data of the entries of one change."""

RECENT_CHANGES = 8
"""As many as a head has positions: a copy that is further behind is rebuilt."""

RECENT_BYTES = 64 << 10
"""Most bytes of entries that travel with every task of a log."""


@dataclass(slots=True)
class _Log:
    """One log.

    Attributes:
        extents: Ascending and contiguous; none is wholly before the head's first entry.
        unmerged: How many extents the last merge left, at most.
    """

    head: bytes
    extents: tuple[Extent, ...] = ()
    recent: tuple[Recent, ...] = ()
    unmerged: int = 0


class LogTable:
    """Head and extents of every log. Not thread-safe."""

    def __init__(self) -> None:
        self._logs: dict[LogName, _Log] = {}

    def view(self, name: LogName) -> LogView:
        """Return what a task of the log gets."""
        log = self._logs.get(name)
        if log is None:
            return LogView()
        return LogView(log.head, log.extents, tuple(one for some in log.recent for one in some))

    def views(self) -> dict[LogName, LogView]:
        """Return all logs, without entries."""
        return {name: LogView(log.head, log.extents) for name, log in self._logs.items()}

    def states(self) -> dict[LogName, LogState]:
        """Return all logs, as a base has them."""
        return {name: (log.head, log.extents) for name, log in self._logs.items()}

    def files(self) -> set[str]:
        """Return the files that have entries of a log."""
        return {extent.file for log in self._logs.values() for extent in log.extents}

    def after(self, changed: dict[LogName, LogState]) -> dict[LogName, LogState]:
        """Return the changed logs, whole."""
        whole = {}
        for name, (head, new) in changed.items():
            log = self._logs.get(name)
            whole[name] = _joined(name, () if log is None else log.extents, head, new)
        return whole

    def apply(self, changed: dict[LogName, LogState], entries: dict[LogName, Recent]) -> None:
        """Take the changes of a record over."""
        for name, (head, extents) in self.after(changed).items():
            log = self._logs.setdefault(name, _Log(head))
            log.head, log.extents = head, extents
            log.recent = _newest((*log.recent, entries.get(name, ())))
            log.unmerged = min(log.unmerged, len(extents))

    def replay(self, records: Iterable[EpochRecord]) -> None:
        """Apply records in order; a base replaces all logs."""
        for record in records:
            if record.base is None:
                self.apply(record.logs, {})
            else:
                self._logs.clear()
                self.apply(record.base, {})

    def is_due(self, max_extents: int, step: int) -> bool:
        """Return whether a log has more extents than allowed, and more than the last merge left."""
        return any(
            len(log.extents) > max(max_extents, log.unmerged + step) for log in self._logs.values()
        )

    def merged(self, name: LogName, sources: Sequence[Extent], extent: Extent) -> None:
        """Put one extent in place of adjacent ones, or of those of them that are left."""
        log = self._logs[name]
        replaced = frozenset(sources)
        positions = [position for position, one in enumerate(log.extents) if one in replaced]
        if positions:
            log.extents = (*log.extents[: positions[0]], extent, *log.extents[positions[-1] + 1 :])

    def merge_ended(self) -> None:
        """Note how many extents the merge left of each log."""
        for log in self._logs.values():
            log.unmerged = len(log.extents)


def _joined(
    name: LogName, old: tuple[Extent, ...], head: bytes, new: tuple[Extent, ...]
) -> LogState:
    """Return a log after a change, without the extents whose entries are all removed."""
    decoded = Head.decode(head)
    following = (*old[-1:], *new)
    if any(one.last + 1 != other.first for one, other in pairwise(following)):
        raise _torn(name, "its new entries do not follow those before")
    extents = (*old, *new)
    dropped = 0
    while dropped < len(extents) and extents[dropped].last < decoded.first:
        dropped += 1
    extents = extents[dropped:]
    if decoded.first > decoded.last:
        if extents:
            raise _torn(name, "it has entries behind its last one")
    elif not extents or extents[0].first > decoded.first or extents[-1].last != decoded.last:
        stored = f"{extents[0].first} to {extents[-1].last}" if extents else "none"
        raise _torn(name, f"it has entries {decoded.first} to {decoded.last}, stored are {stored}")
    return head, extents


def _newest(changes: tuple[Recent, ...]) -> tuple[Recent, ...]:
    """Return the newest changes that may travel with tasks."""
    changes = changes[-RECENT_CHANGES:]
    left = RECENT_BYTES
    for position in range(len(changes) - 1, -1, -1):
        left -= sum(len(data) for _, data in changes[position])
        if left < 0:
            return changes[position + 1 :]
    return changes


def _torn(name: LogName, what: str) -> StateError:
    level, subtask = name
    return StateError(
        f"the change log of level {level}, subtask {subtask}, is not whole: {what}",
        hint="Start the job again; if it happens again, restore the checkpoint directory from a copy.",
    )


_ATTEMPTS = 20
_DIGITS = len(file_of(0).rpartition("/")[2])

T = TypeVar("T")


def epochs_in(directory: JobPath) -> list[int]:
    """Return the epochs that have a record, ascending."""
    try:
        names = [path.name for path in (directory / RECORDS).iterdir()]
    except FileNotFoundError:
        return []
    return sorted(int(name) for name in names if len(name) == _DIGITS and name.isdecimal())


def load_records(directory: JobPath) -> list[EpochRecord]:
    """Return the records from the newest base to the newest record; all but the last without outcome."""
    epochs = epochs_in(directory)
    if not epochs:
        return []
    records: list[EpochRecord] = []
    for epoch in range(epochs[-1], -1, -1):
        record = _read(directory, epoch)
        # The outcomes of a hundred epochs can be large, and only the last one is needed.
        records.append(replace(record, outcome=b"") if records else record)
        if record.base is not None:
            return records[::-1]
    raise StateError(
        f"the epoch records in {directory / RECORDS} do not begin with a whole one",
        hint=RESTORE_CHECKPOINTS,
    )


def _read(directory: JobPath, epoch: int) -> EpochRecord:
    try:
        return read_record(directory, epoch)
    except OSError as cause:
        raise StateError(
            f"the epoch record {directory / file_of(epoch)} is needed and cannot be read: {cause}",
            hint=RESTORE_CHECKPOINTS,
        ) from cause


def with_logs(directory: JobPath, use: Callable[[EpochRecord, dict[LogName, LogView]], T]) -> T:
    """Return what `use` makes of the newest record and all logs as of it, in a process other than the driver.

    A running driver merges logs and removes files. If a file was missing and there is a newer record
    by then, `use` is called again, with the logs as of that one.
    """
    for _ in range(_ATTEMPTS):
        before = epochs_in(directory)[-1:]
        try:
            return use(*_newest_logs(directory))
        except StateError:
            if epochs_in(directory)[-1:] == before:
                raise
    return use(*_newest_logs(directory))


def _newest_logs(directory: JobPath) -> tuple[EpochRecord, dict[LogName, LogView]]:
    records = load_records(directory)
    if not records:
        raise StateError(
            f"{directory} has no epoch record",
            hint="Wait until the live run has finished its first epoch.",
        )
    table = LogTable()
    table.replay(records)
    return records[-1], table.views()
