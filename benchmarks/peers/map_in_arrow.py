"""`map-batches` as Spark's `mapInArrow`."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pyarrow as pa
from frame_peer import FramePeer
from pyspark.sql import DataFrame

from benchmarks.answers.scored_records import scored
from benchmarks.inputs.record_files import FILES
from benchmarks.systems.serve import serve


def all_scored(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the scores of every batch."""
    return map(scored, batches)


class MapInArrow(FramePeer):
    """`mapInArrow`."""

    def outputs(self) -> DataFrame:
        """Return the scores."""
        records = self.session.read.parquet(os.environ[FILES])
        return records.mapInArrow(all_scored, "key LONG, score LONG")


if __name__ == "__main__":
    serve(MapInArrow)
