"""`expressions`: what `reduce` computes, as aggregates of columns.

Our systems read Parquet files, as `sql-files` does. `frame` reads a DataFrame of numbers, as `sql` does. The other
peers compute records from numbers, which costs them less than reading files.
"""

from __future__ import annotations

import os
from typing import Any

from benchmarks.answers.reduce_records import expected, is_output
from benchmarks.inputs.record_files import FILES, write_record_files
from benchmarks.model.program import Point
from benchmarks.model.shape import BATCH, MIXED, STREAMING, Shape
from benchmarks.programs.pipeline import Pipeline, only_if_named, ours, peer
from benchmarks.systems.flink_peers import flink_java
from penstock.common import Row, Types, WatermarkStrategy
from penstock.datastream import DataStream, StreamExecutionEnvironment, col
from penstock.datastream.connectors import DataGeneratorSource, FileSource, HybridSource, Source
from penstock.spark.session.factory import get_session

RECORDS = 10_000_000
RECORD = Types.ROW_NAMED(["key", "v"], [Types.LONG(), Types.LONG()])

_LATEST: dict[str, Any] = {"pipeline.backlog.output": "latest"}


def from_files(
    env: StreamExecutionEnvironment, shape: Shape, strategy: WatermarkStrategy | None = None
) -> DataStream[Row]:
    """Return the records of the files; in the mode MIXED live ones follow."""
    source: Source = FileSource.parquet(os.environ[FILES], RECORD)
    if shape.mode == MIXED:
        keys, first = shape.keys, shape.records
        row = Row("key", "v")
        live = DataGeneratorSource(
            lambda i: row((first + i) % keys, first + i), shape.live, type_info=RECORD
        )
        source = HybridSource.builder(source).add_source(live).build()
    return env.from_source(source, strategy or WatermarkStrategy.no_watermarks(), "records")


def reduced(records: DataStream[Row]) -> DataStream[Row]:
    """Return (key, greatest v, count)."""
    return records.key_by(col.key).aggregate(v=col.v.max(), n=col.count())


def build(env: StreamExecutionEnvironment, shape: Shape) -> DataStream[Row]:
    """Return the newest results of the records in files."""
    return reduced(from_files(env, shape))


def build_of_frame(env: StreamExecutionEnvironment, shape: Shape) -> DataStream[Row]:
    """Return the results of numbers that Spark makes, as for `sql`."""
    session = get_session(env.get_configuration(), computes=True)
    numbers = session.range(0, shape.records, numPartitions=shape.parallelism)
    return reduced(env.from_dataframe(numbers.selectExpr(f"id % {shape.keys} AS key", "id AS v")))


def build_in_python(env: StreamExecutionEnvironment, shape: Shape) -> DataStream[Any]:
    """Return the results of Python functions over the same files."""
    triple = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])
    return (
        from_files(env, shape)
        .map(lambda row: (row[0], row[1], 1), output_type=triple)
        .key_by(lambda r: r[0])
        .reduce(lambda a, b: (a[0], max(a[1], b[1]), a[2] + b[2]), associative=True)
    )


PROGRAM = Pipeline(
    name="expressions",
    summary="reduce as aggregates of columns: (key, v) to (key, greatest v, count)",
    build=build,
    builds={
        "penstock batch frame": build_of_frame,
        "penstock batch python": build_in_python,
        "penstock streaming python": build_in_python,
    },
    expected=expected,
    is_output=is_output,
    systems=(
        ours(BATCH, note="Reads Parquet files."),
        ours(BATCH, "frame", note="Reads the DataFrame of numbers that sql reads."),
        ours(BATCH, "python", note="The same files, with a map, a key and a reduce in Python."),
        ours(MIXED, "latest", note="The same files, then live records.", **_LATEST),
        ours(STREAMING, note="Reads the same files live."),
        *only_if_named(ours(STREAMING, "python", note="Python functions over the files, live.")),
        peer(
            "sql-files", "sql.py", input="files", note="groupBy(key).agg(max, count) of the files."
        ),
        peer("sql", "sql.py", note="range(N) and groupBy(key).agg(max, count)."),
        peer("rdd", "rdd.py", note="sc.range(N).map(lambda).reduceByKey(lambda), as in reduce."),
        *flink_java(),
    ),
    reference="penstock batch",
    records=RECORDS,
    keys=1000,
    points=(Point(RECORDS, 1000), Point(RECORDS, 1_000_000)),
    write_input=write_record_files,
).program()
