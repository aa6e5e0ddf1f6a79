"""Three parts that share nothing: orders with history, clicks without, and numbers behind a bounded region.

Arguments: output directory. Every source ends, so that the job does.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DataGeneratorSource, FileSink, HybridSource
from tests.spark.jobs import enriched

KEYS = 5
HISTORY = 300
LIVE = 200
CLICKS = 240
ROW = Types.ROW_NAMED(["key", "n"], [Types.LONG(), Types.LONG()])
NO_TIME = WatermarkStrategy.no_watermarks()


def build(
    env: StreamExecutionEnvironment, out: Path, clicks: int = CLICKS, rate: int | None = None
) -> None:
    """Build the job; `env.execute("beside")` runs it."""
    history = DataGeneratorSource(lambda i: (i % KEYS, 1), count=HISTORY)
    live = DataGeneratorSource(lambda i: (i % KEYS, 1), count=LIVE)
    orders = HybridSource.builder(history).add_source(live).build()
    clicked = DataGeneratorSource(lambda i: (i % KEYS, 1), count=clicks, records_per_second=rate)
    for name, source in (("orders", orders), ("clicks", clicked)):
        counts = env.from_source(source, NO_TIME, name).key_by(lambda r: r[0]).sum(1).uid(name)
        rows = counts.map(lambda r: r, ROW).uid(f"rows of {name}")
        rows.sink_to(FileSink.parquet(out / name)).uid(f"{name} out")
    enriched.build(env, out / "enriched")


def expected(clicks: int = CLICKS) -> dict[str, Counter[tuple[Any, ...]]]:
    """Return what must be written of orders and clicks, each once."""
    counts = {"orders": HISTORY + LIVE, "clicks": clicks}
    return {
        name: Counter((key, n // KEYS + 1) for n in range(count) for key in [n % KEYS])
        for name, count in counts.items()
    }


if __name__ == "__main__":
    environment = StreamExecutionEnvironment.get_execution_environment()
    build(environment, Path(sys.argv[1]))
    environment.execute("beside")
