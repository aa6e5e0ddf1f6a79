"""The program of the job directory and the savepoint that a version without pipelines has written.

    bounded -> totals                   a bounded region
    orders, history and live -> counts
    clicks, live -> counts
    totals, numbers -> enriched

Today it is four pipelines; for that version it was the region, and everything else behind it. Arguments of the
program: where it begins (`execution.checkpointing.dir`), directory of the output, records of each live source.
Sinks have no path in the checkpoint directory but that of the output, which is relative.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import (
    KeyedCoProcessFunction,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.datastream.connectors import DataGeneratorSource, FileSink, HybridSource
from penstock.datastream.window import EndOfStreamWindows

KEYS = 3
BOUNDED = 30
HISTORY = 40
LIVE = 120
NO_TIME = WatermarkStrategy.no_watermarks()
COUNT_ROW = Types.ROW_NAMED(["key", "n"], [Types.LONG(), Types.LONG()])
ENRICHED_ROW = Types.ROW_NAMED(["n", "total", "seen"], [Types.LONG()] * 3)
SETTINGS = {
    "execution.checkpointing.interval-during-backlog": "0",
    "execution.live.engine": "jobs",
    "execution.live.max-records-per-batch": "10",
    "execution.live.catch-up-factor": "1",
    "parallelism.default": "2",
}


class Enrich(KeyedCoProcessFunction):
    """Gives a number, the total of its key, and how many numbers of the key there were."""

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element1(self, value: Any, ctx: Any) -> None:
        self.total.update(value[1])

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        seen = (self.seen.value() or 0) + 1
        self.seen.update(seen)
        yield value, self.total.value() or -1, seen


def build(env: StreamExecutionEnvironment, out: Path, live: int = LIVE) -> None:
    """Build the job; `env.execute("earlier")` runs it."""

    def pairs(count: int) -> DataGeneratorSource:
        return DataGeneratorSource(lambda i: (i % KEYS, i), count=count)

    totals = (
        env.from_source(pairs(BOUNDED), NO_TIME, "bounded")
        .key_by(lambda pair: pair[0])
        .window(EndOfStreamWindows.get())
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
        .uid("totals")
    )
    orders = HybridSource.builder(pairs(HISTORY)).add_source(pairs(live)).build()
    for name, source in (("orders", orders), ("clicks", pairs(live))):
        counts = env.from_source(source, NO_TIME, name).map(lambda pair: (pair[0], 1))
        rows = counts.key_by(lambda one: one[0]).sum(1).uid(name).map(lambda row: row, COUNT_ROW)
        rows.sink_to(FileSink.parquet(out / name)).uid(f"{name} out")
    numbers = env.from_source(DataGeneratorSource(lambda i: i, count=live), NO_TIME, "numbers")
    enriched = totals.connect(numbers).key_by(lambda pair: pair[0], lambda n: n % KEYS)
    rows = enriched.process(Enrich(), ENRICHED_ROW).uid("enriched")
    rows.sink_to(FileSink.parquet(out / "enriched")).uid("enriched out")


def expected(live: int = LIVE) -> dict[str, Counter[tuple[int, ...]]]:
    """Return the rows of orders and clicks, each once."""
    found: dict[str, Counter[tuple[int, ...]]] = {"clicks": Counter(), "orders": Counter()}
    for name, parts in (("clicks", [live]), ("orders", [HISTORY, live])):
        seen: Counter[int] = Counter()
        for key in (i % KEYS for count in parts for i in range(count)):
            seen[key] += 1
            found[name][key, seen[key]] += 1
    return found


def expected_enriched(live: int = LIVE) -> tuple[Counter[Any], Counter[Any]]:
    """Return (number, total) and (key, how many were seen); see `answer_enriched`."""
    totals = [sum(range(key, BOUNDED, KEYS)) for key in range(KEYS)]
    return (
        Counter((n, totals[n % KEYS]) for n in range(live)),
        Counter((n % KEYS, n // KEYS + 1) for n in range(live)),
    )


def answer_enriched(rows: Counter[tuple[int, ...]]) -> tuple[Counter[Any], Counter[Any]]:
    """Return what is compared of enriched rows: the order of the splits of a key is not defined."""
    totals: Counter[Any] = Counter()
    seen: Counter[Any] = Counter()
    for (number, total, nth), times in rows.items():
        totals[number, total] += times
        seen[number % KEYS, nth] += times
    return totals, seen


if __name__ == "__main__":
    environment = StreamExecutionEnvironment.get_execution_environment()
    build(environment, Path(sys.argv[1]))
    environment.execute("earlier")
