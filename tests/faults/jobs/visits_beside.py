"""The visits, and beside them what shares nothing with them: a bounded region, what reads its results, and a log.

    bounded, a log -> totals                   pipeline 0, a bounded region
    visits, history and live -> two sinks      pipeline 1
    clicks, a log -> counts -> sink            pipeline 2, live at once
    totals, numbers -> enriched -> sink        pipeline 3, behind pipeline 0

Arguments: data directory, output directory. Bounded, so that it ends.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import FileSink
from tests.log_world import AppendedLog
from tests.spark.jobs import enriched, visits

REGION, VISITS, CLICKS, ENRICHED = range(4)
"""Index of each pipeline."""

COUNT = 600
KEYS = 5
SPLITS = 2
ROW = Types.ROW_NAMED(["key", "n"], [Types.LONG(), Types.LONG()])


def bounded_of(data: str) -> AppendedLog:
    """Return the log of the bounded region."""
    return AppendedLog(f"{data}/bounded", bounded=True)


def clicks_of(data: str) -> AppendedLog:
    """Return the log of the clicks."""
    return AppendedLog(f"{data}/clicks", bounded=True)


def write_logs(data: str) -> None:
    """Write the records of both logs; each key has its records in one split."""
    records = {
        bounded_of(data): enriched.bounded_records(),
        clicks_of(data): [(i % KEYS, 1) for i in range(COUNT)],
    }
    for log, of in records.items():
        Path(log.directory).mkdir(parents=True)
        for split in range(SPLITS):
            log.add(f"split-{split}", *(each for each in of if each[0] % SPLITS == split))


def expected_clicks() -> Counter[tuple[int, int]]:
    """Return the (key, count) that a replay of the clicks gives."""
    return Counter((i % KEYS, i // KEYS + 1) for i in range(COUNT))


def build(env: StreamExecutionEnvironment, data: str, out: str) -> None:
    """Build the job; `env.execute("visits")` runs it."""
    visits.build(env, data, out, "positions")
    clicks = env.from_source(clicks_of(data), WatermarkStrategy.no_watermarks(), "clicks")
    counts = clicks.key_by(lambda click: click[0]).sum(1).uid("clicks")
    counts.map(lambda count: count, ROW).sink_to(FileSink.parquet(f"{out}/clicks"))
    enriched.build(env, Path(out) / "enriched", bounded_of(data))


def main(data: str, out: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env, data, out)
    env.execute("visits")


if __name__ == "__main__":
    main(*sys.argv[1:])
