"""The process of our systems in `live-state` that aggregate columns."""

from __future__ import annotations

from benchmarks.systems.live_state_job import PenstockLiveState
from benchmarks.systems.serve import serve
from penstock.common import Row
from penstock.datastream import DataStream, col


class PenstockLiveColumns(PenstockLiveState):
    """The same job with aggregates of columns in place of the function."""

    def compute(self, records: DataStream[Row]) -> DataStream[Row]:
        """Return (key, count, sum): a row per key of a micro-batch."""
        return records.key_by(col.key).aggregate(count=col.count(), sum=col.value.sum())


if __name__ == "__main__":
    serve(PenstockLiveColumns)
