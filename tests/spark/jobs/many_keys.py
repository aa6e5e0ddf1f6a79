"""Every key once in history, then live records of pseudo-random keys: running count and total.

Arguments: output directory, number of keys, number of live records, live records per second
(0 is as fast as possible). Only live records give results, as Parquet.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import (
    KeyedProcessFunction,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.datastream.connectors import DataGeneratorSource, FileSink, HybridSource

ROW = Types.ROW_NAMED(["key", "count", "total"], [Types.LONG(), Types.LONG(), Types.LONG()])
STATE = Types.ROW_NAMED(["count", "total"], [Types.LONG(), Types.LONG()])


def key_of_live(index: int, keys: int) -> int:
    """Return the key of a live record."""
    return index * 2_654_435_761 % keys


class Totals(KeyedProcessFunction):
    """Emits count and total of the key with every live record."""

    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("totals", STATE))

    def process_element(self, value: tuple[int, int, bool], ctx: Any) -> Iterable[Any]:
        key, amount, is_live = value
        before = self.state.value()
        count, total = (1, amount) if before is None else (before.count + 1, before.total + amount)
        self.state.update(STATE.coerce((count, total)))
        if is_live:
            yield key, count, total


def main(out: str, keys: int, records: int, rate: int) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    history = DataGeneratorSource(lambda i: (i, i % 97, False), keys)
    live = DataGeneratorSource(
        lambda i: (key_of_live(i, keys), i % 89, True), records, records_per_second=rate or None
    )
    source = HybridSource.builder(history).add_source(live).build()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "records")
    totals = stream.key_by(lambda r: r[0]).process(Totals()).uid("totals")
    totals.map(lambda found: found, ROW).sink_to(FileSink.parquet(out))
    env.execute("many keys")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
