"""Queries of Nexmark in Spark SQL: native functions, no Python."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spark_session import make_session

from benchmarks.answers.nexmark_tables import digest_of_all, digest_of_files
from benchmarks.model.program import Outputs
from benchmarks.nexmark.queries import QUERIES
from benchmarks.systems.bounded import BoundedSystem
from benchmarks.systems.serve import serve


class SparkQueries(BoundedSystem):
    """Runs each query over views of files of columns."""

    def prepare(self) -> None:
        """Make the session and the views."""
        options = self.specification.options
        self._names = options["queries"].split()
        root = Path(options["input"])
        self._session = make_session(self.shape.parallelism, "memory", self.work / "local")
        self._session.conf.set("spark.sql.adaptive.enabled", "true")
        for name in {table for query in self._names for table in QUERIES[query].tables}:
            self._session.read.parquet(str(root / name)).createOrReplaceTempView(name)

    def run(self) -> Mapping[str, Any]:
        """Run every query once into Spark's sink noop."""
        told = {}
        for name in self._names:
            started = time.monotonic()
            rows = self._session.sql(QUERIES[name].text)
            rows.write.format("noop").mode("overwrite").save()
            told[f"{name}_seconds"] = time.monotonic() - started
        return {
            **told,
            "seconds": sum(told.values()),
            "records": self.shape.records * len(self._names),
        }

    def digest(self) -> Outputs:
        """Run every query once more into files, and digest these."""

        def of_query(name: str) -> tuple[int, int]:
            directory = self.work / "out" / name
            self._session.sql(QUERIES[name].text).write.parquet(str(directory))
            found = digest_of_files(directory)
            shutil.rmtree(directory, ignore_errors=True)
            return found

        return digest_of_all(self._names, of_query)

    def close(self) -> None:
        """Stop the session."""
        self._session.stop()


if __name__ == "__main__":
    serve(SparkQueries)
