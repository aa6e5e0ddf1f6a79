"""`live-state` in Spark SQL: native aggregates, no Python."""

from __future__ import annotations

from file_query import FileQuery
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from benchmarks.systems.serve import serve


class SqlLiveState(FileQuery):
    """`groupBy().agg()`."""

    def compute(self, records: DataFrame) -> DataFrame:
        """Aggregate by key."""
        return records.groupBy("key").agg(
            sf.count("value").alias("count"), sf.sum("value").alias("sum")
        )


if __name__ == "__main__":
    serve(SqlLiveState)
