"""Jobs on two executors, in one session: history, live files, a lost executor, a savepoint, other parallelism, the demo.

Arguments: data directory, output directory, directory of checkpoints, directory of the demo. Each result says on which
executor it was made, by the executor's local directory, and how many files a local copy of the state has there. The
output is one line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark import SparkContext

from penstock.api.environment.job import JobClient
from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.datastream import (
    KeyedProcessFunction,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.datastream.connectors import FileSink, FileSource, HybridSource
from tests.faults.processes import executors_below, kill
from tests.spark.jobs import demo_on_cluster
from tests.spark.waiting import wait_for

EXECUTORS = 2
SECONDS = 300
"""Executors with a JVM each take long to start beside other work."""

ROW = Types.ROW_NAMED(
    ["page", "count", "total", "local", "temporary", "files"],
    [
        *(Types.STRING(), Types.LONG(), Types.LONG()),
        *(Types.STRING(), Types.STRING(), Types.LONG()),
    ],
)


class Totals(KeyedProcessFunction):
    """Counts the visits of a page and adds their amounts."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))
        self.local = Path(os.environ["SPARK_LOCAL_DIRS"])

    def process_element(self, value: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        self.count.update((self.count.value() or 0) + 1)
        self.total.update((self.total.value() or 0) + value["amount"])
        files = sum(path.is_file() for path in self.local.glob("penstock-state/**/*"))
        place = str(self.local), tempfile.gettempdir(), files
        yield ctx.get_current_key(), self.count.value(), self.total.value(), *place


def start(data: Path, out: Path, job: Path, settings: dict[str, Any]) -> JobClient:
    """Start the job; it waits for live files."""
    config = Configuration.from_dict(
        {
            "execution.checkpointing.dir": str(job),
            "execution.checkpointing.interval-during-backlog": 0,
            "execution.live.single-task-work": "0ms",
            "state.backend.type": "lmdb",
            **settings,
        }
    )
    env = StreamExecutionEnvironment.get_execution_environment(config)
    live = FileSource.parquet(data / "live").monitor_continuously()
    source = HybridSource.builder(FileSource.parquet(data / "history")).add_source(live).build()
    visits = env.from_source(source, WatermarkStrategy.no_watermarks(), "visits").uid("visits")
    totals = visits.key_by(lambda row: row["page"]).process(Totals(), ROW).uid("totals")
    totals.sink_to(FileSink.parquet(out)).uid("out")
    return env.execute_async("visits")


def rows(out: Path) -> int:
    """Return how many results there are."""
    return sum(pq.read_metadata(path).num_rows for path in out.glob("*.parquet"))


def files_arrive(data: Path, name: str) -> int:
    """Let the files of a directory arrive; return how many rows they have."""
    count = rows(data / name)
    for path in (data / name).iterdir():
        path.rename(data / "live" / f"{name}-{path.name}")
    return count


def have_registered() -> bool:
    """Whether all executors run, and the driver knows them."""
    context = SparkContext._active_spark_context
    assert context is not None
    with_driver: int = context._jsc.sc().getExecutorMemoryStatus().size()
    return with_driver - 1 == len(executors_below(os.getpid())) == EXECUTORS


def main(data: Path, out: Path, jobs: Path, demo: Path) -> None:
    """Run the job twice, the second time with a third of the key groups elsewhere; then the demo."""
    expected = rows(data / "history") + rows(data / "live")
    first = start(data, out, jobs / "first", {"parallelism.default": 2})
    wait_for(first, lambda: rows(out) == expected, SECONDS)
    told: dict[str, Any] = {"first": expected}

    wait_for(first, have_registered, SECONDS)
    before = executors_below(os.getpid())
    expected += files_arrive(data, "meanwhile")
    kill(before[0])
    wait_for(first, lambda: rows(out) == expected, SECONDS)
    wait_for(first, have_registered, SECONDS)
    told |= {"meanwhile": expected, "killed": before[0], "before": before}
    told["after"] = executors_below(os.getpid())

    savepoint = first.stop_with_savepoint().result()
    first.get_job_execution_result().result()
    expected += files_arrive(data, "later")
    settings = {"parallelism.default": 3, "execution.state-recovery.path": savepoint}
    second = start(data, out, jobs / "second", settings)
    wait_for(second, lambda: rows(out) == expected, SECONDS)
    second.cancel()
    told |= {"all": expected, "demo": demo_on_cluster.run(demo)}
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
