"""`map-batches`: a function of Arrow batches, which `mapInArrow` of Spark calls too."""

from __future__ import annotations

from benchmarks.answers.scored_records import expected, scored
from benchmarks.inputs.record_files import write_record_files
from benchmarks.model.shape import BATCH, STREAMING, Shape
from benchmarks.programs.columns.expressions import from_files
from benchmarks.programs.pipeline import Pipeline, ours, peer
from penstock.common import Row, Types
from penstock.datastream import DataStream, StreamExecutionEnvironment

SCORED = Types.ROW_NAMED(["key", "score"], [Types.LONG(), Types.LONG()])
BATCH_SIZE = 10_000
"""Also Spark's default of `spark.sql.execution.arrow.maxRecordsPerBatch`."""


def build(env: StreamExecutionEnvironment, shape: Shape) -> DataStream[Row]:
    """Return the scores."""
    return from_files(env, shape).map_batches(scored, SCORED, batch_size=BATCH_SIZE)


PROGRAM = Pipeline(
    name="map-batches",
    summary="a function of Arrow batches of 10,000: (key, v) to (key, 3 v + key)",
    build=build,
    expected=expected,
    systems=(
        ours(BATCH, note="map_batches over Parquet files; the sink gets records."),
        ours(STREAMING, note="The same, live."),
        peer(
            "map-in-arrow", "map_in_arrow.py", note="mapInArrow with the same function and files."
        ),
    ),
    reference="penstock batch",
    records=10_000_000,
    keys=1000,
    write_input=write_record_files,
).program()
