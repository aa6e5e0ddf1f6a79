"""Epoch records as they are read: by the driver that opens them, and by other processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from penstock.errors import StateError
from penstock.filesystem.stored_path import JobPath
from penstock.state.log.epoch_record import RECORDS, EpochRecord, file_of, read_record
from penstock.state.log.log_table import LogTable
from penstock.state.log.subtask_log import LogName, LogView

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
    """Return the records from the newest base to the newest record; all but the last without outcome.

    Raises:
        StateError: One of them is missing or damaged, or cannot be read.
    """
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
        hint="Restore the checkpoint directory from a copy, or start the job in a new one.",
    )


def _read(directory: JobPath, epoch: int) -> EpochRecord:
    try:
        return read_record(directory, epoch)
    except OSError as cause:
        raise StateError(
            f"the epoch record {directory / file_of(epoch)} is needed and cannot be read: {cause}",
            hint="Restore the checkpoint directory from a copy, or start the job in a new one.",
        ) from cause


def read_logs(directory: JobPath) -> tuple[EpochRecord, dict[LogName, LogView]]:
    """Return the newest record and all logs as of it, in a process other than the driver.

    The driver may remove the files of the views at any time; who reads entries uses `with_logs`.

    Raises:
        StateError: There is no record, or one that is needed is missing or damaged.
    """
    return with_logs(directory, lambda record, views: (record, views))


def with_logs(directory: JobPath, use: Callable[[EpochRecord, dict[LogName, LogView]], T]) -> T:
    """Return what `use` makes of the newest record and all logs as of it.

    A running driver merges logs and removes files. If a file was missing and there is a newer record
    by then, `use` is called again, with the logs as of that one.

    Raises:
        StateError: There is no record, or what is needed is missing or damaged.
    """
    for _ in range(_ATTEMPTS):
        before = epochs_in(directory)[-1:]
        try:
            return use(*_newest(directory))
        except StateError:
            if epochs_in(directory)[-1:] == before:
                raise
    return use(*_newest(directory))


def _newest(directory: JobPath) -> tuple[EpochRecord, dict[LogName, LogView]]:
    records = load_records(directory)
    if not records:
        raise StateError(
            f"{directory} has no epoch record",
            hint="Wait until the live run has finished its first epoch.",
        )
    table = LogTable()
    table.replay(records)
    return records[-1], table.views()
