"""The state of the previous run, which the first epoch of a run writes into the logs of its subtasks.

It is in Parquet files with rows (operator, key_group, blob). Each subtask reads the rows of its operators
and key groups; of row groups without such rows it does not read the blobs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import compress
from typing import Any

import pyarrow.parquet as pq

from penstock.errors import RESTORE_CHECKPOINTS, StateError
from penstock.filesystem.stored_path import JobPath
from penstock.spark.worker.state_tasks import DAMAGE, STATE_SCHEMA, signed_group
from penstock.state.log.blob import BLOB_BYTES, divided_blob, key_group_of, operator_of
from penstock.state.schema.entry_schema import BROADCAST_GROUP
from penstock.wire.canonical.key_groups import KeyGroups, subtask_of
from penstock.wire.job_files import readable

_EVERY_SUBTASK = signed_group(BROADCAST_GROUP)


@dataclass(frozen=True, slots=True)
class SeedFiles:
    """The state for one level; the files may have that of others too.

    Attributes:
        operators: uid of each operator of the level, and the number of its subtasks: the first ones.
        stored_groups: Number of key groups of the files, which divides that of the job; None is the same.
        window_operators: uids of the operators with windows.
        memory: Memory with which each subtask begins; empty if it has none.
    """

    paths: tuple[JobPath, ...]
    operators: dict[str, int]
    max_parallelism: int
    stored_groups: int | None = None
    window_operators: frozenset[str] = frozenset()
    memory: bytes = b""

    def blobs(self, subtask: int) -> Iterator[bytes]:
        """Yield the blobs of one subtask; a few megabytes are in memory at once."""
        for path in self.paths:
            if not path.exists():
                raise StateError(f"the state file {path} is gone", hint=RESTORE_CHECKPOINTS)
            try:
                yield from self._blobs_of(path, subtask)
            except DAMAGE as cause:
                raise StateError(
                    f"the state file {path} is damaged: {cause}", hint=RESTORE_CHECKPOINTS
                ) from cause

    def _blobs_of(self, path: JobPath, subtask: int) -> Iterator[bytes]:
        with pq.ParquetFile(readable(path)) as file:
            for number in range(file.num_row_groups):
                owners = file.read_row_group(number, columns=["operator", "key_group"])
                rows = zip(*(column.to_pylist() for column in owners.columns), strict=True)
                are_own = [self._is_of(subtask, *row) for row in rows]
                if any(are_own):
                    for blob in compress(_blobs_in(file, number), are_own):
                        yield from self._in_groups(blob.as_py(), subtask)

    @property
    def _times(self) -> int:
        """Number of key groups that one of the files is divided into."""
        return self.max_parallelism // (self.stored_groups or self.max_parallelism)

    def _in_groups(self, blob: bytes, subtask: int) -> Iterator[bytes]:
        """Yield what a subtask takes of a blob, in its key groups."""
        if self._times == 1 or key_group_of(blob) == BROADCAST_GROUP:
            yield blob
            return
        operator = operator_of(blob)
        parallelism, groups = self.operators[operator], KeyGroups(self.max_parallelism)
        of_windows = operator in self.window_operators
        for part in divided_blob(blob, self._times, groups, of_windows=of_windows):
            if subtask_of(key_group_of(part), parallelism, self.max_parallelism) == subtask:
                yield part

    def _is_of(self, subtask: int, operator: str, key_group: int) -> bool:
        parallelism = self.operators.get(operator)
        if parallelism is None:
            return False
        if key_group == _EVERY_SUBTASK:
            return True
        first, last = key_group * self._times, (key_group + 1) * self._times - 1
        owners = (subtask_of(group, parallelism, self.max_parallelism) for group in (first, last))
        return next(owners) <= subtask <= next(owners)


def _blobs_in(file: Any, number: int) -> Iterator[Any]:
    """Yield the blobs of a row group as Arrow scalars, from batches of a few megabytes."""
    group = file.metadata.row_group(number)
    size = group.column(STATE_SCHEMA.names.index("blob")).total_uncompressed_size
    rows = max(BLOB_BYTES * group.num_rows // max(size, 1), 1)
    for batch in file.iter_batches(rows, row_groups=[number], columns=["blob"]):
        yield from batch.column(0)
