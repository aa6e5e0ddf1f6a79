"""Counts numbers by key into JSON files on S3, exactly once.

Arguments: the last number, the path that is written.
"""

from __future__ import annotations

import sys

from penstock.common import Row, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import FileSink, NumberSequenceSource

ROW = Types.ROW_NAMED(["key", "n"], [Types.LONG(), Types.LONG()])


def main(last: str, to: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    source = NumberSequenceSource(1, int(last))
    read = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    ones = read.map(lambda n: (n % 5, 1)).key_by(lambda one: one[0])
    rows = ones.sum(1).uid("counts").map(lambda one: Row(key=one[0], n=one[1]), ROW)
    rows.sink_to(FileSink.json(to)).uid("out")
    env.execute("counts")


if __name__ == "__main__":
    main(*sys.argv[1:])
