"""`reduce` with `applyInPandasWithState`, the call there was before `transformWithState`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from tws_pandas import combined, one_row
from tws_row import RECORD, TwsRowPeer

from benchmarks.systems.serve import serve


def reduce(_: Any, frames: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
    """Read the state, combine the rows of one key, and write it."""
    total = combined(state.get if state.exists else None, frames)
    state.update(total)
    yield one_row(total)


class PandasWithStatePeer(TwsRowPeer):
    """The same query with the other call."""

    def outputs(self) -> DataFrame:
        """Return the changed keys of every micro-batch."""
        return (
            self.records()
            .groupBy("key")
            .applyInPandasWithState(reduce, RECORD, RECORD, "update", GroupStateTimeout.NoTimeout)
        )


if __name__ == "__main__":
    serve(PandasWithStatePeer)
