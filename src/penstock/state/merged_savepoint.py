"""A savepoint made of two: the state of some operators from one, that of the others from another, by uid.

Both have to stand at the same positions of their sources.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.filesystem.stored_path import JobPath
from penstock.state.savepoint import (
    STATE_DIRECTORY,
    OperatorRecord,
    Savepoint,
    StateFile,
    WatermarkRecord,
)
from penstock.wire.atomic_file import sync_directory
from penstock.wire.job_files import new_file, readable

_OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class StatePart:
    """The share of one of the two.

    Attributes:
        manifest: Its watermarks, memory and positions.
        operators: Uids of the operators that it gives.
    """

    manifest: Savepoint
    files: tuple[JobPath, ...]
    operators: frozenset[str]

    @property
    def watermarks(self) -> tuple[WatermarkRecord, ...]:
        """The watermarks that its operators received."""
        return tuple(
            record for record in self.manifest.watermarks if record.receiver in self.operators
        )

    @property
    def memory(self) -> dict[str, int]:
        """The memory of its operators; keys begin with the uid, behind which NUL separates a name."""
        return {
            key: value
            for key, value in self.manifest.memory.items()
            if key.partition("\0")[0] in self.operators
        }


def merged_manifest(
    kept: StatePart,
    new: Sequence[StatePart],
    operators: Iterable[OperatorRecord],
    sinks: tuple[str, ...],
    files: tuple[StateFile, ...] = (),
) -> Savepoint:
    """Return the manifest over the parts, whose state files are written already.

    The positions are those of `kept`; `new` has read the history.
    """
    parts = (kept, *new)
    return replace(
        kept.manifest,
        operators=tuple(operators),
        sources=tuple(source for part in parts for source in part.manifest.sources),
        watermarks=tuple(mark for part in parts for mark in part.watermarks),
        memory={key: value for part in parts for key, value in part.memory.items()},
        files=files,
        sinks=sinks,
    )


def merge_state(parts: Iterable[StatePart], target: JobPath) -> tuple[StateFile, ...]:
    """Write the state of each part's operators to a prepared savepoint, durably, and describe the files."""
    directory = target / STATE_DIRECTORY
    described = [
        _write(path, part.operators, directory / f"{number}-{path.name}")
        for number, part in enumerate(parts)
        for path in part.files
    ]
    sync_directory(directory)
    return tuple(file for file in described if file is not None)


def _write(path: JobPath, operators: Collection[str], target: JobPath) -> StateFile | None:
    """Write the rows of some operators, and describe the file; None if there are no rows."""
    rows = _rows(path, pa.array(sorted(operators), pa.string()))
    first = next(rows, None)
    if first is None:
        return None
    uids: set[str] = set()
    file = new_file(target, is_digested=True)
    try:
        with pq.ParquetWriter(file, first.schema, compression="lz4") as writer:
            for batch in chain((first,), rows):
                uids.update(pc.unique(batch.column(_OPERATOR)).to_pylist())
                writer.write_batch(batch)
        file.finish()
    except BaseException:
        file.discard()
        raise
    return StateFile(target.name, file.tell(), file.sha256, tuple(sorted(uids)))


def _rows(path: JobPath, operators: pa.Array) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(readable(path)) as file:
        for batch in file.iter_batches():
            rows = batch.filter(pc.is_in(batch.column(_OPERATOR), operators))
            if rows.num_rows:
                yield rows
