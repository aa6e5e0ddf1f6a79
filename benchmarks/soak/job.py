"""The job of the soak: running count and total per key over JSON files, history first, then live ones.

Arguments: directory of the input, directory of the output. Never ends.
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
from penstock.datastream.connectors import FileSink, FileSource, HybridSource

LONG = Types.LONG()
INPUT = Types.ROW_NAMED(["key", "amount", "at_ms"], [LONG, LONG, LONG])
OUTPUT = Types.ROW_NAMED(["key", "count", "total", "at_ms"], [LONG, LONG, LONG, LONG])


class Totals(KeyedProcessFunction):
    """Emits count and total of the key with every record, and the record's time."""

    def open(self, runtime_context: Any) -> None:
        """Get the state."""
        descriptor = ValueStateDescriptor("totals", Types.TUPLE([LONG, LONG]))
        self._totals = runtime_context.get_state(descriptor)

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        """Count a record."""
        count, total = self._totals.value() or (0, 0)
        self._totals.update((count + 1, total + value.amount))
        yield ctx.get_current_key(), count + 1, total + value.amount, value.at_ms


def main(data: str, out: str) -> None:
    """Run the job."""
    env = StreamExecutionEnvironment.get_execution_environment()
    live = FileSource.json(f"{data}/live", INPUT).monitor_continuously()
    source = HybridSource.builder(FileSource.json(f"{data}/history", INPUT)).add_source(live)
    records = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "records")
    totals = records.key_by(lambda row: row.key).process(Totals(), OUTPUT).uid("totals")
    totals.sink_to(FileSink.parquet(out)).uid("out")
    env.execute("soak")


if __name__ == "__main__":
    main(*sys.argv[1:])
