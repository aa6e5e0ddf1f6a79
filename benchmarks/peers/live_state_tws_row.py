"""`live-state` with `transformWithState` and rows, one call per key and micro-batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from file_query import FileQuery
from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from benchmarks.systems.serve import serve

STATE = "count LONG, sum LONG"


class CountAndSum(StatefulProcessor):
    """Reads the state once per call, adds the rows, writes it once."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Get the state."""
        self._total = handle.getValueState("total", STATE)

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[Row]:
        """Add the rows of one key."""
        count, total = self._total.get() or (0, 0)
        for row in rows:
            count, total = count + 1, total + row[1]
        self._total.update((count, total))
        yield Row(key=key[0], count=count, sum=total)

    def close(self) -> None:
        """Nothing is open."""


class TwsRowLiveState(FileQuery):
    """`transformWithState`."""

    def compute(self, records: DataFrame) -> DataFrame:
        """Apply the processor to every key."""
        return records.groupBy("key").transformWithState(
            CountAndSum(), "key LONG, count LONG, sum LONG", "update", "none"
        )


if __name__ == "__main__":
    serve(TwsRowLiveState)
