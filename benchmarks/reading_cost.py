"""Records per millisecond of a live job that reads files: as a log, and through Spark's file stream.

    python -m benchmarks.reading_cost --records 4000000 --rounds 3

Both jobs read the same Parquet files to sums by key, in micro-batches of at most so many files. They are started, and stopped
behind the last record, in turn in one session. The time is from the commit of the first micro-batch to that of the last one.
The file stream is a streaming DataFrame: a query writes its micro-batches to files, which the epochs read.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DiscardingSink, FileSource, SparkSource
from penstock.graph.source import Source
from penstock.observe.events.job_events import JobEvent, MicroBatch
from penstock.observe.events.listeners import JobListener, also_listening
from penstock.spark.session.factory import get_session

FILES = 40
FILES_PER_BATCH = 4
KEYS = 1_000
ROW = Types.ROW_NAMED(["key", "amount"], [Types.LONG(), Types.LONG()])
SYSTEMS = ("log", "file stream")
_SECONDS = 600.0


class Arrived(JobListener):
    """Waits until so many records were committed.

    Attributes:
        commits: When each micro-batch was committed, in seconds, and the records until then.
        done: Set when all are.
    """

    is_quick = True

    def __init__(self, records: int) -> None:
        """Begin with none of them."""
        self._records = records
        self.commits: list[tuple[float, int]] = []
        self.done = threading.Event()

    def on_event(self, event: JobEvent) -> None:
        """Count a micro-batch."""
        if isinstance(event, MicroBatch):
            self.commits.append((time.monotonic(), event.total_records))
            if event.total_records >= self._records:
                self.done.set()


def write_files(directory: Path, records: int) -> None:
    """Write the input."""
    directory.mkdir()
    for number, numbers in enumerate(np.array_split(np.arange(records), FILES)):
        table = pa.table({"key": numbers % KEYS, "amount": numbers})
        pq.write_table(table, directory / f"{number:03}.parquet")


def round_of(system: str, data: Path, work: Path, records: int) -> float:
    """Run one job until it has read everything; return its records per millisecond.

    Raises:
        TimeoutError: It does not read everything.
    """
    settings = {
        "execution.runtime-mode": "STREAMING",
        "execution.checkpointing.dir": str(work),
        "execution.live.max-files-per-batch": FILES_PER_BATCH,
        "execution.live.max-records-per-batch": records,
        "execution.live.catch-up-factor": 1,
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    source: Source
    if system == "log":
        source = FileSource.parquet(str(data), ROW).monitor_continuously()
    else:
        reader = SparkSession.active().readStream.schema("key long, amount long")
        frame = reader.option("maxFilesPerTrigger", FILES_PER_BATCH).parquet(str(data))
        source = SparkSource(frame)
    rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "rows").uid("rows")
    pairs = rows.map(
        lambda row: (row.key, row.amount), output_type=Types.TUPLE([Types.LONG(), Types.LONG()])
    )
    pairs.uid("pairs").key_by(lambda pair: pair[0]).sum(1).uid("sums").sink_to(DiscardingSink())
    arrived = Arrived(records)
    with also_listening(arrived):
        client = env.execute_async(system)
        if not arrived.done.wait(_SECONDS):
            raise TimeoutError(f"{system} has read {arrived.commits[-1:]} records")
        client.cancel().result()
    (began, before), (ended, after) = arrived.commits[0], arrived.commits[-1]
    return (after - before) / (1000 * (ended - began))


def main(arguments: list[str]) -> int:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description="A log of files against Spark's file stream.")
    parser.add_argument("--records", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args(arguments)
    rates: dict[str, list[float]] = {system: [] for system in SYSTEMS}
    with tempfile.TemporaryDirectory(prefix="penstock-reading-") as root:
        data = Path(root, "data")
        write_files(data, given.records)
        get_session(Configuration())
        for number in range(given.rounds + 1):
            for system in SYSTEMS:
                work = Path(root, f"{number}-{system.replace(' ', '-')}")
                rate = round_of(system, data, work, given.records)
                if number:  # the first one warms up
                    rates[system].append(rate)
    for system, found in rates.items():
        told = ", ".join(f"{rate:,.0f}" for rate in found)
        sys.stdout.write(f"{system}: median {median(found):,.0f} records/ms ({told})\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
