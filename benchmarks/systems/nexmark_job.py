"""The process of our systems in `nexmark`: a batch job per query."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.answers.nexmark_tables import digest_of_all, digest_of_files
from benchmarks.inputs.nexmark_files import ddl
from benchmarks.model.program import Outputs
from benchmarks.model.shape import MODES
from benchmarks.nexmark.queries import QUERIES
from benchmarks.systems.bounded import BoundedSystem
from benchmarks.systems.serve import serve
from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DiscardingSink, FileSink, Sink
from penstock.observe.events.listeners import set_listeners

INPUT, NAMES = "input", "queries"
"""Among the options: the directory of the tables, and the names of the queries."""


class NexmarkQueries(BoundedSystem):
    """Runs each query as a job of its own; the Spark session stays."""

    def prepare(self) -> None:
        """Take the options apart."""
        options = self.specification.options
        self._input = Path(options[INPUT])
        self._names = options[NAMES].split()
        self._options = {key: value for key, value in options.items() if key not in {INPUT, NAMES}}
        set_listeners()

    def run(self) -> Mapping[str, Any]:
        """Run every query once and drop its rows; tell what each took."""
        told = {}
        for name in self._names:
            started = time.monotonic()
            self._run(name, DiscardingSink())
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
            self._run(name, FileSink.parquet(str(directory)))
            found = digest_of_files(directory)
            shutil.rmtree(directory, ignore_errors=True)
            return found

        return digest_of_all(self._names, of_query)

    def close(self) -> None:
        """Nothing runs between runs."""

    def _run(self, name: str, sink: Sink) -> None:
        env = StreamExecutionEnvironment.get_execution_environment(
            Configuration.from_dict(
                {
                    "parallelism.default": str(self.shape.parallelism),
                    "spark.local.dir": str(self.work / "local"),
                    # While the process is stopped no heartbeat comes, and it is no reason to give up.
                    "spark.network.timeout": "100000s",
                    **MODES[self.shape.mode],
                    **self._options,
                    **self.specification.settings,
                }
            )
        )
        query = QUERIES[name]
        env.execute_sql("\n".join(ddl(self._input, table) for table in query.tables))
        env.sql(query.text).sink_to(sink)
        env.execute(name)


if __name__ == "__main__":
    serve(NexmarkQueries)
