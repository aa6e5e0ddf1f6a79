"""Programs in Spark SQL: native functions, no Python."""

from __future__ import annotations

import os
from collections.abc import Callable

from frame_peer import FramePeer
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

from benchmarks.inputs.record_files import FILES
from benchmarks.model.shape import Shape
from benchmarks.systems.serve import serve


def numbers(session: SparkSession, shape: Shape) -> DataFrame:
    """Return a column `id` of 0 to N - 1."""
    return session.range(0, shape.records, numPartitions=shape.parallelism)


def reduce(session: SparkSession, shape: Shape) -> DataFrame:
    """Return (key, greatest v, count)."""
    records = numbers(session, shape).selectExpr(f"id % {shape.keys} AS key", "id AS v")
    return records.groupBy("key").agg(sf.max("v"), sf.count("v"))


def reduce_files(session: SparkSession, shape: Shape) -> DataFrame:
    """Return the same of the records in files."""
    del shape
    records = session.read.parquet(os.environ[FILES])
    return records.groupBy("key").agg(sf.max("v"), sf.count("v"))


def windows_of_files(session: SparkSession, shape: Shape) -> DataFrame:
    """Return (key, sum of v, count) per window of the records in files; the window is a column as any other."""
    return _summed(session, sf.expr(f"v DIV {shape.window_ms}").alias("window"))


def tumble_of_files(session: SparkSession, shape: Shape) -> DataFrame:
    """Return (key, sum of v, count) per window of event time of the records in files."""
    return _summed(session, sf.window("at", f"{shape.window_ms} milliseconds"))


def hop_of_files(session: SparkSession, shape: Shape) -> DataFrame:
    """Return (key, sum of v, count) per sliding window of event time of the records in files."""
    size, slide = (f"{length} milliseconds" for length in (shape.window_ms, shape.window_ms // 2))
    return _summed(session, sf.window("at", size, slide))


def _summed(session: SparkSession, window: Column) -> DataFrame:
    records = session.read.parquet(os.environ[FILES])
    return records.groupBy("key", window).agg(sf.sum("v"), sf.count("v")).drop("window")


def best_of_files(session: SparkSession, shape: Shape) -> DataFrame:
    """Return the three greatest v of each key."""
    del shape
    records = session.read.parquet(os.environ[FILES])
    number = sf.row_number().over(Window.partitionBy("key").orderBy(sf.desc("v")))
    return records.withColumn("number", number).where("number <= 3").select("key", "v")


def aggregate(session: SparkSession, shape: Shape) -> DataFrame:
    """Return (key, sum)."""
    records = numbers(session, shape).selectExpr(f"id % {shape.keys} AS key", "1.0D AS value")
    return records.groupBy("key").agg(sf.sum("value"))


def window_reduce(session: SparkSession, shape: Shape) -> DataFrame:
    """Return (key, sum of v, count) per window; the window is a column as any other."""
    records = numbers(session, shape).selectExpr(
        f"id % {shape.keys} AS key", "id AS v", f"id DIV {2 * shape.keys} AS window"
    )
    return records.groupBy("key", "window").agg(sf.sum("v"), sf.count("v")).drop("window")


def co_group(session: SparkSession, shape: Shape) -> DataFrame:
    """Return 1 per key of either side."""
    sides = [
        numbers(session, shape).selectExpr("2 * id AS key").groupBy("key").count() for _ in "ab"
    ]
    return sides[0].join(sides[1], "key", "full").select(sf.lit(1))


PROGRAMS: dict[str, Callable[[SparkSession, Shape], DataFrame]] = {
    "reduce": reduce,
    "expressions": reduce,
    "aggregate": aggregate,
    "window-reduce": window_reduce,
    "co-group": co_group,
}

OF_FILES = {
    "expressions": reduce_files,
    "dataframe": reduce_files,
    "window-expressions": windows_of_files,
    "sql-group-by": reduce_files,
    "sql-tumble": tumble_of_files,
    "sql-hop": hop_of_files,
    "sql-top-n": best_of_files,
}
"""Programs of systems whose option `input` is `files`."""


class SqlPeer(FramePeer):
    """`groupBy().agg()`."""

    def outputs(self) -> DataFrame:
        """Return the program's rows."""
        of_files = self.specification.options.get("input") == "files"
        programs = OF_FILES if of_files else PROGRAMS
        return programs[self.specification.program](self.session, self.shape)


if __name__ == "__main__":
    serve(SqlPeer)
