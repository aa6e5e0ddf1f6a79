"""The logs of a live run that is a loop of epochs, as of one record.

While a driver runs the job it merges small extents, and removes the files they were in; with short epochs
several times a second. A task of Spark would come too late for them. So entries are read here, directly
after the record, and travel to the workers within the views. Of much state the large extents are left to the
workers: they stay until the state in them is written anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from penstock.filesystem.stored_path import JobPath
from penstock.state.log.epoch_record import EPOCHS, EpochRecord
from penstock.state.log.extent import read_extent, split_entries
from penstock.state.log.log_reader import epochs_in, with_logs
from penstock.state.log.subtask_log import LogName, LogView

_MOST_BYTES = 32 << 20
"""Size of the entries that are read here."""


@dataclass(frozen=True, slots=True)
class EpochLogs:
    """The state and the positions of a live run, as of one epoch record.

    Attributes:
        path: Directory of the epochs.
        epoch: Number of the record.
        positions: What the record has of the sources.
        logs: The log of every subtask.
    """

    path: JobPath
    epoch: int
    positions: Mapping[str, Any]
    logs: Mapping[LogName, LogView]


def newest_epoch(run_directory: JobPath) -> EpochLogs | None:
    """Return the logs of a run as of its newest record, None if it has no record.

    Raises:
        StateError: A record or an extent is missing or damaged.
    """
    directory = run_directory / EPOCHS
    if not epochs_in(directory):
        return None

    def read(record: EpochRecord, views: dict[LogName, LogView]) -> EpochLogs:
        return EpochLogs(directory, record.epoch, record.positions, _with_entries(directory, views))

    return with_logs(directory, read)


def _with_entries(directory: JobPath, views: dict[LogName, LogView]) -> dict[LogName, LogView]:
    """Return the logs with the entries of most extents, of small ones first."""
    recent = {name: dict(view.recent) for name, view in views.items()}
    extents = sorted(
        ((extent, name) for name, view in views.items() for extent in view.extents),
        key=lambda each: each[0].size,
    )
    left = _MOST_BYTES
    for extent, name in extents:
        left -= extent.size
        if left < 0:
            break
        entries = split_entries(extent, read_extent(directory, extent), directory)
        recent[name] |= enumerate(entries, extent.first)
    return {
        name: replace(view, recent=tuple(sorted(recent[name].items())))
        for name, view in sorted(views.items())
    }
