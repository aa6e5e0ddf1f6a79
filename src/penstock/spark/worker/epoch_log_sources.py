"""Reading state in workers: reads blobs from the logs that epoch records name. For `mapInArrow`.

The rows are those of `state_sources`. A view (`LogView`) is the log of one subtask as of one record, pickled.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.errors import StateError
from penstock.filesystem.stored_path import JobPath
from penstock.spark.failures.translation import carrying
from penstock.spark.worker.state_sources import (
    BLOB_SCHEMA,
    Rows,
    batches_of,
    naming,
    rows_of,
    split_log,
)
from penstock.state.log.subtask_log import SubtaskLog

VIEW_DDL = "level INT, subtask INT, view BINARY"


@dataclass(frozen=True, slots=True)
class SplitEpochLogs:
    """Rows of `VIEW_DDL` to blob rows.

    Attributes:
        directory: Directory of the epochs.
        uid: The only operator whose blobs are read; None for all.
    """

    directory: JobPath
    uid: str | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Split the logs of one task."""
        with carrying():
            yield from batches_of(BLOB_SCHEMA, self.split(rows_of(batches)))

    def split(self, rows: Rows) -> Iterator[tuple[Any, ...]]:
        """Yield the blob rows of all logs.

        Raises:
            StateError: A log is damaged, or the driver of the job has removed a file of it; the error
                names it.
        """
        for level, subtask, view in rows:
            where = f"log of level {level}, subtask {subtask}"
            log = SubtaskLog(self.directory, pickle.loads(view))
            with naming(where):
                try:
                    yield from split_log(where, log, subtask, self.uid)
                except StateError as cause:
                    if not isinstance(cause.__cause__, FileNotFoundError):
                        raise
                    raise _gone(cause) from cause


def _gone(cause: StateError) -> StateError:
    return StateError(
        cause.problem,
        hint="If the job runs, try again: its driver merges files, and has removed this one since. "
        "Otherwise restore the checkpoint directory from a copy.",
    )
