"""Two jobs of one process, one per state backend, with as many small epochs as wanted.

Arguments: directory, number of epochs. State is of the same keys all the time.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from pyspark import SparkContext

from penstock.common import Configuration, JobClient, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DataGeneratorSource, FileSink
from penstock.datastream.functions import KeyedProcessFunction
from penstock.datastream.state import ValueStateDescriptor

BACKENDS = ("hashmap", "lmdb")
RECORDS = 40
KEYS = 20
HEAP = "heap"
"""File in the directory: bytes of the JVM's heap that are in use, once the collector has run."""
HEAP_SECONDS = 5
RETAINED = (
    "spark.ui.retainedJobs",
    "spark.ui.retainedStages",
    "spark.sql.ui.retainedExecutions",
)
ROW = Types.ROW_NAMED(["key", "count"], [Types.LONG(), Types.LONG()])


class Count(KeyedProcessFunction):
    """Counts per key."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key(), count


def start(directory: Path, backend: str, micro_batches: int) -> JobClient:
    """Start the job with one backend."""
    settings = {
        "execution.runtime-mode": "STREAMING",
        "execution.checkpointing.dir": str(directory / backend),
        "execution.live.max-records-per-batch": RECORDS,
        "execution.live.catch-up-factor": 1,
        "parallelism.default": 1,
        "state.backend.type": backend,
        "spark.driver.memory": "512m",
        # The whole heap is there from the beginning: how much the collector takes of the system, and
        # when it gives that back, would be a hundred times what a leak is.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -Xms512m -XX:+AlwaysPreTouch",
        # Spark keeps what its pages show of the last thousand jobs, stages and queries, shown or not.
        # It is filled before the middle of the run.
        **dict.fromkeys(RETAINED, 50),
        # Spark removes the files of versions that nobody needs once a minute, some hundred at a time.
        "spark.master": "local[2,4]",
    }
    conf = Configuration.from_dict(settings)
    env = StreamExecutionEnvironment.get_execution_environment(conf)
    source = DataGeneratorSource(lambda i: i, count=RECORDS * micro_batches)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    counts = numbers.key_by(lambda i: i % KEYS).process(Count(), ROW).uid("counts")
    counts.sink_to(FileSink.parquet(directory / f"out-{backend}")).uid("out")
    return env.execute_async(backend)


def note_heap(directory: Path) -> None:
    """Write down what the JVM holds; nothing before there is one."""
    context = SparkContext._active_spark_context
    if context is None:
        return
    jvm: Any = context._jvm
    jvm.java.lang.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    text = str(runtime.totalMemory() - runtime.freeMemory())
    partial = directory / f"{HEAP}.new"
    partial.write_text(text)
    partial.replace(directory / HEAP)


def main(directory: Path, micro_batches: int) -> None:
    clients = [start(directory, backend, micro_batches) for backend in BACKENDS]
    results = [client.get_job_execution_result() for client in clients]
    while not all(result.done() for result in results):
        time.sleep(HEAP_SECONDS)
        note_heap(directory)
    for result in results:
        result.result()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
