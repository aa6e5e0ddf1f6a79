"""Running count and total per key over history in JSON files, then over a stream of Spark of files that keep arriving.

Arguments: directory of history, of live files, of the output. Never ends.
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
from penstock.datastream.connectors import FileSink, FileSource, HybridSource, SparkSource
from penstock.spark.session.factory import get_session

INPUT = Types.ROW_NAMED(["key", "amount"], [Types.LONG(), Types.LONG()])
OUTPUT = Types.ROW_NAMED(["key", "count", "total"], [Types.LONG(), Types.LONG(), Types.LONG()])


class Totals(KeyedProcessFunction):
    """Emits count and total of the key with every record."""

    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("totals"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        count, total = self.state.value() or (0, 0)
        self.state.update((count + 1, total + value.amount))
        yield ctx.get_current_key(), count + 1, total + value.amount


def main(history: str, live: str, out: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    session = get_session(env.get_configuration(), 1)
    files = session.readStream.schema("key LONG, amount LONG").option("maxFilesPerTrigger", 1)
    stream = SparkSource(files.json(live))
    source = HybridSource.builder(FileSource.json(history, INPUT)).add_source(stream).build()
    records = env.from_source(source, WatermarkStrategy.no_watermarks(), "records")
    totals = records.key_by(lambda row: row.key).process(Totals()).uid("totals")
    totals.map(lambda found: found, OUTPUT).sink_to(FileSink.parquet(out))
    env.execute("totals")


if __name__ == "__main__":
    main(*sys.argv[1:])
