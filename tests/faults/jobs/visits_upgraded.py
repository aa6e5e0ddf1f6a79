"""The totals of `tests.spark.jobs.visits`, and in its second version also the quiet pages.

Arguments: data directory, output directory, and the version: `first`, `slow` (the first, which goes on for minutes), or
`second`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common import Duration, Row, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import FileSink, FileSource, HybridSource
from tests.spark.jobs.live_rows import LiveRows, rows_of
from tests.spark.jobs.visits import ROW, Quiet


@dataclass(frozen=True, slots=True)
class OrderedRows(LiveRows):
    """The same rows in one split."""

    def splits(self, parallelism: int) -> Sequence[tuple[int, int | None]]:
        return [(0, len(rows_of(self.directory)))]

    def read(self, split: int, start: int, end: int) -> Sequence[Any]:
        return [Row(**row) for row in rows_of(self.directory)[start:end]]


class PacedRows(OrderedRows):
    """The same rows, few per second."""

    records_per_second = 1


def main(data: str, out: str, version: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    history = HybridSource.builder(FileSource.parquet(f"{data}/history"))
    rows = PacedRows if version == "slow" else OrderedRows
    source = history.add_source(rows(f"{data}/live")).build()
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(100))
    strategy = bounded.with_timestamp_assigner(lambda row, _: row["time"])
    visits = env.from_source(source, strategy, "visits").uid("times")
    pairs = visits.map(lambda row: (row["page"], 1, row["amount"]), Types.TUPLE(ROW.field_types))
    totals = pairs.uid("pairs").key_by(lambda t: t[0])
    summed = totals.reduce(lambda a, b: (a[0], a[1] + b[1], a[2] + b[2])).uid("totals")
    written = summed.map(lambda t: t, ROW).uid("rows")
    written.sink_to(FileSink.parquet(f"{out}/totals")).uid("out")
    if version == "second":
        quiet = visits.key_by(lambda row: row["page"]).process(Quiet()).uid("quiet")
        quiet.sink_to(FileSink.json(f"{out}/quiet")).uid("quiet pages")
    env.execute("visits")


if __name__ == "__main__":
    main(*sys.argv[1:])
