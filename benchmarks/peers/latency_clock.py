"""A streaming source whose events arise on the clock: a row `t` per millisecond since the epoch."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

NAME = "clock"
COLUMN = "arose"


def events(session: SparkSession) -> DataFrame:
    """Return the events from now on: a column `arose`, in epoch milliseconds."""
    session.dataSource.register(Clock)
    return session.readStream.format(NAME).load()


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
