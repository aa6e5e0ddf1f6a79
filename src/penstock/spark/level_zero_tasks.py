"""Worker side of level 0: from source rows to frames. Functions for `mapInArrow`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import TaskContext

from penstock.graph.endpoints import SplitSource
from penstock.runtime.level_zero import LevelZero
from penstock.runtime.program import LevelProgram
from penstock.spark.failures import carrying
from penstock.spark.frames import to_batches
from penstock.spark.payload import Payload
from penstock.types import row_factory
from penstock.types.arrow import columns_to_lists

_READ_RECORDS = 8192

POSITIONS_DDL = "event STRING, source INT, split INT, first LONG, last LONG, finished BOOLEAN"
"""Rows of split sources and of the control log. `event` is one of:

range           read positions [first, last) of a split; `finished` if the split ends there
end             the source has ended
start           the run begins: reach every subtask of every level
handover        the run ends: every subtask writes its state
tick            time has passed: call every subtask
savepoint:<id>  somebody asked for a savepoint: every subtask writes its state
"""


def task_id() -> int:
    """Return the index of this task within its stage."""
    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())


@dataclass(frozen=True, slots=True)
class ColumnsTask:
    """Feeds the rows of one columnar source (files, a DataFrame).

    Attributes:
        payload: Packs the level-0 program.
        source: Id of the source.
        unwrap: Records are the values of the only column, not rows (text files).
    """

    payload: Payload
    source: int
    unwrap: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run level 0 over the rows of one task."""
        with carrying():
            yield from to_batches(self._run(batches))

    def _run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[list[tuple[int, bytes]]]:
        program: LevelProgram = self.payload.unpack_anew()
        level = LevelZero(program, task_id())
        make: Callable[[Any], list[Any]] | None = None
        for batch in batches:
            if batch.num_rows == 0:
                continue
            columns = columns_to_lists(batch)
            if self.unwrap:
                values = columns[0]
            else:
                make = make or row_factory(tuple(batch.schema.names))
                values = make(map(list, zip(*columns, strict=True)))
            level.collect(self.source, values, None)
            yield level.take_output()
        level.finish_split(self.source, task_id(), finished=True)
        level.close()
        yield level.take_output()


@dataclass(frozen=True, slots=True)
class PositionsTask:
    """Feeds split sources, and carries control events to every subtask.

    Attributes:
        payload: Packs (level-0 program, {source id: part}, number of levels).
    """

    payload: Payload

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run level 0 over the ranges and events of one task."""
        with carrying():
            yield from to_batches(self._run(batches))

    def _run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[list[tuple[int, bytes]]]:
        program, parts, levels = self.payload.unpack_anew()
        level = LevelZero(program, task_id())
        for batch in batches:
            for row in batch.to_pylist():
                if row["event"] == "range":
                    yield from self._read(level, parts[row["source"]], row)
                elif row["event"] == "end":
                    level.end_source(row["source"])
                else:
                    level.signal(levels, row["event"].encode())
                yield level.take_output()
        level.close()
        yield level.take_output()

    def _read(
        self, level: LevelZero, part: SplitSource, row: dict[str, Any]
    ) -> Iterator[list[tuple[int, bytes]]]:
        source, split = row["source"], row["split"]
        level.start_split(source, split)
        starts = range(row["first"], row["last"], _READ_RECORDS)
        for start in starts:
            end = min(start + _READ_RECORDS, row["last"])
            level.collect(source, *part.read_exactly(split, start, end))
            yield level.take_output()
        level.finish_split(source, split, finished=row["finished"])
