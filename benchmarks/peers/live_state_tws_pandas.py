"""`live-state` with `transformWithStateInPandas`, one call per key and micro-batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from file_query import FileQuery
from pyspark.sql import DataFrame
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
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Add the rows of one key."""
        count, total = self._total.get() or (0, 0)
        for frame in rows:
            count, total = count + len(frame), total + int(frame["value"].sum())
        self._total.update((count, total))
        yield pd.DataFrame({"key": [key[0]], "count": [count], "sum": [total]})

    def close(self) -> None:
        """Nothing is open."""


class TwsPandasLiveState(FileQuery):
    """`transformWithStateInPandas`."""

    def compute(self, records: DataFrame) -> DataFrame:
        """Apply the processor to every key."""
        return records.groupBy("key").transformWithStateInPandas(
            CountAndSum(), "key LONG, count LONG, sum LONG", "update", "none"
        )


if __name__ == "__main__":
    serve(TwsPandasLiveState)
