"""History in files, then a streaming DataFrame: the visits of each key are counted.

Arguments: data directory, output directory. A stream does not end, so the job is cancelled when all output is there.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, udf

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import FileSink, FileSource, HybridSource, SparkSource
from penstock.spark.session.factory import get_session

KEYS = 5
HISTORY = 100
FILES = 6
"""Files of live input; each is a micro-batch of the stream."""

PER_FILE = 40
ALL = HISTORY + FILES * PER_FILE

LONG = Types.LONG()
VISIT = Types.ROW_NAMED(["key", "n"], [LONG, LONG])


def write_live(data: Path, number: int) -> None:
    """Add a file of live input."""
    first = HISTORY + number * PER_FILE
    _write(data / "live", f"{number:03}", range(first, first + PER_FILE))


def write_input(data: Path) -> None:
    """Write history, and all files of live input."""
    _write(data / "history", "000", range(HISTORY))
    for number in range(FILES):
        write_live(data, number)


def _write(directory: Path, name: str, numbers: range) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    rows = pa.table({"key": [n % KEYS for n in numbers], "n": list(numbers)})
    pq.write_table(rows, directory / f".{name}")
    (directory / f".{name}").rename(directory / f"{name}.parquet")


def stream_of(session: SparkSession, data: Path) -> DataFrame:
    """Return the live input: one file per micro-batch, through a function of Python in a worker of Spark's own."""

    def passed(n: int) -> int:
        from penstock.failpoint import failpoint  # noqa: PLC0415 - it is pickled by value

        failpoint("stream.row")
        return n

    files = session.readStream.schema("key LONG, n LONG").option("maxFilesPerTrigger", 1)
    same: Any = udf(passed, "long", useArrow=False)(col("n"))
    return files.parquet(str(data / "live")).select("key", same.alias("n"))


def build(env: StreamExecutionEnvironment, frame: DataFrame, data: Path, out: Path) -> None:
    """Build the job: history from files, live input from a streaming DataFrame."""
    history = FileSource.parquet(str(data / "history"), type_info=VISIT)
    source = HybridSource.builder(history).add_source(SparkSource(frame)).build()
    visits = env.from_source(source, WatermarkStrategy.no_watermarks(), "visits")
    counts = (
        visits.map(lambda visit: (visit["key"], 1), Types.TUPLE([LONG, LONG]))
        .key_by(lambda visit: visit[0])
        .sum(1)
        .uid("counts")
    )
    counts.map(lambda count: count, VISIT).sink_to(FileSink.parquet(str(out)))


def written(out: Path) -> Counter[tuple[int, int]]:
    """Return the rows (key, count) that are visible."""
    return Counter(
        tuple(row.values())
        for path in out.glob("*.parquet")
        for row in pq.read_table(path).to_pylist()
    )


def expected(visits: int = ALL) -> Counter[tuple[int, int]]:
    """Return the rows that a replay of so many visits gives."""
    return Counter((n % KEYS, n // KEYS + 1) for n in range(visits))


def main(data: str, out: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    session = get_session(env.get_configuration(), 1)
    build(env, stream_of(session, Path(data)), Path(data), Path(out))
    client = env.execute_async("counted")
    result = client.get_job_execution_result()
    while written(Path(out)).total() < ALL and not result.done():
        time.sleep(0.2)
    if result.done():
        result.result()
    client.cancel().result()


if __name__ == "__main__":
    main(*sys.argv[1:])
