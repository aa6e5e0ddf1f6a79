"""Expressions of columns between a DataFrame and a DataFrame, in a session of Spark that knows nothing of them."""

from __future__ import annotations

import os

from frame_peer import FramePeer
from pyspark.sql import DataFrame

from benchmarks.inputs.record_files import FILES
from benchmarks.model.shape import MODES
from benchmarks.systems.serve import serve
from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment, col


class ExpressionsOfFrame(FramePeer):
    """`from_dataframe(…)` … `to_dataframe()`."""

    def outputs(self) -> DataFrame:
        """Return (key, greatest v, count)."""
        settings = {**MODES[self.shape.mode], "parallelism.default": str(self.shape.parallelism)}
        configuration = Configuration.from_dict(settings)
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        records = env.from_dataframe(self.session.read.parquet(os.environ[FILES]))
        results = records.key_by(col.key).aggregate(v=col.v.max(), n=col.count())
        made: DataFrame = results.to_dataframe()
        return made


if __name__ == "__main__":
    serve(ExpressionsOfFrame)
