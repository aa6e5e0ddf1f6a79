"""Counts the rows of every key of one Delta table into another one, exactly once.

Arguments: the table that is read up to what is there at the start, the one that is written, `append` or `upsert`.
"""

from __future__ import annotations

import sys

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.delta import DeltaSink, DeltaSource

ROW = Types.ROW_NAMED(["key", "n"], [Types.STRING(), Types.LONG()])


def main(table: str, to: str, form: str) -> None:
    source = DeltaSource.table(table).from_version(0).bounded()
    sink = DeltaSink.append(to) if form == "append" else DeltaSink.upsert(to, keys=["key"])
    env = StreamExecutionEnvironment.get_execution_environment()
    rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "rows").uid("rows")
    ones = rows.map(lambda row: (row.key, 1)).key_by(lambda one: one[0])
    ones.sum(1).uid("counts").map(lambda r: r, ROW).sink_to(sink).uid("out")
    env.execute("counts")


if __name__ == "__main__":
    main(*sys.argv[1:])
