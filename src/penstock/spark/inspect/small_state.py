"""State that this process reads itself: to start Spark would take longer than to read it.

That is state on a mounted file system, whose logs or files have at most 64 MiB. The functions are
those of the workers. Spark reads all other state.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.errors import RESTORE_STATE, StateError
from penstock.filesystem.stored_path import JobPath
from penstock.spark.inspect.state_columns import EntryBatches, entry_columns, kinds_of
from penstock.spark.inspect.state_location import (
    EpochLogs,
    PipelineStates,
    SnapshotFile,
    StateLocation,
    locate_state,
    reading,
)
from penstock.spark.inspect.state_reader import (
    Names,
    StateSurvey,
    chosen_state,
    key_types,
    name_rows,
    surveyed,
)
from penstock.spark.job.mounted_path import checkpoint_path
from penstock.spark.worker.state_tasks import (
    BLOB_SCHEMA,
    ReadFiles,
    ReplayGroups,
    SplitEpochLogs,
    Survey,
    WriteStateFiles,
    batches_of,
    count_rows,
    rows_of,
    snapshot_rows,
)
from penstock.state.replay import GroupReplay

MOST_BYTES = 64 << 20
"""Most bytes of blobs, all of which are in memory at once."""

_Row = tuple[Any, ...]


def small_state(path: Path) -> SmallState | None:
    """Return the state of a checkpoint directory or savepoint, None if Spark has to read it."""
    directory = checkpoint_path(path)
    if not isinstance(directory, Path):
        return None  # only Spark's settings may have the login of the store
    return small_location(directory, locate_state(directory))


def small_location(directory: JobPath, location: StateLocation) -> SmallState | None:
    """Return the state at a location, None if Spark has to read it; see `small_state`."""
    size = _size(location)
    return None if size is None or size > MOST_BYTES else SmallState(directory, location)


@dataclass(frozen=True, slots=True)
class SmallState:
    """State that is read in this process, as of one record.

    Attributes:
        directory: Checkpoint directory or savepoint, for errors.
    """

    directory: JobPath
    location: StateLocation

    def names(self) -> list[_Row]:
        """Return the result of `read_state_names` as rows."""
        with reading(self.directory):
            return name_rows(rows_of(ReplayGroups(count_rows)(self.blobs())))

    def entries(self, uid: str, name: str) -> tuple[tuple[str, ...], list[_Row]]:
        """Return the names of the columns of `read_state`, and its rows with keys and values as text."""
        with reading(self.directory):
            survey = self._find(uid, name)
        columns = entry_columns(survey.schema(uid, name), *key_types(survey), as_text=True)
        batches = EntryBatches(uid, name, survey.schema(uid, name), columns)

        def visit(_: str, group: int, replayed: GroupReplay) -> Iterator[pa.RecordBatch]:
            return batches(group, replayed)

        with reading(self.directory):
            rows = list(rows_of(ReplayGroups(visit)(self.blobs(uid))))
        return tuple(column.name for column in columns), rows

    def write_snapshot(self, directory: JobPath) -> list[str]:
        """Write all entries to files of snapshot rows, and return their names."""
        with reading(self.directory):
            rows = ReplayGroups(snapshot_rows)(self.blobs())
            return [name for (name,) in rows_of(WriteStateFiles(directory)(rows))]

    def blobs(self, uid: str | None = None) -> Iterator[pa.RecordBatch]:
        """Return the blob rows in the order of `ReplayGroups`."""
        return batches_of(BLOB_SCHEMA, sorted(_rows(self.location, uid), key=_order))

    def _find(self, uid: str, name: str) -> StateSurvey:
        surveys = surveyed(rows_of(Survey(kinds_of)(self.blobs(uid))))

        def uids() -> Names:
            return {row[0] for row in _rows(self.location, None)}

        return chosen_state(surveys, self.directory, uid, name, uids)


def _order(row: _Row) -> _Row:
    return row[:4]


def _rows(location: StateLocation, uid: str | None) -> Iterator[_Row]:
    return _ROWS[type(location)](location, uid)


def _epoch_rows(epoch: EpochLogs, uid: str | None) -> Iterator[_Row]:
    views = ((*name, pickle.dumps(view, 5)) for name, view in epoch.logs.items())
    return SplitEpochLogs(epoch.path.absolute(), uid).split(views)


def _file_rows(files: tuple[SnapshotFile, ...], uid: str | None) -> Iterator[_Row]:
    return ReadFiles(uid).read((str(file.path.absolute()), file.sha256) for file in files)


def _pipeline_rows(states: PipelineStates, uid: str | None) -> Iterator[_Row]:
    return chain.from_iterable(_rows(location, uid) for location in states.locations)


_ROWS: dict[type, Callable[[Any, str | None], Iterator[_Row]]] = {
    EpochLogs: _epoch_rows,
    tuple: _file_rows,
    PipelineStates: _pipeline_rows,
}
"""Kind of location to its blob rows, in no order."""


def _size(location: StateLocation) -> int | None:
    """Return the size of the blobs at a location, None if they cannot be read here."""
    if isinstance(location, EpochLogs):
        return sum(extent.size for view in location.logs.values() for extent in view.extents)
    if isinstance(location, PipelineStates):
        sizes = [_size(part) for part in location.locations]
        return None if None in sizes else sum(filter(None, sizes))
    return sum(map(_file_size, location))


def _file_size(file: SnapshotFile) -> int:
    if not isinstance(file.path, Path):
        return MOST_BYTES + 1
    try:
        return file.path.stat().st_size
    except OSError as cause:
        raise StateError(f"the state file {file.path} is gone", hint=RESTORE_STATE) from cause


def in_order(rows: Iterable[_Row], columns: Iterable[int]) -> list[_Row]:
    """Return rows in the order of Spark: without a value first, then numbers, or text by its bytes."""
    by = tuple(columns)

    def key(row: _Row) -> list[tuple[bool, Any]]:
        values = (row[index] for index in by)
        return [
            (v is not None, v.encode() if isinstance(v, str) else 0 if v is None else v)
            for v in values
        ]

    return sorted(rows, key=key)
