"""A bounded region whose results meet a stream: every number with the total of its key.

Arguments: output directory. The stream ends, so that the job does.
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
from penstock.datastream.connectors import DataGeneratorSource, FileSink
from penstock.datastream.window import EndOfStreamWindows
from penstock.graph.source import Source

KEYS = 6
BOUNDED = 600
LIVE = 240
ROW = Types.ROW_NAMED(["n", "total", "seen"], [Types.LONG(), Types.LONG(), Types.LONG()])
NO_TIME = WatermarkStrategy.no_watermarks()


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


def bounded_records() -> list[tuple[int, int]]:
    """Return the records of the bounded region: (key, number)."""
    return [(i % KEYS, i) for i in range(BOUNDED)]


def build(env: StreamExecutionEnvironment, out: Path, source: Source | None = None) -> None:
    """Build the job; `env.execute("enriched")` runs it.

    Args:
        env: Of the job.
        out: Directory of the output.
        source: Has the records of the bounded region; None computes them.
    """
    numbers = DataGeneratorSource(lambda i: (i % KEYS, i), count=BOUNDED)
    bounded = env.from_source(source or numbers, NO_TIME, "bounded")
    totals = (
        bounded.key_by(lambda pair: pair[0])
        .window(EndOfStreamWindows.get())
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
        .uid("totals")
    )
    live = env.from_source(DataGeneratorSource(lambda i: i, count=LIVE), NO_TIME, "live")
    enriched = totals.connect(live).key_by(lambda pair: pair[0], lambda n: n % KEYS)
    enriched.process(Enrich(), ROW).uid("enriched").sink_to(FileSink.parquet(out)).uid("out")


Answer = tuple[Counter[tuple[int, int]], Counter[tuple[int, int]]]
"""(number, total) and (key, how many were seen) of what was written. In which order a key saw the
numbers of different splits is not defined."""


def answer(rows: Counter[tuple[Any, ...]]) -> Answer:
    """Return what is compared of the rows that were written."""
    totals: Counter[tuple[int, int]] = Counter()
    seen: Counter[tuple[int, int]] = Counter()
    for (number, total, nth), times in rows.items():
        totals[number, total] += times
        seen[number % KEYS, nth] += times
    return totals, seen


def expected() -> Answer:
    """Return what it must be, each once."""
    totals = [sum(range(key, BOUNDED, KEYS)) for key in range(KEYS)]
    return (
        Counter((n, totals[n % KEYS]) for n in range(LIVE)),
        Counter((n % KEYS, n // KEYS + 1) for n in range(LIVE)),
    )


if __name__ == "__main__":
    environment = StreamExecutionEnvironment.get_execution_environment()
    build(environment, Path(sys.argv[1]))
    environment.execute("enriched")
