"""`reduce` with `transformWithStateInPandas`: as `tws_row`, with a DataFrame per key and call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from tws_row import RECORD, TwsRowPeer

from benchmarks.answers.reduce_records import combine
from benchmarks.systems.serve import serve


class Reduce(StatefulProcessor):
    """Reads the state once per call, combines the rows, writes it once."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Get the state."""
        self._total = handle.getValueState("total", RECORD)

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Combine the rows of one key."""
        total = combined(self._total.get(), rows)
        self._total.update(total)
        yield one_row(total)

    def close(self) -> None:
        """Nothing is open."""


def combined(total: Any, frames: Iterator[pd.DataFrame]) -> Any:
    """Return the record of a key after more rows; our lambda is called once per row."""
    for frame in frames:
        columns = (frame[name].tolist() for name in ("key", "v", "n"))
        for record in zip(*columns, strict=True):
            total = record if total is None else combine(total, record)
    return total


def one_row(total: Any) -> pd.DataFrame:
    """Return a result as a DataFrame."""
    return pd.DataFrame(
        {name: [value] for name, value in zip(("key", "v", "n"), total, strict=True)}
    )


class TwsPandasPeer(TwsRowPeer):
    """The same query with the other call."""

    def outputs(self) -> DataFrame:
        """Return the changed keys of every micro-batch."""
        keyed = self.records().groupBy("key")
        return keyed.transformWithStateInPandas(Reduce(), RECORD, "update", "none")


if __name__ == "__main__":
    serve(TwsPandasPeer)
