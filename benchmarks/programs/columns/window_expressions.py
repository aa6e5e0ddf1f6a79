"""`window-expressions`: what `window-reduce` computes, as aggregates of columns over windows of the same files.

The records are those of `expressions`, (v % K, v) in order of v, which is also the time in milliseconds.
"""

from __future__ import annotations

from benchmarks.inputs.record_files import write_record_files
from benchmarks.model.program import Point
from benchmarks.model.shape import BATCH, STREAMING, Shape
from benchmarks.programs.columns.expressions import from_files
from benchmarks.programs.pipeline import Pipeline, only_if_named, ours, peer
from benchmarks.programs.window_reduce import expected
from benchmarks.systems.flink_peers import flink_java
from penstock.common import Row, Time, WatermarkStrategy
from penstock.datastream import DataStream, StreamExecutionEnvironment, col
from penstock.datastream.window import TumblingEventTimeWindows

RECORDS = 10_000_000


def build(env: StreamExecutionEnvironment, shape: Shape) -> DataStream[Row]:
    """Return key, sum and count of every key and window."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(col.v)
    return (
        from_files(env, shape, strategy)
        .key_by(col.key)
        .window(TumblingEventTimeWindows.of(Time.milliseconds(2 * shape.keys)))
        .aggregate(v=col.v.sum(), n=col.count())
    )


PROGRAM = Pipeline(
    name="window-expressions",
    summary="window-reduce as aggregates of columns over event-time tumbling windows",
    build=build,
    expected=expected,
    systems=(
        ours(BATCH, note="Reads Parquet files."),
        *only_if_named(ours(STREAMING, note="Reads the same files live.")),
        peer(
            "sql-files",
            "sql.py",
            input="files",
            note="groupBy(key, v DIV 2K).agg(sum, count) of the files: the window is a column as any other.",
        ),
        *flink_java(),
    ),
    reference="penstock batch",
    records=RECORDS,
    keys=1000,
    points=(Point(RECORDS, 1000), Point(RECORDS, 1_000_000)),
    write_input=write_record_files,
).program()
