"""Orders whose history is in files, and clicks, which have none; they meet in one count.

Arguments: data directory, output directory. History is followed by files or by positions; every source ends, so that
the job does.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from penstock.common import Row, TypeInformation, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DataGeneratorSource, FileSink, FileSource, HybridSource
from penstock.graph.endpoints import SplitSource

KEYS = 5
HISTORY = 1500
LATER = 90
PER_FILE = 30
CLICKS = 200
ROW = Types.ROW_NAMED(["name", "key", "n"], [Types.STRING(), Types.LONG(), Types.LONG()])
NO_TIME = WatermarkStrategy.no_watermarks()

Counts = Counter[tuple[Any, ...]]


@dataclass(frozen=True)
class LaterOrders(SplitSource):
    """The orders behind history, as rows, by positions."""

    kind: ClassVar[str] = "later orders"

    @property
    def is_bounded(self) -> bool:
        return True

    def get_produced_type(self) -> TypeInformation[Any]:
        return ROW

    def splits(self, parallelism: int) -> list[tuple[int, int | None]]:
        return [(HISTORY, HISTORY + LATER)]

    def read(self, split: int, start: int, end: int) -> list[Any]:
        return [Row(name="orders", key=n % KEYS, n=1) for n in range(start, end)]


def write_orders(directory: Path, first: int, last: int) -> None:
    """Write the orders of some numbers to files, in order of their times."""
    directory.mkdir(parents=True, exist_ok=True)
    for begin in range(first, last, PER_FILE):
        rows = [{"name": "orders", "key": n % KEYS, "n": 1} for n in range(begin, begin + PER_FILE)]
        hidden = directory / f".{begin}"
        hidden.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(hidden, (begin + 1, begin + 1))
        hidden.rename(directory / f"{begin}.json")


def write_input(directory: Path) -> None:
    """Write history, and what follows it."""
    write_orders(directory / "history", 0, HISTORY)
    write_orders(directory / "later", HISTORY, HISTORY + LATER)


def orders_of(directory: Path, later: str) -> HybridSource:
    """Return orders whose history is in files, and which go on in `files`, by `positions`, or in `live files`."""
    history = FileSource.json(directory / "history", ROW)
    behind = {
        "files": FileSource.json(directory / "later", ROW),
        "positions": LaterOrders(),
        "live files": history.monitor_continuously(),  # history must not be read again
    }[later]
    return HybridSource.builder(history).add_source(behind).build()


def build(
    env: StreamExecutionEnvironment, out: Path, orders: HybridSource, rate: int | None = None
) -> None:
    """Build the job.

    Args:
        env: The environment.
        out: Directory of the output.
        orders: See `orders_of`.
        rate: Clicks per second; None is as many as an epoch takes.
    """
    clicked = DataGeneratorSource(
        lambda i: ("clicks", i % KEYS, 1), count=CLICKS, records_per_second=rate
    )
    rows = env.from_source(orders, NO_TIME, "orders", ROW).uid("orders")
    clicks: Any = env.from_source(clicked, NO_TIME, "clicks").uid("clicks")
    both = clicks.union(rows.map(lambda row: (row.name, row.key, row.n)))
    counts = both.key_by(lambda r: (r[0], r[1])).sum(2).uid("counts")
    counts.map(lambda r: r, ROW).uid("rows").sink_to(FileSink.parquet(out)).uid("out")


def expected(orders: int = HISTORY + LATER) -> Counts:
    """Return the (name, key, count) that a replay gives, each once."""
    counts = {"orders": orders, "clicks": CLICKS}
    return Counter(
        (name, n % KEYS, n // KEYS + 1) for name, count in counts.items() for n in range(count)
    )


def main(data: str, out: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env, Path(out) / "files", orders_of(Path(data), "files"), rate=30)
    env.execute("orders")


if __name__ == "__main__":
    main(*sys.argv[1:])
