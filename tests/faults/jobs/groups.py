"""Sums so far of the numbers of a key, by `map_groups` with state, and totals by aggregates of columns.

Arguments: the directory of output, and how many numbers there are, of which half are history.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import (
    MapGroupFunction,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
    col,
)
from penstock.datastream.connectors import FileSink, HybridSource, NumberSequenceSource

KEYS = 5
NUMBER = Types.ROW_NAMED(["key", "n"], [Types.LONG(), Types.LONG()])
SUM = Types.ROW_NAMED(["key", "n", "total"], [Types.LONG()] * 3)


class Sums(MapGroupFunction):
    """The sum of the numbers of a key up to each of them."""

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def map_group(self, batch: dict[str, np.ndarray]) -> Any:
        totals = (self.total.value() or 0) + np.cumsum(batch["n"])
        self.total.update(int(totals[-1]))
        return {**batch, "total": totals}


def build(env: StreamExecutionEnvironment, out: Path, count: int) -> None:
    first = NumberSequenceSource(1, count // 2)
    rest = NumberSequenceSource(count // 2 + 1, count)
    both = HybridSource.builder(first).add_source(rest).build()
    numbers = env.from_source(both, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    rows = numbers.map(lambda n: (n % KEYS, n), NUMBER).uid("rows")
    sums = rows.key_by(col.key).map_groups(Sums(), SUM, batch_size=7).uid("sums")
    sums.sink_to(FileSink.parquet(out / "sums")).uid("sums-out")
    totals = rows.key_by(col.key).aggregate(n=col.count(), total=col.n.sum()).uid("totals")
    newest = FileSink.parquet(out / "totals").with_sequence_column("seq")
    totals.sink_to(newest).uid("totals-out")


def check(out: Path, count: int) -> None:
    """Check that each number has a sum of its own, in one order per key, and that the last totals are those of all."""
    sums, totals = (
        [row for path in (out / name).glob("part-*") for row in pq.read_table(path).to_pylist()]
        for name in ("sums", "totals")
    )
    assert Counter(row["n"] for row in sums) == Counter(range(1, count + 1))
    for key in range(KEYS):
        of_key = sorted((row["total"], row["n"]) for row in sums if row["key"] == key)
        before = 0
        for total, n in of_key:
            before += n
            assert total == before
        numbers = [n for n in range(1, count + 1) if n % KEYS == key]
        last = max((row for row in totals if row["key"] == key), key=lambda row: row["seq"])
        assert (last["n"], last["total"]) == (len(numbers), sum(numbers))


def main(out: str, count: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env, Path(out), int(count))
    env.execute("groups")


if __name__ == "__main__":
    main(*sys.argv[1:])
