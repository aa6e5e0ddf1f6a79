"""Sources whose events arise on the clock: event `e` in the millisecond `e // rate` since the epoch.

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
COLUMN = "event"


def events(session: SparkSession, rate: int) -> DataFrame:
    """Return the events from now on, `rate` in a millisecond: a column `event`."""
    session.dataSource.register(Clock)
    return session.readStream.format(NAME).option("rate", rate).load()


@dataclass(frozen=True, slots=True)
class ClockSource(SplitSource):
    """One split per subtask; split `i` of `n` has the events `e` with `e % n == i`."""

    subtasks: int
    rate: int

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
        return -((split - _next(self.rate)) // self.subtasks)


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
        return _Reader(int(self.options["rate"]))


@dataclass
class _Stretch(InputPartition):
    """The events of `[begin, end)`."""

    begin: int
    end: int


@dataclass
class _Reader(DataSourceStreamReader):
    rate: int

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"next": _next(self.rate)}

    def latestOffset(self, start: Any = None, limit: Any = None) -> dict[str, int]:  # noqa: N802
        return {"next": _next(self.rate)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [_Stretch(start["next"], end["next"])]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        arisen = pa.array(range(partition.begin, partition.end), pa.int64())
        yield pa.RecordBatch.from_arrays([arisen], [COLUMN])


def _next(rate: int) -> int:
    """Return the first event that has not arisen."""
    return time.time_ns() // 1_000_000 * rate
