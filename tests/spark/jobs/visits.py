"""Reads Parquet history, then Parquet live files, and writes Parquet and JSON.

Arguments: data directory, output directory, and how the live files are read: as `files`, or their rows
by `positions`. Bounded, so that it ends.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from penstock.common import Duration, Types, WatermarkStrategy
from penstock.datastream import (
    KeyedProcessFunction,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.datastream.connectors import FileSink, FileSource, HybridSource
from penstock.graph.endpoints import Source
from tests.spark.jobs.live_rows import LiveRows

QUIET_MS = 400
LIVE: dict[str, Callable[[str], Source]] = {"files": FileSource.parquet, "positions": LiveRows}
ROW = Types.ROW_NAMED(["page", "count", "total"], [Types.STRING(), Types.LONG(), Types.LONG()])


class Quiet(KeyedProcessFunction):
    """Says when a page was not visited for `QUIET_MS` after a visit.

    Decides in the timer, from the visits at or before it, so the answer does not depend on
    how far the watermark lags.
    """

    def open(self, runtime_context: Any) -> None:
        self.visits = runtime_context.get_state(ValueStateDescriptor("visits"))

    def process_element(self, value: Any, ctx: Any) -> None:
        self.visits.update((*(self.visits.value() or ()), ctx.timestamp()))
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + QUIET_MS)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        visited = timestamp - QUIET_MS
        if not any(visited < t <= timestamp for t in self.visits.value()):
            yield {"page": ctx.get_current_key(), "quiet_since": visited}
        self.visits.update(tuple(t for t in self.visits.value() if t > visited) or None)


def build(env: StreamExecutionEnvironment, data: str, out: str, live: str = "files") -> None:
    """Build the job; `env.execute("visits")` runs it."""
    source = (
        HybridSource.builder(FileSource.parquet(f"{data}/history"))
        .add_source(LIVE[live](f"{data}/live"))
        .build()
    )
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_seconds(10)
    ).with_timestamp_assigner(lambda row, _: row["time"])
    visits = env.from_source(source, strategy, "visits")
    totals = (
        visits.map(lambda row: (row["page"], 1, row["amount"]), Types.TUPLE(ROW.field_types))
        .key_by(lambda t: t[0])
        .reduce(lambda a, b: (a[0], a[1] + b[1], a[2] + b[2]))
        .name("totals")
    )
    totals.map(lambda t: t, ROW).sink_to(FileSink.parquet(f"{out}/totals")).name("totals")
    quiet = visits.key_by(lambda row: row["page"]).process(Quiet()).name("quiet")
    quiet.sink_to(FileSink.json(f"{out}/quiet")).name("quiet pages")


def main(data: str, out: str, live: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env, data, out, live)
    env.execute("visits")


if __name__ == "__main__":
    main(*sys.argv[1:])
