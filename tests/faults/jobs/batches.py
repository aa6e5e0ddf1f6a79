"""Writes the rows of every epoch with `for_each_batch`: a Parquet directory per call.

Arguments: the directory, and how many records there are.
"""

from __future__ import annotations

import sys
import uuid
from typing import Any

from penstock.common import Row, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import BatchEpoch, DataGeneratorSource

PAIR = Types.ROW_NAMED(["key", "n"], [Types.LONG(), Types.LONG()])


def main(out: str, records: str) -> None:
    numbers = DataGeneratorSource(lambda n: Row(key=n % 5, n=n), type_info=PAIR, count=int(records))

    def write(rows: Any, epoch: BatchEpoch) -> None:
        # A name of its own, so that a call that is repeated is seen.
        rows.write.parquet(f"{out}/{epoch.number}-{uuid.uuid4().hex}")

    env = StreamExecutionEnvironment.get_execution_environment()
    rows = env.from_source(numbers, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    rows.for_each_batch(write).uid("out")
    env.execute("batches")


if __name__ == "__main__":
    main(*sys.argv[1:])
