"""Stamps numbers, with the clock if asked to: then no second attempt gives what the first one gave.

Arguments: output directory, how many numbers, `clock` or `zero`. The second of two subtasks waits before its first
record, until the first one has ended, and passes the failpoint `stamped.second-subtask`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import (
    KeyedProcessFunction,
    MapFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors import FileSink, NumberSequenceSource
from penstock.failpoint import failpoint

KEYS = 16
ROW = Types.ROW_NAMED(["number", "stamp"], [Types.LONG(), Types.LONG()])


class Stamp(MapFunction):
    """Takes long enough to begin that each of two executors gets a task."""

    def __init__(self, clock: str) -> None:
        clocks: dict[str, Callable[[], int]] = {"clock": time.time_ns, "zero": int}
        self.now = clocks[clock]

    def open(self, runtime_context: Any) -> None:
        time.sleep(1)

    def map(self, value: int) -> tuple[int, int, int]:
        return value % KEYS, value, self.now()


class SecondIsLate(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.is_late = runtime_context.get_index_of_this_subtask() == 1

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        if self.is_late:
            self.is_late = False
            time.sleep(4)
            failpoint("stamped.second-subtask")
        yield value[1], value[2]


def main(out: str, count: str, clock: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = NumberSequenceSource(0, int(count) - 1)
    source = env.from_source(numbers, WatermarkStrategy.no_watermarks(), "numbers")
    stamped = source.map(Stamp(clock))
    late = stamped.key_by(lambda row: row[0]).process(SecondIsLate(), ROW)
    late.sink_to(FileSink.json(out)).name("stamped")
    env.execute("stamped")


if __name__ == "__main__":
    main(*sys.argv[1:])
