"""Sources whose events arise on the clock: an event `t` per millisecond since the epoch.

`events` is a streaming source of plain PySpark, `ClockSource` one of ours that is read by positions.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from penstock.common import TypeInformation, Types
from penstock.datastream.connectors import SplitSource

NAME = "clock"
COLUMN = "arose"


def events(session: SparkSession) -> DataFrame:
    """Return the events from now on: a column `arose`, in epoch milliseconds."""
    session.dataSource.register(Clock)
    return session.readStream.format(NAME).load()


@dataclass(frozen=True, slots=True)
class ClockSource(SplitSource):
    """One split per subtask; split `i` of `n` has the events `t` with `t % n == i`."""

    subtasks: int

    kind: ClassVar[str] = "clock"

    @property
    def is_bounded(self) -> bool:
        """Never ends."""
        return False

    def get_produced_type(self) -> TypeInformation[int]:
        """Return long integers."""
        return Types.LONG()

    def splits(self, parallelism: int) -> Sequence[tuple[int, int | None]]:
        """Return splits that begin now."""
        return [(self.head(split), None) for split in range(self.subtasks)]

    def read(self, split: int, start: int, end: int) -> Sequence[int]:
        """Return the events at some positions."""
        return range(start * self.subtasks + split, end * self.subtasks + split, self.subtasks)

    def head(self, split: int) -> int:
        """Return the position of the first event that has not arisen."""
        return -((split - _now()["ms"]) // self.subtasks)


class Clock(DataSource):
    """The source."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return NAME

    def schema(self) -> str:
        """Return the column."""
        return f"{COLUMN} LONG"

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802
        """Return the reader."""
        return _Reader()


@dataclass
class _Stretch(InputPartition):
    """The events of `[begin, end)`."""

    begin: int
    end: int


class _Reader(DataSourceStreamReader):
    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return _now()

    def latestOffset(self, start: Any = None, limit: Any = None) -> dict[str, int]:  # noqa: N802
        return _now()

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [_Stretch(start["ms"], end["ms"])]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        times = pa.array(range(partition.begin, partition.end), pa.int64())
        yield pa.RecordBatch.from_arrays([times], [COLUMN])


def _now() -> dict[str, int]:
    return {"ms": time.time_ns() // 1_000_000}
