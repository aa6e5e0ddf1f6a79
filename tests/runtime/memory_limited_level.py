"""Runs one level of a batch run in this process, which may not take more memory than told.

    python -m tests.runtime.memory_limited_level JOB KEYS RECORDS SORTED_INPUTS_BYTES HEADROOM_BYTES

The level reads records (key, time, text, number) that are made while it reads them, all of one
key group, and its output is only counted. The limit is on memory of its own (RLIMIT_DATA): maps of files
are not part of it, as the kernel takes their pages back when it needs them. Memory that is
missing is a `MemoryError`, which this reports with exit code 3.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.common import Configuration, Time
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    CoGroupFunction,
    KeyedProcessFunction,
    OneInputStreamOperator,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors import CollectionSource
from penstock.datastream.window import EndOfStreamWindows, TumblingEventTimeWindows
from penstock.plan.physical import HandOver
from penstock.plan.programs import programs_of
from penstock.program.level import LevelProgram
from penstock.runtime.task.batch_level import BatchLevel
from penstock.wire.frame import (
    FrameHeader,
    FrameKind,
    decode_records,
    encode_records,
    read_header,
)
from tests.runtime.jobs import by_time

OUT_OF_MEMORY = 3
_FRAME = 4096
_TEXT_BYTES = 200


def key_of(record):
    return record[0]


class Count(CoGroupFunction):
    """Reads the second side for the first time before the first one."""

    def co_group(self, first, second):
        yield sum(r[3] for r in second) + sum(r[3] for r in first), len(first), len(second)


class CountInWindows(CoGroupFunction):
    def co_group(self, first, second):
        every = [*first, *second]
        yield sum(r[3] for r in every), len(every), max(r[1] for r in every)


class CountAll(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield sum(r[3] for r in elements), len(elements), max(r[1] for r in elements)


class InOrder(KeyedProcessFunction):
    """Lets through what is not behind what came before."""

    def process_element(self, value, ctx):
        yield (value[3], 1, value[1])


class SortsAll(OneInputStreamOperator):
    """Sorts its whole input, and emits it in one call."""

    def open(self, runtime_context):
        self.sorter = runtime_context.create_external_sorter()

    def process_element(self, value, ctx):
        self.sorter.add(value[0], value, ctx.timestamp())

    def end_input(self):
        for _, timestamp, value in self.sorter:
            self.output.collect((value[3], 1, timestamp))


SECONDS = TumblingEventTimeWindows.of(Time.seconds(1))

JOBS: dict[str, Any] = {
    "reduce": lambda s: (
        s.key_by(key_of)
        .reduce(lambda a, b: (a[0], b[1], b[2], a[3] + b[3]))
        .map(lambda r: (r[3], 1, r[1]))
    ),
    "sorter": lambda s: s.rebalance().transform("sorted", None, SortsAll()),
    "keyed sorter": lambda s: s.key_by(key_of).transform("sorted", None, SortsAll()),
    "process": lambda s: s.key_by(key_of).process(InOrder()),
    "window": lambda s: s.key_by(key_of).window(EndOfStreamWindows.get()).process(CountAll()),
    "co_group": lambda s: (
        s.filter(lambda r: r[3] % 2)
        .co_group(s.filter(lambda r: r[3] % 2 == 0))
        .where(key_of)
        .equal_to(key_of)
        .window(EndOfStreamWindows.get())
        .apply(Count())
    ),
    "tumbling": lambda s: s.key_by(key_of).window(SECONDS).process(CountAll()),
    "co_group tumbling": lambda s: (
        s.filter(lambda r: r[3] % 2)
        .co_group(s.filter(lambda r: r[3] % 2 == 0))
        .where(key_of)
        .equal_to(key_of)
        .window(SECONDS)
        .apply(CountInWindows())
    ),
}


def program(job: str, sorted_inputs_bytes: int) -> LevelProgram:
    """Return the program of level 1, the one that is keyed."""
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict(
            {
                "execution.runtime-mode": "BATCH",
                "parallelism.default": 1,
                "pipeline.max-parallelism": 1,
                "execution.sorted-inputs.memory": sorted_inputs_bytes,
            }
        )
    )
    stream = env.from_source(CollectionSource.of([(0, 0, "", 0)]), by_time(), "records")
    JOBS[job](stream).sink_to(DiscardingSink())
    plan = env.plan()
    made = programs_of(
        plan,
        plan.runs[0],
        tasks=1,
        max_frame_records=_FRAME,
        handed=HandOver(),
        job_parameters={},
    )
    return made[1]


def rows(channels: list[int], keys: int, records: int) -> Iterator[tuple[int, bytes]]:
    """Yield frames; time goes back and forth, so nothing is in order."""
    for sequence, at in enumerate(range(0, records, _FRAME)):
        numbers = range(at, min(at + _FRAME, records))
        channel = channels[sequence % len(channels)]
        header = FrameHeader(0, sequence, channel, 1, FrameKind.RECORDS, 0)
        values = [
            (number % keys, number * 7919 % 100_003, f"{number:0{_TEXT_BYTES}}", number)
            for number in numbers
        ]
        yield 0, encode_records(header, values, [value[1] for value in values])


def limit_memory(headroom: int) -> None:
    """Let the process grow by `headroom` bytes from here."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (kilobytes,) = (int(line.split()[1]) for line in lines if line.startswith("VmData:"))
    limit = kilobytes * 1024 + headroom
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def main(job: str, keys: int, records: int, sorted_inputs_bytes: int, headroom: int) -> None:
    """Run the level and print how many results there are, and what they add up to."""
    wanted = program(job, sorted_inputs_bytes)
    level = BatchLevel(wanted, 0)
    limit_memory(headroom)
    results = total = 0
    in_order = True
    last: dict[int, int] = {}
    for written in level.run(rows([c.id for c in wanted.inputs], keys, records)):
        for route, frame in written:
            header = read_header(frame)
            if header.kind is FrameKind.RECORDS and route >= 0:
                for number, _, time in decode_records(header, frame)[0]:
                    results += 1
                    total += number
                    in_order &= last.get(number % keys, 0) <= time
                    last[number % keys] = time
    sys.stdout.write(f"{results} {total} {in_order}\n")


if __name__ == "__main__":
    try:
        main(sys.argv[1], *map(int, sys.argv[2:]))
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)
